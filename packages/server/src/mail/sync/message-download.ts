/**
 * Fetches messages in batches of bounded size and stores them. One batch is stored while the next one is fetched. Messages that the
 * account already has are only linked where the server gives messages an identity.
 */

import { mailLimits } from '../../protocol/mail-limits.ts';
import { connectLimits } from '../connect/guarded-connection.ts';
import type { IngestResult, MailAccount } from '../store/incoming-mail.ts';
import type { MailboxCursor, ServerMail, ServerMessage } from '../store/server-mail.ts';
import type { ReportedProblem } from './account-reports.ts';
import type { ByteBudget } from './byte-budget.ts';
import { isHeadersFirst, storeHeads } from './headers-download.ts';
import type { MailboxState } from './mailbox-state.ts';
import { isRefusal, type MessageEntry, MoreThanNamed, type SyncSession } from './sync-session.ts';

/** Limits of one batch: one transaction of the store, and one command to the server. */
export const batchMessages = 50;
export const batchBytes = 4 * 1024 * 1024;
/** How much larger than named the messages of a batch may be, because some servers only estimate sizes. */
export const spareBytes = 256 * 1024;

export interface DownloadParts {
  readonly account: MailAccount;
  readonly session: SyncSession;
  readonly serverMail: ServerMail;
  readonly bytes: ByteBudget;
  readonly signal: AbortSignal;
  readonly report: (problem: ReportedProblem) => Promise<void>;
  /** @throws LeaseLost when another server may synchronise the account now. */
  readonly requireLease: () => void;
}

/** How messages are stored. */
export interface StoreOptions {
  /** True for a first synchronisation: no webhook and no history entry for each message. */
  readonly quiet: boolean;
  /** Which cursor is stored with each batch: `uidnext` (ascending), `backfillUid` (descending), or none. */
  readonly order: 'ascending' | 'descending' | 'none';
  /** Large messages are stored by their headers; their bodies are downloaded afterwards. Default: false. */
  readonly headersFirst?: boolean;
}

/** What became of messages. */
export interface StoreCounts {
  /** Messages that have a UID in the mailbox now, including those that were linked. */
  readonly stored: number;
  /** Of these, messages that the account had before. */
  readonly duplicates: number;
}

/** Downloads the messages of one account on one connection. */
export class MessageDownload {
  readonly #parts: DownloadParts;

  constructor(parts: DownloadParts) {
    this.#parts = parts;
  }

  /** Stores messages of the selected mailbox that are not stored yet. */
  async store(state: MailboxState, entries: readonly MessageEntry[], options: StoreOptions): Promise<StoreCounts> {
    const { serverMail, account, requireLease } = this.#parts;
    const unknown = new Set(
      await serverMail.findUnknownUids(
        state.mailbox,
        entries.map(({ uid }) => uid),
      ),
    );
    let rest = entries.filter(({ uid }) => unknown.has(uid));
    const identified = rest.filter(({ providerId, messageId = null }) => providerId !== null || messageId !== null);
    let linked = 0;
    if (identified.length > 0) {
      requireLease();
      const left = new Set(await serverMail.linkKnown(account, state.mailbox, identified));
      linked = identified.filter(({ uid }) => !left.has(uid)).length;
      const known = new Set(identified.map(({ uid }) => uid).filter((uid) => !left.has(uid)));
      rest = rest.filter(({ uid }) => !known.has(uid));
    }
    const counts = { stored: linked, duplicates: linked };
    rest = await this.#refuseTooLarge(state, rest);
    // Headers are stored first: the position that is stored with the other messages covers all messages above it.
    if (options.headersFirst === true) rest = await this.#storeHeads(state, rest, { options, counts });
    await this.#download(state, rest, { options, counts });
    return counts;
  }

  /**
   * Links messages of the selected mailbox whose bytes the server did not send, if they turn out to be e-mails that
   * were lost in another mailbox. Their bytes are then not needed.
   */
  async linkSkipped(state: MailboxState): Promise<void> {
    const { session, serverMail, account, requireLease } = this.#parts;
    const entries = await session.fetchEntries([...state.skipped], true);
    requireLease();
    const left = new Set(await serverMail.linkKnown(account, state.mailbox, entries));
    for (const { uid } of entries) {
      if (left.has(uid)) continue;
      state.skipped.delete(uid);
      if (state.count !== null) state.count += 1;
    }
  }

