/**
 * Measures the server against a bare program on the same engine, in the same run, turn by turn.
 *
 *     npm run bench -- [--engine sqlite|postgres] [--json FILE] [--quick] [--only text]
 */
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { inBatches } from './api.ts';
import { type Case, makeCases } from './cases.ts';
import { cpuMicroseconds, residentMegabytes, type Served, serve } from './child.ts';
import { type LoadResult, requestText, runLoad } from './load.ts';
import { type Engine, type Places, places } from './places.ts';
import { postCount } from './seed-data.ts';
import { type Prepared, prepare, startServer } from './server-under-test.ts';

/** With the processor time that one request took of the server, all its threads together. */
type Loaded = LoadResult & { readonly cpuMicroseconds: number | null };

interface Figure {
  readonly name: string;
  readonly server: Loaded;
  readonly yardstick: Loaded;
  readonly ratio: number;
  readonly target: number | null;
}

const { values: options } = parseArgs({
  options: {
    engine: { type: 'string' },
    json: { type: 'string' },
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
  },
});
const milliseconds = options.quick ? 500 : 1000;
const warmMilliseconds = options.quick ? 100 : 200;
/** After about five seconds of load, the machine code of a code path no longer changes. */
const firstWarmMilliseconds = options.quick ? 500 : 4000;
/** Many short turns: the speed of a shared machine varies within seconds, so each ratio compares neighbouring turns. */
const rounds = options.quick ? 5 : 11;
const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

/** The cursor of row 80,000: pages of 1,000 to there. A cursor does not depend on the page size. */
async function cursorAt80000({ api }: Prepared): Promise<string> {
  let after = '';
  for (let page = 0; page < 80; page += 1) {
    const { meta } = await api.call(
      'GET',
      `posts:list?sort=-createdAt&pageSize=1000&count=none&fields=id${after && `&after=${after}`}`,
    );
    after = meta!.nextCursor!;
  }
  return after;
}

async function loaded(
  served: Served,
  requests: readonly string[],
  clients: number,
  warmMilliseconds: number,
): Promise<Loaded> {
  const before = cpuMicroseconds(served.child);
  const result = await runLoad({ port: served.port, clients, warmMilliseconds, milliseconds, requests, expect: 200 });
  const after = cpuMicroseconds(served.child);
  const whole = (milliseconds + warmMilliseconds) / milliseconds;
  return {
    ...result,
    cpuMicroseconds: before === null || after === null ? null : (after - before) / (result.count * whole),
  };
}

async function measure(each: Case, server: Served, yardstick: Served, engine: Engine): Promise<Figure> {
  const ours: Loaded[] = [];
  const theirs: Loaded[] = [];
  const bare =
    'sameAs' in each.yardstick
      ? { served: server, requests: byName.get(each.yardstick.sameAs)!.server }
      : { served: yardstick, requests: each.yardstick };
  // Round 0 is a warm-up of both: the machine code of a path is generated when the path is first executed.
  for (let round = 0; round <= rounds; round += 1) {
    const warm = round === 0 ? firstWarmMilliseconds : warmMilliseconds;
    const other = await loaded(bare.served, bare.requests, each.clients, warm);
    const own = await loaded(server, each.server, each.clients, warm);
    if (round === 0) continue;
    theirs.push(other);
    ours.push(own);
  }
  const middle = (results: Loaded[]): Loaded => results.sort((a, b) => a.perSecond - b.perSecond)[rounds >> 1]!;
  const ratio = median(ours.map((result, round) => result.perSecond / theirs[round]!.perSecond));
  return {
    name: each.name,
    server: middle(ours),
    yardstick: middle(theirs),
    ratio,
    target: each.target[engine] ?? null,
  };
}

const byName = new Map<string, Case>();

