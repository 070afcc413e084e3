/**
 * The conversations of an account, made anew from its e-mails. It looks through all of them, then puts right what is not as the rule has
 * it, in small transactions; a conversation is counted anew when all that comes and goes has. Who is killed at it begins again and has less to do.
 */
import { setImmediate as breathe } from 'node:timers/promises';
import { type Clock, isoTime } from '../../base/clock.ts';
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
import { ApiError } from '../../protocol/api-error.ts';
import { GroupRebuild, type MisplacedEmail, type RebuiltGroup } from '../threads/group-rebuild.ts';
import { readOwnAddresses } from '../threads/own-addresses.ts';
import { addParties, buildPartyEntries, type PartyEntry } from '../threads/subject-matches.ts';
import { computeThreadIndexKeys } from '../threads/thread-index-keys.ts';
import { findStaleSummaries, refreshSummaries } from './conversation-summaries.ts';
import type { IngestActor, MailAccount } from './incoming-mail.ts';

export interface ConversationRebuildParts {
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  /** Ends it, before the next transaction; what is done stays. */
  readonly signal?: AbortSignal;
}

/** What became of an account's conversations. */
export interface ConversationRebuildResult {
  /** Those that have e-mails. */
  readonly conversations: number;
  /** Those that were made, or are not as they were. */
  readonly changed: number;
}

/** E-mails of one look, and of one transaction. */
const emailsPerRead = 200;
const emailsPerWrite = 50;
const keysPerBatch = 500;
const conversationsPerBatch = 100;
/** Where mail arrives meanwhile, it is looked through again, so many times at most. */
const maxPasses = 3;

/** Some e-mails of a group, on their way into its conversation. */
interface GroupBatch {
  readonly group: RebuiltGroup;
  readonly misplaced: readonly MisplacedEmail[];
  /** With these the group is whole. */
  readonly isLast: boolean;
}

export class ConversationRebuild {
  readonly #parts: ConversationRebuildParts;
  readonly #account: MailAccount;
  readonly #ingestActor: IngestActor;
  readonly #changed = new Set<number>();
  /** The conversation of each group, by its oldest e-mail. */
  #conversations = new Map<number, number>();
  /** How many e-mails are still to part from a conversation. */
  #pendingMoves = new Map<number, number>();

  constructor(parts: ConversationRebuildParts, account: MailAccount, ingestActor: IngestActor) {
    this.#parts = parts;
    this.#account = account;
    this.#ingestActor = ingestActor;
  }

  /** @throws ApiError 404 where the account is destroyed meanwhile. */
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

  /** Looks through all e-mails, the oldest first. */
  async #groupEmails(): Promise<GroupRebuild> {
    const { database } = this.#parts;
    const accountAddresses = (await findOwnAddresses(database, null, this.#account.id)) ?? new Set<string>();
    const grouping = new GroupRebuild(accountAddresses);
    for (let after = -1; ; ) {
      const rows = await readThreadInputAfter(database, this.#account.id, after, emailsPerRead);
      const threadKeys = rows.map((row) => computeThreadIndexKeys(toThreadedMail(row), row.time));
      for (const [index, { id, conversation }] of rows.entries())
        grouping.add({ id, conversation, threadKeys: threadKeys[index]! });
      await this.#indexParties(
        rows.map(({ id }) => id),
        threadKeys.map((each) => buildPartyEntries(addParties(each, accountAddresses))),
      );
      this.#parts.signal?.throwIfAborted();
      if (rows.length < emailsPerRead) return grouping;
      after = rows.at(-1)!.id;
      await breathe();
    }
  }

  /** Puts the parties of e-mails right, by which later answers find them. */
  async #indexParties(emails: readonly number[], entries: readonly (readonly PartyEntry[])[]): Promise<void> {
    const { database } = this.#parts;
    const stored = await new SubjectPartyRows(database, null, this.#account.id).readByEmails(emails);
    const present = Map.groupBy(stored, ({ email }) => email);
    const text = (rows: readonly PartyEntry[]): string =>
      rows
        .map(({ key, kind }) => `${key}${kind}`)
        .sort()
        .join();
    const wrong = emails.filter((email, index) => text(present.get(email) ?? []) !== text(entries[index]!));
    for (let from = 0; from < wrong.length; from += emailsPerWrite)
      await this.#write(async (transaction) => {
        const batch = wrong.slice(from, from + emailsPerWrite);
        const existing = await new ThreadRows(database, transaction, this.#account.id).findExistingEmails(batch);
        const rows = new SubjectPartyRows(database, transaction, this.#account.id);
        await rows.deleteByEmails(batch);
        await rows.add(
          emails.flatMap((email, index) =>
            existing.has(email) ? entries[index]!.map((entry) => ({ ...entry, email })) : [],
          ),
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

  /** Groups that are not whole yet. */
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

  /** Puts e-mails into the conversations of their groups, and makes those that are not there. */
  async #moveBatches(batches: readonly GroupBatch[]): Promise<void> {
    const completed = this.#findCompletedConversations(batches);
    const { made: createdByOldest, touched } = await this.#write(async (transaction) => {
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
      await this.#emitEvent(transaction, 'emails.updated', 'emails', moved, ['conversationId']);
      const createdIds = new Set(created.values());
      await this.#emitEvent(transaction, 'conversations.created', 'conversations', [...createdIds]);
      await this.#emitChanged(
        transaction,
        [...settled].filter((id) => !createdIds.has(id)),
      );
      return { made: created, touched: [...settled, ...createdIds] };
    });
    for (const id of touched) this.#changed.add(id);
    for (const [oldest, id] of createdByOldest) this.#conversations.set(oldest, id);
  }

  /**
   * Conversations that have all that parts from them behind them. They are counted then, once: of one that thousands part from, each
   * hundred would count all.
   */
  #findCompletedConversations(batches: readonly GroupBatch[]): number[] {
    const completed: number[] = [];
    for (const { from } of batches.flatMap(({ misplaced }) => misplaced)) {
      if (from === null) continue;
      const more = this.#pendingMoves.get(from)! - 1;
      this.#pendingMoves.set(from, more);
      if (more === 0) completed.push(from);
    }
    return completed;
  }

