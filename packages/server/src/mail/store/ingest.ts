/**
 * Raw messages become stored e-mails: parsed and made safe in threads, their bytes kept first, then rows, threads, words,
 * counts and events in one transaction. Whoever brings messages in — an import, synchronisation, a draft — comes through here.
 */
import type { BlobStore } from '../../base/blob-store.ts';
import { type Clock, isoTime } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { findOwnAddresses } from '../../database/mail/account-rows.ts';
import { isAccountOpen } from '../../database/mail/deferred-delete-rows.ts';
import { EmailRows } from '../../database/mail/email-rows.ts';
import { findExistingEmails, MailWriter } from '../../database/mail/mail-writer.ts';
import { PlacementRows } from '../../database/mail/placement-rows.ts';
import { SubjectPartyRows } from '../../database/mail/subject-party-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { MailTooLarge, type ParsePool } from '../parse/parse-pool.ts';
import { type Groups, groupIntoConversations } from '../threads/conversation-groups.ts';
import { conversationSubject } from '../threads/conversation-subject.ts';
import { readOwnAddresses } from '../threads/own-addresses.ts';
import { Participants } from '../threads/participants.ts';
import { addParties, buildPartyEntries, findSubjectMatches } from '../threads/subject-matches.ts';
import { computeThreadIndexKeys } from '../threads/thread-index-keys.ts';
import type { IncomingMail, IngestActor, IngestResult, MailAccount } from './incoming-mail.ts';
import { buildEmail, buildIndexEntry, type ParsedIncomingMail, resolveReceivedAt } from './new-email.ts';

export interface IngestParts {
  readonly database: Database;
  readonly blobs: BlobStore;
  readonly parser: ParsePool;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly logger: Logger;
}

class AccountDeleted extends Error {
  constructor() {
    super('The account was destroyed meanwhile.');
  }
}

export class MailIngest {
  readonly #parts: IngestParts;
  #closed = false;

  constructor(parts: IngestParts) {
    this.#parts = parts;
  }

  /** What is under way comes to its end; nothing more is stored after that. */
  close(): void {
    this.#closed = true;
  }

