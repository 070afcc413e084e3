/**
 * What SQLite under Node can do: bare node:http, hand-written statements that render JSON, no access control, no
 * validation, no events. Writes are as durable as the server's: one shared asynchronous fdatasync of the log.
 */
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { createdAt, postAt, postCount, userAt, userCount } from './seed-data.ts';

const path = process.env['YARDSTICK_FILE']!;
const database = new DatabaseSync(path);
database.exec(
  'PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-16000; PRAGMA foreign_keys=ON;',
);
seed();
const handle = await open(`${path}-wal`, 'r+');

const members = `'id',p.id,'title',p.title,'body',p.body,'views',p.views,'published',json(iif(p.published,'true','false')),'authorId',p.authorId,'createdAt',p.createdAt,'updatedAt',p.updatedAt`;
const author = `'author',(SELECT json_object('id',u.id,'name',u.name,'email',u.email,'nickname',u.nickname) FROM users u WHERE u.id=p.authorId)`;
const one = (text: string): StatementSync => {
  const statement = database.prepare(text);
  statement.setReturnArrays(true);
  return statement;
};
const list = (extra: string, where: string, tail: string): StatementSync =>
  one(
    `SELECT json_group_array(json_object(${members}${extra})) FROM (SELECT * FROM posts p WHERE ${where} ORDER BY p.createdAt DESC, p.id DESC ${tail}) p`,
  );
const get = one(`SELECT json_object(${members}) FROM posts p WHERE p.id=?`);
const filtered = list('', 'p.published=1 AND p.views<?', 'LIMIT 20');
const counted = one('SELECT count(*) FROM posts p WHERE p.published=1 AND p.views<?');
const withAuthor = list(`,${author}`, 'p.published=1 AND p.views<?', 'LIMIT 20');
const byAuthor = list('', 'p.authorId IN (SELECT id FROM users WHERE name=?)', 'LIMIT 20');
const page = list('', '1=1', 'LIMIT 20 OFFSET ?');
const published = list('', 'p.published=1', 'LIMIT 20');
const first = list('', '1=1', 'LIMIT 20');
const after = list('', '(p.createdAt,p.id)<(?,?)', 'LIMIT 20');
const search = one(
  `SELECT json_group_array(json_object('id',u.id,'name',u.name,'email',u.email)) FROM (SELECT * FROM users u WHERE instr(lower(u.name),?1) OR instr(lower(u.email),?1) ORDER BY u.id LIMIT 20) u`,
);
const groups = one(
  `SELECT json_group_array(json_object('published',json(iif(g,'true','false')),'count',n,'views',s)) FROM (SELECT published AS g,count(id) AS n,sum(views) AS s FROM posts WHERE authorId=? GROUP BY published ORDER BY published)`,
);
const piece = one(
  `SELECT group_concat(j,char(10)),max(id) FROM (SELECT p.id,json_object(${members}) AS j FROM posts p WHERE p.id>? ORDER BY p.id LIMIT 1000)`,
);
const insert = one(
  `INSERT INTO posts AS p (title,body,views,published,authorId,createdAt,updatedAt) VALUES (?,?,?,?,?,?,?) RETURNING json_object('id',id,'title',title,'body',body,'views',views,'published',json(iif(published,'true','false')),'authorId',authorId,'createdAt',createdAt,'updatedAt',updatedAt)`.replace(
    ' AS p',
    '',
  ),
);
const update = one(
  `UPDATE posts SET views=?, updatedAt=? WHERE id=? RETURNING json_object('id',id,'title',title,'body',body,'views',views,'published',json(iif(published,'true','false')),'authorId',authorId,'createdAt',createdAt,'updatedAt',updatedAt)`,
);

let waiting: (() => void)[] = [];
let syncing = false;
function durable(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (!syncing) void drain();
  });
}
async function drain(): Promise<void> {
  syncing = true;
  while (waiting.length > 0) {
    const covered = waiting;
    waiting = [];
    await handle.datasync();
    for (const resolve of covered) resolve();
  }
  syncing = false;
}

