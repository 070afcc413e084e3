/**
 * Stores raw messages as e-mails. Messages are parsed and sanitised in worker threads, and their bytes are stored first. Then
 * rows, thread keys, full-text index, counts and events are written in one transaction. Imports, drafts and messages to send
 * all pass through here.
 */
import { getElement, getFirst, pairUp } from '../../base/aligned-lists.ts';
import type { BlobStore } from '../../base/blob-store.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { findOwnAddresses } from '../../database/mail/account-rows.ts';
import { isAccountOpen } from '../../database/mail/deferred-delete-rows.ts';
import { EmailRows } from '../../database/mail/email-rows.ts';
import { findExistingEmails, MailWriter } from '../../database/mail/mail-writer.ts';
import { PlacementRows } from '../../database/mail/placement-rows.ts';
import { SubjectPartyRows } from '../../database/mail/subject-party-rows.ts';
import { MailTooLarge, type ParsePool } from '../parse/parse-pool.ts';
import { type Groups, groupIntoConversations } from '../threads/conversation-groups.ts';
import { conversationSubject } from '../threads/conversation-subject.ts';
import { readOwnAddresses } from '../threads/own-addresses.ts';
import { Participants } from '../threads/participants.ts';
import { addParties, buildPartyEntries, findSubjectMatches } from '../threads/subject-matches.ts';
import { computeThreadIndexKeys } from '../threads/thread-index-keys.ts';
import { AccountDeleted, accountDeletedError } from './account-deleted.ts';
import type { IncomingMail, IngestActor, IngestResult, MailAccount } from './incoming-mail.ts';
import { appendMailEvent, type MailEvent } from './mail-events.ts';
import { buildEmail, buildIndexEntry, type ParsedIncomingMail, resolveReceivedAt } from './new-email.ts';

