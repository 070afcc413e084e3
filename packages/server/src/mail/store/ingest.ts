/**
 * Stores raw messages as e-mails. Messages are parsed and sanitised in worker threads, and their bytes are stored first. Then
 * rows, thread keys, full-text index, counts and events are written in one transaction. Imports, drafts and messages to send
 * all pass through here.
 */

import { getFirst, pairUp } from '../../base/aligned-lists.ts';
import type { BlobStore } from '../../base/blob-store.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { splitIntoChunks } from '../../base/split-into-chunks.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { findOwnAddresses } from '../../database/mail/account-rows.ts';
import { isAccountOpen } from '../../database/mail/deferred-delete-rows.ts';
import { EmailRows } from '../../database/mail/email-rows.ts';
import { findExistingEmails, MailWriter } from '../../database/mail/mail-writer.ts';
import { addMissingBodies } from '../../database/mail/missing-body-rows.ts';
import { type PartialEmail, readPartialEmail } from '../../database/mail/partial-rows.ts';
import { PlacementRows } from '../../database/mail/placement-rows.ts';
import { SubjectPartyRows } from '../../database/mail/subject-party-rows.ts';
import { TombstoneRows } from '../../database/mail/tombstone-rows.ts';
import { noteArrivals } from '../authenticity/correspondents.ts';
import { toPartialIdentity } from '../parse/mail-identity.ts';
import { MailTooLarge, type ParsePool } from '../parse/parse-pool.ts';
import { readOwnAddresses } from '../threads/own-addresses.ts';
import { addParties, buildPartyEntries, findSubjectMatches } from '../threads/subject-matches.ts';
import { computeThreadIndexKeys } from '../threads/thread-index-keys.ts';
import { AccountDeleted, accountDeletedError } from './account-deleted.ts';
import type { ArrivalObserver } from './arrival-observer.ts';
import type { IncomingMail, IngestActor, IngestResult, MailAccount } from './incoming-mail.ts';
import { type BatchEntry, collectBlobs, type EntryResult, selectKnown, toIngestResult } from './ingest-batch.ts';
import { type IngestSource, listIdentities } from './ingest-source.ts';
import { addParticipants, type JoinedConversations, joinConversations, listMerged } from './join-conversations.ts';
import { appendMailEvent, type MailEvent } from './mail-events.ts';
import { buildEmail, buildIndexEntry, type ParsedIncomingMail, resolveReceivedAt } from './new-email.ts';
import { toPartialMail } from './partial-mail.ts';
import { storeBody } from './store-body.ts';

/** Messages whose words are prepared for the index at once, which takes some tenths of a millisecond for each. */
const indexedAtOnce = 8;

/** What the ingest of an application works with. */
export interface IngestParts {
  readonly database: Database;
  readonly blobs: BlobStore;
  readonly parser: ParsePool;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called after a commit that stored messages whose authenticity is to be checked. */
  readonly wakeChecks: () => void;
  /** Runs in the transaction that stores e-mails which have just arrived ({@link IncomingMail.isNew}). @param emails their keys. */
  readonly onNewMail?: (transaction: Transaction, account: number, emails: readonly number[]) => Promise<void>;
  /** Looks at all messages in the transaction that stores them. */
  readonly arrivals?: ArrivalObserver | undefined;
}

/** The transaction in which messages of one account are stored. */
interface IngestTransaction {
  readonly transaction: Transaction;
  readonly writer: MailWriter;
  readonly account: MailAccount;
  readonly actor: IngestActor;
  /** Whether no events about the messages are appended. */
  readonly isQuiet: boolean;
}

/**
 * Stores messages in the accounts of one application.
 *
 * @example `const [{ outcome }] = await ingest.store(account, [{ raw, mailbox, receivedAt: null, flags }], actor)`
 */
export class MailIngest {
  readonly #parts: IngestParts;
  #closed = false;

  constructor(parts: IngestParts) {
    this.#parts = parts;
  }

