/**
 * Raw messages become stored e-mails: parsed and made safe in threads, their bytes kept first, then rows, threads, words,
 * counts and events in one transaction. Whoever brings messages in — an import, synchronisation, a draft — comes through here.
 */
import type { BlobStore } from '../../base/blob-store.ts';
import { type Clock, isoTime } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { EmailRows } from '../../database/mail/email-rows.ts';
import { isAccountOpen } from '../../database/mail/leaving-rows.ts';
import { MailWriter, presentEmails } from '../../database/mail/mail-writer.ts';
import { PlacementRows } from '../../database/mail/placement-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { MailTooLarge, type ParsePool } from '../parse/parse-pool.ts';
import type { MailAddress } from '../parse/parsed-mail.ts';
import { type Groups, groupsOf } from '../threads/conversation-groups.ts';
import { conversationSubject } from '../threads/conversation-subject.ts';
import { looseLinks } from '../threads/loose-links.ts';
import { addPeople, byAddress, type Participants } from '../threads/participants.ts';
import { threadSigns } from '../threads/thread-signs.ts';
import type { IncomingMail, IngestBy, Ingested, MailAccount } from './incoming-mail.ts';
import { indexedWords, newEmail, type ReadMail, receivedAt } from './new-email.ts';

export interface IngestParts {
  readonly database: Database;
  readonly blobs: BlobStore;
  readonly parser: ParsePool;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly logger: Logger;
}

