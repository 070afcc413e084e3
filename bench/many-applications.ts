/**
 * Many applications on PostgreSQL or a Citus cluster: creation, connections and memory, and reads that visit all of them.
 *
 *     node bench/many-applications.ts --url postgres://…/tablinum [--applications 1000] [--servers 3] [--connections 20] [--seconds 30]
 *
 * `--url` is the address of the server or coordinator, with a role that may create databases. `--connections` is DATABASE_CONNECTIONS of
 * each server. `--clients` requests run at the same time. `--keep` keeps the database at the end; `--reuse` takes one that was kept, with the
 * applications that it has. The memory of PostgreSQL's processes is only read if they run on this machine.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
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

const { values: options } = parseArgs({
  options: {
    url: { type: 'string' },
    applications: { type: 'string', default: '1000' },
    servers: { type: 'string', default: '3' },
    connections: { type: 'string', default: '20' },
    clients: { type: 'string', default: '16' },
    seconds: { type: 'string', default: '30' },
    keep: { type: 'boolean', default: false },
    reuse: { type: 'boolean', default: false },
  },
});
const database = 'bench_many';
const settings = {
  APPLICATIONS_OPEN: options.applications,
  APPLICATION_IDLE_SECONDS: '3600',
  DATABASE_CONNECTIONS: options.connections,
  DATABASE_DURABILITY: 'unchecked',
  INIT_ROOT_EMAIL: rootEmail,
  INIT_ROOT_PASSWORD: rootPassword,
  RATE_LIMIT_CREDENTIAL: 'off',
  RATE_LIMIT_SIGN_IN: 'off',
  LOG_LEVEL: 'silent',
};

interface BenchApplication {
  readonly name: string;
  readonly token: string;
}

const failures = new Map<string, number>();

async function send(
  server: ServerProcess,
  action: string,
  { token, app = 'main', body }: { token?: string; app?: string; body?: object } = {},
): Promise<Json> {
  const reply = await sendRequest(`${server.url}/api/${action}`, {
    method: body ? 'POST' : 'GET',
    headers: {
      authorization: `Bearer ${token ?? server.token}`,
      'x-app': app,
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (reply.status < 300) return JSON.parse(reply.text);
  const failure = `${reply.status} ${reply.text.slice(0, 200)}`;
  failures.set(failure, (failures.get(failure) ?? 0) + 1);
  return null;
}

const percentile = (sorted: readonly number[], share: number): number =>
  Math.round((sorted[Math.floor(share * (sorted.length - 1))] ?? 0) * 10) / 10;

function describe(milliseconds: readonly number[]): object {
  const sorted = [...milliseconds].sort((one, other) => one - other);
  return {
    number: sorted.length,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    max: percentile(sorted, 1),
  };
}

/** Each server creates a part of the applications, with a collection of one record. */
async function create(servers: readonly ServerProcess[], count: number): Promise<BenchApplication[]> {
  const created: BenchApplication[] = [];
  const times: number[] = [];
  let next = 1;
  const createOn = async (server: ServerProcess): Promise<void> => {
    while (next <= count) {
      const name = `app${next++}`;
      const startedAt = performance.now();
      await send(server, 'applications:create', { body: { name } });
      times.push(performance.now() - startedAt);
      const { token } = (await send(server, `applications:enter?filterByTk=${name}`, { body: {} })).data;
      const fields = [{ name: 'title', type: 'string' }];
      await send(server, 'collections:create', { token, app: name, body: { name: 'notes', fields } });
      await send(server, 'notes:create', { token, app: name, body: { title: name } });
      created.push({ name, token });
      if (created.length % 100 === 0) console.log(`${created.length} applications, ${new Date().toISOString()}`);
    }
  };
  await Promise.all(servers.map(createOn));
  console.log('creation of an application, in milliseconds:', describe(times));
  return created;
}

/** The applications of an earlier run. One whose creation was interrupted is left out. */
async function findExisting(servers: readonly ServerProcess[], count: number): Promise<BenchApplication[]> {
  const found: BenchApplication[] = [];
  const { data } = await send(servers[0] as ServerProcess, 'applications:list?paginate=false');
  const names = (data as { name: string }[]).map(({ name }) => name).filter((name) => name.startsWith('app'));
  const find = async (server: ServerProcess): Promise<void> => {
    for (let name = names.pop(); name !== undefined && found.length < count; name = names.pop()) {
      const token = (await send(server, `applications:enter?filterByTk=${name}`, { body: {} }))?.data.token;
      if (await send(server, 'notes:get?filterByTk=1', { token, app: name })) found.push({ name, token });
    }
  };
  await Promise.all(servers.map(find));
  failures.clear();
  return found;
}

/** Gets that visit one application after the other, on one server after the other. */
async function visit(
  servers: readonly ServerProcess[],
  applications: readonly BenchApplication[],
  isOver: (count: number) => boolean,
): Promise<number[]> {
  const times: number[] = [];
  let next = 0;
  let wrong = 0;
  const work = async (): Promise<void> => {
    while (!isOver(next)) {
      const number = next++;
      const { name, token } = applications[number % applications.length] as BenchApplication;
      // Each server visits all applications.
      const server = servers[(number + Math.floor(number / applications.length)) % servers.length] as ServerProcess;
      const startedAt = performance.now();
      const reply = await send(server, 'notes:get?filterByTk=1', { token, app: name });
      times.push(performance.now() - startedAt);
      if (reply && reply.data?.title !== name) wrong += 1;
    }
  };
  await Promise.all(Array.from({ length: Number(options.clients) }, work));
  if (wrong > 0) console.log(`WRONG REPLIES: ${wrong}`);
  return times;
}

