/**
 * What PostgreSQL under Node can do: bare node:http, a pool of ten, named hand-written statements that render JSON. No
 * access control, no validation, no events. Writes are one autocommitted statement with synchronous_commit.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import pg from 'pg';
import { createdAt, postAt, postCount, userAt, userCount } from './seed-data.ts';

const pool = new pg.Pool({ connectionString: process.env['YARDSTICK_URL'], max: 10 });
await seed();

const moment = (column: string): string => `to_char(${column} AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const members = `p.id,p.title,p.body,p.views,p.published,p."authorId",${moment('p."createdAt"')} AS "createdAt",${moment('p."updatedAt"')} AS "updatedAt"`;
const author = ',(SELECT to_json(u) FROM (SELECT id,name,email,nickname FROM users WHERE id=p."authorId") u) AS author';
const list = (extra: string, where: string, tail: string): string =>
  `SELECT '[' || coalesce(string_agg(to_json(r)::text,','),'') || ']' FROM (SELECT ${members}${extra} FROM posts p WHERE ${where} ORDER BY p."createdAt" DESC, p.id DESC ${tail}) r`;
const returning = `RETURNING (SELECT to_json(r)::text FROM (SELECT posts.id,posts.title,posts.body,posts.views,posts.published,posts."authorId",${moment('posts."createdAt"')} AS "createdAt",${moment('posts."updatedAt"')} AS "updatedAt") r)`;
const statements: Record<string, string> = {
  get: `SELECT to_json(r)::text FROM (SELECT ${members} FROM posts p WHERE p.id=$1) r`,
  list: list('', 'p.published AND p.views<$1', 'LIMIT 20'),
  counted: `SELECT count(*) FROM posts p WHERE p.published AND p.views<$1`,
  author: list(author, 'p.published AND p.views<$1', 'LIMIT 20'),
  byAuthor: list('', 'p."authorId" IN (SELECT id FROM users WHERE name=$1)', 'LIMIT 20'),
  page: list('', 'true', 'LIMIT 20 OFFSET $1'),
  published: list('', 'p.published', 'LIMIT 20'),
  first: list('', 'true', 'LIMIT 20'),
  after: list('', '(p."createdAt",p.id)<($1,$2)', 'LIMIT 20'),
  search: `SELECT '[' || coalesce(string_agg(to_json(r)::text,','),'') || ']' FROM (SELECT id,name,email FROM users WHERE position($1 in lower(name))>0 OR position($1 in lower(email))>0 ORDER BY id LIMIT 20) r`,
  groups: `SELECT '[' || coalesce(string_agg(to_json(r)::text,','),'') || ']' FROM (SELECT published,count(id) AS count,sum(views) AS views FROM posts WHERE "authorId"=$1 GROUP BY published ORDER BY published) r`,
  lines: `SELECT string_agg(to_json(r)::text,chr(10)),max(r.id) FROM (SELECT ${members} FROM posts p WHERE p.id>$1 ORDER BY p.id LIMIT 1000) r`,
  create: `INSERT INTO posts (title,body,views,published,"authorId","createdAt","updatedAt") VALUES ($1,$2,$3,$4,$5,now(),now()) ${returning}`,
  update: `UPDATE posts SET views=$1,"updatedAt"=now() WHERE id=$2 ${returning}`,
};

async function text(name: string, ...values: unknown[]): Promise<string> {
  const { rows } = await pool.query({ name, text: statements[name]!, values, rowMode: 'array' });
  return (rows as string[][])[0]![0]!;
}

function reply(response: ServerResponse, body: string): void {
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

const fromQuery: Record<string, readonly string[]> = {
  get: ['id'],
  list: ['views'],
  author: ['views'],
  byAuthor: ['name'],
  page: ['offset'],
  published: [],
  first: [],
  search: ['word'],
  groups: ['author'],
  after: ['at', 'id'],
};

createServer((request, response) => {
  const url = request.url!;
  const name = /^\/(\w+)/.exec(url)![1]!;
  const value = (key: string): string => decodeURIComponent(new RegExp(`[?&]${key}=([^&]*)`).exec(url)![1]!);
  if (name === 'ready') return reply(response, '{"data":1}');
  if (name === 'counted')
    return void Promise.all([text('list', value('views')), text('counted', value('views'))]).then(([data, count]) =>
      reply(response, `{"data":${data},"meta":{"count":${count}}}`),
    );
  if (name === 'lines') return void lines(response);
  const keys = fromQuery[name];
  if (keys)
    return void text(name, ...keys.map(value)).then((data) =>
      reply(response, name === 'get' ? `{"data":${data}}` : `{"data":${data},"meta":{"pageSize":20}}`),
    );
  let body = '';
  request.on('data', (chunk) => {
    body += chunk;
  });
  request.on('end', () => {
    const given = JSON.parse(body) as {
      title: string;
      body: string;
      views: number;
      published: boolean;
      authorId: number;
    };
    const values =
      name === 'create'
        ? [given.title, given.body, given.views, given.published, given.authorId]
        : [given.views, value('id')];
    void text(name, ...values).then((data) => reply(response, `{"data":${data}}`));
  });
}).listen(Number(process.env['PORT']), '127.0.0.1');

async function lines(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  for (let from = 0; ; ) {
    const { rows } = await pool.query({ name: 'lines', text: statements['lines']!, values: [from], rowMode: 'array' });
    const [shown, last] = rows[0] as [string | null, number];
    if (shown === null) break;
    if (!response.write(`${shown}\n`)) await once(response, 'drain');
    from = last;
  }
  response.end();
}

async function seed(): Promise<void> {
  await pool.query(`CREATE TABLE users (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, name text COLLATE "C", email text COLLATE "C", nickname text COLLATE "C");
    CREATE TABLE posts (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, title text COLLATE "C", body text COLLATE "C", views int, published bool, "authorId" int REFERENCES users(id), "createdAt" timestamptz(3) NOT NULL, "updatedAt" timestamptz(3) NOT NULL);`);
  const users = Array.from({ length: userCount }, (_, index) => userAt(index + 1));
  await pool.query('INSERT INTO users (name,email,nickname) SELECT * FROM unnest($1::text[],$2::text[],$3::text[])', [
    users.map((user) => user.name),
    users.map((user) => user.email),
    users.map((user) => user.nickname),
  ]);
  for (let from = 1; from <= postCount; from += 10_000) {
    const posts = Array.from({ length: 10_000 }, (_, index) => ({
      ...postAt(from + index),
      at: createdAt(from + index),
    }));
    await pool.query(
      'INSERT INTO posts (title,body,views,published,"authorId","createdAt","updatedAt") SELECT a,b,c,d,e,f,f FROM unnest($1::text[],$2::text[],$3::int[],$4::bool[],$5::int[],$6::timestamptz[]) AS u(a,b,c,d,e,f)',
      [
        posts.map((p) => p.title),
        posts.map((p) => p.body),
        posts.map((p) => p.views),
        posts.map((p) => p.published),
        posts.map((p) => p.author),
        posts.map((p) => p.at),
      ],
    );
  }
  await pool.query(
    'CREATE INDEX ON posts (views,id); CREATE INDEX ON posts ("authorId",id); CREATE INDEX ON posts ("createdAt",id); ANALYZE;',
  );
}
