/**
 * Measures the upload and the download of one large file: the times, gets meanwhile, and the largest resident memory of
 * the server, with the storage of the engine and with a bucket.
 *
 *     npm run bench:files -- [--engine sqlite|postgres] [--storage engine|bucket] [--megabytes 2048]
 */
import { createHash, randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { S3Server } from '../packages/server/test/support/s3-server.ts';
import { Api } from './api.ts';
import { cpuMicroseconds, peakMegabytes, resetPeak, residentMegabytes, type Served } from './child.ts';
import { type Engine, places } from './places.ts';
import { account, startServer } from './server-under-test.ts';
import { formatTimes, startGets } from './steady-gets.ts';

const { values: options } = parseArgs({
  options: { engine: { type: 'string' }, storage: { type: 'string' }, megabytes: { type: 'string', default: '2048' } },
});
type Storage = 'engine' | 'bucket';
const megabyte = 1024 * 1024;
const megabytes = Number(options.megabytes);
const boundary = 'boundary-of-the-benchmark';

/** Bytes that cannot be compressed; no two megabytes are equal. */
function* makeBytes(): Generator<Buffer> {
  const block = randomBytes(megabyte);
  for (let index = 0; index < megabytes; index += 1) {
    const piece = Buffer.from(block);
    piece.writeUInt32LE(index, 0);
    yield piece;
  }
}

/** Sends the file as the part of a form. @returns its address, and the SHA-256 of what was sent. */
async function upload(port: number, token: string): Promise<{ url: string; sha256: string }> {
  const hasher = createHash('sha256');
  const form = function* (): Generator<Buffer> {
    yield Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="large.bin"\r\nContent-Type: application/octet-stream\r\n\r\n`,
    );
    for (const piece of makeBytes()) {
      hasher.update(piece);
      yield piece;
    }
    yield Buffer.from(`\r\n--${boundary}--\r\n`);
  };
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': `multipart/form-data; boundary=${boundary}`,
  };
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const outgoing = request({ port, path: '/api/files:upload', method: 'POST', headers }, async (response) => {
    const text = (await response.toArray()).join('');
    if (response.statusCode === 200) resolve(text);
    else reject(new Error(`upload: ${response.statusCode} ${text.slice(0, 400)}`));
  }).on('error', reject);
  await Promise.all([promise, pipeline(Readable.from(form()), outgoing)]);
  const { data } = JSON.parse(await promise) as { data: { url: string; size: number }[] };
  if (data[0]?.size !== megabytes * megabyte) throw new Error(`${data[0]?.size} bytes were stored`);
  return { url: data[0].url, sha256: hasher.digest('hex') };
}

/** @returns the SHA-256 of what arrives. */
async function download(port: number, token: string, path: string): Promise<string> {
  const hasher = createHash('sha256');
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${token}` } });
  if (!response.ok || !response.body) throw new Error(`download: ${response.status}`);
  for await (const piece of response.body) hasher.update(piece);
  return hasher.digest('hex');
}

/** Runs work, and prints what it cost and what other requests noticed. */
async function measure<T>(served: Served, token: string, label: string, work: () => Promise<T>): Promise<T> {
  resetPeak(served.child);
  const before = residentMegabytes(served.child);
  const stopGets = startGets(served.port, token, () => '/api/users:get?filterByTk=1');
  const [from, cpuBefore] = [performance.now(), cpuMicroseconds(served.child) ?? 0];
  const result = await work();
  const seconds = (performance.now() - from) / 1000;
  const cpu = ((cpuMicroseconds(served.child) ?? 0) - cpuBefore) / 1e6;
  const peak = peakMegabytes(served.child);
  const times = formatTimes(await stopGets());
  console.log(
    `${label}: ${megabytes} MiB in ${seconds.toFixed(1)} s (${cpu.toFixed(1)} s of processor time); ` +
      `${times}; memory ${before?.toFixed(0)} MB before, at most ${peak?.toFixed(0)} MB`,
  );
  return result;
}

async function run(engine: Engine, storage: Storage): Promise<void> {
  const place = await places(engine);
  if (!place) return;
  const s3 = storage === 'bucket' ? await S3Server.start() : null;
  const limits = { LIMIT_FILE_MB: String(megabytes + 1), LIMIT_UPLOAD_MB: String(megabytes + 1) };
  const settings = { ...limits, ...s3?.env() };
  const served = await startServer(place.dataDir, place.serverUrl, settings);
  try {
    const { token } = (await new Api(served.port).post('auth:signIn', account)).data as { token: string };
    const label = `${engine}, ${storage === 'bucket' ? 'bucket' : 'own storage'}`;
    const sent = await measure(served, token, `${label}, upload`, () => upload(served.port, token));
    const received = await measure(served, token, `${label}, download`, () => download(served.port, token, sent.url));
    if (received !== sent.sha256) throw new Error('other bytes were read than were sent');
  } finally {
    await served.stop();
    await s3?.remove();
    await place.remove();
  }
}

const engines: readonly Engine[] = options.engine ? [options.engine as Engine] : ['sqlite', 'postgres'];
const storages: readonly Storage[] = options.storage ? [options.storage as Storage] : ['engine', 'bucket'];
for (const engine of engines) for (const storage of storages) await run(engine, storage);
