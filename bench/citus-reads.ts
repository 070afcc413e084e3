/**
 * Compares requests to an application on a node of a Citus cluster with the same requests to a plain PostgreSQL database on that node, in
 * alternating turns. Both databases are created, and removed at the end.
 *
 *     node bench/citus-reads.ts --url postgres://…/postgres [--posts 20000] [--turns 5] [--seconds 3]
 *
 * `--url` is the address of the coordinator, with a role that may create databases on all nodes.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  createEmptyCluster,
  createOnNodes,
  dropOnNodes,
  emptyClusterDatabase,
  findClusterNodes,
  inDatabase,
} from '../packages/server/test/support/citus-cluster.ts';
import type { Json } from '../packages/server/test/support/json.ts';
import { queryDatabase } from '../packages/server/test/support/query-database.ts';
import type { Served } from './child.ts';
import { randomFrom, requestText, runLoad } from './load.ts';
import { postAt } from './seed-data.ts';
import { account, startServer } from './server-under-test.ts';

const { values: options } = parseArgs({
  options: {
    url: { type: 'string' },
    posts: { type: 'string', default: '20000' },
    turns: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
  },
});
if (options.url === undefined) throw new Error('Give the address of the coordinator: --url postgres://…');
const posts = Number(options.posts);
const authors = 100;
const database = 'bench_reads';
const plainDatabase = 'bench_reads_plain';
const application = 'bench';
const clients = 8;
const requestCount = 2000;
const warmMilliseconds = 500;
const random = randomFrom(20_261_128);

/** One of the two servers, with the headers of an administrator of the application. */
interface Side {
  readonly served: Served;
  readonly headers: Readonly<Record<string, string>>;
}

interface Reply {
  readonly data: Json;
}

async function post(served: Served, headers: Side['headers'], path: string, body: unknown): Promise<Reply> {
  const response = await fetch(`http://127.0.0.1:${served.port}/api/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${(await response.text()).slice(0, 400)}`);
  return (await response.json()) as Reply;
}

/** Starts a server, and creates an application with the same data as that of the other one. */
async function prepare(dataDir: string, url: string): Promise<Side> {
  const served = await startServer(dataDir, url);
  const { token } = (await post(served, {}, 'auth:signIn', account)).data;
  const admin = { authorization: `Bearer ${token}` };
  await post(served, admin, 'applications:create', { name: application });
  const entered = (await post(served, admin, `applications:enter?filterByTk=${application}`, {})).data;
  const headers = { authorization: `Bearer ${entered.token}`, 'x-app': application };
  await post(served, headers, 'collections:create', { name: 'authors', fields: [{ name: 'name', type: 'string' }] });
  const fields = [
    { name: 'title', type: 'string' },
    { name: 'body', type: 'text' },
    { name: 'views', type: 'integer', index: true },
    { name: 'author', type: 'belongsTo', target: 'authors', foreignKey: 'authorId' },
  ];
  await post(served, headers, 'collections:create', { name: 'posts', fields });
  const names = Array.from({ length: authors }, (_, index) => ({ name: `Author ${index}` }));
  await post(served, headers, 'authors:create', names);
  for (let from = 0; from < posts; from += 1000)
    await post(
      served,
      headers,
      'posts:create',
      Array.from({ length: 1000 }, (_, index) => {
        const { title, body, views } = postAt(from + index);
        return { title, body, views, authorId: 1 + random(authors) };
      }),
    );
  return { served, headers };
}

const filter = (): string => encodeURIComponent(JSON.stringify({ views: { $lt: 5000 + random(5000) } }));
const list = (): string => `posts:list?filter=${filter()}&sort=-views&pageSize=20&count=none`;
/** @returns one request: the method, the path, and a body. */
const cases: Readonly<Record<string, () => readonly [method: string, path: string, body?: object]>> = {
  'get by id': () => ['GET', `posts:get?filterByTk=${1 + random(posts)}`],
  'list 20, filter, sort': () => ['GET', list()],
  'list 20 with author': () => ['GET', `${list()}&appends=author`],
  create: () => ['POST', 'posts:create', { title: `New ${random(1e9)}`, views: random(10_000), authorId: 1 }],
  update: () => ['POST', `posts:update?filterByTk=${1 + random(posts)}`, { views: random(10_000) }],
};

async function measure({ served, headers }: Side, name: string): Promise<number> {
  const make = cases[name];
  if (!make) return 0;
  const requests = Array.from({ length: requestCount }, () => {
    const [method, path, body] = make();
    return requestText(method, `/api/${path}`, headers, body);
  });
  const milliseconds = Number(options.seconds) * 1000;
  const job = { port: served.port, clients, warmMilliseconds, milliseconds, requests, expect: 200 };
  return (await runLoad(job)).perSecond;
}

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0;

const nodes = await findClusterNodes(options.url);
const folder = mkdtempSync(join(tmpdir(), 'tablinum-citus-'));
const worker = nodes[1] as string;
await createEmptyCluster(nodes);
await dropOnNodes(nodes, database);
await createOnNodes(nodes, database, emptyClusterDatabase);
await queryDatabase(worker, `DROP DATABASE IF EXISTS ${plainDatabase} WITH (FORCE)`);
await queryDatabase(worker, `CREATE DATABASE ${plainDatabase}`);
const started: Side[] = [];
try {
  const cluster = await prepare(join(folder, 'cluster'), inDatabase(options.url, database));
  started.push(cluster);
  const plain = await prepare(join(folder, 'plain'), inDatabase(worker, plainDatabase));
  started.push(plain);
  console.log(
    '| requests in a second | Citus | plain | ratio | smallest and largest ratio of a turn |\n|---|---|---|---|---|',
  );
  for (const name of Object.keys(cases)) {
    const turns: (readonly [number, number])[] = [];
    for (let turn = 0; turn < Number(options.turns); turn += 1)
      turns.push([await measure(cluster, name), await measure(plain, name)]);
    const ratios = turns.map(([one, other]) => one / other);
    const [fast, usual] = [median(turns.map(([one]) => one)), median(turns.map(([, other]) => other))];
    const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
    console.log(`| ${name} | ${fast.toFixed(0)} | ${usual.toFixed(0)} | ${median(ratios).toFixed(2)} | ${range} |`);
  }
} finally {
  for (const { served } of started) await served.stop();
  await dropOnNodes(nodes, database);
  await dropOnNodes(nodes, emptyClusterDatabase);
  await queryDatabase(worker, `DROP DATABASE IF EXISTS ${plainDatabase} WITH (FORCE)`);
  rmSync(folder, { recursive: true, force: true });
}
