/**
 * Measures backups, restores and moves of one large application, and what requests notice of them.
 *
 *     npm run bench:backup -- [--engine sqlite|postgres] [--megabytes 1000]
 *
 * The application has records, files and e-mails. It is backed up during 100 gets in a second, verified, restored as a copy, moved to the
 * other engine and back. After each step, its counts and checksums are compared.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Api } from './api.ts';
import { peakMegabytes, type Served } from './child.ts';
import { type Engine, places } from './places.ts';
import { account, commandFlags, startServer } from './server-under-test.ts';
import { formatTimes, startGets } from './steady-gets.ts';

const { values: options } = parseArgs({
  options: { engine: { type: 'string', default: 'sqlite' }, megabytes: { type: 'string', default: '1000' } },
});
const engine = options.engine as Engine;
const megabytes = Number(options.megabytes);
/** A twentieth of the bytes are e-mails, a tenth files, and the rest records of about 2 kB. */
const shares = { mail: 0.05, files: 0.1 };
const recordBytes = 2000;
const fileBytes = 1_000_000;
const mailBytes = 20_000;
const app = 'shop';
const late = 'created during a move';
const program = fileURLToPath(new URL('../packages/server/bin/tablinum.js', import.meta.url));
const word = (index: number): string => createHash('sha256').update(String(index)).digest('base64');
/** Text that compresses about as little as prose of the same length. */
const text = (index: number, bytes: number): string =>
  Array.from({ length: Math.ceil(bytes / 44) }, (_, part) => word(index * 1000 + part))
    .join(' ')
    .slice(0, bytes);

class Side {
  readonly engine: Engine;
  readonly served: Served;
  readonly dataDir: string;
  readonly url: string | null;
  readonly api: Api;
  inApp = '';

  constructor(engine: Engine, served: Served, dataDir: string, url: string | null) {
    this.engine = engine;
    this.served = served;
    this.dataDir = dataDir;
    this.url = url;
    this.api = new Api(served.port);
  }

  get env(): Record<string, string> {
    return {
      PATH: process.env['PATH'] ?? '',
      TMPDIR: tmpdir(),
      DATA_DIR: this.dataDir,
      ...(this.url && { DATABASE_URL: this.url }),
      DATABASE_DURABILITY: 'unchecked',
    };
  }

  async enter(name = app): Promise<void> {
    this.inApp = ((await this.api.post(`applications:enter?filterByTk=${name}`, {})).data as { token: string }).token;
  }

  async inApplication(path: string, body?: string | FormData, type = 'application/json', name = app): Promise<never> {
    const response = await fetch(`http://127.0.0.1:${this.served.port}/api/${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${this.inApp}`,
        'x-app': name,
        ...(body !== undefined && !(body instanceof FormData) && { 'content-type': type }),
      },
      ...(body !== undefined && { body }),
    });
    const reply = await response.text();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${reply.slice(0, 400)}`);
    return JSON.parse(reply) as never;
  }

  /** Counts of records, files and e-mails, and a checksum of all values of the records, without those that are created during the moves. */
  async sum(name = app): Promise<string> {
    await this.enter(name);
    const hash = createHash('sha256');
    const counts: number[] = [];
    for (const collection of ['files', 'emails']) {
      const { meta } = (await this.inApplication(`${collection}:list?pageSize=1&count=exact`, undefined, '', name)) as {
        meta: { count: number };
      };
      counts.push(meta.count);
    }
    const filter = encodeURIComponent(JSON.stringify({ title: { $ne: late } }));
    const path = `items:export?format=csv&sort=id&filter=${filter}`;
    const response = await fetch(`http://127.0.0.1:${this.served.port}/api/${path}`, {
      headers: { authorization: `Bearer ${this.inApp}`, 'x-app': name },
    });
    let lines = 0;
    for await (const chunk of response.body!) {
      hash.update(chunk);
      for (const byte of chunk) if (byte === 10) lines += 1;
    }
    counts.unshift(lines - 1);
    return `${counts.join('/')} ${hash.digest('hex').slice(0, 16)}`;
  }
}

