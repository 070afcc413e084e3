/** The stores of the growth table, and what is measured on each of them. */
import { Api, inBatches } from './api.ts';
import { groupMegabytes, groupMicroseconds, type Served } from './child.ts';
import { randomFrom, requestText, runLoad } from './load.ts';
import { postAt } from './seed-data.ts';
import { account, startServer } from './server-under-test.ts';

/** One row of the table. */
export interface Growth {
  /** What grows: records, collections, applications or readers. */
  readonly dimension: Dimension;
  readonly size: number;
  readonly startMilliseconds: number;
  readonly idleMegabytes: number;
  readonly afterMegabytes: number;
  /** Seconds that the store took to be filled. */
  readonly fillSeconds: number;
  /** Null: the server refused a request, because it would take longer than the server allows. */
  readonly cases: Readonly<Record<string, Measured | null>>;
}

export interface Measured {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly cpuMicroseconds: number;
}

export const dimensions = ['records', 'collections', 'applications', 'readers'] as const;
export type Dimension = (typeof dimensions)[number];
export const caseNames = ['get by id', 'list of 20', 'search', 'create'] as const;

/** How many records the measured collection has where something else grows. */
const usualRecords = 10_000;
const differentRequests = 2000;
const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** The default of the server where a number of readers is not what is measured. */
function environmentOf(dimension: Dimension, size: number): Record<string, string> {
  return dimension === 'readers' ? { READERS: String(size) } : {};
}

async function signedIn(served: Served): Promise<Api> {
  const api = new Api(served.port);
  api.token = ((await api.post('auth:signIn', account)).data as { token: string }).token;
  return api;
}

async function fill(api: Api, dimension: Dimension, size: number): Promise<void> {
  await api.post('collections:create', {
    name: 'posts',
    fields: [
      { name: 'title', type: 'string' },
      { name: 'body', type: 'text' },
      { name: 'views', type: 'integer', index: true },
      { name: 'published', type: 'boolean' },
      { name: 'posted', type: 'integer', index: true },
    ],
  });
  const records = dimension === 'records' ? size : usualRecords;
  const post = (index: number): object => {
    const { author: _, ...row } = postAt(index);
    return { ...row, posted: index };
  };
  await inBatches(records, post, (batch) => api.post('posts:create', batch));
  if (dimension === 'collections') {
    const fields = ['a', 'b', 'c'].map((name) => ({ name, type: 'string' }));
    for (let index = 2; index <= size; index += 1)
      await api.post('collections:create', { name: `collection${index}`, fields });
  }
  if (dimension === 'applications')
    for (let index = 2; index <= size; index += 1) await api.post('applications:create', { name: `app${index}` });
}

function requestsOf(token: string, records: number): Readonly<Record<(typeof caseNames)[number], string[]>> {
  const random = randomFrom(20_261_124);
  const many = (make: () => string): string[] => Array.from({ length: differentRequests }, make);
  const get = (path: string): string => requestText('GET', `/api/${path}`, token);
  const list = (): string => {
    const filter = encodeURIComponent(JSON.stringify({ published: true, views: { $lt: 5000 + random(5000) } }));
    return get(`posts:list?filter=${filter}&sort=-posted&pageSize=20&count=none`);
  };
  // A word that occurs in a single record, among the newest ten thousand, so that a scan by `posted` finds it at the
  // same depth.
  const search = (): string =>
    get(
      `posts:list?search=${encodeURIComponent(`number ${records - random(10_000)}`)}&searchFields=title&sort=-posted&pageSize=1&count=none`,
    );
  const create = (): string =>
    requestText('POST', '/api/posts:create', token, { title: 'New', body: 'b'.repeat(220), views: 1, posted: 0 });
  return {
    'get by id': many(() => get(`posts:get?filterByTk=${1 + random(records)}`)),
    'list of 20': many(list),
    search: many(search),
    create: many(create),
  };
}

async function load(served: Served, requests: readonly string[], clients: number): Promise<Measured> {
  const [milliseconds, warmMilliseconds] = [3000, 2000];
  const before = groupMicroseconds(served.child);
  const result = await runLoad({ port: served.port, clients, warmMilliseconds, milliseconds, requests, expect: 200 });
  const requested = (result.count * (milliseconds + warmMilliseconds)) / milliseconds;
  const { perSecond, p50, p99 } = result;
  return { perSecond, p50, p99, cpuMicroseconds: (groupMicroseconds(served.child) - before) / requested };
}

function nullIfTooSlow(error: Error): null {
  if (error.message.includes('QUERY_TIMEOUT')) return null;
  throw error;
}

/** Fills a store of one size, starts the server on it again, and measures. */
export async function grow(folder: string, dimension: Dimension, size: number): Promise<Growth> {
  const env = environmentOf(dimension, size);
  const first = await startServer(folder, null, env);
  const from = performance.now();
  await fill(await signedIn(first), dimension, size);
  const fillSeconds = (performance.now() - from) / 1000;
  await first.stop();
  const times: number[] = [];
  for (let round = 0; round < 2; round += 1) {
    const served = await startServer(folder, null, env);
    times.push(served.startMilliseconds);
    await served.stop();
  }
  const served = await startServer(folder, null, env);
  times.push(served.startMilliseconds);
  await pause(3000);
  const idleMegabytes = groupMegabytes(served.child);
  const { token } = await signedIn(served);
  const requests = requestsOf(token!, dimension === 'records' ? size : usualRecords);
  const cases: Record<string, Measured | null> = {};
  // Searches without an index can take seconds each; a bounded number of them runs at once.
  for (const name of caseNames)
    cases[name] = await load(served, requests[name], name === 'search' ? 2 : 32).catch(nullIfTooSlow);
  const afterMegabytes = groupMegabytes(served.child);
  await served.stop();
  const startMilliseconds = times.sort((a, b) => a - b)[1]!;
  return { dimension, size, startMilliseconds, idleMegabytes, afterMegabytes, fillSeconds, cases };
}
