/**
 * Measures what listening costs: memory of idle sockets, messages to many subscribers, and whether updates of a collection
 * that keeps history slow down as log and history grow.
 *
 *     npm run bench:events -- [--engine sqlite|postgres] [--idle 2000] [--events 20000] [--updates 200000]
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Api, inBatches } from './api.ts';
import { cpuMicroseconds, residentMegabytes, type Served } from './child.ts';
import { type Engine, places } from './places.ts';
import { account, startServer } from './server-under-test.ts';

const { values: options } = parseArgs({
  options: {
    engine: { type: 'string' },
    idle: { type: 'string', default: '2000' },
    events: { type: 'string', default: '20000' },
    updates: { type: 'string', default: '200000' },
  },
});
const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function signedIn(served: Served): Promise<Api> {
  const api = new Api(served.port);
  api.token = ((await api.post('auth:signIn', account)).data as { token: string }).token;
  return api;
}

/** Listeners that report how many messages they have received. */
class Listeners {
  received = 0;
  readonly #child;
  readonly ready: Promise<void>;

  constructor(port: number, token: string, count: number) {
    const program = fileURLToPath(new URL('./events-listeners.ts', import.meta.url));
    this.#child = spawn(process.execPath, [program, String(port), token, String(count)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ready = promise;
    this.#child.stdout.on('data', (text: Buffer) => {
      for (const line of String(text).trim().split('\n'))
        if (line === 'ready') resolve();
        else this.received = Number(line);
    });
  }

  async until(count: number): Promise<void> {
    while (this.received < count) await pause(2);
  }

  end(): void {
    this.#child.kill();
  }
}

async function idle(served: Served, api: Api, count: number): Promise<void> {
  const before = residentMegabytes(served.child)!;
  const listeners = new Listeners(served.port, api.token!, count);
  await listeners.ready;
  await pause(3000);
  const after = residentMegabytes(served.child)!;
  const each = ((after - before) * 1024) / count;
  console.log(`  ${count} idle sockets: ${before.toFixed(0)} MB -> ${after.toFixed(0)} MB, ${each.toFixed(0)} KB each`);
  listeners.end();
  await pause(500);
}

async function fanOut(served: Served, api: Api, subscribers: number, events: number): Promise<void> {
  const listeners = new Listeners(served.port, api.token!, subscribers);
  await listeners.ready;
  await inBatches(
    2000,
    (n) => ({ n }),
    (batch) => api.post('things:create', batch),
  );
  await listeners.until(2000 * subscribers);
  const cpu = cpuMicroseconds(served.child)!;
  const begun = performance.now();
  await inBatches(
    events,
    (n) => ({ n }),
    (batch) => api.post('things:create', batch),
  );
  const written = (performance.now() - begun) / 1000;
  await listeners.until((2000 + events) * subscribers);
  const seconds = (performance.now() - begun) / 1000;
  const messages = events * subscribers;
  const each = (cpuMicroseconds(served.child)! - cpu) / messages;
  console.log(
    `  ${subscribers} subscribers: ${Math.round(events / seconds)} events/s, ${Math.round(messages / seconds)} messages/s, ${each.toFixed(1)} µs of processor each (written in ${written.toFixed(1)} s, received after ${seconds.toFixed(1)} s)`,
  );
  listeners.end();
}

/**
 * Measures single updates before and after many bulk updates: with retention on, old entries must not slow them down.
 */
async function growth(api: Api, updates: number): Promise<void> {
  const fields = [
    { name: 'n', type: 'integer' },
    { name: 'title', type: 'string' },
  ];
  await api.post('collections:create', { name: 'kept', fields, options: { logging: true } });
  await inBatches(
    1000,
    (n) => ({ n, title: `number ${n}` }),
    (batch) => api.post('kept:create', batch),
  );
  let value = 0;
  const singles = async (): Promise<string> => {
    const times: number[] = [];
    for (let n = 0; n < 2000; n += 1) {
      value += 1;
      const begun = performance.now();
      await api.post(`kept:update?filterByTk=${1 + (n % 1000)}`, { n: value });
      times.push(performance.now() - begun);
    }
    times.sort((one, other) => one - other);
    const at = (part: number): string => times[Math.floor(times.length * part)]!.toFixed(2);
    return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
  };
  await singles(); // warms up
  const first = await singles();
  const begun = performance.now();
  for (let done = 0; done < updates; done += 1000) {
    value += 1;
    await api.post('kept:update?filter={"id":{"$gt":0}}&fields=id', { n: value });
  }
  const atRest = async (): Promise<string> => {
    await pause(15_000); // the clean-up by retention and by the engine has ended
    return singles();
  };
  const rate = Math.round(updates / ((performance.now() - begun) / 1000));
  console.log(`  ${updates} updates with history (${rate}/s in bulk)`);
  console.log(`    first ${first}; then ${await singles()}; at rest ${await atRest()}`);
}

const engines: readonly Engine[] = options.engine ? [options.engine as Engine] : ['sqlite', 'postgres'];
for (const engine of engines) {
  const place = await places(engine);
  if (!place) continue;
  const served = await startServer(place.dataDir, place.serverUrl, {
    REALTIME_SOCKETS: '50000',
    EVENTS_ENTRIES: '50000',
  });
  console.log(engine);
  const api = await signedIn(served);
  await api.post('collections:create', { name: 'things', fields: [{ name: 'n', type: 'integer' }] });
  if (Number(options.idle) > 0) await idle(served, api, Number(options.idle));
  if (Number(options.events) > 0) await fanOut(served, api, 50, Number(options.events));
  if (Number(options.updates) > 0) await growth(api, Number(options.updates));
  await served.stop();
  await place.remove();
}