class AccountGone extends Error {
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
  async store(account: MailAccount, messages: readonly IncomingMail[], by: IngestBy): Promise<Ingested[]> {
    try {
      return await this.#storeAll(account, messages, by);
    } catch (error) {
      if (this.#closed) throw error;
      if (error instanceof AccountGone)
        return messages.map(() => ({ outcome: 'failed', emailId: null, reason: error.message }));
      if (messages.length > 1) {
        const results: Ingested[] = [];
        for (const each of messages) results.push(...(await this.store(account, [each], by)));
        return results;
      }
      this.#parts.logger.warn({ err: error }, 'a message could not be stored');
      return [{ outcome: 'failed', emailId: null, reason: 'The server could not store it; its log says why.' }];
    }
  }

  /**
   * Parses a message and keeps its bytes: what {@link storeInside} needs. What is not stored after that is swept.
   *
   * @throws MailTooLarge
   */
  async prepare(account: MailAccount, incoming: IncomingMail): Promise<ReadMail> {
    const [identity] = await this.#parts.parser.identify([incoming.raw], incoming);
    const ready = await this.#read(incoming, identity!);
    if (this.#closed) throw new Error('the application is being closed');
    await this.#parts.blobs.put(account.id, blobsOf(ready));
    return ready;
  }

  /**
   * Stores a prepared message inside a transaction that has the turn `mail <account>`. Returns its key.
   *
   * @throws ApiError 404 where the account was destroyed meanwhile: nothing is acknowledged that goes with it.
   */
  async storeInside(transaction: Transaction, account: MailAccount, ready: ReadMail, by: IngestBy): Promise<number> {
    if (!(await isAccountOpen(this.#parts.database, transaction, account.id)))
      throw new ApiError('RECORD_UNKNOWN', new AccountGone().message);
    const writer = new MailWriter(this.#parts.database, transaction, account.id);
    const [id] = await this.#storeFresh(transaction, writer, account, [ready], by);
    return id!;
  }

  async #storeAll(account: MailAccount, messages: readonly IncomingMail[], by: IngestBy): Promise<Ingested[]> {
    const { database } = this.#parts;
    if (!(await isAccountOpen(database, null, account.id))) throw new AccountGone();
    const identities = await this.#parts.parser.identify(
      messages.map(({ raw }) => raw),
      messages,
    );
    const known = await presentEmails(database, account.id, identities);
    const refused = new Map<number, string>();
    const ready = await Promise.all(
      messages.map((incoming, index) =>
        known.has(identities[index]!)
          ? null
          : this.#read(incoming, identities[index]!, messages).catch((error: unknown) => {
              if (!(error instanceof MailTooLarge)) throw error;
              refused.set(index, error.message);
              return null;
            }),
      ),
    );
    if (this.#closed) throw new Error('the application is being closed');
    await this.#parts.blobs.put(
      account.id,
      ready.flatMap((each) => (each ? blobsOf(each) : [])),
    );
    const ids = await this.#write(account, messages, identities, ready, by);
    return messages.map((_, index) => outcomeOf(ids[index]!, ready[index] ?? null, refused.get(index) ?? null));
  }

  /** @param of those that are read together. */
  async #read(incoming: IncomingMail, identity: string, of: unknown = incoming): Promise<ReadMail> {
    const mail = await this.#parts.parser.parse(incoming.raw, of);
    const moment = receivedAt(incoming.receivedAt, mail, this.#parts.clock.now());
    return { incoming, mail, identity, signs: threadSigns(mail, moment), receivedAt: moment };
  }

  #write(
    account: MailAccount,
    messages: readonly IncomingMail[],
    identities: readonly string[],
    ready: readonly (ReadMail | null)[],
    by: IngestBy,
  ): Promise<Written[]> {
    const { database } = this.#parts;
    const work = async (transaction: Transaction): Promise<Written[]> => {
      if (!(await isAccountOpen(database, transaction, account.id))) throw new AccountGone();
      const writer = new MailWriter(database, transaction, account.id);
      const present = await writer.present(identities);
      const fresh = new Map<string, ReadMail>();
      ready.forEach((each, index) => {
        if (each && !present.has(identities[index]!))
          fresh.set(identities[index]!, fresh.get(identities[index]!) ?? each);
      });
      const stored = await this.#storeFresh(transaction, writer, account, [...fresh.values()], by);
      const made = new Map([...fresh.keys()].map((identity, index) => [identity, stored[index]!]));
      await this.#placeAgain(transaction, writer, messages, identities, new Map([...present, ...made]), by);
      const told = new Set<string>();
      return identities.map((identity): Written => {
        const duplicate = present.has(identity) || told.has(identity);
        told.add(identity);
        return { id: made.get(identity) ?? present.get(identity) ?? null, duplicate };
      });
    };
    return database.write(work, { turn: `mail ${account.id}` });
  }

  /** A message that the account has already, or that comes twice, may lie in one more of its mailboxes. */
  async #placeAgain(
    transaction: Transaction,
    writer: MailWriter,
    messages: readonly IncomingMail[],
    identities: readonly string[],
    ids: ReadonlyMap<string, number>,
    by: IngestBy,
  ): Promise<void> {
    const rows = new EmailRows(this.#parts.database, transaction);
    const placements = new PlacementRows(this.#parts.database, transaction);
    const known = await placements.mailboxesOf([...ids.values()]);
    const added = new Map<number, Set<number>>();
    for (const [index, { mailbox }] of messages.entries()) {
      const id = ids.get(identities[index]!);
      if (id === undefined || known.get(id)?.has(mailbox.id)) continue;
      known.set(id, (known.get(id) ?? new Set()).add(mailbox.id));
      added.set(id, (added.get(id) ?? new Set()).add(mailbox.id));
    }
    if (added.size === 0) return;
    await writer.place([...added].flatMap(([id, to]) => [...to].map((mailbox) => [id, mailbox, null, null] as const)));
    await placements.settle([...added.keys()]);
    const places = await rows.places([...added.keys()]);
    for (const { id, read } of places)
      for (const mailbox of added.get(id)!) await writer.countIn(mailbox, 1, read ? 0 : 1);
    const conversations = [...new Set(places.flatMap(({ conversationId }) => conversationId ?? []))];
    await writer.recount(conversations);
    const event = { actor: by.actor, requestId: by.requestId, by: null };
    const at = isoTime(this.#parts.clock.now());
    const tell = (name: string, resource: string, keys: readonly number[], changed: string[]): Promise<void> =>
      this.#parts.changes.append(transaction, { name, resource, tks: keys.map(String), changed, ...event }, at);
    await tell('emails.updated', 'emails', [...added.keys()], ['mailboxId', 'folder']);
    await tell('conversations.updated', 'conversations', conversations, []);
  }

  async #storeFresh(
    transaction: Transaction,
    writer: MailWriter,
    account: MailAccount,
    fresh: readonly ReadMail[],
    by: IngestBy,
  ): Promise<number[]> {
    if (fresh.length === 0) return [];
    const { changes, clock } = this.#parts;
    const { conversations, made, merges, moved } = await joinConversations(writer, account, fresh);
    const now = clock.now();
    const emails = fresh.map((each, index) => newEmail(each, conversations[index]!, account));
    const ids = await writer.addEmails(emails);
    await writer.addThreadKeys([
      ...new Map(fresh.flatMap(({ signs }, index) => signs.keys.map((key) => [key, conversations[index]!] as const))),
    ]);
    await writer.addWords(fresh.map(({ mail }, index) => indexedWords(ids[index]!, account.id, mail)));
    const touched = [...new Set([...conversations, ...merges.flatMap(({ into, others }) => [into, ...others])])];
    await addParticipants(writer, fresh, conversations, merges);
    await writer.recount(touched);
    for (const [mailbox, list] of Map.groupBy(emails, (each) => each.mailboxId))
      await writer.countIn(mailbox, list.length, list.filter((each) => !each.read).length);
    const event = { actor: by.actor, requestId: by.requestId, by: null };
    const at = isoTime(now);
    const tell = (name: string, resource: string, tks: readonly number[], changed: string[] = []): Promise<void> =>
      changes.append(transaction, { name, resource, tks: tks.map(String), changed, ...event }, at);
    await tell('emails.created', 'emails', ids);
    await tell('emails.updated', 'emails', moved, ['conversationId']);
    await tell(
      'conversations.created',
      'conversations',
      touched.filter((id) => made.has(id)),
    );
    await tell(
      'conversations.updated',
      'conversations',
      touched.filter((id) => !made.has(id)),
    );
    return ids;
  }
}

interface Written {
  readonly id: number | null;
  readonly duplicate: boolean;
}

function outcomeOf({ id, duplicate }: Written, ready: ReadMail | null, refused: string | null): Ingested {
  if (refused !== null) return { outcome: 'failed', emailId: null, reason: refused };
  if (duplicate) return { outcome: 'duplicate', emailId: id, reason: null };
  const unread = ready?.mail.bodyState === 'unparsable';
  return { outcome: unread ? 'unparsable' : 'stored', emailId: id, reason: unread ? ready!.mail.text : null };
}

function blobsOf({ incoming, mail }: ReadMail): { sha256: string; bytes: Uint8Array }[] {
  return [{ sha256: mail.sha256, bytes: incoming.raw }, ...mail.attachments];
}

interface Joined {
  /** For each message. */
  readonly conversations: readonly number[];
  readonly made: ReadonlySet<number>;
  readonly merges: Groups['merges'];
  /** E-mails that were there and are of another conversation now. */
  readonly moved: readonly number[];
}

/** Which conversation each message belongs to; those that begin one have it made, and those that turn out to be one are joined. */
async function joinConversations(
  writer: MailWriter,
  account: MailAccount,
  fresh: readonly ReadMail[],
): Promise<Joined> {
  const known = await writer.threads([...new Set(fresh.flatMap(({ signs }) => signs.keys))]);
  const links = await looseLinks(
    writer,
    account,
    fresh.map(({ signs }) => signs),
  );
  const { places, merges } = groupsOf(
    fresh.map(({ signs }, index) => ({ keys: signs.keys, ...links[index]! })),
    known,
  );
  const moved: number[] = [];
  for (const { into, others } of merges) moved.push(...(await writer.merge(into, others)));
  const firsts = [...new Set(places.flatMap((place) => ('first' in place ? [place.first] : [])))];
  const ids = await writer.addConversations(firsts.map((first) => conversationSubject(fresh[first]!.mail.subject)));
  const idOf = new Map(firsts.map((first, index) => [first, ids[index]!]));
  return {
    conversations: places.map((place) => ('first' in place ? idOf.get(place.first)! : place.conversation)),
    made: new Set(ids),
    merges,
    moved,
  };
}

/** Whoever takes part in a message takes part in its conversation, and in the one that it is joined to. */
export async function addParticipants(
  writer: MailWriter,
  fresh: readonly ReadMail[],
  conversations: readonly number[],
  merges: Groups['merges'] = [],
): Promise<void> {
  const ids = [...conversations, ...merges.flatMap(({ into, others }) => [into, ...others])];
  const present = await writer.participants([...new Set(ids)]);
  const named = new Map<number, Participants>();
  const add = (id: number, people: readonly MailAddress[]): void => {
    const known = named.get(id) ?? byAddress(present.get(id) ?? []);
    addPeople(known, people);
    named.set(id, known);
  };
  for (const { into, others } of merges) for (const other of others) add(into, present.get(other) ?? []);
  for (const [index, { mail }] of fresh.entries()) add(conversations[index]!, [...mail.from, ...mail.to, ...mail.cc]);
  for (const [id, people] of named)
    if (people.size > (present.get(id)?.length ?? 0)) await writer.setParticipants(id, [...people.values()]);
}