function print(figure: Figure): void {
  const { server, yardstick, ratio, target } = figure;
  const number = (value: number | null, digits = 0): string => (value?.toFixed(digits) ?? '-').padStart(9);
  const side = (loaded: Loaded): string =>
    number(loaded.perSecond) + number(loaded.p50, 2) + number(loaded.p99, 2) + number(loaded.cpuMicroseconds);
  const verdict = target === null ? '' : ratio >= target ? `>= ${target} reached` : `>= ${target} MISSED`;
  console.log(`${figure.name.padEnd(48)}${side(server)}${side(yardstick)}${number(ratio, 2)}  ${verdict}`);
}

/** p99 of gets while four clients scan a million rows that no index helps with. */
async function underScans({ api, admin, served }: Prepared): Promise<object> {
  const rows = options.quick ? 100_000 : 1_000_000;
  await api.post('collections:create', {
    name: 'bulk',
    fields: [
      { name: 'n', type: 'integer' },
      { name: 'words', type: 'string' },
    ],
    options: { timestamps: false },
  });
  await inBatches(
    rows,
    (index) => ({ n: index, words: `some words about number ${index}` }),
    (batch) => api.post('bulk:create', batch),
  );
  const scan = `bulk:list?count=none&filter=${encodeURIComponent('{"words":{"$includes":"nothing like this"}}')}`;
  const until = performance.now() + (options.quick ? 4000 : 8000);
  let scans = 0;
  let refused = 0;
  const scanner = async (): Promise<void> => {
    while (performance.now() < until)
      await api.call('GET', scan).then(
        () => (scans += 1),
        () => (refused += 1),
      );
  };
  const scanners = [scanner(), scanner(), scanner(), scanner()];
  await new Promise((resolve) => setTimeout(resolve, 500));
  const requests = Array.from({ length: 1000 }, (_, index) =>
    requestText('GET', `/api/posts:get?filterByTk=${1 + index * 90}`, admin),
  );
  const result = await runLoad({
    port: served.port,
    clients: 8,
    warmMilliseconds: 500,
    milliseconds: options.quick ? 2000 : 5000,
    requests,
    expect: 200,
  });
  await Promise.all(scanners);
  console.log(
    `get beside scans of ${rows} rows: ${result.perSecond.toFixed(0)}/s, p50 ${result.p50.toFixed(2)} ms, p99 ${result.p99.toFixed(2)} ms (target < 20), ${scans} scans done, ${refused} refused`,
  );
  return { rows, ...result, scans, refused };
}

/** Lines a second of all posts, without pages: neighbouring turns of the server and the bare program. */
async function streams({ served, admin }: Prepared, yardstick: Served): Promise<object> {
  const perSecond = async (port: number, path: string, encoding = 'identity'): Promise<number> => {
    const from = performance.now();
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
      headers: { authorization: `Bearer ${admin}`, accept: 'application/x-ndjson', 'accept-encoding': encoding },
    });
    let lines = 0;
    for await (const piece of reply.body!) for (const byte of piece) if (byte === 10) lines += 1;
    return lines / ((performance.now() - from) / 1000);
  };
  const path = '/api/posts:list?paginate=false';
  const own: number[] = [];
  const bare: number[] = [];
  const compressed: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    bare.push(await perSecond(yardstick.port, '/lines'));
    own.push(await perSecond(served.port, path));
    compressed.push(await perSecond(served.port, path, 'gzip'));
  }
  const ratio = median(own.map((figure, round) => figure / bare[round]!));
  console.log(
    `NDJSON of ${postCount} posts: ${median(own).toFixed(0)} lines/s, bare ${median(bare).toFixed(0)}, ratio ${ratio.toFixed(2)}; with gzip ${median(compressed).toFixed(0)} lines/s`,
  );
  return { perSecond: median(own), bare: median(bare), ratio, compressedPerSecond: median(compressed) };
}