function reply(response: ServerResponse, text: string): void {
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
type Value = null | number | bigint | string;
const text = (statement: StatementSync, ...values: Value[]): string =>
  (statement.get(...values) as unknown as [string])[0];

createServer((request, response) => {
  const url = request.url!;
  const value = (name: string): string => decodeURIComponent(new RegExp(`[?&]${name}=([^&]*)`).exec(url)![1]!);
  const page20 = (data: string): void => reply(response, `{"data":${data},"meta":{"pageSize":20}}`);
  if (url.startsWith('/get')) return reply(response, `{"data":${text(get, BigInt(value('id')))}}`);
  if (url.startsWith('/list')) return page20(text(filtered, BigInt(value('views'))));
  if (url.startsWith('/counted')) {
    const views = BigInt(value('views'));
    const count = (counted.get(views) as unknown as [number])[0];
    return reply(response, `{"data":${text(filtered, views)},"meta":{"count":${count}}}`);
  }
  if (url.startsWith('/author')) return page20(text(withAuthor, BigInt(value('views'))));
  if (url.startsWith('/byAuthor')) return page20(text(byAuthor, value('name')));
  if (url.startsWith('/page')) return page20(text(page, BigInt(value('offset'))));
  if (url.startsWith('/published')) return page20(text(published));
  if (url.startsWith('/first')) return page20(text(first));
  if (url.startsWith('/after')) return page20(text(after, value('at'), BigInt(value('id'))));
  if (url.startsWith('/search')) return page20(text(search, value('word').toLowerCase()));
  if (url.startsWith('/groups')) return reply(response, `{"data":${text(groups, BigInt(value('author')))}}`);
  if (url.startsWith('/lines')) return void lines(response);
  if (url.startsWith('/ready')) return reply(response, '{"data":1}');
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
    const now = new Date().toISOString();
    const data = url.startsWith('/create')
      ? text(
          insert,
          given.title,
          given.body,
          BigInt(given.views),
          given.published ? 1n : 0n,
          BigInt(given.authorId),
          now,
          now,
        )
      : text(update, BigInt(given.views), now, BigInt(value('id')));
    void durable().then(() => reply(response, `{"data":${data}}`));
  });
}).listen(Number(process.env['PORT']), '127.0.0.1');

async function lines(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  for (let from = 0; ; ) {
    const [shown, last] = piece.get(BigInt(from)) as unknown as [string | null, number];
    if (shown === null) break;
    if (!response.write(`${shown}\n`)) await once(response, 'drain');
    from = last;
  }
  response.end();
}

function seed(): void {
  database.exec(`CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, email TEXT, nickname TEXT);
    CREATE TABLE posts (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT, body TEXT, views INTEGER, published INTEGER, authorId INTEGER REFERENCES users(id), createdAt TEXT NOT NULL, updatedAt TEXT NOT NULL);
    CREATE INDEX posts_views ON posts (views); CREATE INDEX posts_author ON posts (authorId); CREATE INDEX posts_created ON posts (createdAt); BEGIN`);
  const user = database.prepare('INSERT INTO users (name,email,nickname) VALUES (?,?,?)');
  for (let index = 1; index <= userCount; index += 1)
    user.run(...(Object.values(userAt(index)) as [string, string, string]));
  const post = database.prepare(
    'INSERT INTO posts (title,body,views,published,authorId,createdAt,updatedAt) VALUES (?,?,?,?,?,?,?)',
  );
  for (let index = 1; index <= postCount; index += 1) {
    const { title, body, views, published: shown, author: by } = postAt(index);
    post.run(title, body, BigInt(views), shown ? 1n : 0n, BigInt(by), createdAt(index), createdAt(index));
  }
  database.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE); CREATE TABLE marker (a)');
}