  /** @returns the messages that are to be downloaded whole. */
  async #storeHeads(
    state: MailboxState,
    entries: readonly MessageEntry[],
    { options, counts }: CountedOptions,
  ): Promise<MessageEntry[]> {
    const { serverMail, account, requireLease } = this.#parts;
    const stored = new Set<number>();
    const large = entries.filter((each) => isHeadersFirst(state, each));
    await storeHeads(this.#parts, large, async (messages) => {
      requireLease();
      const reading = { cursor: {}, quiet: options.quiet };
      const results = await serverMail.storePartial(account, state.mailbox, messages, reading);
      for (const [index, { outcome }] of results.entries()) {
        // What cannot be stored by its headers is tried as a whole.
        if (outcome === 'failed') continue;
        stored.add(messages[index]?.uid ?? 0);
        countOutcome(counts, outcome);
      }
    });
    return entries.filter(({ uid }) => !stored.has(uid));
  }

  async #download(
    state: MailboxState,
    entries: readonly MessageEntry[],
    { options, counts }: CountedOptions,
  ): Promise<void> {
    const { bytes, signal } = this.#parts;
    const sign = options.order === 'descending' ? -1 : 1;
    const sorted = [...entries].sort((one, other) => sign * (one.uid - other.uid));
    let storing: Promise<void> = Promise.resolve();
    try {
      for (const batch of splitIntoBatches(sorted)) {
        const maxBytes = sumSizes(batch) + spareBytes;
        let release = await bytes.acquire(maxBytes, signal);
        let messages: ServerMessage[];
        try {
          messages = await this.#fetch(state, batch, maxBytes).catch(async (error: unknown) => {
            if (!(error instanceof MoreThanNamed)) throw error;
            release();
            release = await bytes.acquire(connectLimits.literalBytes, signal);
            return this.#fetch(state, batch, connectLimits.literalBytes);
          });
          await storing;
        } catch (error) {
          release();
          throw error;
        }
        storing = this.#storeBatch(state, { batch, messages, options, counts }).finally(release);
        storing.catch(() => {}); // awaited before the next batch
      }
    } finally {
      await storing;
    }
  }

  async #storeBatch(
    state: MailboxState,
    work: CountedOptions & { readonly batch: readonly MessageEntry[]; readonly messages: readonly ServerMessage[] },
  ): Promise<void> {
    const { serverMail, account, requireLease } = this.#parts;
    const { batch, messages, options, counts } = work;
    if (messages.length === 0) return;
    requireLease();
    const cursor = createCursor(batch, options.order);
    const results = await serverMail.storeMessages(account, state.mailbox, messages, { cursor, quiet: options.quiet });
    state.setCursor(cursor);
    for (const [index, result] of results.entries()) {
      if (result.outcome === 'failed') await this.#skip(state, messages[index]?.uid ?? 0, result);
      else countOutcome(counts, result.outcome);
    }
  }

  /** Fetches a batch. If the server refuses it, the messages are fetched one by one, so that one bad message does not stop the others. */
  async #fetch(state: MailboxState, batch: readonly MessageEntry[], maxBytes: number): Promise<ServerMessage[]> {
    const { session } = this.#parts;
    try {
      const messages = await session.fetchMessages(
        batch.map(({ uid }) => uid),
        maxBytes,
      );
      if (messages.length === batch.length || batch.length === 1) return messages;
      const found = new Set(messages.map(({ uid }) => uid));
      const existing = await session.findExisting(batch.map(({ uid }) => uid).filter((uid) => !found.has(uid)));
      for (const uid of existing) messages.push(...(await this.#fetchOne(state, uid)));
      return messages;
    } catch (error) {
      if (!isRefusal(error) || batch.length === 1) {
        if (isRefusal(error)) await this.#reportUnreadable(state, batch[0]?.uid ?? 0);
        else throw error;
        return [];
      }
      const messages: ServerMessage[] = [];
      for (const { uid } of batch) messages.push(...(await this.#fetchOne(state, uid)));
      return messages;
    }
  }

  async #fetchOne(state: MailboxState, uid: number): Promise<ServerMessage[]> {
    const { session } = this.#parts;
    try {
      const messages = await session.fetchMessages([uid]);
      if (messages.length > 0 || !(await session.findExisting([uid])).has(uid)) return messages;
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
    await this.#reportUnreadable(state, uid);
    return [];
  }

  async #reportUnreadable(state: MailboxState, uid: number): Promise<void> {
    state.skipped.add(uid);
    await this.#parts.report({
      code: 'messageUnreadable',
      message: `The server lists message ${uid} of "${state.mailbox.path}", but does not give its content.`,
      cure: 'Open the message in another mail program. If that fails too, ask the operator of the mail server to repair the mailbox.',
    });
  }

  async #refuseTooLarge(state: MailboxState, entries: readonly MessageEntry[]): Promise<MessageEntry[]> {
    const fitting = entries.filter(({ size }) => size <= mailLimits.rawBytes);
    for (const { uid, size } of entries)
      if (size > mailLimits.rawBytes)
        await this.#skip(state, uid, {
          reason: `It has ${Math.ceil(size / 1_048_576)} MB; the limit is ${mailLimits.rawBytes / 1_048_576} MB.`,
        });
    return fitting;
  }

  async #skip(state: MailboxState, uid: number, { reason }: Pick<IngestResult, 'reason'>): Promise<void> {
    state.skipped.add(uid);
    await this.#parts.report({
      code: 'messageNotStored',
      message: `Message ${uid} of "${state.mailbox.path}" could not be stored. ${reason ?? ''}`.trim(),
      cure: 'Read the message in another mail program.',
    });
  }
}

/** How messages are stored, with the counts to which they are added. */
interface CountedOptions {
  readonly options: StoreOptions;
  readonly counts: { stored: number; duplicates: number };
}

function countOutcome(counts: CountedOptions['counts'], outcome: IngestResult['outcome']): void {
  counts.stored += 1;
  if (outcome === 'duplicate') counts.duplicates += 1;
}

function createCursor(batch: readonly MessageEntry[], order: StoreOptions['order']): MailboxCursor {
  const uids = batch.map(({ uid }) => uid);
  if (order === 'ascending') return { uidnext: Math.max(...uids) + 1 };
  return order === 'descending' ? { backfillUid: Math.min(...uids) } : {};
}

function splitIntoBatches(entries: readonly MessageEntry[]): MessageEntry[][] {
  const batches: MessageEntry[][] = [];
  let batch: MessageEntry[] = [];
  let size = 0;
  for (const entry of entries) {
    if (batch.length > 0 && (batch.length >= batchMessages || size + entry.size > batchBytes)) {
      batches.push(batch);
      [batch, size] = [[], 0];
    }
    batch.push(entry);
    size += entry.size;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

function sumSizes(entries: readonly MessageEntry[]): number {
  return entries.reduce((sum, { size }) => sum + size, 0);
}
