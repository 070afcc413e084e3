/**
 * Rebuilds the conversations of an account from its e-mails. First all e-mails are read and grouped; then whatever differs is
 * corrected in small transactions. A conversation is recounted when its last e-mail has moved. If the process dies, the next
 * run starts over, with less to correct.
 */
import { setImmediate as breathe } from 'node:timers/promises';
import { getElement, getFirst, pairUp } from '../../base/aligned-lists.ts';
import type { Clock } from '../../base/clock.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { findOwnAddresses, setThreadsVersion } from '../../database/mail/account-rows.ts';
import { isAccountOpen } from '../../database/mail/deferred-delete-rows.ts';
import { MailWriter } from '../../database/mail/mail-writer.ts';
import { SubjectPartyRows } from '../../database/mail/subject-party-rows.ts';
import {
  readConversationsAfter,
  readLastContentId,
  readLastThreadKeyId,
  readThreadInputAfter,
  readThreadKeysAfter,
  type ThreadInputRow,
  type ThreadKeyRow,
  ThreadRows,
} from '../../database/mail/thread-rows.ts';
import { GroupRebuild, type MisplacedEmail, type RebuiltGroup } from '../threads/group-rebuild.ts';
import { readOwnAddresses } from '../threads/own-addresses.ts';
import { addParties, buildPartyEntries, type PartyEntry } from '../threads/subject-matches.ts';
import { computeThreadIndexKeys } from '../threads/thread-index-keys.ts';
import { accountDeletedError } from './account-deleted.ts';
import { findStaleSummaries, refreshSummaries } from './conversation-summaries.ts';
import type { IngestActor, MailAccount } from './incoming-mail.ts';
import { appendMailEvent, type MailEvent } from './mail-events.ts';

export interface ConversationRebuildParts {
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  /** Stops the rebuild before its next transaction. Committed transactions stay. */
  readonly signal?: AbortSignal;
}

/** What a rebuild has done. */
export interface ConversationRebuildResult {
  /** Number of conversations that have e-mails. */
  readonly conversations: number;
  /** Number of conversations that were created or changed. */
  readonly changed: number;
}

/** E-mails of one read, and of one transaction. */
const emailsPerRead = 200;
const emailsPerWrite = 50;
const keysPerBatch = 500;
const conversationsPerBatch = 100;
/** Where mail arrives meanwhile, all e-mails are read again, at most this many times. */
const maxPasses = 3;

/** Some e-mails of a group, on their way into its conversation. */
interface GroupBatch {
  readonly group: RebuiltGroup;
  readonly misplaced: readonly MisplacedEmail[];
  /** The last batch of the group. */
  readonly isLast: boolean;
}

/**
 * One rebuild of the conversations of one account.
 *
 * @example `await new ConversationRebuild(parts, account, { actor: null, requestId: null }).run()`
 */
export class ConversationRebuild {
  readonly #parts: ConversationRebuildParts;
  readonly #account: MailAccount;
  readonly #ingestActor: IngestActor;
  readonly #changed = new Set<number>();
  /** The conversation of each group, by its oldest e-mail. */
  #conversations = new Map<number, number>();
  /** How many e-mails still have to leave a conversation. */
  #pendingMoves = new Map<number, number>();

  constructor(parts: ConversationRebuildParts, account: MailAccount, ingestActor: IngestActor) {
    this.#parts = parts;
    this.#account = account;
    this.#ingestActor = ingestActor;
  }

