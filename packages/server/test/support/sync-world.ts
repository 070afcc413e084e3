/** A server of this project and a real Dovecot whose mailbox it synchronises. */
import { ImapFlow } from 'imapflow';
import { createTransport } from 'nodemailer';
import type { SyncTimes } from '../../src/mail/sync/sync-services.ts';
import { type Dovecot, startDovecot } from './dovecot.ts';
import type { DovecotOptions } from './dovecot-configuration.ts';
import type { Engine } from './engines.ts';
import type { Json } from './json.ts';
import { TestServer } from './scenario.ts';

/** Short times, so that a test does not wait. */
export const fastTimes: Partial<SyncTimes> = {
  tickMilliseconds: 200,
  pollMilliseconds: 1000,
  retryMilliseconds: 100,
  massLossMilliseconds: 0,
};

/** The parts of a message of a mailbox that are compared. */
export interface ListedMessage {
  readonly uid: number;
  readonly messageId: string;
  readonly flags: string;
}

export interface SyncWorldOptions {
  readonly dovecot?: DovecotOptions;
  readonly times?: Partial<SyncTimes>;
  readonly env?: Readonly<Record<string, string>>;
}

/** A mailbox of a user on both sides. */
export class SyncWorld {
  readonly dovecot: Dovecot;
  readonly server: TestServer;
  account = 0;
  /** The user whose mailbox the methods work with. */
  user = 'alice';
  readonly #clients: ImapFlow[] = [];

  private constructor(dovecot: Dovecot, server: TestServer) {
    this.dovecot = dovecot;
    this.server = server;
  }

  /** Starts both servers. The account is not created yet. */
  static async open(
    engine: Engine,
    { dovecot: options = {}, times = {}, env: more = {} }: SyncWorldOptions = {},
  ): Promise<SyncWorld> {
    const dovecot = await startDovecot(options);
    const env = { MAIL_SYNC: 'on', MAIL_ALLOWED_PRIVATE_HOSTS: '127.0.0.1', MAIL_CA_FILE: dovecot.caFile, ...more };
    const server = await TestServer.start(engine, { env, mailSyncTimes: { ...fastTimes, ...times } });
    return new SyncWorld(dovecot, server);
  }

  /** Creates the account, which is synchronised from then on. */
  async createAccount(port = this.dovecot.imapPort, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const { id } = await this.server.data('POST /api/accounts:create', {
      body: { ...describeAccount(this.dovecot, port, this.user), ...more },
    });
    this.account = id;
  }

  /** The account as the API shows it. */
  readAccount(): Promise<Json> {
    return this.server.data(`GET /api/accounts:get?filterByTk=${this.account}`);
  }

  /** Waits until the account is synchronised. */
  untilLive(milliseconds = 15_000): Promise<void> {
    return waitFor(async () => (await this.readAccount()).status === 'live', 'the account to be live', milliseconds);
  }

  /** Another mail program of the user. It is closed together with this object. */
  async openClient(): Promise<ImapFlow> {
    const client = await openClient(this.dovecot, this.user);
    this.#clients.push(client);
    return client;
  }

  /** Delivers a message by LMTP, as a mail server does. */
  async deliver(subject: string, more: { readonly text?: string; readonly messageId?: string } = {}): Promise<void> {
    await deliver(this.dovecot, subject, { to: this.user, ...more });
  }

  /** E-mails by the API, newest first. */
  listEmails(query = ''): Promise<Json[]> {
    return this.server.data(`GET /api/emails:list?pageSize=200&accountId=${this.account}${query}`) as never;
  }

  async findEmail(subject: string): Promise<Json | undefined> {
    return (await this.listEmails()).find((each) => each.subject === subject);
  }

  /** Waits until both sides show the same messages with the same flags in the same mailboxes. */
  async untilSame(milliseconds = 15_000): Promise<void> {
    const client = await this.openClient();
    let problem = '';
    await waitFor(
      async () => {
        problem = await this.#compare(client);
        return problem === '';
      },
      () => `both sides to be the same: ${problem}`,
      milliseconds,
    );
    await client.logout();
  }

  async #compare(client: ImapFlow): Promise<string> {
    const { database } = this.server.running.applications.main;
    const rows = await database.read([
      {
        text: `SELECT m.path,p.uid,e."messageId",e.read,e.starred,e.answered,e.draft FROM "mailPlacements" p JOIN mailboxes m ON m.id=p."mailboxId" JOIN emails e ON e.id=p."emailId" WHERE m."accountId"=${this.account}`,
        values: [],
      },
      { text: `SELECT kind,"lastError" FROM "mailOperations" WHERE "accountId"=${this.account}`, values: [] },
    ]);
    const [placements = [], operations = []] = rows;
    if (operations.length > 0) return `operations wait: ${JSON.stringify(operations)}`;
    return comparePlacements(await readServer(client), placements);
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.close();
    await this.server.stop();
    await this.dovecot.stop();
  }
}