  /**
   * Stores messages, durably; some tens at once are fastest.
   *
   * @returns what became of each, in their order. A message that cannot be stored stops no other.
   */
  async store(
    account: MailAccount,
    messages: readonly IncomingMail[],
    ingestActor: IngestActor,
  ): Promise<IngestResult[]> {
    try {
      return await this.#storeAll(account, messages, ingestActor);
    } catch (error) {
      if (this.#closed) throw error;
      if (error instanceof AccountDeleted)
        return messages.map(() => ({ outcome: 'failed', emailId: null, reason: error.message }));
      if (messages.length > 1) {
        const results: IngestResult[] = [];
        for (const each of messages) results.push(...(await this.store(account, [each], ingestActor)));
        return results;
      }
      this.#parts.logger.warn({ err: error }, 'a message could not be stored');
      return [{ outcome: 'failed', emailId: null, reason: 'The server could not store it; its log says why.' }];
    }
  }

  /**
   * Parses a message and keeps its bytes: what {@link storeInTransaction} needs. What is not stored after that is swept.
   *
   * @throws MailTooLarge
   */
  async prepare(account: MailAccount, incoming: IncomingMail): Promise<ParsedIncomingMail> {
    const [identity] = await this.#parts.parser.identify([incoming.raw], incoming);
    const ready = await this.#parse(incoming, identity!);
    if (this.#closed) throw new Error('the application is being closed');
    await this.#parts.blobs.put(account.id, collectBlobs(ready));
    return ready;
  }

  /**
   * Stores a prepared message inside a transaction that has the turn `mail <account>`. Returns its key.
   *
   * @throws ApiError 404 where the account was destroyed meanwhile: nothing is acknowledged that goes with it.
   */
  async storeInTransaction(
    transaction: Transaction,
    account: MailAccount,
    ready: ParsedIncomingMail,
    ingestActor: IngestActor,
  ): Promise<number> {
    if (!(await isAccountOpen(this.#parts.database, transaction, account.id)))
      throw new ApiError('RECORD_UNKNOWN', new AccountDeleted().message);
    const writer = new MailWriter(this.#parts.database, transaction, account.id);
    const [id] = await this.#storeNew(transaction, writer, account, [ready], ingestActor);
    return id!;
  }

  async #storeAll(
    account: MailAccount,
    messages: readonly IncomingMail[],
    ingestActor: IngestActor,
  ): Promise<IngestResult[]> {
    const { database } = this.#parts;
    if (!(await isAccountOpen(database, null, account.id))) throw new AccountDeleted();
    const identities = await this.#parts.parser.identify(
      messages.map(({ raw }) => raw),
      messages,
    );
    const known = await findExistingEmails(database, account.id, identities);
    const refused = new Map<number, string>();
    const ready = await Promise.all(
      messages.map((incoming, index) =>
        known.has(identities[index]!)
          ? null
          : this.#parse(incoming, identities[index]!, messages).catch((error: unknown) => {
              if (!(error instanceof MailTooLarge)) throw error;
              refused.set(index, error.message);
              return null;
            }),
      ),
    );
    if (this.#closed) throw new Error('the application is being closed');
    await this.#parts.blobs.put(
      account.id,
      ready.flatMap((each) => (each ? collectBlobs(each) : [])),
    );
    const ids = await this.#write(account, messages, identities, ready, ingestActor);
    return messages.map((_, index) => toIngestResult(ids[index]!, ready[index] ?? null, refused.get(index) ?? null));
  }

  /** @param group those that are read together. */
  async #parse(incoming: IncomingMail, identity: string, group: unknown = incoming): Promise<ParsedIncomingMail> {
    const mail = await this.#parts.parser.parse(incoming.raw, group);
    const moment = resolveReceivedAt(incoming.receivedAt, mail, this.#parts.clock.now());
    const ownAddresses = readOwnAddresses(mail, incoming.mailbox.folder);
    return {
      incoming,
      mail,
      identity,
      threadKeys: computeThreadIndexKeys({ ...mail, ownAddresses }, moment),
      receivedAt: moment,
    };
  }

  #write(
    account: MailAccount,
    messages: readonly IncomingMail[],
    identities: readonly string[],
    ready: readonly (ParsedIncomingMail | null)[],
    ingestActor: IngestActor,
  ): Promise<WriteResult[]> {
    const { database } = this.#parts;
    const work = async (transaction: Transaction): Promise<WriteResult[]> => {
      if (!(await isAccountOpen(database, transaction, account.id))) throw new AccountDeleted();
      const writer = new MailWriter(database, transaction, account.id);
      const present = await writer.findExisting(identities);
      const fresh = new Map<string, ParsedIncomingMail>();
      ready.forEach((each, index) => {
        if (each && !present.has(identities[index]!))
          fresh.set(identities[index]!, fresh.get(identities[index]!) ?? each);
      });
      const stored = await this.#storeNew(transaction, writer, account, [...fresh.values()], ingestActor);
      const created = new Map([...fresh.keys()].map((identity, index) => [identity, stored[index]!]));
      await this.#addPlacements(
        transaction,
        writer,
        messages,
        identities,
        new Map([...present, ...created]),
        ingestActor,
      );
      const reported = new Set<string>();
      return identities.map((identity): WriteResult => {
        const duplicate = present.has(identity) || reported.has(identity);
        reported.add(identity);
        return { id: created.get(identity) ?? present.get(identity) ?? null, duplicate };
      });
    };
    return database.write(work, { lockKey: `mail ${account.id}` });
  }