/** What the ingest of an application works with. */
export interface IngestParts {
  readonly database: Database;
  readonly blobs: BlobStore;
  readonly parser: ParsePool;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** One message of a batch. */
interface BatchEntry {
  readonly incoming: IncomingMail;
  readonly identity: string;
  /** Null where the account has the message already, and where it was refused. */
  readonly parsed: ParsedIncomingMail | null;
  /** Why the message was refused; null: it was not. */
  readonly refusal: string | null;
}

/** The transaction in which messages of one account are stored. */
interface IngestTransaction {
  readonly transaction: Transaction;
  readonly writer: MailWriter;
  readonly account: MailAccount;
  readonly actor: IngestActor;
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
   * @returns one result for each message, in their order. A message that cannot be stored does not stop the others.
   */
  async store(account: MailAccount, messages: readonly IncomingMail[], actor: IngestActor): Promise<IngestResult[]> {
    try {
      return await this.#storeAll(account, messages, actor);
    } catch (error) {
      if (this.#closed) throw error;
      if (error instanceof AccountDeleted)
        return messages.map(() => ({ outcome: 'failed', emailId: null, reason: error.message }));
      if (messages.length > 1) {
        const results: IngestResult[] = [];
        for (const each of messages) results.push(...(await this.store(account, [each], actor)));
        return results;
      }
      this.#parts.logger.warn({ err: error }, 'a message could not be stored');
      return [{ outcome: 'failed', emailId: null, reason: 'The server could not store it; its log says why.' }];
    }
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
    return getFirst(await this.#storeNew({ transaction, writer, account, actor }, [parsed]));
  }

  async #storeAll(
    account: MailAccount,
    messages: readonly IncomingMail[],
    actor: IngestActor,
  ): Promise<IngestResult[]> {
    const { database, parser, blobs } = this.#parts;
    if (!(await isAccountOpen(database, null, account.id))) throw new AccountDeleted();
    const identities = await parser.identify(
      messages.map(({ raw }) => raw),
      messages,
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
    return pairUp(batch, await this.#write(account, batch, actor)).map(([entry, result]) =>
      toIngestResult(result, entry),
    );
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
    const mail = await this.#parts.parser.parse(incoming.raw, group);
    const receivedAt = resolveReceivedAt(incoming.receivedAt, mail, this.#parts.clock.now());
    const ownAddresses = readOwnAddresses(mail, incoming.mailbox.folder);
    const threadKeys = computeThreadIndexKeys({ ...mail, ownAddresses }, receivedAt);
    return { incoming, mail, identity, threadKeys, receivedAt };
  }

  #write(account: MailAccount, batch: readonly BatchEntry[], actor: IngestActor): Promise<WriteResult[]> {
    const { database } = this.#parts;
    const work = async (transaction: Transaction): Promise<WriteResult[]> => {
      if (!(await isAccountOpen(database, transaction, account.id))) throw new AccountDeleted();
      const writer = new MailWriter(database, transaction, account.id);
      const ingest = { transaction, writer, account, actor };
      const present = await writer.findExisting(batch.map(({ identity }) => identity));
      const fresh = new Map<string, ParsedIncomingMail>();
      for (const { identity, parsed } of batch)
        if (parsed && !present.has(identity) && !fresh.has(identity)) fresh.set(identity, parsed);
      const stored = await this.#storeNew(ingest, [...fresh.values()]);
      const created = new Map(pairUp([...fresh.keys()], stored));
      await this.#addPlacements(ingest, batch, new Map([...present, ...created]));
      const reported = new Set<string>();
      return batch.map(({ identity }): WriteResult => {
        const duplicate = present.has(identity) || reported.has(identity);
        reported.add(identity);
        return { id: created.get(identity) ?? present.get(identity) ?? null, duplicate };
      });
    };
    return database.write(work, { lockKey: `mail ${account.id}` });
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
      [...added].flatMap(([id, to]) => [...to].map((mailbox) => [id, mailbox, null, null] as const)),
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
    await subjectIndex.add(
      pairUp(messageParties, ids).flatMap(([parties, email]) =>
        buildPartyEntries(parties).map((row) => ({ ...row, email })),
      ),
    );
    const keys = placed.flatMap(([{ threadKeys }, conversation]) =>
      threadKeys.keys.map((key) => [key, conversation] as const),
    );
    await writer.addThreadKeys([...new Map(keys)]);
    await writer.addToFullTextIndex(pairUp(fresh, ids).map(([{ mail }, id]) => buildIndexEntry(id, account.id, mail)));
    const touched = [...new Set([...conversations, ...listMerged(merges)])];
    await addParticipants(writer, placed, merges);
    await writer.recount(touched);
    for (const [mailbox, list] of Map.groupBy(emails, (each) => each.mailboxId))
      await writer.addToMailboxCounts(mailbox, list.length, list.filter((each) => !each.read).length);
    await this.#emitNew(ingest, ids, touched, joined);
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

  #emitEvent({ transaction, actor }: IngestTransaction, event: MailEvent): Promise<void> {
    const { changes, clock } = this.#parts;
    return appendMailEvent(transaction, { changes, clock, ...actor }, event);
  }
}

interface WriteResult {
  readonly id: number | null;
  readonly duplicate: boolean;
}

function toIngestResult({ id, duplicate }: WriteResult, { parsed, refusal }: BatchEntry): IngestResult {
  if (refusal !== null) return { outcome: 'failed', emailId: null, reason: refusal };
  if (duplicate) return { outcome: 'duplicate', emailId: id, reason: null };
  if (parsed?.mail.bodyState === 'unparsable') return { outcome: 'unparsable', emailId: id, reason: parsed.mail.text };
  return { outcome: 'stored', emailId: id, reason: null };
}

function collectBlobs({ incoming, mail }: ParsedIncomingMail): { sha256: string; bytes: Uint8Array }[] {
  return [{ sha256: mail.sha256, bytes: incoming.raw }, ...mail.attachments];
}

interface JoinedConversations {
  /** For each message. */
  readonly conversations: readonly number[];
  readonly created: ReadonlySet<number>;
  readonly merges: Groups['merges'];
  /** Stored e-mails that belong to another conversation now. */
  readonly moved: readonly number[];
}

/** Finds the conversation of each message. Creates one for each message that begins one, and merges those that turn out to be one. */
async function joinConversations(
  writer: MailWriter,
  fresh: readonly ParsedIncomingMail[],
  matches: Awaited<ReturnType<typeof findSubjectMatches>>,
): Promise<JoinedConversations> {
  const known = await writer.findThreadConversations([...new Set(fresh.flatMap(({ threadKeys }) => threadKeys.keys))]);
  const { placements, merges } = groupIntoConversations(
    pairUp(fresh, matches).map(([{ threadKeys }, match]) => ({ keys: threadKeys.keys, ...match })),
    known,
  );
  const moved: number[] = [];
  for (const { into, others } of merges) moved.push(...(await writer.merge(into, others)));
  const firsts = [...new Set(placements.flatMap((placement) => ('first' in placement ? [placement.first] : [])))];
  const subjects = firsts.map((first) => conversationSubject(getElement(fresh, first).mail.subject));
  const ids = await writer.addConversations(subjects);
  const idByFirst = new Map(pairUp(firsts, ids));
  return {
    conversations: placements.map((placement) => {
      if (!('first' in placement)) return placement.conversation;
      const id = idByFirst.get(placement.first);
      if (id === undefined) throw new Error('a conversation was not created');
      return id;
    }),
    created: new Set(ids),
    merges,
    moved,
  };
}

/** The conversations that a merge changes. */
function listMerged(merges: Groups['merges']): number[] {
  return merges.flatMap(({ into, others }) => [into, ...others]);
}

/**
 * Adds the senders and recipients of messages to the participants of their conversations, and those of merged conversations
 * to the conversation that they are merged into.
 *
 * @param placed messages, each with its conversation.
 */
export async function addParticipants(
  writer: MailWriter,
  placed: readonly (readonly [message: Pick<ParsedIncomingMail, 'mail'>, conversation: number])[],
  merges: Groups['merges'] = [],
): Promise<void> {
  const ids = [...placed.map(([, conversation]) => conversation), ...listMerged(merges)];
  const present = await writer.readParticipants([...new Set(ids)]);
  const participantsById = new Map<number, Participants>();
  const getParticipants = (id: number): Participants => {
    const people = participantsById.get(id) ?? new Participants(present.get(id));
    participantsById.set(id, people);
    return people;
  };
  for (const { into, others } of merges)
    for (const other of others) getParticipants(into).addAll(present.get(other) ?? []);
  for (const [{ mail }, conversation] of placed)
    getParticipants(conversation).add({ from: mail.from, others: [...mail.to, ...mail.cc] });
  for (const [id, people] of participantsById) {
    const list = people.list();
    if (JSON.stringify(list) !== JSON.stringify(present.get(id))) await writer.setParticipants(id, list);
  }
}