  /** Running transactions finish; after that nothing more is stored. */
  close(): void {
    this.#closed = true;
  }

  /**
   * Stores messages durably. Batches of some tens are fastest.
   *
   * @param source where the messages come from; null: an import by a user.
   * @returns one result for each message, in their order. A message that cannot be stored does not stop the others.
   */
  async store(
    account: MailAccount,
    messages: readonly IncomingMail[],
    actor: IngestActor,
    source: IngestSource | null = null,
  ): Promise<IngestResult[]> {
    try {
      return await this.#storeAll({ account, actor, source }, messages);
    } catch (error) {
      if (this.#closed) throw error;
      if (error instanceof AccountDeleted)
        return messages.map(() => ({ outcome: 'failed', emailId: null, reason: error.message }));
      return this.#storeEach(account, messages, { actor, source }, error);
    }
  }

  /** Stores the messages of a batch that failed one by one. */
  async #storeEach(
    account: MailAccount,
    messages: readonly IncomingMail[],
    { actor, source }: Pick<IngestRun, 'actor' | 'source'>,
    error: unknown,
  ): Promise<IngestResult[]> {
    // The position up to which a server was read is stored after all of its messages.
    const unfinished = source && { ...source, finish: async (): Promise<void> => {} };
    const results: IngestResult[] = [];
    if (messages.length > 1)
      for (const each of messages) results.push(...(await this.store(account, [each], actor, unfinished)));
    else {
      this.#parts.logger.warn({ err: error }, 'a message could not be stored');
      results.push({ outcome: 'failed', emailId: null, reason: 'The server could not store it; its log says why.' });
    }
    if (source && !this.#closed)
      await this.#parts.database.write((transaction) => source.finish(transaction), { lockKey: `mail ${account.id}` });
    return results;
  }

  /**
   * Parses a message and stores its bytes, for {@link storeInTransaction}. If the message is not stored after that, the blob
   * sweep removes the bytes.
   *
   * @throws MailTooLarge
   */
  async prepare(account: MailAccount, incoming: IncomingMail): Promise<ParsedIncomingMail> {
    const identity = getFirst(await this.#parts.parser.identify([incoming.raw], incoming));
    const parsed = await this.#parse(incoming, identity);
    this.#refuseWhenClosed();
    await this.#parts.blobs.put(account.id, collectBlobs(parsed));
    return parsed;
  }

  /**
   * Stores a prepared message inside a transaction that holds the lock `mail <account>`.
   *
   * @returns the key of the e-mail.
   * @throws ApiError `RECORD_UNKNOWN` where the account was deleted meanwhile, because its e-mails are deleted with it.
   */
  async storeInTransaction(
    transaction: Transaction,
    account: MailAccount,
    parsed: ParsedIncomingMail,
    actor: IngestActor,
  ): Promise<number> {
    const { database } = this.#parts;
    if (!(await isAccountOpen(database, transaction, account.id))) throw accountDeletedError();
    const writer = new MailWriter(database, transaction, account.id);
    return getFirst(await this.#storeNew({ transaction, writer, account, actor, isQuiet: false }, [parsed]));
  }

  /** Stores the body of an e-mail that was stored with its headers only, see {@link storeBody}. */
  storeBody(
    transaction: Transaction,
    { partial, parsed, isQuiet }: FoundBody & { readonly isQuiet: boolean },
    actor: IngestActor,
  ): Promise<void> {
    return storeBody({ ...this.#parts, ...actor, transaction, isQuiet }, partial, parsed);
  }

  async #storeAll(ingest: IngestRun, messages: readonly IncomingMail[]): Promise<IngestResult[]> {
    const { database, parser, blobs } = this.#parts;
    const { account } = ingest;
    if (!(await isAccountOpen(database, null, account.id))) throw new AccountDeleted();
    const hashes = await parser.identify(
      messages.map(({ raw }) => raw),
      messages,
    );
    const identities = pairUp(messages, hashes).map(([{ partial }, each]) =>
      partial ? toPartialIdentity(each, partial.size) : each,
    );
    const known = await findExistingEmails(database, account.id, identities);
    const batch = await Promise.all(
      pairUp(messages, identities).map(([incoming, identity]) =>
        known.has(identity)
          ? { incoming, identity, parsed: null, refusal: null }
          : this.#parseEntry(incoming, identity, messages),
      ),
    );
    this.#refuseWhenClosed();
    await blobs.put(
      account.id,
      batch.flatMap(({ parsed }) => (parsed ? collectBlobs(parsed) : [])),
    );
    return pairUp(batch, await this.#write(ingest, batch)).map(([entry, result]) => toIngestResult(result, entry));
  }

  #refuseWhenClosed(): void {
    if (this.#closed) throw new Error('the application is being closed');
  }

  /** @param group messages that are parsed together. */
  async #parseEntry(incoming: IncomingMail, identity: string, group: unknown): Promise<BatchEntry> {
    try {
      return { incoming, identity, parsed: await this.#parse(incoming, identity, group), refusal: null };
    } catch (error) {
      if (!(error instanceof MailTooLarge)) throw error;
      return { incoming, identity, parsed: null, refusal: error.message };
    }
  }

  async #parse(incoming: IncomingMail, identity: string, group: unknown = incoming): Promise<ParsedIncomingMail> {
    const parsed = await this.#parts.parser.parse(incoming.raw, group);
    const mail = incoming.partial ? toPartialMail(parsed, incoming.partial) : parsed;
    const receivedAt = resolveReceivedAt(incoming.receivedAt, mail, this.#parts.clock.now());
    const ownAddresses = readOwnAddresses(mail, incoming.mailbox.folder);
    const threadKeys = computeThreadIndexKeys({ ...mail, ownAddresses }, receivedAt);
    return { incoming, mail, identity, threadKeys, receivedAt };
  }

  #write({ account, actor, source }: IngestRun, batch: readonly BatchEntry[]): Promise<EntryResult[]> {
    const { database } = this.#parts;
    const work = async (transaction: Transaction): Promise<EntryResult[]> => {
      if (!(await isAccountOpen(database, transaction, account.id))) throw new AccountDeleted();
      const writer = new MailWriter(database, transaction, account.id);
      const ingest = { transaction, writer, account, actor, isQuiet: source?.isQuiet ?? false };
      const deleted = await this.#findDeleted(ingest, batch, source);
      const wanted = batch.filter(({ identity }) => !deleted.has(identity));
      const present = await writer.findExisting(wanted.map(({ identity }) => identity));
      if (source) await this.#addSentCopies(ingest, wanted, present);
      await this.#completePartial(ingest, wanted, present);
      const fresh = new Map<string, ParsedIncomingMail>();
      for (const { identity, parsed } of wanted)
        if (parsed && !present.has(identity) && !fresh.has(identity)) fresh.set(identity, parsed);
      const stored = await this.#storeNew(ingest, [...fresh.values()]);
      const created = new Map(pairUp([...fresh.keys()], stored));
      const ids = new Map([...present, ...created]);
      const stayed = new Set([...fresh.values()].map(({ incoming }) => incoming));
      if (source) await source.link(transaction, selectKnown(wanted, ids, stayed));
      else await this.#addPlacements(ingest, batch, ids);
      await source?.finish(transaction);
      const reported = new Set<string>();
      return batch.map(({ identity }): EntryResult => {
        const duplicate = present.has(identity) || reported.has(identity) || deleted.has(identity);
        reported.add(identity);
        return { id: created.get(identity) ?? present.get(identity) ?? null, duplicate };
      });
    };
    return database.write(work, { lockKey: `mail ${account.id}` });
  }

  /** Adds copies of messages that were sent from here to those that the account has. */
  async #addSentCopies(
    { transaction, account, actor }: IngestTransaction,
    batch: readonly BatchEntry[],
    present: Map<string, number>,
  ): Promise<void> {
    const unknown = batch.flatMap(({ identity, parsed }) => (parsed && !present.has(identity) ? [parsed] : []));
    const copies = await this.#parts.arrivals?.findSentCopies(transaction, account, unknown, actor);
    for (const [identity, email] of copies ?? []) present.set(identity, email);
  }

  /** Adds a whole message to an e-mail that was stored with its headers only: it was moved, copied or imported. */
  async #completePartial(
    { transaction, writer, actor, isQuiet }: IngestTransaction,
    batch: readonly BatchEntry[],
    present: Map<string, number>,
  ): Promise<void> {
    const unknown = batch.flatMap(({ identity, parsed }) => (parsed && !present.has(identity) ? [parsed] : []));
    const found = await writer.findExisting(unknown.flatMap(({ mail }) => mail.partialIdentity ?? []));
    for (const parsed of unknown) {
      const id = found.get(parsed.mail.partialIdentity ?? '');
      const partial = id === undefined ? null : await readPartialEmail(this.#parts.database, transaction, id);
      if (!partial || present.has(parsed.identity)) continue;
      await this.storeBody(transaction, { partial, parsed, isQuiet }, actor);
      present.set(parsed.identity, partial.id);
    }
  }

  /** Messages that were permanently deleted here, but are still on the server. What a user imports is stored again. */
  async #findDeleted(
    { transaction, account }: IngestTransaction,
    batch: readonly BatchEntry[],
    source: IngestSource | null,
  ): Promise<ReadonlySet<string>> {
    if (source) return source.findDeleted(transaction, batch);
    const tombstones = new TombstoneRows(this.#parts.database, transaction, account.id);
    await tombstones.remove(batch.flatMap(listIdentities));
    return new Set();
  }

  /**
   * Adds mailboxes to messages that the account already has, or that occur twice in the batch: a copy may be in another
   * mailbox.
   *
   * @param ids keys of e-mails by the identity of their messages.
   */
  async #addPlacements(
    ingest: IngestTransaction,
    batch: readonly BatchEntry[],
    ids: ReadonlyMap<string, number>,
  ): Promise<void> {
    const { transaction, writer } = ingest;
    const rows = new EmailRows(this.#parts.database, transaction);
    const placementRows = new PlacementRows(this.#parts.database, transaction);
    const known = await placementRows.readMailboxes([...ids.values()]);
    const added = new Map<number, Set<number>>();
    for (const { incoming, identity } of batch) {
      const { mailbox } = incoming;
      const id = ids.get(identity);
      if (id === undefined || known.get(id)?.has(mailbox.id)) continue;
      known.set(id, (known.get(id) ?? new Set()).add(mailbox.id));
      added.set(id, (added.get(id) ?? new Set()).add(mailbox.id));
    }
    if (added.size === 0) return;
    const emails = [...added.keys()];
    await writer.addPlacements(
      [...added].flatMap(([emailId, to]) => [...to].map((mailboxId) => ({ emailId, mailboxId }))),
    );
    await placementRows.updatePrimaryMailboxes(emails);
    const placements = await rows.readPlacements(emails);
    for (const { id, read } of placements)
      for (const mailbox of added.get(id) ?? []) await writer.addToMailboxCounts(mailbox, 1, read ? 0 : 1);
    const conversations = [...new Set(placements.flatMap(({ conversationId }) => conversationId ?? []))];
    await writer.recount(conversations);
    await this.#emitEvent(ingest, { name: 'emails.updated', keys: emails, changed: ['mailboxId', 'folder'] });
    await this.#emitEvent(ingest, { name: 'conversations.updated', keys: conversations });
  }

  /** Stores messages that the account does not have. @returns their keys, in their order. */
  async #storeNew(ingest: IngestTransaction, fresh: readonly ParsedIncomingMail[]): Promise<number[]> {
    if (fresh.length === 0) return [];
    const { transaction, writer, account } = ingest;
    const { database } = this.#parts;
    const accountAddresses = await findOwnAddresses(database, transaction, account.id);
    if (!accountAddresses) throw new AccountDeleted();
    const messageParties = fresh.map(({ threadKeys }) => addParties(threadKeys, accountAddresses));
    const subjectIndex = new SubjectPartyRows(database, transaction, account.id);
    const matches = await findSubjectMatches(subjectIndex, messageParties);
    const joined = await joinConversations(writer, fresh, matches);
    const { conversations, merges } = joined;
    const placed = pairUp(fresh, conversations);
    const emails = placed.map(([each, conversation]) => buildEmail(each, conversation, accountAddresses));
    const ids = await writer.addEmails(emails);
    await noteArrivals({ ...this.#parts, ...ingest.actor, isQuiet: ingest.isQuiet }, transaction, account.id, {
      emails,
      ids,
    });
    const partial = pairUp(emails, ids).filter(([email]) => email.bodyState === 'partial');
    await addMissingBodies(
      database,
      transaction,
      account.id,
      partial.map(([, id]) => id),
    );
    await subjectIndex.add(
      pairUp(messageParties, ids).flatMap(([parties, email]) =>
        buildPartyEntries(parties).map((row) => ({ ...row, email })),
      ),
    );
    const keys = placed.flatMap(([{ threadKeys }, conversation]) =>
      threadKeys.keys.map((key) => [key, conversation] as const),
    );
    await writer.addThreadKeys([...new Map(keys)]);
    for (const some of splitIntoChunks(pairUp(fresh, ids), indexedAtOnce))
      await writer.addToFullTextIndex(
        some.map(([{ mail, incoming }, id]) =>
          buildIndexEntry(id, account.id, { ...mail, attachments: (incoming.partial ?? mail).attachments }),
        ),
      );
    const touched = [...new Set([...conversations, ...listMerged(merges)])];
    await addParticipants(writer, placed, merges);
    await writer.recount(touched);
    for (const [mailbox, list] of Map.groupBy(emails, (each) => each.mailboxId))
      await writer.addToMailboxCounts(mailbox, list.length, list.filter((each) => !each.read).length);
    await this.#emitNew(ingest, ids, touched, joined);
    await this.#parts.arrivals?.notice(transaction, account, fresh, ingest.actor);
    const arrived = pairUp(fresh, ids).filter(([{ incoming }]) => incoming.isNew === true);
    if (arrived.length > 0)
      await this.#parts.onNewMail?.(
        transaction,
        account.id,
        arrived.map(([, id]) => id),
      );
    return ids;
  }

  /** Emits the events about new e-mails, and about the conversations that they change. */
  async #emitNew(
    ingest: IngestTransaction,
    ids: readonly number[],
    conversations: readonly number[],
    { created, moved }: JoinedConversations,
  ): Promise<void> {
    const isNew = (id: number): boolean => created.has(id);
    await this.#emitEvent(ingest, { name: 'emails.created', keys: ids });
    await this.#emitEvent(ingest, { name: 'emails.updated', keys: moved, changed: ['conversationId'] });
    await this.#emitEvent(ingest, { name: 'conversations.created', keys: conversations.filter(isNew) });
    await this.#emitEvent(ingest, { name: 'conversations.updated', keys: conversations.filter((id) => !isNew(id)) });
  }

  async #emitEvent({ transaction, actor, isQuiet }: IngestTransaction, event: MailEvent): Promise<void> {
    if (isQuiet) return;
    const { changes, clock } = this.#parts;
    await appendMailEvent(transaction, { changes, clock, ...actor }, event);
  }
}

/** The body of an e-mail that was stored with its headers only. */
interface FoundBody {
  readonly partial: PartialEmail;
  readonly parsed: ParsedIncomingMail;
}

/** The messages of one account and where they come from. */
interface IngestRun {
  readonly account: MailAccount;
  readonly actor: IngestActor;
  readonly source: IngestSource | null;
}