/** The body that creates the account of a user. */
export function describeAccount(dovecot: Dovecot, port = dovecot.imapPort, user = 'alice'): Record<string, unknown> {
  const { address, password } = dovecot.users[user]!;
  const security = port === dovecot.imapsPort ? 'tls' : 'none';
  return { name: user, address, imap: { host: '127.0.0.1', port, security, user: address }, password };
}

export async function openClient(dovecot: Dovecot, user = 'alice'): Promise<ImapFlow> {
  const { address, password } = dovecot.users[user]!;
  const client = new ImapFlow({
    host: '127.0.0.1',
    port: dovecot.imapPort,
    secure: false,
    doSTARTTLS: false,
    disableAutoIdle: true,
    auth: { user: address, pass: password },
    logger: false,
  });
  client.on('error', () => {});
  await client.connect();
  return client;
}

let delivered = 0;

export async function deliver(
  dovecot: Dovecot,
  subject: string,
  {
    text = 'Hello',
    messageId,
    to: user = 'alice',
  }: { readonly text?: string; readonly messageId?: string; readonly to?: string } = {},
): Promise<void> {
  delivered += 1;
  await deliverRaw(dovecot, user, makeMessage(subject, text, messageId ?? `<${delivered}.${process.pid}@test>`));
}

/** Delivers the bytes of a message by LMTP, as a mail server does. */
export async function deliverRaw(dovecot: Dovecot, user: string, raw: string): Promise<void> {
  const transport = createTransport({
    host: '127.0.0.1',
    port: dovecot.lmtpPort,
    lmtp: true,
    ignoreTLS: true,
  } as never);
  const to = dovecot.users[user]!.address;
  await transport.sendMail({ envelope: { from: 'zoe@example.test', to: [to] }, raw });
  transport.close();
}

/** A short message. */
export function makeMessage(subject: string, text: string, messageId: string): string {
  return [
    'From: Zoe <zoe@example.test>',
    'To: Alice <alice@example.test>',
    `Subject: ${subject}`,
    `Message-ID: ${messageId}`,
    `Date: ${new Date().toUTCString()}`,
    '',
    text,
    '',
  ].join('\r\n');
}

/** The messages of all mailboxes as the IMAP server lists them, by path. */
export async function readServer(client: ImapFlow): Promise<Map<string, ListedMessage[]>> {
  const all = new Map<string, ListedMessage[]>();
  for (const { path, flags } of await client.list()) {
    if (flags.has('\\Noselect')) continue;
    const { exists } = await client.mailboxOpen(path, { readOnly: true });
    const rows =
      exists === 0
        ? []
        : await client.fetchAll('1:*', { uid: true, flags: true, headers: ['message-id'] }, { uid: true });
    all.set(
      path,
      rows.map(({ uid, flags: set, headers }) => ({
        uid,
        messageId: /<[^>]*>/.exec(String(headers))?.[0] ?? '',
        flags: formatFlags([set?.has('\\Seen'), set?.has('\\Flagged'), set?.has('\\Answered'), set?.has('\\Draft')]),
      })),
    );
  }
  return all;
}

function formatFlags(flags: readonly unknown[]): string {
  return flags.map((each) => (each ? '1' : '0')).join('');
}

/**
 * The differences; empty if there are none. If a message has several copies, their flags are not compared: copies may
 * have different
 * flags, but an e-mail only has one set of them.
 *
 * @param placements path, UID, Message-ID and flags as stored.
 */
export function comparePlacements(
  server: ReadonlyMap<string, readonly ListedMessage[]>,
  placements: readonly (readonly unknown[])[],
): string {
  const counts = new Map<string, number>();
  for (const { messageId } of [...server.values()].flat())
    if (messageId !== '') counts.set(messageId, (counts.get(messageId) ?? 0) + 1);
  const formatMessage = (messageId: string, flags: string): string =>
    (counts.get(messageId) ?? 0) > 1 ? messageId : `${messageId} ${flags}`;
  const expected = [...server].flatMap(([path, list]) =>
    list.map(({ uid, messageId, flags }) => `${path} ${uid} ${formatMessage(messageId, flags)}`),
  );
  const actual = placements.map(([path, uid, id, ...flags]) => {
    const messageId = id ? `<${String(id).replace(/^<|>$/g, '')}>` : '';
    return `${path} ${uid} ${formatMessage(messageId, formatFlags(flags))}`;
  });
  const [wanted, found] = [new Set(expected), new Set(actual)];
  const missing = expected.filter((each) => !found.has(each));
  const excess = actual.filter((each) => !wanted.has(each));
  const twice = actual.length - found.size;
  if (missing.length + excess.length + twice === 0) return '';
  const show = (list: readonly string[]): string => JSON.stringify(list.slice(0, 3));
  return `${missing.length} missing ${show(missing)}, ${excess.length} too many ${show(excess)}, ${twice} twice`;
}

/** Waits until a condition holds. */
export async function waitFor(
  condition: () => Promise<boolean> | boolean,
  what: string | (() => string),
  milliseconds = 30_000,
): Promise<void> {
  const end = performance.now() + milliseconds;
  while (!(await condition())) {
    if (performance.now() > end)
      throw new Error(`Waited ${milliseconds} ms for ${typeof what === 'string' ? what : what()}.`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
