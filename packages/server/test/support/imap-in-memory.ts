/**
 * An IMAP server in memory with CONDSTORE and QRESYNC. Before each command, its connections call a function in which a
 * test can make changes.
 */
import { EventEmitter } from 'node:events';

/** A message on the server. */
interface StoredMessage {
  readonly uid: number;
  readonly raw: Buffer;
  readonly flags: Set<string>;
  modseq: bigint;
}

class Mailbox {
  readonly path: string;
  readonly uidValidity: bigint;
  uidNext = 1;
  highestModseq = 1n;
  readonly messages = new Map<number, StoredMessage>();
  /** Modification sequences of expunged messages by UID. */
  readonly vanished = new Map<number, bigint>();

  constructor(path: string, uidValidity: number) {
    this.path = path;
    this.uidValidity = BigInt(uidValidity);
  }

  advance(): bigint {
    this.highestModseq += 1n;
    return this.highestModseq;
  }

  select(set: string): StoredMessage[] {
    const ranges = set.split(',').map((part) => {
      const [first = '', last = first] = part.split(':');
      return [Number(first), last === '*' ? Number.POSITIVE_INFINITY : Number(last)] as const;
    });
    return [...this.messages.values()].filter(({ uid }) => ranges.some(([from, to]) => from <= uid && uid <= to));
  }
}

const receivedAt = new Date('2026-11-20T10:00:00.000Z');

/** The mailboxes of one user. */
export class ImapInMemory {
  readonly #mailboxes = new Map<string, Mailbox>();

  constructor(paths: readonly string[]) {
    for (const [index, path] of paths.entries()) this.#mailboxes.set(path, new Mailbox(path, index + 100));
  }

  get mailboxes(): readonly Mailbox[] {
    return [...this.#mailboxes.values()];
  }

  get(path: string): Mailbox {
    const mailbox = this.#mailboxes.get(path);
    if (!mailbox) throw Object.assign(new Error(`no mailbox ${path}`), { responseStatus: 'NO' });
    return mailbox;
  }

  append(path: string, raw: string | Buffer, flags: Iterable<string> = []): number {
    const mailbox = this.get(path);
    const uid = mailbox.uidNext;
    mailbox.uidNext += 1;
    mailbox.messages.set(uid, { uid, raw: Buffer.from(raw), flags: new Set(flags), modseq: mailbox.advance() });
    return uid;
  }

  expunge(path: string, uid: number): void {
    const mailbox = this.get(path);
    if (mailbox.messages.delete(uid)) mailbox.vanished.set(uid, mailbox.advance());
  }

  move(from: string, uid: number, to: string): number {
    const { raw, flags } = this.get(from).messages.get(uid)!;
    const moved = this.append(to, raw, flags);
    this.expunge(from, uid);
    return moved;
  }

  setFlag(path: string, uid: number, flag: string, isSet: boolean): void {
    const mailbox = this.get(path);
    const message = mailbox.messages.get(uid)!;
    if (message.flags.has(flag) === isSet) return;
    if (isSet) message.flags.add(flag);
    else message.flags.delete(flag);
    message.modseq = mailbox.advance();
  }

  /** The mailboxes of the messages with a subject. */
  find(subject: string): { readonly path: string; readonly uid: number }[] {
    return this.mailboxes.flatMap(({ path, messages }) =>
      [...messages.values()]
        .filter(({ raw }) => readHeader(raw, 'subject') === subject)
        .map(({ uid }) => ({ path, uid })),
    );
  }

  /** Path, UID, subject and flags of all messages. */
  list(): string[] {
    return this.mailboxes
      .flatMap(({ path, messages }) =>
        [...messages.values()].map(({ uid, raw, flags }) =>
          [path, uid, readHeader(raw, 'subject'), ...[...flags].sort()].join(' '),
        ),
      )
      .sort();
  }
}

const readHeader = (raw: Buffer, name: string): string =>
  new RegExp(`^${name}: (.*)$`, 'im').exec(raw.toString())?.[1]?.trim() ?? '';

/** The capabilities of a connection, and a function to call. */
export interface ConnectionOptions {
  readonly capabilities: readonly string[];
  /** Called with the name of each command before it runs. */
  readonly before: (command: string) => Promise<void>;
}

interface Options {
  readonly changedSince?: bigint;
}

/** A connection, with the methods of `ImapFlow` that synchronisation uses. */
export class ConnectionInMemory extends EventEmitter {
  readonly capabilities: ReadonlySet<string>;
  readonly enabled = new Set(['CONDSTORE', 'QRESYNC']);
  readonly usable = true;
  mailbox: { readonly path: string; readonly exists: number } | false = false;
  readonly #server: ImapInMemory;
  readonly #before: ConnectionOptions['before'];

  constructor(server: ImapInMemory, { capabilities, before }: ConnectionOptions) {
    super();
    this.#server = server;
    this.#before = before;
    this.capabilities = new Set(capabilities);
  }

  get #selected(): Mailbox {
    if (!this.mailbox) throw new Error('no mailbox is selected');
    return this.#server.get(this.mailbox.path);
  }

  async untaggedVanished(): Promise<void> {}
  close(): void {}
  async noop(): Promise<void> {}
  async idle(): Promise<void> {}

