/**
 * Moves applications between the nodes of a Citus cluster while they are written and read, and kills a node meanwhile. Afterwards, what was
 * acknowledged is compared with what is stored.
 *
 *     node bench/citus-moves.ts --url postgres://…/tablinum [--data FOLDER] [--applications 200] [--servers 3] [--seconds 600] [--every 10]
 *
 * `--url` is the address of the coordinator, with a role that may create databases. `--data` is the folder of PostgreSQL's data of the first
 * worker, on this machine: its server is killed twice and started again. `--crashes 0.5`: in half of the moves, the server that runs it is
 * killed at a random moment. `--rows`: how many records the first application has before the first move. The databases that it creates are removed at the end.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { buildTestServer } from '../packages/server/test/support/build-test-server.ts';
import {
  createEmptyCluster,
  createOnNodes,
  dropOnNodes,
  emptyClusterDatabase,
  findClusterNodes,
  inDatabase,
  onAllNodes,
} from '../packages/server/test/support/citus-cluster.ts';
import type { Store } from '../packages/server/test/support/engines.ts';
import { sendRequest } from '../packages/server/test/support/http-client.ts';
import type { Json } from '../packages/server/test/support/json.ts';
import { queryDatabase } from '../packages/server/test/support/query-database.ts';
import { ServerProcess } from '../packages/server/test/support/server-process.ts';
import { rootEmail, rootPassword } from '../packages/server/test/support/server-settings.ts';
import { killNode } from './killed-node.ts';

const { values: options } = parseArgs({
  options: {
    url: { type: 'string' },
    data: { type: 'string' },
    applications: { type: 'string', default: '200' },
    servers: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '600' },
    every: { type: 'string', default: '10' },
    writers: { type: 'string', default: '12' },
    crashes: { type: 'string', default: '0' },
    rows: { type: 'string', default: '0' },
    log: { type: 'string', default: 'silent' },
  },
});
const database = 'bench_moves';
const retryMilliseconds = 25;
const recoveryMilliseconds = 20_000;
/** A move of an application without much data takes one to six seconds. */
const maxCrashDelay = 2500;

interface Reply {
  readonly status: number;
  readonly body: Json;
  readonly mayRetry: boolean;
}

/** The acknowledged writes of one application, and what was read of it. */
class BenchApplication {
  readonly name: string;
  readonly token: string;
  readonly acknowledged = new Set<string>();
  /** Titles that a reader of the events has seen. */
  readonly seen = new Set<string>();
  cursor: string | null = null;
  resyncs = 0;

  constructor(name: string, token: string) {
    this.name = name;
    this.token = token;
  }
}

const settings = {
  APPLICATIONS_OPEN: '1000',
  DATABASE_CONNECTIONS: '20',
  DATABASE_DURABILITY: 'unchecked',
  INIT_ROOT_EMAIL: rootEmail,
  INIT_ROOT_PASSWORD: rootPassword,
  RATE_LIMIT_CREDENTIAL: 'off',
  RATE_LIMIT_SIGN_IN: 'off',
  LOG_LEVEL: options.log,
};
const servers: ServerProcess[] = [];
let startOne = (): Promise<ServerProcess> => Promise.reject(new Error('There is no database yet.'));
const counts = {
  writes: 0,
  reads: 0,
  unknown: 0,
  moves: 0,
  failedMoves: 0,
  staleReads: 0,
  afterRevoke: 0,
  revoked: 0,
  crashes: 0,
};
const unexpected = new Map<string, number>();
/** Times in which a node was down, in terms of performance.now(). */
const outages: [from: number, to: number][] = [];
/** How long writes were refused: because of a move (BUSY), because of an outage, or because no connection was free. */
const pauses = { move: [] as number[], outage: [] as number[], other: [] as number[] };
const moveProblems: string[] = [];
/** Of complete moves, in milliseconds. */
const durations: number[] = [];
let isStopped = false;
/**
 * Most requests concern these applications. They change over time, because only some of many applications are in use at
 * a time.
 */
let hot: readonly BenchApplication[] = [];
const hotApplications = 10;
const hotShare = 0.98;
/** The share of moves that concern an application whose events are followed. */
const followedShare = 0.3;

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T;

