/**
 * Measures imports of large files, and what other requests notice of them: the time, gets on four connections meanwhile, and the
 * largest resident memory of the server.
 *
 *     npm run bench:imports -- [--engine sqlite|postgres] [--rows 100000]
 */
import { parseArgs } from 'node:util';
import { Api } from './api.ts';
import { cpuMicroseconds, peakMegabytes, type Served } from './child.ts';
import { type Engine, places } from './places.ts';
import { account, startServer } from './server-under-test.ts';
import { formatTimes, startGets } from './steady-gets.ts';

const { values: options } = parseArgs({
  options: { engine: { type: 'string' }, rows: { type: 'string', default: '100000' } },
});
const rows = Number(options.rows);
const probes = 1000;
/** Gets without an import show how fast the machine is. */
const baselineMilliseconds = 5000;
const statuses = ['new', 'open', 'done', 'lost'];
const fields = [
  { name: 'name', type: 'string', required: true },
  { name: 'email', type: 'email', unique: true },
  { name: 'quantity', type: 'integer' },
  { name: 'price', type: 'decimal', precision: 10, scale: 2 },
  { name: 'rate', type: 'double' },
  { name: 'active', type: 'boolean' },
  { name: 'due', type: 'date' },
  { name: 'seenAt', type: 'datetime' },
  { name: 'status', type: 'select', enum: statuses },
  { name: 'notes', type: 'text' },
];

function makeRecord(index: number): Record<string, string | number | boolean> {
  const time = new Date(Date.UTC(2020, 0, 1) + index * 3_601_000).toISOString();
  return {
    name: `Person number ${index}`,
    email: `person${index}@example.com`,
    quantity: (index * 7) % 10_000,
    price: (((index * 37) % 1_000_000) / 100).toFixed(2),
    rate: index / 7,
    active: index % 3 === 0,
    due: time.slice(0, 10),
    seenAt: time,
    status: statuses[index % statuses.length]!,
    notes: `Notes about record ${index}, "quoted" and longer than the other cells; ${'x'.repeat(index % 100)}`,
  };
}

function makeCsv(): Uint8Array<ArrayBuffer> {
  const toCell = (value: unknown): string => `"${String(value).replaceAll('"', '""')}"`;
  const lines = Array.from({ length: rows }, (_, index) =>
    Object.values(makeRecord(index + 1))
      .map(toCell)
      .join(','),
  );
  return new TextEncoder().encode([fields.map(({ name }) => name).join(','), ...lines, ''].join('\r\n'));
}

const contentTypes = {
  csv: 'text/csv',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
} as const;

async function send(
  served: Served,
  token: string,
  path: string,
  body?: Uint8Array<ArrayBuffer>,
  type?: string,
): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, ...(type && { 'content-type': type }) };
  const response = await fetch(`http://127.0.0.1:${served.port}/api/${path}`, {
    headers,
    ...(body && { method: 'POST', body }),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${(await response.text()).slice(0, 400)}`);
  return response;
}

/** One import on a server of its own, because a process does not return its memory. */
async function measure(
  engine: Engine,
  format: 'csv' | 'xlsx',
  dryRun: boolean,
  file: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const place = await places(engine);
  if (!place) return file;
  const served = await startServer(place.dataDir, place.serverUrl);
  try {
    const api = new Api(served.port);
    const { token } = (await api.post('auth:signIn', account)).data as { token: string };
    api.token = token;
    for (const name of ['items', 'probes']) await api.post('collections:create', { name, fields });
    await api.post(
      'probes:create',
      Array.from({ length: probes }, (_, index) => makeRecord(index + 1)),
    );
    const start = (): ReturnType<typeof startGets> =>
      startGets(served.port, token, (index) => `/api/probes:get?filterByTk=${1 + ((index * 7919) % probes)}`);
    const stopBaseline = start();
    await new Promise((resolve) => setTimeout(resolve, baselineMilliseconds));
    const baseline = await stopBaseline();
    const stopGets = start();
    const [from, cpuBefore] = [performance.now(), cpuMicroseconds(served.child)];
    const mode = dryRun ? 'dryRun' : 'wait';
    const reply = await send(served, token, `items:import?${mode}=true`, file, contentTypes[format]);
    const seconds = (performance.now() - from) / 1000;
    const times = await stopGets();
    const { data } = (await reply.json()) as { data: { created: number } };
    if (data.created !== rows) throw new Error(`only ${data.created} of ${rows} rows were imported`);
    const cpu = cpuBefore === null ? 0 : ((cpuMicroseconds(served.child) ?? 0) - cpuBefore) / 1e6;
    console.log(
      `${engine}, ${format}${dryRun ? ', dry run' : ''}: ${rows} rows in ${seconds.toFixed(1)} s (${cpu.toFixed(1)} s of processor time); ` +
        `${formatTimes(times)} (before the import: ${formatTimes(baseline)}); ${peakMegabytes(served.child)?.toFixed(0)} MB`,
    );
    if (format === 'xlsx' || dryRun) return file;
    const names = fields.map(({ name }) => name).join(',');
    return new Uint8Array(await (await send(served, token, `items:export?format=xlsx&fields=${names}`)).arrayBuffer());
  } finally {
    await served.stop();
    await place.remove();
  }
}

const engines: readonly Engine[] = options.engine ? [options.engine as Engine] : ['sqlite', 'postgres'];
const csv = makeCsv();
for (const engine of engines) {
  await measure(engine, 'csv', true, csv);
  const xlsx = await measure(engine, 'csv', false, csv);
  if (xlsx !== csv) await measure(engine, 'xlsx', false, xlsx);
}
