/**
 * A mail server in memory, and a synchronisation with it that reads and sends everything. It has no connections and no
 * failures.
 */

import type { DueOperation } from '../../src/database/mail/operation-rows.ts';
import type { MailboxRole } from '../../src/mail/collections/mailbox-roles.ts';
import type { MailStore } from '../../src/mail/mail-store.ts';
import type { MailAccount } from '../../src/mail/store/incoming-mail.ts';
import { splitLabels } from '../../src/mail/store/server-flags.ts';
import type { PartialMessage, ServerEnvelope, SyncMailbox } from '../../src/mail/store/server-mail.ts';

/** A message on the server. */
export interface FakeMessage {
  readonly uid: number;
  readonly raw: Buffer;
  readonly flags: Set<string>;
  readonly providerId: string;
}

export interface FakeMailbox {
  role: MailboxRole | null;
  uidvalidity: number;
  uidnext: number;
  readonly messages: Map<number, FakeMessage>;
}

/** The capabilities of the server. */
export interface FakeCapabilities {
  /** UIDPLUS: moves and appends return the new UID. */
  readonly uidplus: boolean;
  /** OBJECTID: messages have an id that does not change when they are moved. */
  readonly objectIds: boolean;
  /** Messages with an even UID are first stored with only their headers; every second round downloads their bodies. */
  readonly headersFirst?: boolean;
}

const receivedAt = '2026-11-20T10:00:00.000Z';

/** The mailboxes of one account on a mail server. */
export class FakeMailServer {
  readonly mailboxes = new Map<string, FakeMailbox>();
  readonly capabilities: FakeCapabilities;
  #validity = 100;
  #ids = 0;

  constructor(capabilities: FakeCapabilities = { uidplus: true, objectIds: true }) {
    this.capabilities = capabilities;
    this.createMailbox('INBOX', 'inbox');
    this.createMailbox('Trash', 'trash');
    this.createMailbox('Work', null);
  }