/** The connections of the servers to each node, and the memory of their processes that is not shared. */
async function describeNodes(nodes: readonly string[]): Promise<object[]> {
  const text = `SELECT pid FROM pg_stat_activity WHERE datname='${database}' AND backend_type='client backend' AND application_name NOT LIKE 'citus%' AND pid<>pg_backend_pid()`;
  return Promise.all(
    nodes.map(async (node) => {
      const pids = (await queryDatabase(node, text)).map(({ pid }) => Number(pid));
      const memory = pids.map(readMemory).filter((each) => each !== null);
      const megabytes = memory.map((each) => Math.round(each / 1024));
      return { node: new URL(node).port, connections: pids.length, largest: `${Math.max(0, ...megabytes)} MB` };
    }),
  );
}

function readMemory(pid: number): number | null {
  try {
    return Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return null;
  }
}

async function describeCatalogues(nodes: readonly string[]): Promise<object[]> {
  const text = `SELECT (SELECT count(*)::int FROM pg_class) AS relations,pg_size_pretty(pg_database_size(current_database())) AS size,
(SELECT pg_size_pretty(sum(pg_total_relation_size(oid))) FROM pg_class WHERE relnamespace='pg_catalog'::regnamespace AND relkind='r') AS catalogue`;
  return Promise.all(
    nodes.map(async (node) => ({
      node: new URL(node).port,
      ...(await queryDatabase(inDatabase(node, database), text))[0],
    })),
  );
}

async function countTransactions(nodes: readonly string[]): Promise<number> {
  const text = `SELECT xact_commit::int AS count FROM pg_stat_database WHERE datname='${database}'`;
  const counts = await Promise.all(nodes.map(async (node) => Number((await queryDatabase(node, text))[0]?.['count'])));
  return counts.reduce((sum, each) => sum + each, 0);
}

async function measure(
  nodes: readonly string[],
  servers: ServerProcess[],
  start: () => Promise<ServerProcess>,
): Promise<void> {
  const applications = await (options.reuse ? findExisting : create)(servers, Number(options.applications));
  const count = applications.length;
  console.log(`${count} applications`);
  console.log('catalogues:', await describeCatalogues(nodes));
  // Servers that have just started, to see what open applications need.
  for (const [index, server] of servers.entries()) {
    await server.kill('SIGTERM');
    servers[index] = await start();
  }
  const before = servers.map(({ memory }) => memory);
  const visits = count * servers.length;
  const opening = await visit(servers, applications, (number) => number >= visits);
  console.log('first get of each application on each server, which opens it:', describe(opening));
  await visit(servers, applications, (number) => number >= visits);
  console.log(
    'memory of the servers, before and with all applications open, in MB:',
    before,
    servers.map(({ memory }) => memory),
  );
  const seconds = Number(options.seconds);
  const until = performance.now() + seconds * 1000;
  const during: object[][] = [];
  const watch = setInterval(() => void describeNodes(nodes).then((each) => during.push(each)), (seconds * 1000) / 4);
  const times = await visit(servers, applications, () => performance.now() > until);
  clearInterval(watch);
  console.log('gets that visit all applications:', {
    ...describe(times),
    perSecond: Math.round(times.length / seconds),
  });
  console.log('connections meanwhile:', during.at(-1));
  const hot = applications.slice(0, 10);
  const hotUntil = performance.now() + (seconds * 1000) / 2;
  const hotTimes = await visit(servers, hot, () => performance.now() > hotUntil);
  console.log('gets of ten applications:', {
    ...describe(hotTimes),
    perSecond: Math.round((2 * hotTimes.length) / seconds),
  });
  await pause(15_000);
  console.log('connections without requests:', await describeNodes(nodes));
  const [usedBefore, countBefore] = [servers.map(({ processorTime }) => processorTime), await countTransactions(nodes)];
  await pause(20_000);
  const used = servers.map(({ processorTime }, index) => (processorTime - (usedBefore[index] ?? 0)) / 20);
  const transactions = ((await countTransactions(nodes)) - countBefore) / 20;
  console.log('without requests:', { millisecondsOfProcessorInASecond: used, transactionsInASecond: transactions });
  console.log('failures:', Object.fromEntries(failures));
}

async function run(url: string): Promise<void> {
  await buildTestServer();
  const isCluster = (await queryDatabase(url, "SELECT 1 FROM pg_extension WHERE extname='citus'")).length > 0;
  const nodes = isCluster ? await findClusterNodes(url) : [url];
  if (!options.reuse) {
    await dropOnNodes(nodes, database);
    if (isCluster) await createEmptyCluster(nodes);
    await createOnNodes(nodes, database, isCluster ? emptyClusterDatabase : 'template0');
    await onAllNodes(nodes, `ALTER DATABASE ${database} ALLOW_CONNECTIONS true`);
  }
  const dataDir = mkdtempSync(join(tmpdir(), 'tablinum-bench-'));
  const store = { dataDir, databaseUrl: inDatabase(url, database) } as Store;
  const start = (): Promise<ServerProcess> => ServerProcess.start(store, settings);
  const servers: ServerProcess[] = [];
  try {
    for (let number = 0; number < Number(options.servers); number += 1) servers.push(await start());
    await measure(nodes, servers, start);
  } finally {
    for (const server of servers) await server.kill('SIGTERM');
    if (!options.keep)
      for (const name of [database, emptyClusterDatabase]) await dropOnNodes(nodes, name).catch(console.error);
    rmSync(dataDir, { recursive: true });
  }
}

if (options.url) await run(options.url);
else console.log('Usage: node bench/many-applications.ts --url <address of PostgreSQL or of the coordinator>');