async function send(
  server: ServerProcess,
  action: string,
  { token = server.token, app = 'main', body }: { token?: string; app?: string; body?: object } = {},
): Promise<Reply> {
  const reply = await sendRequest(`${server.url}/api/${action}`, {
    method: body ? 'POST' : 'GET',
    headers: {
      authorization: `Bearer ${token}`,
      'x-app': app,
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const mayRetry = reply.status === 503 && reply.headers.get('retry-after') !== null;
  return { status: reply.status, body: reply.text === '' ? null : JSON.parse(reply.text), mayRetry };
}

async function post(action: string, body: object, more: { token?: string; app?: string } = {}): Promise<Reply['body']> {
  const reply = await send(servers[0] as ServerProcess, action, { ...more, body });
  if (reply.status >= 300) throw new Error(`${action}: ${reply.status} ${JSON.stringify(reply.body)}`);
  return reply.body.data;
}

function note(reply: Reply, action: string): void {
  const text = `${action}: ${reply.status} ${reply.body?.code ?? ''} ${reply.body?.message ?? ''}`;
  unexpected.set(text, (unexpected.get(text) ?? 0) + 1);
}

async function createApplications(count: number): Promise<BenchApplication[]> {
  const created: BenchApplication[] = [];
  for (let number = 1; number <= count; number += 1) {
    const name = `app${number}`;
    await post('applications:create', { name });
    const { token } = await post(`applications:enter?filterByTk=${name}`, {});
    const fields = [{ name: 'title', type: 'string', index: true }];
    await post('collections:create', { name: 'notes', fields }, { token, app: name });
    created.push(new BenchApplication(name, token));
    if (number % 25 === 0) console.log(`${number} applications created`);
  }
  return created;
}

/** Creates records before the moves. */
async function fill({ name: app, token, acknowledged }: BenchApplication, rows: number): Promise<void> {
  for (let from = 0; from < rows; from += 1000) {
    const records = Array.from({ length: 1000 }, (_, index) => ({ title: `filled-${from + index}` }));
    await post('notes:create', records, { token, app });
    for (const { title } of records) acknowledged.add(title);
  }
}

function notePause(from: number, code: string): void {
  const to = performance.now();
  const isOutage = outages.some(([begin, end]) => from < end + recoveryMilliseconds && to > begin);
  pauses[isOutage ? 'outage' : code === 'BUSY' ? 'move' : 'other'].push(to - from);
}

/** Writes to any application on any server, and reads what it has written on another one. */
async function write(writer: number, applications: readonly BenchApplication[]): Promise<void> {
  for (let number = 0; !isStopped; number += 1) {
    const application = pick(Math.random() < hotShare ? hot : applications);
    const { name: app, token } = application;
    const title = `${writer}-${number}`;
    let code = '';
    for (let refusedAt: number | null = null; ; ) {
      const reply = await send(pick(servers), 'notes:create', { token, app, body: { title } }).catch(() => null);
      if (reply?.status === 200) {
        application.acknowledged.add(title);
        counts.writes += 1;
        if (refusedAt !== null) notePause(refusedAt, code);
        break;
      }
      if (!reply?.mayRetry) {
        counts.unknown += 1;
        if (reply) note(reply, 'create');
        break;
      }
      if (code !== 'DATABASE_UNAVAILABLE') code = reply.body.code;
      refusedAt ??= performance.now();
      await pause(retryMilliseconds);
    }
    if (!application.acknowledged.has(title)) continue;
    const filter = encodeURIComponent(JSON.stringify({ title }));
    const found = await send(pick(servers), `notes:list?filter=${filter}`, { token, app }).catch(() => null);
    if (!found) continue;
    if (found.status === 200) {
      counts.reads += 1;
      if (found.body.data.length === 0) counts.staleReads += 1;
    } else if (!found.mayRetry) note(found, 'list');
  }
}

/** Reads the events of an application until the end, and all of its records again after a resync. */
async function follow(application: BenchApplication): Promise<void> {
  const { name: app, token, seen } = application;
  for (let isLast = false; ; ) {
    const since = application.cursor === null ? '' : `&since=${application.cursor}`;
    const reply = await send(pick(servers), `changes:list?resource=notes&pageSize=1000${since}`, { token, app }).catch(
      () => null,
    );
    if (reply?.status !== 200) {
      if (reply && !reply.mayRetry) note(reply, 'changes');
      await pause(100);
      continue;
    }
    const { data, meta } = reply.body;
    if (meta.resync) {
      application.resyncs += 1;
      const all = await send(pick(servers), 'notes:list?paginate=false&fields=id', { token, app }).catch(() => null);
      if (all?.status !== 200) continue;
      for (const { id } of all.body.data) seen.add(String(id));
    }
    for (const { tk } of data) for (const key of [tk].flat()) seen.add(String(key));
    application.cursor = meta.nextCursor;
    if (isLast && data.length === 0) return;
    isLast = isStopped;
    if (!isStopped) await pause(200);
  }
}

/** Creates, uses and revokes API keys: a revoked one must not be accepted by any server. */
async function revoke(applications: readonly BenchApplication[]): Promise<void> {
  while (!isStopped) {
    await revokeOne(applications).catch(() => {}); // the server has just been killed
    await pause(300);
  }
}

async function revokeOne(applications: readonly BenchApplication[]): Promise<void> {
  const { name: app, token } = pick(applications);
  const created = await send(pick(servers), 'apiKeys:create', { token, app, body: { role: 'viewer' } });
  if (created.status === 200) {
    const key = created.body.data;
    await send(pick(servers), 'notes:list', { token: key.token, app });
    const destroyed = await send(pick(servers), `apiKeys:destroy?filterByTk=${key.id}`, { token, app, body: {} });
    if (destroyed.status === 200) {
      counts.revoked += 1;
      for (const server of servers)
        if ((await send(server, 'notes:list', { token: key.token, app })).status === 200) counts.afterRevoke += 1;
    }
  }
}

async function moveAll(
  applications: readonly BenchApplication[],
  followed: readonly BenchApplication[],
  every: number,
): Promise<void> {
  while (!isStopped) {
    const startedAt = performance.now();
    const moved = pick(Math.random() < followedShare ? followed : applications);
    const others = Array.from({ length: hotApplications - 2 }, () => pick(applications));
    hot = [moved, pick(followed), ...others];
    await moveOne(moved.name).catch((error: unknown) => moveProblems.push(String(error)));
    while (!isStopped && performance.now() - startedAt < every * 1000) await pause(100);
  }
}

/** Kills a server, and starts another one instead. */
async function crash(server: ServerProcess, delay: number): Promise<void> {
  await pause(delay);
  const from = performance.now();
  outages.push([from, Number.POSITIVE_INFINITY]);
  await server.kill();
  counts.crashes += 1;
  servers[servers.indexOf(server)] = await startOne();
  (outages.at(-1) as [number, number])[1] = performance.now();
}

async function moveOne(name: string): Promise<void> {
  const server = pick(servers);
  const nodes = (await send(server, 'applications:nodes')).body.data as { node: string; isTarget: boolean }[];
  const { node } = (await send(server, `applications:get?filterByTk=${name}`)).body.data;
  const target = nodes.find((each) => each.isTarget && each.node !== node)?.node;
  const reply = await send(server, `applications:move?filterByTk=${name}`, { body: { node: target } });
  if (reply.status !== 202) return void moveProblems.push(`not begun: ${reply.body.message}`);
  counts.moves += 1;
  const begunAt = performance.now();
  if (Math.random() < Number(options.crashes)) await crash(server, Math.random() * maxCrashDelay);
  for (;;) {
    const { data } = (await send(pick(servers), `applications:get?filterByTk=${name}`).catch(() => null))?.body ?? {};
    if (data?.move?.step === null) {
      if (data.move.status === 'failed') {
        counts.failedMoves += 1;
        moveProblems.push(data.move.problem);
      } else durations.push(performance.now() - begunAt);
      return;
    }
    await pause(100);
  }
}

async function noteOutage(folder: string): Promise<void> {
  const from = performance.now();
  outages.push([from, Number.POSITIVE_INFINITY]);
  await killNode(folder);
  (outages.at(-1) as [number, number])[1] = performance.now();
  console.log(`the worker was killed, and runs again after ${((performance.now() - from) / 1000).toFixed(1)} s`);
}

/** Reads until the application can be opened. */
async function read(
  server: ServerProcess,
  action: string,
  { name: app, token }: BenchApplication,
): Promise<Reply['body']> {
  for (;;) {
    const reply = await send(server, action, { token, app });
    if (reply.status === 200) return reply.body;
    if (!reply.mayRetry) throw new Error(`${app} ${action}: ${reply.status} ${JSON.stringify(reply.body)}`);
    await pause(500);
  }
}

async function compare(
  applications: readonly BenchApplication[],
  followed: readonly BenchApplication[],
): Promise<void> {
  let [lost, doubled, missingEvents, unseen, stored] = [0, 0, 0, 0, 0];
  for (const application of applications) {
    const { acknowledged, seen } = application;
    const server = servers[0] as ServerProcess;
    const records = (await read(server, 'notes:list?paginate=false&fields=id,title', application)).data as {
      id: number;
      title: string;
    }[];
    const titles = new Set(records.map(({ title }) => title));
    stored += records.length;
    doubled += records.length - titles.size;
    lost += [...acknowledged].filter((title) => !titles.has(title)).length;
    const logged = new Set<string>();
    for (let since = ''; ; ) {
      const { data, meta } = await read(server, `changes:list?resource=notes&pageSize=1000${since}`, application);
      for (const { tk } of data) for (const key of [tk].flat()) logged.add(String(key));
      if (!meta.hasNext) break;
      since = `&since=${meta.nextCursor}`;
    }
    missingEvents += records.filter(({ id }) => !logged.has(String(id))).length;
    if (followed.includes(application)) unseen += records.filter(({ id }) => !seen.has(String(id))).length;
  }
  const resyncs = followed.reduce((sum, each) => sum + each.resyncs, 0);
  const describe = (list: readonly number[]): object => ({
    number: list.length,
    longest: Math.round(Math.max(0, ...list)),
    median: Math.round([...list].sort((one, other) => one - other)[Math.floor(list.length / 2)] ?? 0),
  });
  console.log({ ...counts, stored, lost, doubled, missingEvents, unseenByFollowers: unseen, resyncs });
  console.log('refused writes, in milliseconds:', {
    byMoves: describe(pauses.move),
    byOutages: describe(pauses.outage),
    byConnections: describe(pauses.other),
  });
  console.log('complete moves, in milliseconds:', describe(durations));
  console.log('unexpected replies:', Object.fromEntries(unexpected));
  console.log('problems of moves:', moveProblems);
}

/** A database with a subscription or a slot cannot be dropped. */
async function dropReplication(nodes: readonly string[]): Promise<void> {
  const each = async (text: string, use: (name: string) => readonly string[]): Promise<void> => {
    for (const node of nodes) {
      const found = await queryDatabase(node, `SELECT 1 FROM pg_database WHERE datname='${database}'`);
      if (found.length === 0) continue;
      for (const { name } of await queryDatabase(inDatabase(node, database), text))
        for (const statement of use(String(name))) await queryDatabase(inDatabase(node, database), statement);
    }
  };
  await each(
    'SELECT subname AS name FROM pg_subscription WHERE subdbid=(SELECT oid FROM pg_database WHERE datname=current_database())',
    (name) => [
      `ALTER SUBSCRIPTION ${name} DISABLE`,
      `ALTER SUBSCRIPTION ${name} SET (slot_name=NONE)`,
      `DROP SUBSCRIPTION ${name}`,
    ],
  );
  await pause(1000);
  await each('SELECT slot_name AS name FROM pg_replication_slots WHERE database=current_database()', (name) => [
    `SELECT pg_drop_replication_slot('${name}')`,
  ]);
}

async function run(url: string): Promise<void> {
  await buildTestServer();
  const nodes = await findClusterNodes(url);
  await dropReplication(nodes);
  await createEmptyCluster(nodes);
  await dropOnNodes(nodes, database);
  await createOnNodes(nodes, database, emptyClusterDatabase);
  await onAllNodes(nodes, `ALTER DATABASE ${database} ALLOW_CONNECTIONS true`);
  const dataDir = mkdtempSync(join(tmpdir(), 'tablinum-bench-'));
  const store = { dataDir, databaseUrl: inDatabase(nodes[0] as string, database) } as Store;
  startOne = () => ServerProcess.start(store, settings);
  try {
    for (let number = 0; number < Number(options.servers); number += 1) servers.push(await startOne());
    const applications = await createApplications(Number(options.applications));
    if (applications[0]) await fill(applications[0], Number(options.rows));
    // Without a checkpoint, the recovery of a killed node must sync everything that was created.
    await onAllNodes(nodes, 'CHECKPOINT');
    const followed = applications.slice(0, 5);
    hot = followed;
    const running = [
      ...Array.from({ length: Number(options.writers) }, (_, writer) => write(writer, applications)),
      ...followed.map(follow),
      revoke(applications),
      moveAll(applications, followed, Number(options.every)),
    ];
    const seconds = Number(options.seconds);
    for (const share of [0.3, 0.3]) {
      await pause(share * seconds * 1000);
      if (options.data) await noteOutage(options.data);
      console.log({ ...counts });
    }
    await pause(0.4 * seconds * 1000);
    isStopped = true;
    const results = await Promise.allSettled(running);
    for (const result of results) if (result.status === 'rejected') console.log('ended early:', result.reason);
    await compare(applications, followed);
  } finally {
    for (const server of servers) await server.kill('SIGTERM');
    await dropReplication(nodes);
    for (const name of [database, emptyClusterDatabase]) await dropOnNodes(nodes, name).catch(console.error);
    rmSync(dataDir, { recursive: true });
  }
}

if (!options.url)
  console.log('Usage: node bench/citus-moves.ts --url <address of the coordinator> [--data <folder of a worker>]');
else await run(options.url);