  createMailbox(name: string, role: MailboxRole | null = null): void {
    this.#validity += 1;
    this.mailboxes.set(name, { role, uidvalidity: this.#validity, uidnext: 1, messages: new Map() });
  }

  get(name: string): FakeMailbox {
    const mailbox = this.mailboxes.get(name);
    if (!mailbox) throw new Error(`no mailbox ${name}`);
    return mailbox;
  }

  /** Renames a mailbox and its sub-mailboxes. */
  renameMailbox(from: string, to: string): void {
    for (const [name, mailbox] of [...this.mailboxes])
      if (name === from || name.startsWith(`${from}/`)) {
        this.mailboxes.delete(name);
        this.mailboxes.set(to + name.slice(from.length), mailbox);
      }
  }

  deleteMailbox(name: string): void {
    this.mailboxes.delete(name);
  }

  append(name: string, raw: string | Buffer, flags: Iterable<string> = [], providerId?: string): number {
    const mailbox = this.get(name);
    const uid = mailbox.uidnext;
    mailbox.uidnext += 1;
    this.#ids += 1;
    const id = providerId ?? `M${this.#ids}`;
    mailbox.messages.set(uid, { uid, raw: Buffer.from(raw), flags: new Set(flags), providerId: id });
    return uid;
  }

  move(from: string, uid: number, to: string): number {
    const message = this.get(from).messages.get(uid)!;
    this.get(from).messages.delete(uid);
    return this.append(to, message.raw, message.flags, message.providerId);
  }

  expunge(name: string, uid: number): void {
    this.get(name).messages.delete(uid);
  }

  setFlag(name: string, uid: number, flag: string, isSet = true): void {
    const flags = this.get(name).messages.get(uid)!.flags;
    if (isSet) flags.add(flag);
    else flags.delete(flag);
  }

  /** Gives all messages of a mailbox new UIDs under a new UIDVALIDITY. */
  renumber(name: string): void {
    const mailbox = this.get(name);
    const messages = [...mailbox.messages.values()];
    this.#validity += 1;
    mailbox.uidvalidity = this.#validity;
    mailbox.uidnext = 1;
    mailbox.messages.clear();
    for (const each of messages.reverse()) this.append(name, each.raw, each.flags, each.providerId);
  }

  /** The messages of each mailbox, as subject and flags. */
  picture(): Record<string, string[]> {
    const lines = [...this.mailboxes].map(([name, { messages }]) => [
      name,
      [...messages.values()]
        .map(({ raw, flags }) => `${readSubject(raw)} ${[...flags].sort().join(' ')}`.trim())
        .sort(),
    ]);
    return Object.fromEntries(lines) as Record<string, string[]>;
  }
}

const readSubject = (raw: Buffer): string => /^Subject: (.*)$/m.exec(raw.toString())?.[1]?.trim() ?? '';

const toEnvelope = ({ uid, raw, flags, providerId }: FakeMessage, { objectIds }: FakeCapabilities): ServerEnvelope => ({
  uid,
  modseq: null,
  flags: [...flags],
  labels: null,
  providerId: objectIds ? providerId : null,
  internalDate: receivedAt,
  messageId: /^Message-ID: (.*)$/m.exec(raw.toString())?.[1]?.trim() ?? null,
  size: raw.length,
});

function toHead(message: FakeMessage, capabilities: FakeCapabilities): PartialMessage {
  const { raw } = message;
  const envelope = toEnvelope(message, capabilities);
  return {
    ...envelope,
    messageId: envelope.messageId?.replace(/^<|>$/g, '') ?? null,
    providerThreadId: null,
    headers: raw.subarray(0, raw.indexOf('\r\n\r\n') + 4),
    size: raw.length,
    attachments: [],
  };
}

/** Reads and sends all changes of an account, as one round of a synchronisation does. */
export class FakeSync {
  readonly #mail: MailStore;
  readonly #account: MailAccount;
  readonly #server: FakeMailServer;
  #looks = 0;

  constructor(mail: MailStore, account: MailAccount, server: FakeMailServer) {
    this.#mail = mail;
    this.#account = account;
    this.#server = server;
  }

  /** Sends all queued operations, then reads everything. @param quiet no events about new messages. */
  async run(quiet = false): Promise<void> {
    await this.send();
    await this.read(quiet);
  }

  /** Sends all queued operations, including those that are queued in the meantime. */
  async send(): Promise<void> {
    for (let round = 0; round < 60; round += 1) {
      const due = await this.#mail.operations.readDue(this.#account, 100);
      if (due.length === 0) return;
      for (const each of due) {
        await this.#do(each);
        // After a change of a mailbox, the mailbox names that were read with the other operations may be outdated.
        if (each.kind.endsWith('Mailbox')) break;
      }
    }
    throw new Error('operations do not end');
  }

  async #do(operation: DueOperation): Promise<void> {
    const { operations } = this.#mail;
    const { id } = operation;
    if ((await operations.begin(this.#account, [operation])).length === 0) return;
    const result = await this.#perform(operation);
    if (result === 'missing') await this.#mail.server.reportMissing(this.#account, operation);
    else if (result) await operations.complete(this.#account, id, result);
    else await operations.drop(this.#account, id);
  }

  /** @returns `missing` if the message does not exist, null if the server refuses. */
  async #perform(operation: DueOperation): Promise<object | 'missing' | null> {
    const { kind, rawPath, uid, targetRawPath, path, flags } = operation;
    if (kind === 'createMailbox') {
      if (!this.#server.mailboxes.has(path!)) this.#server.createMailbox(path!);
      return { rawPath: path!, delimiter: '/' };
    }
    const mailbox = this.#server.mailboxes.get(rawPath!);
    if (!mailbox) return null;
    if (kind === 'renameMailbox') {
      this.#server.renameMailbox(rawPath!, path!);
      return { rawPath: path! };
    }
    if (kind === 'deleteMailbox') {
      this.#server.deleteMailbox(rawPath!);
      return {};
    }
    if (kind === 'append') return this.#append(operation);
    if (String(mailbox.uidvalidity) !== operation.uidvalidity) return 'missing';
    const message = mailbox.messages.get(uid!);
    if (!message) return 'missing';
    if (kind === 'flags') {
      for (const flag of splitLabels(flags!.add).flags) message.flags.add(flag);
      for (const flag of splitLabels(flags!.remove).flags) message.flags.delete(flag);
      return { flags: [...message.flags] };
    }
    if (kind === 'delete') {
      mailbox.messages.delete(uid!);
      return {};
    }
    if (!this.#server.mailboxes.has(targetRawPath!)) return null;
    return this.#position(targetRawPath!, this.#server.move(rawPath!, uid!, targetRawPath!));
  }

  #position(name: string, uid: number): object {
    if (!this.#server.capabilities.uidplus) return {};
    return { uidvalidity: String(this.#server.get(name).uidvalidity), uid };
  }

  async #append({ emailId, rawPath }: DueOperation): Promise<object | null> {
    const message = await this.#mail.operations.readMessage(this.#account, emailId!);
    if (!message) return null;
    const uid = this.#server.append(rawPath!, Buffer.from(message.raw), message.flags);
    return { ...this.#position(rawPath!, uid), flags: message.flags };
  }

  /** Reads all mailboxes. */
  async read(quiet = false): Promise<void> {
    const { server } = this.#mail;
    const begin = new Date(Date.now() + 60_000).toISOString();
    const list = [...this.#server.mailboxes].map(([name, { role, uidvalidity, uidnext }]) => ({
      path: name,
      rawPath: name,
      delimiter: '/',
      role,
      selectable: true,
      uidvalidity: String(uidvalidity),
      uidnext,
    }));
    for (const each of await server.applyMailboxes(this.#account, list)) await this.#readMailbox(each, quiet);
    await server.removeLost(this.#account, begin);
    this.#looks += 1;
    if (this.#server.capabilities.headersFirst && this.#looks % 2 === 0) await this.downloadBodies();
  }

  /** Downloads the missing bodies of messages that are still in the expected mailbox. */
  async downloadBodies(): Promise<void> {
    const { bodies } = this.#mail.server;
    const selection = { account: this.#account.id, since: null };
    for (const { emailId, rawPath, uidvalidity, uid } of await bodies.readDue(selection, '9999-01-01T00:00:00Z', 100)) {
      const mailbox = this.#server.mailboxes.get(rawPath);
      const message = String(mailbox?.uidvalidity) === uidvalidity ? mailbox?.messages.get(uid) : undefined;
      if (message) await bodies.complete(this.#account, emailId, { raw: message.raw, isQuiet: true });
    }
  }

  /** Stores some messages with only their headers. @returns the others. */
  async #storeHeaders(mailbox: SyncMailbox, messages: readonly FakeMessage[]): Promise<FakeMessage[]> {
    const { server } = this.#mail;
    const { capabilities } = this.#server;
    const heads = messages.filter(({ uid }) => uid % 2 === 0).map((each) => toHead(each, capabilities));
    const ids = heads.map(({ messageId }) => messageId!);
    const complete = await server.bodies.findCompleteMessageIds(this.#account, ids);
    const partial = heads.filter(({ messageId }) => !complete.has(messageId!));
    await server.storePartial(this.#account, mailbox, partial, { cursor: {} });
    return messages.filter((message) => !partial.some(({ uid }) => uid === message.uid));
  }

  async #readMailbox(known: SyncMailbox, quiet: boolean): Promise<void> {
    const { server } = this.#mail;
    const account = this.#account;
    const fake = this.#server.get(known.rawPath!);
    const validity = String(fake.uidvalidity);
    const mailbox = known.uidvalidity === validity ? known : await server.beginNewValidity(account, known, validity);
    const stored = await server.uids.list(mailbox);
    const messages = [...fake.messages.values()];
    const vanished = [...stored].filter((uid) => !fake.messages.has(uid));
    const waiting = await this.#mail.operations.readSources(mailbox);
    const gone = [...new Set([...vanished, ...waiting.filter((uid) => !fake.messages.has(uid))])];
    await server.applyVanished(account, mailbox, gone, {});
    const cursor = { uidnext: fake.uidnext, backfillUid: 1 };
    const unknown = new Set(
      await server.findUnknownUids(
        mailbox,
        messages.map(({ uid }) => uid),
      ),
    );
    const fresh = messages.filter(({ uid }) => unknown.has(uid));
    const { capabilities } = this.#server;
    const rest = new Set(
      await server.linkKnown(
        account,
        mailbox,
        fresh.map((each) => toEnvelope(each, capabilities)),
      ),
    );
    const unlinked = fresh.filter(({ uid }) => rest.has(uid));
    const wanted = capabilities.headersFirst ? await this.#storeHeaders(mailbox, unlinked) : unlinked;
    const toMessage = (each: FakeMessage) => ({
      ...toEnvelope(each, capabilities),
      providerThreadId: null,
      raw: each.raw,
    });
    await server.storeMessages(account, mailbox, wanted.map(toMessage), { cursor, quiet });
    const reports = messages.map(({ uid, flags }) => ({ uid, flags: [...flags], labels: null, modseq: null }));
    await server.applyFlags(account, mailbox, reports, cursor);
  }
}