  /**
   * Makes the conversations that are not there yet, or not any more, by the oldest e-mails of their groups; none for e-mails that
   * were all destroyed meanwhile.
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
    const ids = await writer.addConversations(wanted.map(() => ''));
    for (const [index, { misplaced }] of wanted.entries()) {
      const from = misplaced[0]!.from;
      if (from !== null) await rows.copyState(ids[index]!, from);
    }
    return new Map(wanted.map(({ oldest }, index) => [oldest, ids[index]!]));
  }

  /** Has the former keys lead where their e-mails are now; a key without e-mails goes. */
  async #redirectKeys(grouping: GroupRebuild, last: number): Promise<void> {
    const { database } = this.#parts;
    for (let after = -1; after < last; ) {
      const rows = await readThreadKeysAfter(database, this.#account.id, after, keysPerBatch);
      if (rows.length === 0) return;
      after = rows.at(-1)!.id;
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

  /** Adds the keys that were not there. */
  async #addKeys(grouping: GroupRebuild): Promise<void> {
    const remainingKeys = [...grouping.remainingKeys()];
    for (let from = 0; from < remainingKeys.length; from += keysPerBatch) {
      const keys = remainingKeys.slice(from, from + keysPerBatch).flatMap((key) => {
        const conversation = this.#conversations.get(grouping.takeKey(key)!);
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

  /** Looks at what conversations count and show, and puts right what is wrong. */
  async #checkAll(): Promise<void> {
    const { database } = this.#parts;
    for (let after = 0; ; ) {
      const ids = await readConversationsAfter(database, this.#account.id, after, conversationsPerBatch);
      if (ids.length === 0) return;
      after = ids.at(-1)!;
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

  /** A transaction of its own, after whoever stores mail of the account. */
  #write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { database } = this.#parts;
    this.#parts.signal?.throwIfAborted();
    const checked = async (transaction: Transaction): Promise<T> => {
      if (await isAccountOpen(database, transaction, this.#account.id)) return work(transaction);
      throw new ApiError('RECORD_UNKNOWN', 'The account was destroyed meanwhile.');
    };
    return database.write(checked, { heavy: true, lockKey: `mail ${this.#account.id}` });
  }

  #emitChanged(transaction: Transaction, ids: readonly number[]): Promise<void> {
    return this.#emitEvent(transaction, 'conversations.updated', 'conversations', ids);
  }

  async #emitEvent(
    transaction: Transaction,
    name: string,
    resource: string,
    keys: readonly number[],
    changed: readonly string[] = [],
  ): Promise<void> {
    const { changes, clock } = this.#parts;
    const events = { name, resource, keys: keys.map(String), ...this.#ingestActor, changed, by: null };
    await changes.append(transaction, events, isoTime(clock.now()));
  }
}

/** What decides on the conversation, as the message had it. Whoever is joined by no subject is as good as from a list. */
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
