/**
 * One connection to an IMAP server, as synchronisation uses it: answers are copied out of the library's objects, which change with every
 * notification, and a refused command throws instead of returning false.
 */

import type {
  FetchMessageObject,
  FetchQueryObject,
  ImapFlow,
  ListResponse,
  MessageStructureObject,
  SearchObject,
} from 'imapflow';
import { splitIntoChunks } from '../../base/split-into-chunks.ts';
import { TimeSlices } from '../../base/time-slices.ts';
import { connectLimits } from '../connect/guarded-connection.ts';
import { readResponseCode, readServerId, selectServerNames } from '../connect/server-text.ts';
import { toSharedBytes } from '../parse/shared-bytes.ts';
import type { ServerMessage } from '../store/server-mail.ts';
import { countFetchedBytes } from './fetched-bytes.ts';
import { limitVanished } from './limit-vanished.ts';
import { readMessageId, toIsoTime } from './server-values.ts';
import type { SyncTimes } from './sync-services.ts';
import { formatUidSet } from './uid-set.ts';

/** What the server says about a message, without its content. */
export interface MessageEntry extends Omit<ServerMessage, 'raw'> {
  /** Bytes, as the server says. */
  readonly size: number;
}

/** What the server says about a message, with its headers and its structure. */
export interface MessageHead extends MessageEntry {
  /** The header block, with the empty line after it. */
  readonly headers: Uint8Array;
  /** Null: the server does not name the parts. */
  readonly structure: MessageStructureObject | null;
  /** The first bytes of parts, by their number; empty where they were not requested. */
  readonly beginnings: ReadonlyMap<string, Buffer>;
}

/** The first bytes of parts that are read with the headers. */
export interface PartBeginnings {
  readonly parts: readonly string[];
  readonly bytes: number;
}

/** What distinguishes a message from others, on servers without ids. */
export interface MessageIdentity {
  readonly uid: number;
  readonly size: number;
  /** With angle brackets; null: the message has none. */
  readonly messageId: string | null;
}

/** Flags of a message as the server reports them. */
export type ReportedFlags = Pick<ServerMessage, 'uid' | 'flags' | 'labels' | 'modseq'>;

/** A mailbox at the moment when it was selected. */
export interface SelectedMailbox {
  readonly path: string;
  readonly uidvalidity: string;
  readonly uidnext: number;
  /** The number of messages. */
  readonly exists: number;
  /** Null: the mailbox has no modification sequences. */
  readonly highestmodseq: string | null;
}

/** A refused command: the server answered NO or BAD. */
export class CommandRefused extends Error {
  readonly responseStatus = 'NO';
  /** The response code, such as `OVERQUOTA`; null without one. */
  readonly responseCode: string | null;

  constructor(command: string, responseCode: string | null) {
    super(`The server refused ${command}${responseCode === null ? '' : ` (${responseCode})`}.`);
    this.name = 'CommandRefused';
    this.responseCode = responseCode;
  }
}

/** Messages were larger than the server had named. */
export class MoreThanNamed extends Error {}

/** UIDs in one command: the lines stay far below the limits of servers. */
const uidsPerCommand = 500;

/** One connection, used by one task at a time. */
export class SyncSession {
  readonly client: ImapFlow;
  readonly #commandMilliseconds: number;
  readonly #fetchMilliseconds: number;
  #selected: SelectedMailbox | null = null;
  #lastResponseCode: string | null = null;

  /**
   * @param client connected and signed in.
   * @param times how long the server may take for a command.
   */
  constructor(client: ImapFlow, times: Pick<SyncTimes, 'commandMilliseconds' | 'fetchMilliseconds'>) {
    this.client = client;
    this.#commandMilliseconds = times.commandMilliseconds;
    this.#fetchMilliseconds = times.fetchMilliseconds;
    limitVanished(client);
    client.on('response', ({ response, code }) => {
      if (response.toUpperCase() !== 'OK') this.#lastResponseCode = readResponseCode(code);
    });
    client.on('mailboxClose', () => {
      this.#selected = null;
    });
  }

  /** The mailbox that is selected; null: none. */
  get selected(): SelectedMailbox | null {
    return this.#selected;
  }

  /** The number of messages in the selected mailbox now. */
  get exists(): number {
    return this.client.mailbox ? this.client.mailbox.exists : 0;
  }

  get hasCondstore(): boolean {
    return this.client.enabled.has('CONDSTORE');
  }