  /** @throws ApiError `RECORD_UNKNOWN` where the account is deleted meanwhile. */
  async run(): Promise<ConversationRebuildResult> {
    const { database } = this.#parts;
    for (let pass = 1; ; pass += 1) {
      const last = await readLastContentId(database, this.#account.id);
      await this.#pass();
      if (pass === maxPasses || (await readLastContentId(database, this.#account.id)) === last) break;
    }
    await this.#write((transaction) => setThreadsVersion(database, transaction, this.#account.id));
    return { conversations: this.#conversations.size, changed: this.#changed.size };
  }

  async #pass(): Promise<void> {
    this.#conversations = new Map();
    const lastKey = await readLastThreadKeyId(this.#parts.database, this.#account.id);
    const grouping = await this.#groupEmails();
    await this.#moveAll(grouping);
    await this.#redirectKeys(grouping, lastKey);
    await this.#addKeys(grouping);
    await this.#checkAll();
  }

  /** Reads all e-mails, the oldest first, and groups them. */
  async #groupEmails(): Promise<GroupRebuild> {
    const { database } = this.#parts;
    const accountAddresses = (await findOwnAddresses(database, null, this.#account.id)) ?? new Set<string>();
    const grouping = new GroupRebuild(accountAddresses);
    for (let after = -1; ; ) {
      const rows = await readThreadInputAfter(database, this.#account.id, after, emailsPerRead);
      const parties = new Map<number, readonly PartyEntry[]>();
      for (const row of rows) {
        const threadKeys = computeThreadIndexKeys(toThreadedMail(row), row.time);
        grouping.add({ id: row.id, conversation: row.conversation, threadKeys });
        parties.set(row.id, buildPartyEntries(addParties(threadKeys, accountAddresses)));
        after = row.id;
      }
      await this.#indexParties(parties);
      this.#parts.signal?.throwIfAborted();
      if (rows.length < emailsPerRead) return grouping;
      await breathe();
    }
  }

  /**
   * Corrects the index of subjects and correspondents, by which later replies find these e-mails.
   *
   * @param entries what the index must hold, by e-mail.
   */
  async #indexParties(entries: ReadonlyMap<number, readonly PartyEntry[]>): Promise<void> {
    const { database } = this.#parts;
    const stored = await new SubjectPartyRows(database, null, this.#account.id).readByEmails([...entries.keys()]);
    const present = Map.groupBy(stored, ({ email }) => email);
    const text = (rows: readonly PartyEntry[]): string =>
      rows
        .map(({ key, kind }) => `${key}${kind}`)
        .sort()
        .join();
    const wrong = [...entries].filter(([email, rows]) => text(present.get(email) ?? []) !== text(rows));
    for (let from = 0; from < wrong.length; from += emailsPerWrite)
      await this.#write(async (transaction) => {
        const batch = wrong.slice(from, from + emailsPerWrite);
        const emails = batch.map(([email]) => email);
        const existing = await new ThreadRows(database, transaction, this.#account.id).findExistingEmails(emails);
        const rows = new SubjectPartyRows(database, transaction, this.#account.id);
        await rows.deleteByEmails(emails);
        await rows.add(
          batch.flatMap(([email, list]) => (existing.has(email) ? list.map((entry) => ({ ...entry, email })) : [])),
        );
      });
  }

  async #moveAll(grouping: GroupRebuild): Promise<void> {
    const groups = await this.#findIncompleteGroups(grouping);
    let waiting: GroupBatch[] = [];
    let count = 0;
    const flush = async (): Promise<void> => {
      if (waiting.length > 0) await this.#moveBatches(waiting);
      [waiting, count] = [[], 0];
    };
    for (const batch of groups.flatMap((group) => [...splitIntoBatches(group)])) {
      if (count + batch.misplaced.length > emailsPerWrite) await flush();
      waiting.push(batch);
      count += batch.misplaced.length + 1;
    }
    await flush();
  }

  /** Groups whose e-mails are not all in one conversation yet. */
  async #findIncompleteGroups(grouping: GroupRebuild): Promise<RebuiltGroup[]> {
    const found: RebuiltGroup[] = [];
    this.#pendingMoves = new Map();
    for (const group of grouping.groups()) {
      if (group === null) {
        await breathe();
        continue;
      }
      if (group.keptConversation !== null) this.#conversations.set(group.oldest, group.keptConversation);
      if (group.misplaced.length > 0 || group.merged.length > 0) found.push(group);
      for (const { from } of group.misplaced)
        if (from !== null) this.#pendingMoves.set(from, (this.#pendingMoves.get(from) ?? 0) + 1);
    }
    return found;
  }

  /** Moves e-mails into the conversations of their groups, and creates the missing conversations. */
  async #moveBatches(batches: readonly GroupBatch[]): Promise<void> {
    const completed = this.#findCompletedConversations(batches);
    const { createdByOldest, touched } = await this.#write(async (transaction) => {
      const writer = new MailWriter(this.#parts.database, transaction, this.#account.id);
      const rows = new ThreadRows(this.#parts.database, transaction, this.#account.id);
      const known = batches.flatMap(({ group }) => this.#conversations.get(group.oldest) ?? []);
      const existing = await rows.findExistingConversations([...completed, ...known]);
      const created = await this.#createConversations(writer, rows, batches, existing);
      const settled = new Set(completed.filter((id) => existing.has(id)));
      const moved: number[] = [];
      for (const { group, misplaced, isLast } of batches) {
        const into = created.get(group.oldest) ?? this.#conversations.get(group.oldest);
        if (into === undefined || !(existing.has(into) || created.has(group.oldest))) continue;
        moved.push(
          ...(await rows.moveEmails(
            misplaced.map(({ id }) => id),
            into,
          )),
        );
        if (group.merged.length > 0) await rows.redirectConversations(group.merged, into);
        if (isLast) settled.add(into);
      }
      await refreshSummaries(rows, [...settled]);
      await rows.recount([...settled]);
      await this.#emitEvent(transaction, { name: 'emails.updated', keys: moved, changed: ['conversationId'] });
      const createdIds = new Set(created.values());
      await this.#emitEvent(transaction, { name: 'conversations.created', keys: [...createdIds] });
      await this.#emitChanged(
        transaction,
        [...settled].filter((id) => !createdIds.has(id)),
      );
      return { createdByOldest: created, touched: [...settled, ...createdIds] };
    });
    for (const id of touched) this.#changed.add(id);
    for (const [oldest, id] of createdByOldest) this.#conversations.set(oldest, id);
  }

  /**
   * Conversations that these batches make complete: no further e-mail leaves them. They are recounted then, once; recounting a
   * conversation that thousands of e-mails leave after each batch would read all of them each time.
   */
  #findCompletedConversations(batches: readonly GroupBatch[]): number[] {
    const completed: number[] = [];
    for (const { from } of batches.flatMap(({ misplaced }) => misplaced)) {
      if (from === null) continue;
      const more = (this.#pendingMoves.get(from) ?? 0) - 1;
      this.#pendingMoves.set(from, more);
      if (more === 0) completed.push(from);
    }
    return completed;
  }

  /**
   * Creates the conversations that do not exist, except for groups whose e-mails were all deleted meanwhile.
   *
   * @returns the keys of the new conversations by the oldest e-mails of their groups.
   */
  async #createConversations(
    writer: MailWriter,
    rows: ThreadRows,
    batches: readonly GroupBatch[],
    existing: ReadonlySet<number>,
  ): Promise<Map<number, number>> {
    const emails = await rows.findExistingEmails(batches.flatMap(({ misplaced }) => misplaced.map(({ id }) => id)));
    const filled = batches.filter(({ misplaced }) => misplaced.some(({ id }) => emails.has(id)));
    const wanted = [...new Set(filled.map(({ group }) => group))].filter(
      ({ oldest }) => !existing.has(this.#conversations.get(oldest) ?? 0),
    );
    const created = pairUp(wanted, await writer.addConversations(wanted.map(() => '')));
    for (const [{ misplaced }, id] of created) {
      const { from } = getFirst(misplaced);
      if (from !== null) await rows.copyState(id, from);
    }
    return new Map(created.map(([{ oldest }, id]) => [oldest, id]));
  }

  /** Makes the former keys lead to where their e-mails are now, and deletes keys without e-mails. */
  async #redirectKeys(grouping: GroupRebuild, last: number): Promise<void> {
    const { database } = this.#parts;
    for (let after = -1; after < last; ) {
      const rows = await readThreadKeysAfter(database, this.#account.id, after, keysPerBatch);
      if (rows.length === 0) return;
      after = getElement(rows, rows.length - 1).id;
      const stale: number[] = [];
      const wrong = new Map<number, number[]>();
      for (const row of rows.filter(({ id }) => id <= last)) this.#checkKey(grouping, row, stale, wrong);
      if (stale.length + wrong.size > 0) await this.#repairKeys(stale, wrong);
      await breathe();
    }
  }

  #checkKey(grouping: GroupRebuild, row: ThreadKeyRow, stale: number[], wrong: Map<number, number[]>): void {
    const oldest = grouping.takeKey(row.key);
    const conversation = oldest === null ? undefined : this.#conversations.get(oldest);
    if (conversation === undefined) stale.push(row.id);
    else if (conversation !== row.conversation) wrong.set(conversation, [...(wrong.get(conversation) ?? []), row.id]);
  }

  #repairKeys(stale: readonly number[], wrong: ReadonlyMap<number, readonly number[]>): Promise<void> {
    return this.#write(async (transaction) => {
      const rows = new ThreadRows(this.#parts.database, transaction, this.#account.id);
      if (stale.length > 0) await rows.deleteKeys(stale);
      const existing = await rows.findExistingConversations([...wrong.keys()]);
      for (const [conversation, keys] of wrong)
        if (existing.has(conversation)) await rows.redirectKeys(keys, conversation);
    });
  }

  /** Adds the missing keys. */
  async #addKeys(grouping: GroupRebuild): Promise<void> {
    const remainingKeys = [...grouping.remainingKeys()];
    for (let from = 0; from < remainingKeys.length; from += keysPerBatch) {
      const keys = remainingKeys.slice(from, from + keysPerBatch).flatMap((key) => {
        const oldest = grouping.takeKey(key);
        const conversation = oldest === null ? undefined : this.#conversations.get(oldest);
        return conversation === undefined ? [] : [[key, conversation] as const];
      });
      await this.#write(async (transaction) => {
        const rows = new ThreadRows(this.#parts.database, transaction, this.#account.id);
        const existing = await rows.findExistingConversations([
          ...new Set(keys.map(([, conversation]) => conversation)),
        ]);
        const writer = new MailWriter(this.#parts.database, transaction, this.#account.id);
        await writer.addThreadKeys(keys.filter(([, conversation]) => existing.has(conversation)));
      });
    }
  }