  /** A message that the account has already, or that comes twice, may lie in one more of its mailboxes. */
  async #addPlacements(
    transaction: Transaction,
    writer: MailWriter,
    messages: readonly IncomingMail[],
    identities: readonly string[],
    ids: ReadonlyMap<string, number>,
    ingestActor: IngestActor,
  ): Promise<void> {
    const rows = new EmailRows(this.#parts.database, transaction);
    const placementRows = new PlacementRows(this.#parts.database, transaction);
    const known = await placementRows.readMailboxes([...ids.values()]);
    const added = new Map<number, Set<number>>();
    for (const [index, { mailbox }] of messages.entries()) {
      const id = ids.get(identities[index]!);
      if (id === undefined || known.get(id)?.has(mailbox.id)) continue;
      known.set(id, (known.get(id) ?? new Set()).add(mailbox.id));
      added.set(id, (added.get(id) ?? new Set()).add(mailbox.id));
    }
    if (added.size === 0) return;
    await writer.addPlacements(
      [...added].flatMap(([id, to]) => [...to].map((mailbox) => [id, mailbox, null, null] as const)),
    );
    await placementRows.updatePrimaryMailboxes([...added.keys()]);
    const placements = await rows.readPlacements([...added.keys()]);
    for (const { id, read } of placements)
      for (const mailbox of added.get(id)!) await writer.addToMailboxCounts(mailbox, 1, read ? 0 : 1);
    const conversations = [...new Set(placements.flatMap(({ conversationId }) => conversationId ?? []))];
    await writer.recount(conversations);
    const event = { actor: ingestActor.actor, requestId: ingestActor.requestId, by: null };
    const time = isoTime(this.#parts.clock.now());
    const emitEvent = (name: string, resource: string, keys: readonly number[], changed: string[]): Promise<void> =>
      this.#parts.changes.append(transaction, { name, resource, keys: keys.map(String), changed, ...event }, time);
    await emitEvent('emails.updated', 'emails', [...added.keys()], ['mailboxId', 'folder']);
    await emitEvent('conversations.updated', 'conversations', conversations, []);
  }

  async #storeNew(
    transaction: Transaction,
    writer: MailWriter,
    account: MailAccount,
    fresh: readonly ParsedIncomingMail[],
    ingestActor: IngestActor,
  ): Promise<number[]> {
    if (fresh.length === 0) return [];
    const { changes, clock, database } = this.#parts;
    const accountAddresses = await findOwnAddresses(database, transaction, account.id);
    if (!accountAddresses) throw new AccountDeleted();
    const messageParties = fresh.map(({ threadKeys }) => addParties(threadKeys, accountAddresses));
    const subjectIndex = new SubjectPartyRows(database, transaction, account.id);
    const matches = await findSubjectMatches(subjectIndex, messageParties);
    const { conversations, created, merges, moved } = await joinConversations(writer, fresh, matches);
    const now = clock.now();
    const emails = fresh.map((each, messageIndex) => buildEmail(each, conversations[messageIndex]!, accountAddresses));
    const ids = await writer.addEmails(emails);
    await subjectIndex.add(
      messageParties.flatMap((each, messageIndex) =>
        buildPartyEntries(each).map((row) => ({ ...row, email: ids[messageIndex]! })),
      ),
    );
    await writer.addThreadKeys([
      ...new Map(
        fresh.flatMap(({ threadKeys }, index) => threadKeys.keys.map((key) => [key, conversations[index]!] as const)),
      ),
    ]);
    await writer.addToFullTextIndex(fresh.map(({ mail }, index) => buildIndexEntry(ids[index]!, account.id, mail)));
    const touched = [...new Set([...conversations, ...merges.flatMap(({ into, others }) => [into, ...others])])];
    await addParticipants(writer, fresh, conversations, merges);
    await writer.recount(touched);
    for (const [mailbox, list] of Map.groupBy(emails, (each) => each.mailboxId))
      await writer.addToMailboxCounts(mailbox, list.length, list.filter((each) => !each.read).length);
    const event = { actor: ingestActor.actor, requestId: ingestActor.requestId, by: null };
    const time = isoTime(now);
    const emitEvent = (
      name: string,
      resource: string,
      keys: readonly number[],
      changed: string[] = [],
    ): Promise<void> =>
      changes.append(transaction, { name, resource, keys: keys.map(String), changed, ...event }, time);
    await emitEvent('emails.created', 'emails', ids);
    await emitEvent('emails.updated', 'emails', moved, ['conversationId']);
    await emitEvent(
      'conversations.created',
      'conversations',
      touched.filter((id) => created.has(id)),
    );
    await emitEvent(
      'conversations.updated',
      'conversations',
      touched.filter((id) => !created.has(id)),
    );
    return ids;
  }
}

interface WriteResult {
  readonly id: number | null;
  readonly duplicate: boolean;
}

function toIngestResult(
  { id, duplicate }: WriteResult,
  ready: ParsedIncomingMail | null,
  refused: string | null,
): IngestResult {
  if (refused !== null) return { outcome: 'failed', emailId: null, reason: refused };
  if (duplicate) return { outcome: 'duplicate', emailId: id, reason: null };
  const isUnparsable = ready?.mail.bodyState === 'unparsable';
  return {
    outcome: isUnparsable ? 'unparsable' : 'stored',
    emailId: id,
    reason: isUnparsable ? ready!.mail.text : null,
  };
}

function collectBlobs({ incoming, mail }: ParsedIncomingMail): { sha256: string; bytes: Uint8Array }[] {
  return [{ sha256: mail.sha256, bytes: incoming.raw }, ...mail.attachments];
}

interface JoinedConversations {
  /** For each message. */
  readonly conversations: readonly number[];
  readonly created: ReadonlySet<number>;
  readonly merges: Groups['merges'];
  /** E-mails that were there and are of another conversation now. */
  readonly moved: readonly number[];
}

/** Which conversation each message belongs to; those that begin one have it made, and those that turn out to be one are joined. */
async function joinConversations(
  writer: MailWriter,
  fresh: readonly ParsedIncomingMail[],
  matches: Awaited<ReturnType<typeof findSubjectMatches>>,
): Promise<JoinedConversations> {
  const known = await writer.findThreadConversations([...new Set(fresh.flatMap(({ threadKeys }) => threadKeys.keys))]);
  const { placements, merges } = groupIntoConversations(
    fresh.map(({ threadKeys }, index) => ({ keys: threadKeys.keys, ...matches[index]! })),
    known,
  );
  const moved: number[] = [];
  for (const { into, others } of merges) moved.push(...(await writer.merge(into, others)));
  const firsts = [...new Set(placements.flatMap((placement) => ('first' in placement ? [placement.first] : [])))];
  const ids = await writer.addConversations(firsts.map((first) => conversationSubject(fresh[first]!.mail.subject)));
  const idByFirst = new Map(firsts.map((first, index) => [first, ids[index]!]));
  return {
    conversations: placements.map((placement) =>
      'first' in placement ? idByFirst.get(placement.first)! : placement.conversation,
    ),
    created: new Set(ids),
    merges,
    moved,
  };
}

/** Whoever takes part in a message takes part in its conversation, and in the one that it is joined to. */
export async function addParticipants(
  writer: MailWriter,
  fresh: readonly ParsedIncomingMail[],
  conversations: readonly number[],
  merges: Groups['merges'] = [],
): Promise<void> {
  const ids = [...conversations, ...merges.flatMap(({ into, others }) => [into, ...others])];
  const present = await writer.readParticipants([...new Set(ids)]);
  const participantsById = new Map<number, Participants>();
  const getParticipants = (id: number): Participants => {
    const people = participantsById.get(id) ?? new Participants(present.get(id));
    participantsById.set(id, people);
    return people;
  };
  for (const { into, others } of merges)
    for (const other of others) getParticipants(into).addAll(present.get(other) ?? []);
  for (const [index, { mail }] of fresh.entries())
    getParticipants(conversations[index]!).add({ from: mail.from, others: [...mail.to, ...mail.cc] });
  for (const [id, people] of participantsById) {
    const list = people.list();
    if (JSON.stringify(list) !== JSON.stringify(present.get(id))) await writer.setParticipants(id, list);
  }
}