  get hasQresync(): boolean {
    return this.client.enabled.has('QRESYNC');
  }

  /** A server of Gmail, whose mailboxes are views of labels. */
  get isGmail(): boolean {
    return this.has('X-GM-EXT-1');
  }

  /** Whether messages have identities that survive moves. */
  get hasProviderIds(): boolean {
    return this.isGmail || this.has('OBJECTID');
  }

  has(capability: string): boolean {
    return this.client.capabilities.has(capability) || (this.#isRev2 && rev2Capabilities.has(capability));
  }

  /** IMAP4rev2 includes some extensions without naming them. */
  get #isRev2(): boolean {
    return this.client.enabled.has('IMAP4REV2');
  }

  /** The mailboxes of the account with their counters. */
  list(): Promise<ListResponse[]> {
    const statusQuery = { messages: true, uidNext: true, uidValidity: true, unseen: true, highestModseq: true };
    return this.within(this.#commandMilliseconds, this.client.list({ statusQuery }));
  }

  /** Selects a mailbox, also the one that is selected already, so that the counters are current. */
  async select(path: string): Promise<SelectedMailbox> {
    const opened = await this.within(this.#commandMilliseconds, this.client.mailboxOpen(path));
    const { uidValidity, uidNext, exists, highestModseq, noModseq } = opened;
    const hasModseq = this.hasCondstore && noModseq !== true && highestModseq !== undefined;
    this.#selected = {
      path,
      uidvalidity: String(uidValidity),
      // Some servers do not send UIDNEXT.
      uidnext: uidNext || ((await this.#findHighestUid(exists)) ?? 0) + 1,
      exists,
      highestmodseq: hasModseq ? String(highestModseq) : null,
    };
    return this.#selected;
  }

  /**
   * UIDs of the selected mailbox in ascending order.
   *
   * @param range a set such as `1:99`; null: all.
   * @param since only messages received since this date; null: all.
   * @throws CommandRefused
   */
  async searchUids(range: string | null, since: string | null = null): Promise<number[]> {
    const which = range === null ? { all: true } : { uid: range };
    return this.#search({ ...which, ...(since !== null && { since }) });
  }

  async #findHighestUid(exists: number): Promise<number | undefined> {
    return exists === 0 ? 0 : (await this.searchUids(null)).at(-1);
  }

  /** Tests the connection: the server must answer a NOOP in time. @throws Error with the code `ETIMEOUT`. */
  async probe(milliseconds: number): Promise<void> {
    await this.within(milliseconds, this.client.noop());
  }

  /**
   * Closes the connection if a command takes longer than the given time.
   *
   * @throws Error with the code `ETIMEOUT`.
   */
  async within<T>(milliseconds: number, command: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(Object.assign(new Error('The server did not answer in time.'), { code: 'ETIMEOUT' }));
        this.client.close();
      }, milliseconds);
    });
    try {
      return await Promise.race([command, timeout]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Which of some UIDs exist in the selected mailbox. */
  async findExisting(uids: readonly number[]): Promise<Set<number>> {
    const found = new Set<number>();
    for (const chunk of splitIntoChunks(uids, uidsPerCommand))
      for (const uid of await this.searchUids(formatUidSet(chunk))) found.add(uid);
    return found;
  }

  /** UIDs of messages with a Message-ID. */
  searchMessageId(messageId: string): Promise<number[]> {
    return this.#search({ header: { 'message-id': messageId } });
  }

  /** UIDs of messages with a size in bytes. */
  searchSize(size: number): Promise<number[]> {
    return this.#search({ larger: Math.max(0, size - 1), smaller: size + 1 });
  }

  /** UIDs of messages that are marked as deleted. */
  searchDeleted(): Promise<number[]> {
    return this.#search({ deleted: true });
  }

  async #search(query: SearchObject): Promise<number[]> {
    const found = await this.within(this.#commandMilliseconds, this.client.search(query, { uid: true }));
    if (!Array.isArray(found)) throw this.refuse('UID SEARCH');
    return found;
  }

  /** Message-IDs and sizes of messages. */
  async fetchIdentities(uids: readonly number[]): Promise<MessageIdentity[]> {
    return (await this.fetchEntries(uids, true)).map(({ uid, size, messageId = null }) => ({ uid, size, messageId }));
  }

  /**
   * What the server says about messages. Those that do not exist are left out.
   *
   * @param withIds also reads Message-IDs, by which messages that were moved are recognised on servers without ids of messages.
   */
  async fetchEntries(uids: readonly number[], withIds: boolean): Promise<MessageEntry[]> {
    const entries: MessageEntry[] = [];
    for (const chunk of splitIntoChunks(uids, uidsPerCommand)) {
      const wanted = new Set(chunk);
      const found = await this.#fetchEntryRange(formatUidSet(chunk), withIds);
      entries.push(...found.filter(({ uid }) => wanted.delete(uid)));
    }
    return entries;
  }

  /** The same of the messages from a UID on, with Message-IDs. */
  async fetchEntriesFrom(uid: number): Promise<MessageEntry[]> {
    // A range with an asterisk always includes the newest message, even below the given UID.
    return (await this.#fetchEntryRange(`${uid}:*`, true)).filter((entry) => entry.uid >= uid);
  }

  async #fetchEntryRange(set: string, withIds: boolean): Promise<MessageEntry[]> {
    const query: FetchQueryObject = { ...commonQuery, size: true, ...(withIds && { headers: ['message-id'] }) };
    const rows = await this.#fetchRows(set, query);
    return rows
      .filter(({ uid, size }) => uid > 0 && size !== undefined)
      .map((row) => ({
        ...this.#toEntry(row),
        size: row.size ?? 0,
        messageId: row.headers ? readMessageId(row.headers) : null,
      }));
  }

  /**
   * Messages with their headers and their structure. Those that do not exist are left out.
   *
   * @param maxBytes of all headers, structures and beginnings together.
   * @param beginnings of which parts; null: of none.
   * @throws MoreThanNamed when they are longer; the connection can still be used.
   */
  async fetchHeads(
    uids: readonly number[],
    maxBytes: number,
    beginnings: PartBeginnings | null,
  ): Promise<MessageHead[]> {
    const wanted = new Set(uids);
    const bodyParts = beginnings?.parts.map((key) => ({ key, start: 0, maxLength: beginnings.bytes }));
    const head = { size: true, headers: true, bodyStructure: true } as const;
    const query: FetchQueryObject = { ...commonQuery, ...head, ...(bodyParts && { bodyParts }) };
    const rows = await this.#fetchRows(formatUidSet(uids), query, { maxBytes });
    return rows.flatMap((row) => {
      const { uid, size, headers, bodyStructure: structure = null } = row;
      if (size === undefined || !headers || !wanted.delete(uid)) return [];
      const entry = { ...this.#toEntry(row), size, messageId: readMessageId(headers) };
      return [{ ...entry, headers, structure, beginnings: row.bodyParts ?? new Map<string, Buffer>() }];
    });
  }

  /**
   * Messages with their content. Those that do not exist are left out.
   *
   * @param maxBytes how much of it is kept, whatever sizes the server has named.
   * @throws MoreThanNamed when it is more; the connection can still be used.
   */
  async fetchMessages(
    uids: readonly number[],
    maxBytes: number = connectLimits.literalBytes,
  ): Promise<ServerMessage[]> {
    const wanted = new Set(uids);
    const query = { ...commonQuery, source: true };
    const rows = await this.#fetchRows(formatUidSet(uids), query, { maxBytes });
    const messages: ServerMessage[] = [];
    // A row without content is a notification about some message.
    for (const row of rows)
      if (row.source !== undefined && wanted.delete(row.uid))
        messages.push({ ...this.#toEntry(row), raw: await toSharedBytes([row.source]) });
    return messages;
  }

  /**
   * What the server answers to FETCH. Rows, bytes and time are limited, because a server may answer without end.
   *
   * @throws Error with the code `FetchTooLarge`, `TooManyRows` or `ETIMEOUT`, and the connection is closed.
   */
  #fetchRows(set: string, query: FetchQueryObject, options: FetchOptions = {}): Promise<FetchMessageObject[]> {
    return this.within(this.#fetchMilliseconds, this.#collectRows(set, query, options));
  }

  async #collectRows(set: string, query: FetchQueryObject, options: FetchOptions): Promise<FetchMessageObject[]> {
    const rows: FetchMessageObject[] = [];
    // Each message once, and notifications about changes meanwhile.
    const maxRows = Math.min(this.exists, maxMessages) + spareRows;
    const { maxBytes = connectLimits.literalBytes, ...range } = options;
    let bytes = 0;
    const slices = new TimeSlices();
    for await (const row of this.client.fetch(set, query, { uid: true, ...range })) {
      // The library reads hundreds of short rows from one packet, and waits for this one before it reads the next.
      if (slices.isOver) await slices.next();
      bytes += countFetchedBytes(row);
      if (bytes > connectLimits.literalBytes)
        this.#giveUp('FetchTooLarge', 'The server sent larger messages than it had named.');
      if (rows.length >= maxRows) this.#giveUp('TooManyRows', 'The server sent more messages than the mailbox has.');
      if (bytes > maxBytes) rows.length = 0;
      else rows.push(row);
    }
    if (bytes > maxBytes) throw new MoreThanNamed();
    return rows;
  }

  /** Closes the connection: what the server still sends for a command cannot be skipped. */
  #giveUp(code: string, message: string): never {
    this.client.close();
    throw Object.assign(new Error(message), { code });
  }

  /** The flags of messages. Those that do not exist are left out. */
  async fetchFlags(uids: readonly number[]): Promise<ReportedFlags[]> {
    const reported = new Map<number, ReportedFlags>();
    const wanted = new Set(uids);
    for (const chunk of splitIntoChunks(uids, uidsPerCommand)) {
      const rows = await this.#fetchRows(formatUidSet(chunk), this.#flagQuery);
      for (const row of rows) if (row.flags && wanted.has(row.uid)) reported.set(row.uid, this.#toEntry(row));
    }
    return [...reported.values()];
  }

  /** Flags that changed since a modification sequence, and with QRESYNC the UIDs that were expunged since. */
  async fetchChanges(modseq: string): Promise<{ changes: ReportedFlags[]; vanished: number[] }> {
    const vanished: number[] = [];
    const path = this.#selected?.path;
    const collect = (event: { path: string; uid?: number | undefined }): void => {
      if (event.uid !== undefined && event.path === path) vanished.push(event.uid);
    };
    this.client.on('expunge', collect);
    try {
      const rows = await this.#fetchRows('1:*', this.#flagQuery, { changedSince: BigInt(modseq) });
      return { changes: rows.filter(({ uid, flags }) => uid > 0 && flags).map((row) => this.#toEntry(row)), vanished };
    } finally {
      this.client.off('expunge', collect);
    }
  }

  get #flagQuery(): FetchQueryObject {
    return { uid: true, flags: true, ...(this.isGmail && { labels: true }) };
  }

  #toEntry(row: FetchMessageObject): Omit<ServerMessage, 'raw'> {
    return {
      uid: row.uid,
      modseq: row.modseq === undefined ? null : String(row.modseq),
      flags: selectServerNames(row.flags ?? []).filter((flag) => flag.toLowerCase() !== '\\recent'),
      labels: this.isGmail && row.labels ? selectServerNames(row.labels) : null,
      internalDate: toIsoTime(row.internalDate),
      providerId: this.hasProviderIds ? readServerId(row.emailId) : null,
      providerThreadId: this.hasProviderIds ? readServerId(row.threadId) : null,
    };
  }

  /** The error of a command that the library reported as `false`. */
  refuse(command: string): CommandRefused {
    return new CommandRefused(command, this.#lastResponseCode);
  }
}

type FetchOptions = Omit<NonNullable<Parameters<ImapFlow['fetch']>[2]>, 'uid'> & { readonly maxBytes?: number };

/** Messages that one answer may be about, whatever number the server names. */
const maxMessages = 500_000;
/** Rows of one answer about other messages than those that were requested. */
const spareRows = 10_000;

const commonQuery = { uid: true, flags: true, internalDate: true, threadId: true, labels: true } as const;

/** Extensions that are part of IMAP4rev2 (RFC 9051). */
const rev2Capabilities: ReadonlySet<string> = new Set(['IDLE', 'MOVE', 'UIDPLUS', 'ENABLE', 'UNSELECT', 'ESEARCH']);

/** Whether the server answered a command with NO or BAD: the connection still works. */
export function isRefusal(error: unknown): boolean {
  const { responseStatus } = (error ?? {}) as { responseStatus?: unknown };
  return responseStatus === 'NO' || responseStatus === 'BAD';
}

/** Whether a mailbox could not be selected because the server does not list it: the library has looked for it. */
export function isMailboxMissing(error: unknown): boolean {
  return (error as { mailboxMissing?: unknown } | null)?.mailboxMissing === true;
}