async function fill(side: Side): Promise<void> {
  const { api } = side;
  api.token = ((await api.post('auth:signIn', account)).data as { token: string }).token;
  await api.post('applications:create', { name: app });
  await side.enter();
  const fields = [
    { name: 'title', type: 'string' },
    { name: 'body', type: 'text' },
    { name: 'n', type: 'integer', index: true },
    { name: 'parent', type: 'belongsTo', target: 'items', foreignKey: 'parentId' },
  ];
  await side.inApplication('collections:create', JSON.stringify({ name: 'items', fields }));
  // A record takes more than twice its size, because its text is also in the event log.
  const records = Math.floor(((1 - shares.mail - shares.files) * megabytes * 1e6) / (2.4 * recordBytes));
  for (let from = 0; from < records; from += 1000) {
    const batch = Array.from({ length: Math.min(1000, records - from) }, (_, index) => ({
      title: `Item ${from + index}`,
      body: text(from + index, recordBytes),
      n: from + index,
      parentId: from === 0 ? null : 1 + ((from + index) % 1000),
    }));
    await side.inApplication('items:create', JSON.stringify(batch));
  }
  for (let index = 0; index < (shares.files * megabytes * 1e6) / fileBytes; index += 1) {
    const form = new FormData();
    form.append('file', new Blob([text(index * 7, fileBytes)], { type: 'text/plain' }), `file${index}.txt`);
    await side.inApplication('files:upload', form);
  }
  await side.inApplication('accounts:create', JSON.stringify({ name: 'Shop', address: 'shop@example.com' }));
  const messages = (shares.mail * megabytes * 1e6) / mailBytes;
  for (let from = 0; from < messages; from += 250) {
    const mbox = Array.from({ length: Math.min(250, messages - from) }, (_, index) => makeMessage(from + index)).join(
      '',
    );
    await side.inApplication('emails:import?account=shop@example.com', mbox, 'application/mbox');
  }
}

function makeMessage(index: number): string {
  const body = text(index * 3, mailBytes).replace(/(.{70})/g, '$1\n');
  return `From person@example.com Sat Nov 28 00:00:00 2026
From: Person ${index} <person${index % 50}@example.com>
To: root@example.com
Subject: Message ${index}
Message-ID: <${index}@example.com>
Date: Sat, 28 Nov 2026 ${String(index % 24).padStart(2, '0')}:00:00 +0000

${body}

`;
}

const gets = (side: Side): ReturnType<typeof startGets> =>
  startGets(side.served.port, side.api.token!, (index) => `/api/probes:get?filterByTk=${1 + (index % 100)}`);

/** Waits for the end of a job. */
async function end(side: Side, id: string): Promise<void> {
  for (;;) {
    const { data } = await side.api.call('GET', `backups:get?filterByTk=${id}`);
    const { status, problem, bytes } = data as { status: string; problem: string | null; bytes: number | null };
    if (status === 'done') return void (bytes && console.log(`  backup of ${(bytes / 1e6).toFixed(0)} MB`));
    if (status === 'failed') throw new Error(problem ?? 'failed');
    await pause(100);
  }
}

async function timed<T>(name: string, side: Side, work: () => Promise<T>): Promise<T> {
  const stop = gets(side);
  const from = performance.now();
  const result = await work();
  const seconds = (performance.now() - from) / 1000;
  const times = await stop();
  console.log(
    `${side.engine}: ${name} ${seconds.toFixed(1)} s; ${formatTimes(times)}; server at most ${peakMegabytes(side.served.child)?.toFixed(0)} MB`,
  );
  return result;
}

