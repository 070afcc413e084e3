/** Gets of e-mails and of ordinary records in a thread, so that the work of the benchmark does not delay them. */
import { parentPort, workerData } from 'node:worker_threads';
import { Api } from './api.ts';
import { startGets } from './steady-gets.ts';

export interface GetsRequest {
  readonly port: number;
  readonly token: string;
  /** Number of records of the collection `probes`. */
  readonly probes: number;
  /** How many of the newest e-mails are read: older ones are deleted meanwhile. */
  readonly emails: number;
}

/** Of the 100 gets in a second, half are of e-mails. */
const connections = 2;
/** One page of keys is read at a time, which delays the gets little. */
const refreshMilliseconds = 2000;
const pageSize = 100;

const { port, token, probes, emails } = workerData as GetsRequest;
const api = new Api(port);
api.token = token;
/** Keys of the e-mails that are read. */
let known: readonly number[] = [];
let after = '';

/** Reads the next page of keys; after the wanted number of keys, the first page again. */
async function refresh(): Promise<void> {
  const { data, meta } = await api.call('GET', `emails?pageSize=${pageSize}&fields=id${after}`);
  const keys = (data as { id: number }[]).map(({ id }) => id);
  known = [...(after === '' ? [] : known), ...keys];
  const isLast = !meta?.nextCursor || known.length >= emails;
  after = isLast ? '' : `&after=${encodeURIComponent(meta.nextCursor ?? '')}`;
}

const pathOfRecord = (index: number): string => `/api/probes:get?filterByTk=${1 + ((index * 7919) % probes)}`;
const pathOfEmail = (index: number): string =>
  known.length === 0 ? pathOfRecord(index) : `/api/emails:get?filterByTk=${known[(index * 7919) % known.length]}`;

await refresh();
const timer = setInterval(() => void refresh(), refreshMilliseconds);
const stops = [startGets(port, token, pathOfEmail, connections), startGets(port, token, pathOfRecord, connections)];
parentPort!.once('message', async () => {
  clearInterval(timer);
  const [emails, records] = await Promise.all(stops.map((stop) => stop()));
  parentPort!.postMessage({ emails, records });
});