  /** Checks the counts and summaries of all conversations, and corrects those that are wrong. */
  async #checkAll(): Promise<void> {
    const { database } = this.#parts;
    for (let after = 0; ; ) {
      const ids = await readConversationsAfter(database, this.#account.id, after, conversationsPerBatch);
      if (ids.length === 0) return;
      after = getElement(ids, ids.length - 1);
      const rows = new ThreadRows(database, null, this.#account.id);
      const wrong = new Set([
        ...(await rows.findMiscounted(ids)),
        ...(await findStaleSummaries(rows, ids)).map(({ id }) => id),
      ]);
      if (wrong.size > 0) await this.#correct([...wrong]);
      await breathe();
    }
  }

  async #correct(ids: readonly number[]): Promise<void> {
    await this.#write(async (transaction) => {
      const rows = new ThreadRows(this.#parts.database, transaction, this.#account.id);
      await refreshSummaries(rows, ids);
      await rows.recount(ids);
      await this.#emitChanged(transaction, ids);
    });
    for (const id of ids) this.#changed.add(id);
  }

  /** Runs work in a transaction with the lock of the account, so that it does not interleave with the storing of mail. */
  #write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { database } = this.#parts;
    this.#parts.signal?.throwIfAborted();
    const checked = async (transaction: Transaction): Promise<T> => {
      if (await isAccountOpen(database, transaction, this.#account.id)) return work(transaction);
      throw accountDeletedError();
    };
    return database.write(checked, { heavy: true, lockKey: `mail ${this.#account.id}` });
  }

  #emitChanged(transaction: Transaction, ids: readonly number[]): Promise<void> {
    return this.#emitEvent(transaction, { name: 'conversations.updated', keys: ids });
  }

  #emitEvent(transaction: Transaction, event: MailEvent): Promise<void> {
    return appendMailEvent(transaction, { ...this.#parts, ...this.#ingestActor }, event);
  }
}

/** What decides about the conversation of an e-mail, as stored. An e-mail without a subject key is treated like bulk mail. */
function toThreadedMail({ hasNoSubjectKey, ...row }: ThreadInputRow): Parameters<typeof computeThreadIndexKeys>[0] {
  return { ...row, bulk: hasNoSubjectKey, ownAddresses: row.ownAddresses ?? readOwnAddresses(row, row.folder) };
}

function* splitIntoBatches(group: RebuiltGroup): Generator<GroupBatch> {
  const { misplaced } = group;
  for (let from = 0; from === 0 || from < misplaced.length; from += emailsPerWrite)
    yield {
      group,
      misplaced: misplaced.slice(from, from + emailsPerWrite),
      isLast: from + emailsPerWrite >= misplaced.length,
    };
}