/** Runs a command of the operator. @returns its output, with the largest resident memory in MB. */
function command(
  side: Side,
  args: readonly string[],
  more: Record<string, string> = {},
): Promise<{ output: string; peak: number }> {
  let peak = 0;
  return new Promise((resolve, reject) => {
    const child = execFile(
      process.execPath,
      [...commandFlags, program, ...args],
      { env: { ...side.env, APP_KEY: 'bench bench bench bench bench bench bench bench', ...more }, maxBuffer: 1e8 },
      (error, stdout, stderr) => {
        clearInterval(timer);
        if (error) reject(new Error(`${args.join(' ')}: ${stdout}${stderr}`));
        else resolve({ output: stdout + stderr, peak });
      },
    );
    const timer = setInterval(() => {
      try {
        const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
        peak = Math.max(peak, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
      } catch {}
    }, 200);
  });
}

/** Moves the application while it gets twenty writes in a second, and measures how long they are refused. */
async function move(from: Side, to: Side): Promise<void> {
  let isRunning = true;
  let longest = 0;
  let accepted = 0;
  const writer = (async () => {
    let refusedSince: number | null = null;
    let target = from;
    for (let index = 0; isRunning; index += 1) {
      try {
        await target.inApplication('items:create', JSON.stringify({ title: late, n: -index }));
        accepted += 1;
        if (refusedSince !== null) longest = Math.max(longest, performance.now() - refusedSince);
        refusedSince = null;
      } catch {
        refusedSince ??= performance.now();
        const other = target === from ? to : from;
        // The target serves the application as soon as it is started there.
        await other
          .enter()
          .then(() => (target = other))
          .catch(() => {});
      }
      await pause(50);
    }
  })();
  await from.enter();
  const { output, peak } = await timed(`move to ${to.engine}`, from, () =>
    command(from, ['move', '--app', app, '--to', to.url ?? to.dataDir]),
  );
  await pause(1500);
  isRunning = false;
  await writer;
  console.log(
    `  longest pause of writes ${(longest / 1000).toFixed(2)} s, ${accepted} writes, command at most ${peak.toFixed(0)} MB`,
  );
  console.log(output.trim().replace(/^/gm, '    '));
}

async function run(): Promise<void> {
  const [sqlitePlace, postgresPlace] = [await places('sqlite'), await places('postgres')];
  if (!sqlitePlace || !postgresPlace) return;
  const backups = mkdtempSync(join(tmpdir(), 'tablinum-backups-'));
  const start = async (kind: Engine): Promise<Side> => {
    const place = kind === 'sqlite' ? sqlitePlace : postgresPlace;
    const dataDir = kind === 'sqlite' ? place.dataDir : `${place.dataDir}-postgres`;
    const more = {
      BACKUP_DIR: join(backups, kind),
      DATABASE_DURABILITY: 'unchecked',
    };
    return new Side(kind, await startServer(dataDir, place.serverUrl, more), dataDir, place.serverUrl);
  };
  const other = engine === 'sqlite' ? 'postgres' : 'sqlite';
  const [from, to] = [await start(engine), await start(other)];
  try {
    let began = performance.now();
    await fill(from);
    to.api.token = ((await to.api.post('auth:signIn', account)).data as { token: string }).token;
    for (const side of [from, to]) {
      await side.api.post('collections:create', { name: 'probes', fields: [{ name: 'n', type: 'integer' }] });
      await side.api.post(
        'probes:create',
        Array.from({ length: 100 }, (_, n) => ({ n })),
      );
    }
    console.log(`${engine}: filled in ${((performance.now() - began) / 1000).toFixed(0)} s`);
    const sum = await from.sum();
    await timed('nothing, for comparison,', from, () => pause(5000));
    const id = await timed('backup', from, async () => {
      const started = ((await from.api.post('backups:create', { application: app })).data as { id: string }).id;
      await end(from, started);
      return started;
    });
    began = performance.now();
    const verified = await command(from, ['verify', join(backups, engine, id)]);
    console.log(
      `  verified in ${((performance.now() - began) / 1000).toFixed(1)} s, at most ${verified.peak.toFixed(0)} MB`,
    );
    await timed('restore as a copy', from, async () =>
      end(
        from,
        (
          (await from.api.post(`backups:restore?filterByTk=${id}`, { application: app, as: 'copy' })).data as {
            id: string;
          }
        ).id,
      ),
    );
    compare('the copy', sum, await from.sum('copy'));
    await from.api.post('applications:destroy?filterByTk=copy&confirm=copy', {});
    await move(from, to);
    compare('the moved application', sum, await to.sum());
    await from.api.post(`applications:destroy?filterByTk=${app}&confirm=${app}`, {});
    await move(to, from);
    compare('the application that was moved back', sum, await from.sum());
  } finally {
    await Promise.all([from.served.stop(), to.served.stop()]);
    await sqlitePlace.remove();
    await postgresPlace.remove();
    rmSync(backups, { recursive: true, force: true });
  }
}

function compare(what: string, expected: string, found: string): void {
  if (expected !== found) throw new Error(`${what} has ${found} instead of ${expected}`);
  console.log(`  ${what} is equal: ${found}`);
}

await run();
