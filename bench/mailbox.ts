/**
 * Measures a year of a busy mailbox: the first synchronisation of a real Dovecot, the synchronisation of changes on it, and a comparison of
 * all messages; meanwhile gets at a steady rate, and the memory of the server. After each, both sides are compared message by message.
 *
 *     npm run bench:mailbox -- [--engine sqlite|postgres] [--messages 100000] [--profile FOLDER]
 */
import { chownSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import pg from 'pg';
import { mainStoreName } from '../packages/server/src/open-stores.ts';
import { corpusFolder, listMessages } from '../packages/server/test/mail/corpus.ts';
import { type Dovecot, hasDovecot, startDovecot } from '../packages/server/test/support/dovecot.ts';
import { openStoreReader, type StoreReader } from '../packages/server/test/support/store-reader.ts';
import {
  comparePlacements,
  deliver,
  describeAccount,
  openClient,
  readServer,
} from '../packages/server/test/support/sync-world.ts';
import { Api } from './api.ts';
import { cpuMicroseconds, peakMegabytes, resetPeak, residentMegabytes, type Served } from './child.ts';
import type { GetsRequest } from './mailbox-gets.ts';
import { type Engine, type Places, places } from './places.ts';
import { account, commandFlags, startServer } from './server-under-test.ts';
import { formatTimes } from './steady-gets.ts';

const { values: options } = parseArgs({
  options: {
    engine: { type: 'string' },
    messages: { type: 'string', default: '100000' },
    profile: { type: 'string' },
  },
});
const messages = Number(options.messages);
const folders = 40;
/** Half of them change flags, a quarter is deleted, and a quarter moved. */
const changes = 4 * Math.min(250, Math.floor(messages / 16));
const probes = 1000;
const baselineMilliseconds = 5000;
/** Messages are received at a steady rate, the last one now. */
const secondsBetween = (365 * 86_400) / messages;
const begin = Date.now() / 1000 - messages * secondsBetween;

/**
 * A copy of a message of the corpus with ids of its own, so that copies are neither duplicates nor in one conversation.
 */
function copyMessage(raw: string, copy: number): string {
  const end = raw.indexOf('\n\n');
  const head = (end < 0 ? raw : raw.slice(0, end)).replace(
    /^(?:(message-id|in-reply-to|references)|subject):.*(?:\n[ \t].*)*/gim,
    (field, id) => (id ? field.replace(/<([^<>@\s]+)@/g, `<$1.${copy}@`) : `${field} ${copy}`),
  );
  return (head + (end < 0 ? '\n\n' : raw.slice(end))).replaceAll('\n', '\r\n');
}

/** Writes the messages as files of a Maildir. @returns the time that it takes, in seconds. */
async function fill(dovecot: Dovecot, corpus: readonly string[]): Promise<number> {
  const from = performance.now();
  await deliver(dovecot, 'first of all');
  const { uid, gid } = statSync(dovecot.maildir('alice'));
  const paths = [join(dovecot.maildir('alice'), 'cur')];
  for (let folder = 1; folder < folders; folder += 1) {
    await dovecot.doveadm('mailbox', 'create', '-u', dovecot.users['alice']!.address, `Folder ${folder}`);
    paths.push(join(dovecot.maildir('alice'), `.Folder ${folder}`, 'cur'));
  }
  for (const path of paths) {
    mkdirSync(path, { recursive: true });
    chownSync(path, uid, gid);
  }
  for (let index = 0; index < messages; index += 1) {
    // Half of all messages are in the inbox.
    const path = paths[index % 2 === 0 ? 0 : 1 + ((index >> 1) % (folders - 1))]!;
    const raw = copyMessage(corpus[index % corpus.length]!, Math.floor(index / corpus.length));
    const time = Math.floor(begin + secondsBetween * index);
    const name = `${time}.M${index}P1.test,S=${raw.length},W=${raw.length}:2,${index % 4 === 0 ? '' : 'S'}`;
    writeFileSync(join(path, name), raw, 'latin1');
    utimesSync(join(path, name), time, time);
    chownSync(join(path, name), uid, gid);
  }
  return (performance.now() - from) / 1000;
}

/**
 * Starts gets of e-mails and of ordinary records in a thread. @returns a function that stops them and formats their
 * times.
 */
function startGets(request: GetsRequest): () => Promise<string> {
  const worker = new Worker(new URL('./mailbox-gets.ts', import.meta.url), { workerData: request });
  const ended = new Promise<{ emails: number[]; records: number[] }>((resolve, reject) => {
    worker.once('message', resolve).once('error', reject);
  });
  return async () => {
    worker.postMessage('stop');
    const { emails, records } = await ended;
    return `e-mails: ${formatTimes(emails)}; records: ${formatTimes(records)}`;
  };
}

async function waitFor(condition: () => Promise<boolean>, milliseconds: number): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** A server with a filled Dovecot. */
class Run {
  readonly #place: Places;
  readonly #dovecot: Dovecot;
  readonly #api: Api;
  readonly #served: Served;
  #reader: StoreReader | null = null;
  #begun = 0;
  #cpu = 0;
  #stopGets: (() => Promise<string>) | null = null;

  private constructor(place: Places, dovecot: Dovecot, served: Served) {
    [this.#place, this.#dovecot, this.#served] = [place, dovecot, served];
    this.#api = new Api(served.port);
  }

  static async open(place: Places, dovecot: Dovecot): Promise<Run> {
    const run = new Run(place, dovecot, await startSynced(place, dovecot));
    await run.#signIn();
    await run.#api.post('collections:create', { name: 'probes', fields: [{ name: 'title', type: 'string' }] });
    const title = (index: number): object => ({ title: `Probe number ${index}` });
    await run.#api.post(
      'probes:create',
      Array.from({ length: probes }, (_, index) => title(index)),
    );
    return run;
  }

  async #signIn(): Promise<void> {
    this.#api.token = ((await this.#api.post('auth:signIn', account)).data as { token: string }).token;
  }

  /** Gets without other work show how fast the machine is. */
  async measureBaseline(): Promise<void> {
    this.#begin();
    await new Promise((resolve) => setTimeout(resolve, baselineMilliseconds));
    await this.#end('before');
  }

  #begin(): void {
    this.#stopGets = startGets({
      port: this.#served.port,
      token: this.#api.token!,
      probes,
      emails: Math.min(1000, Math.floor(messages / 3)),
    });
    resetPeak(this.#served.child);
    this.#begun = performance.now();
    this.#cpu = cpuMicroseconds(this.#served.child) ?? 0;
  }

  async #end(what: string): Promise<void> {
    const seconds = (performance.now() - this.#begun) / 1000;
    const cpu = ((cpuMicroseconds(this.#served.child) ?? 0) - this.#cpu) / 1e6;
    const { child } = this.#served;
    const memory = `${residentMegabytes(child)?.toFixed(0)} MB, at most ${peakMegabytes(child)?.toFixed(0)} MB`;
    console.log(
      `${what}: ${seconds.toFixed(1)} s (${cpu.toFixed(1)} s of processor time), ${memory}; ${await this.#stopGets?.()}`,
    );
  }

  async synchronise(): Promise<void> {
    this.#begin();
    await this.#api.post('accounts:create', describeAccount(this.#dovecot));
    const list = async (query: string): Promise<readonly { status?: string; backfillDone?: number }[]> =>
      (await this.#api.call('GET', query)).data;
    await waitFor(async () => (await list('emails?pageSize=50&fields=id')).length >= 50, 50);
    console.log(`fifty e-mails are listed after ${((performance.now() - this.#begun) / 1000).toFixed(2)} s`);
    let done = 0;
    await waitFor(async () => {
      const [synced] = await list('accounts');
      done = synced?.backfillDone ?? 0;
      return synced?.status === 'live';
    }, 500);
    await this.#end(`first synchronisation of ${done} messages`);
    this.#reader = await openStoreReader({ dataDir: this.#place.dataDir, databaseUrl: this.#place.serverUrl } as never);
    await this.#compare();
  }

  async change(): Promise<void> {
    const client = await openClient(this.#dovecot);
    await client.mailboxOpen('INBOX');
    this.#begin();
    await client.messageFlagsAdd(`1:${changes / 2}`, ['\\Flagged']);
    await client.messageDelete(`${changes / 2 + 1}:${changes * 0.75}`);
    await client.messageMove(`${changes}:${changes * 1.25 - 1}`, 'Folder 1');
    console.log(`the changes are made after ${((performance.now() - this.#begun) / 1000).toFixed(2)} s`);
    await client.logout();
    const flagged = 'SELECT count(*) FROM emails WHERE starred';
    const left = 'SELECT count(*) FROM "mailPlacements"';
    const expected = messages + 1 - changes / 4;
    await waitFor(async () => (await this.#read(flagged)) >= changes / 2 && (await this.#read(left)) === expected, 250);
    await this.#end(`${changes} changes on the mail server`);
    await this.#compare();
  }

  /** Sets the time of the last comparison to long ago. The server reads it after it has lost its connection. */
  async reconcile(): Promise<void> {
    const { serverUrl, dataDir } = this.#place;
    const long = '2020-01-01T00:00:00.000Z';
    await execute(serverUrl, dataDir, `UPDATE mailboxes SET "reconciledAt"='${long}' WHERE "rawPath" IS NOT NULL`);
    const late = `SELECT count(*) FROM mailboxes WHERE selectable AND "rawPath" IS NOT NULL AND ("reconciledAt" IS NULL OR "reconciledAt"='${long}')`;
    await this.#dovecot.dropConnections(this.#dovecot.users['alice']!.address);
    this.#begin();
    await waitFor(async () => (await this.#read(late)) === 0, 250);
    await this.#end('comparison of all messages');
    await this.#compare();
  }

  async #read(text: string): Promise<number> {
    return this.#reader!.readNumber(text);
  }

  async #compare(): Promise<void> {
    const client = await openClient(this.#dovecot);
    const listed = await readServer(client);
    await client.logout();
    // Ids are stored without the spaces that some programs write into them.
    const list = new Map(
      [...listed].map(([path, found]) => [
        path,
        found.map((each) => ({ ...each, messageId: each.messageId.replace(/\s/g, '') })),
      ]),
    );
    const rows = await this.#reader!.readRows(
      'SELECT m.path,p.uid,e."messageId",e.read,e.starred,e.answered,e.draft FROM "mailPlacements" p JOIN mailboxes m ON m.id=p."mailboxId" JOIN emails e ON e.id=p."emailId"',
    );
    const problem = comparePlacements(list, rows);
    if (problem !== '') throw new Error(`The two sides differ: ${problem}`);
    console.log(`both sides have the same ${rows.length} messages`);
  }

  async close(): Promise<void> {
    await this.#reader?.close();
    await this.#served.stop();
  }
}

async function execute(serverUrl: string | null, dataDir: string, statement: string): Promise<void> {
  if (serverUrl === null) {
    const database = new DatabaseSync(join(dataDir, 'applications', `${mainStoreName}.db`));
    database.exec(statement);
    return database.close();
  }
  const client = new pg.Client({ connectionString: serverUrl, options: `-c search_path=app_${mainStoreName}` });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}

function startSynced({ dataDir, serverUrl }: Places, dovecot: Dovecot): Promise<Served> {
  const flags: string[] = [...commandFlags];
  if (options.profile) flags.push('--cpu-prof', `--cpu-prof-dir=${options.profile}`);
  return startServer(dataDir, serverUrl, {
    MAIL_ALLOWED_PRIVATE_HOSTS: '127.0.0.1',
    MAIL_CA_FILE: dovecot.caFile,
    NODE_OPTIONS: flags.join(' '),
  });
}

async function measure(engine: Engine, corpus: readonly string[]): Promise<void> {
  const place = await places(engine);
  if (!place) return;
  const dovecot = await startDovecot();
  try {
    const seconds = await fill(dovecot, corpus);
    console.log(`${engine}: ${messages} messages in ${folders} folders were written in ${seconds.toFixed(0)} s`);
    const run = await Run.open(place, dovecot);
    try {
      await run.measureBaseline();
      await run.synchronise();
      await run.change();
      await run.reconcile();
    } finally {
      await run.close();
    }
  } finally {
    await dovecot.stop();
    await place.remove();
  }
}

if (corpusFolder === null || !hasDovecot()) process.exit(1);
const corpus = listMessages('easy-ham').map((path) => readFileSync(join(corpusFolder!, path), 'latin1'));
const engines: readonly Engine[] = options.engine ? [options.engine as Engine] : ['sqlite', 'postgres'];
for (const engine of engines)
  await measure(
    engine,
    corpus.map((raw) => raw.replaceAll('\r\n', '\n')),
  );