/** Memory after ten thousand different searches, while the server is busy and when it has been idle for fifteen seconds. */
async function searches({ served, admin }: Prepared): Promise<object> {
  const requests = Array.from({ length: 10_000 }, (_, index) =>
    requestText('GET', `/api/users:list?search=${encodeURIComponent(`User ${index}`)}&searchFields=name,email`, admin),
  );
  let sent = 0;
  while (sent < requests.length) {
    const load = { port: served.port, clients: 8, warmMilliseconds: 0, milliseconds: 2000, expect: 200 };
    sent += (await runLoad({ ...load, requests: requests.slice(sent) })).count;
  }
  const busy = residentMegabytes(served.child);
  await new Promise((resolve) => setTimeout(resolve, 15_000));
  const idle = residentMegabytes(served.child);
  console.log(
    `after 10,000 different searches ${busy?.toFixed(0)} MB, after 15 s ${idle?.toFixed(0)} MB (target < 250)`,
  );
  return { busyMegabytes: busy, idleMegabytes: idle };
}

async function coldStarts(place: Places): Promise<object> {
  const times: number[] = [];
  let idle: number | null = null;
  let idleLater: number | null = null;
  for (let round = 0; round < 5; round += 1) {
    const served = await startServer(place.dataDir, place.serverUrl);
    times.push(served.startMilliseconds);
    if (round === 4) {
      idle = residentMegabytes(served.child);
      await new Promise((resolve) => setTimeout(resolve, 15_000));
      idleLater = residentMegabytes(served.child);
    }
    await served.stop();
  }
  console.log(
    `cold start to the first 200: ${median(times).toFixed(0)} ms (target < 250); idle memory ${idle?.toFixed(0)} MB, after 15 s ${idleLater?.toFixed(0)} MB (target < 95)`,
  );
  return { startMilliseconds: median(times), idleMegabytes: idle, idleLaterMegabytes: idleLater };
}

async function bench(engine: Engine): Promise<object | null> {
  const place = await places(engine);
  if (!place) return null;
  const figures: Figure[] = [];
  try {
    console.log(`\n${engine}: filling`);
    const yardstick = await serve(`./yardstick-${engine}.ts`, [], place.yardstickEnv, '/ready');
    const served = await startServer(place.dataDir, place.serverUrl);
    const prepared = await prepare(served);
    if (place.serverUrl) await analyse(place.serverUrl);
    const cases = makeCases(prepared, await cursorAt80000(prepared));
    for (const each of cases) byName.set(each.name, each);
    console.log(
      `${''.padEnd(48)}${['req/s', 'p50 ms', 'p99 ms', 'cpu µs', 'bare/s', 'p50 ms', 'p99 ms', 'cpu µs', 'ratio'].map((title) => title.padStart(9)).join('')}`,
    );
    for (const each of cases.filter((one) => !options.only || one.name.includes(options.only))) {
      const figure = await measure(each, served, yardstick, engine);
      figures.push(figure);
      print(figure);
    }
    const lines = !options.only || 'ndjson'.includes(options.only) ? await streams(prepared, yardstick) : null;
    const scans =
      engine === 'sqlite' && (!options.only || 'scans'.includes(options.only)) ? await underScans(prepared) : null;
    const loadedMegabytes = residentMegabytes(served.child);
    console.log(`loaded memory ${loadedMegabytes?.toFixed(0)} MB (target < 250)`);
    const searched = await searches(prepared);
    await yardstick.stop();
    await served.stop();
    const starts = await coldStarts(place);
    return { engine, figures, lines, scans, loadedMegabytes, searched, ...starts };
  } finally {
    await place.remove();
  }
}

async function analyse(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('ANALYZE');
  await client.end();
}

const engines: Engine[] = options.engine === undefined ? ['sqlite', 'postgres'] : [options.engine as Engine];
const results: (object | null)[] = [];
for (const engine of engines) results.push(await bench(engine));
if (options.json) {
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length };
  writeFileSync(
    options.json,
    `${JSON.stringify({ date: new Date().toISOString(), ...machine, quick: options.quick, results }, null, 2)}\n`,
  );
}
process.exit(0);