  async list(): Promise<unknown[]> {
    await this.#before('LIST');
    const listed = this.#server.mailboxes.map(({ path, messages, uidNext, uidValidity, highestModseq }) => ({
      path,
      delimiter: '/',
      flags: new Set<string>(),
      listed: true,
      specialUse: path === 'INBOX' ? '\\Inbox' : undefined,
      status: {
        messages: messages.size,
        uidNext,
        uidValidity,
        highestModseq,
        unseen: [...messages.values()].filter(({ flags }) => !flags.has('\\Seen')).length,
      },
    }));
    await this.#before('(end)');
    return listed;
  }

  async mailboxOpen(path: string): Promise<object> {
    await this.#before(`SELECT ${path}`);
    const { messages, uidNext, uidValidity, highestModseq } = this.#server.get(path);
    const opened = { path, exists: messages.size, uidNext, uidValidity, highestModseq };
    this.mailbox = { path, exists: messages.size };
    await this.#before('(end)');
    return opened;
  }

  async search(query: { uid?: string; header?: Record<string, string>; deleted?: boolean }): Promise<number[]> {
    await this.#before('SEARCH');
    const id = query.header?.['message-id'];
    const found = this.#selected
      .select(query.uid ?? '1:*')
      .filter(({ raw }) => id === undefined || readHeader(raw, 'message-id').includes(id))
      .filter(({ flags }) => !query.deleted || flags.has('\\Deleted'))
      .map(({ uid }) => uid);
    await this.#before('(end)');
    return found;
  }

  async *fetch(set: string, _query: object, { changedSince }: Options): AsyncGenerator<object> {
    await this.#before(changedSince === undefined ? 'FETCH' : 'FETCH CHANGEDSINCE');
    const { path, vanished } = this.#selected;
    const rows = this.#selected
      .select(set)
      .filter(({ modseq }) => changedSince === undefined || modseq > changedSince)
      .map(({ uid, raw, flags, modseq }) => ({
        uid,
        flags: new Set(flags),
        modseq,
        size: raw.length,
        internalDate: receivedAt,
        source: raw,
        headers: Buffer.from(`Message-ID: ${readHeader(raw, 'message-id')}\r\n`),
      }));
    const gone = [...vanished].filter(([, modseq]) => changedSince !== undefined && modseq > changedSince);
    // Changes that a test makes here are not in the reply, and the reply has not been stored yet.
    await this.#before('(end)');
    for (const [uid] of gone) this.emit('expunge', { path, uid });
    yield* rows;
  }

  async messageFlagsAdd(set: string, flags: readonly string[]): Promise<boolean> {
    await this.#before('STORE');
    return this.#store(set, flags, true);
  }

  async messageFlagsRemove(set: string, flags: readonly string[]): Promise<boolean> {
    await this.#before('STORE');
    return this.#store(set, flags, false);
  }

  #store(set: string, flags: readonly string[], isSet: boolean): boolean {
    const { path } = this.#selected;
    for (const { uid } of this.#selected.select(set))
      for (const flag of flags) this.#server.setFlag(path, uid, flag, isSet);
    return true;
  }

  async messageMove(set: string, to: string): Promise<object> {
    await this.#before('MOVE');
    if (this.#refuseGone(set)) return this.#done({});
    const { path } = this.#selected;
    const { uidValidity } = this.#server.get(to);
    const uidMap = new Map(
      this.#selected.select(set).map(({ uid }) => [uid, this.#server.move(path, uid, to)] as const),
    );
    return this.#done({ uidValidity, uidMap });
  }

  async messageCopy(set: string, to: string): Promise<object> {
    await this.#before('COPY');
    if (this.#refuseGone(set)) return this.#done({});
    const { uidValidity } = this.#server.get(to);
    const uidMap = new Map(
      this.#selected.select(set).map(({ uid, raw, flags }) => [uid, this.#server.append(to, raw, flags)] as const),
    );
    return this.#done({ uidValidity, uidMap });
  }

  /**
   * Behaves like Dovecot: if one of the messages no longer exists, the reply is NO, which the library treats as
   * success.
   */
  #refuseGone(set: string): boolean {
    const wanted = set.split(',').flatMap((part) => {
      const [first = 0, last = first] = part.split(':').map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    });
    const isRefused = wanted.some((uid) => !this.#selected.messages.has(uid));
    this.emit('response', isRefused ? { response: 'NO', code: 'EXPUNGEISSUED' } : { response: 'OK' });
    return isRefused;
  }

  async messageDelete(set: string): Promise<boolean> {
    await this.#before('EXPUNGE');
    const { path } = this.#selected;
    for (const { uid } of this.#selected.select(set)) this.#server.expunge(path, uid);
    return true;
  }

  async append(path: string, raw: Buffer, flags: readonly string[]): Promise<object> {
    await this.#before('APPEND');
    const uid = this.#server.append(path, raw, flags);
    return this.#done({ uidValidity: this.#server.get(path).uidValidity, uid });
  }

  /** Without UIDPLUS, the server does not return the new UID of a message. */
  async #done(position: object): Promise<object> {
    await this.#before('(end)');
    return this.capabilities.has('UIDPLUS') ? position : {};
  }
}
