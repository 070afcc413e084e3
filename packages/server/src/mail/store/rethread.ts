/**
 * The conversations of an account, made anew from its e-mails. It looks through all of them, then puts right what is not as the rule has
 * it, in small transactions; a conversation is counted anew when all that comes and goes has. Who is killed at it begins again and has less to do.
 */
import { setImmediate as breathe } from 'node:timers/promises';
import { type Clock, isoTime } from '../../base/clock.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { ownAddresses, setThreadsVersion } from '../../database/mail/account-rows.ts';
import { isAccountOpen } from '../../database/mail/leaving-rows.ts';
import { MailWriter } from '../../database/mail/mail-writer.ts';
import { SubjectPartyRows } from '../../database/mail/subject-party-rows.ts';
import {
  conversationsAfter,
  lastContent,
  lastThreadKey,
  type ThreadedRow,
  type ThreadKeyRow,
  ThreadRows,
  threadedAfter,
  threadKeysAfter,
} from '../../database/mail/thread-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { readOwnAddresses } from '../threads/own-addresses.ts';
import { type Regrouped, Regrouping, type Stray } from '../threads/regrouping.ts';
import { type PartyEntry, partyEntries, withParties } from '../threads/subject-matches.ts';
import { threadSigns } from '../threads/thread-signs.ts';
import type { IngestBy, MailAccount } from './incoming-mail.ts';
import { shownAnew, wronglyShown } from './shown-conversations.ts';

export interface RethreadParts {
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  /** Ends it, before the next transaction; what is done stays. */
  readonly signal?: AbortSignal;
}

/** What became of an account's conversations. */
export interface Rethreaded {
  /** Those that have e-mails. */
  readonly conversations: number;
  /** Those that were made, or are not as they were. */
  readonly changed: number;
}

/** E-mails of one look, and of one transaction. */
const emailsRead = 200;
const emailsPut = 50;
const keysAtOnce = 500;
const conversationsAtOnce = 100;
/** Where mail arrives meanwhile, it is looked through again, so many times at most. */
const mostPasses = 3;

/** Some e-mails of a group, on their way into its conversation. */
interface Portion {
  readonly group: Regrouped;
  readonly strays: readonly Stray[];
  /** With these the group is whole. */
  readonly last: boolean;
}

export class Rethreading {
  readonly #parts: RethreadParts;
  readonly #account: MailAccount;
  readonly #by: IngestBy;
  readonly #changed = new Set<number>();
  /** The conversation of each group, by its oldest e-mail. */
  #conversations = new Map<number, number>();
  /** How many e-mails are still to part from a conversation. */
  #leaving = new Map<number, number>();

  constructor(parts: RethreadParts, account: MailAccount, by: IngestBy) {
    this.#parts = parts;
    this.#account = account;
    this.#by = by;
  }

  /** @throws ApiError 404 where the account is destroyed meanwhile. */
  async run(): Promise<Rethreaded> {
    const { database } = this.#parts;
    for (let pass = 1; ; pass += 1) {
      const last = await lastContent(database, this.#account.id);
      await this.#pass();
      if (pass === mostPasses || (await lastContent(database, this.#account.id)) === last) break;
    }
    await this.#write((transaction) => setThreadsVersion(database, transaction, this.#account.id));
    return { conversations: this.#conversations.size, changed: this.#changed.size };
  }

  async #pass(): Promise<void> {
    this.#conversations = new Map();
    const lastKey = await lastThreadKey(this.#parts.database, this.#account.id);
    const regrouping = await this.#regrouped();
    await this.#putAll(regrouping);
    await this.#leadKeys(regrouping, lastKey);
    await this.#addKeys(regrouping);
    await this.#checkAll();
  }

  /** Looks through all e-mails, the oldest first. */
  async #regrouped(): Promise<Regrouping> {
    const { database } = this.#parts;
    const own = (await ownAddresses(database, null, this.#account.id)) ?? new Set<string>();
    const regrouping = new Regrouping(own);
    for (let after = -1; ; ) {
      const rows = await threadedAfter(database, this.#account.id, after, emailsRead);
      const signs = rows.map((row) => threadSigns(mailOf(row), row.at));
      for (const [index, { id, conversation }] of rows.entries())
        regrouping.add({ id, conversation, signs: signs[index]! });
      await this.#indexParties(
        rows.map(({ id }) => id),
        signs.map((each) => partyEntries(withParties(each, own))),
      );
      this.#parts.signal?.throwIfAborted();
      if (rows.length < emailsRead) return regrouping;
      after = rows.at(-1)!.id;
      await breathe();
    }
  }

  /** Puts the parties of e-mails right, by which later answers find them. */
  async #indexParties(emails: readonly number[], entries: readonly (readonly PartyEntry[])[]): Promise<void> {
    const { database } = this.#parts;
    const stored = await new SubjectPartyRows(database, null, this.#account.id).of(emails);
    const present = Map.groupBy(stored, ({ email }) => email);
    const text = (rows: readonly PartyEntry[]): string =>
      rows
        .map(({ key, kind }) => `${key}${kind}`)
        .sort()
        .join();
    const wrong = emails.filter((email, index) => text(present.get(email) ?? []) !== text(entries[index]!));
    for (let from = 0; from < wrong.length; from += emailsPut)
      await this.#write(async (transaction) => {
        const batch = wrong.slice(from, from + emailsPut);
        const there = await new ThreadRows(database, transaction, this.#account.id).emailsThere(batch);
        const rows = new SubjectPartyRows(database, transaction, this.#account.id);
        await rows.forget(batch);
        await rows.add(
          emails.flatMap((email, index) =>
            there.has(email) ? entries[index]!.map((entry) => ({ ...entry, email })) : [],
          ),
        );
      });
  }

  async #putAll(regrouping: Regrouping): Promise<void> {
    const groups = await this.#groupsToPut(regrouping);
    let waiting: Portion[] = [];
    let count = 0;
    const flush = async (): Promise<void> => {
      if (waiting.length > 0) await this.#put(waiting);
      [waiting, count] = [[], 0];
    };
    for (const portion of groups.flatMap((group) => [...portionsOf(group)])) {
      if (count + portion.strays.length > emailsPut) await flush();
      waiting.push(portion);
      count += portion.strays.length + 1;
    }
    await flush();
  }

  /** Groups that are not whole yet. */
  async #groupsToPut(regrouping: Regrouping): Promise<Regrouped[]> {
    const found: Regrouped[] = [];
    this.#leaving = new Map();
    for (const group of regrouping.groups()) {
      if (group === null) {
        await breathe();
        continue;
      }
      if (group.keeps !== null) this.#conversations.set(group.oldest, group.keeps);
      if (group.strays.length > 0 || group.merged.length > 0) found.push(group);
      for (const { from } of group.strays)
        if (from !== null) this.#leaving.set(from, (this.#leaving.get(from) ?? 0) + 1);
    }
    return found;
  }

  /** Puts e-mails into the conversations of their groups, and makes those that are not there. */
  async #put(portions: readonly Portion[]): Promise<void> {
    const left = this.#leftBy(portions);
    const { made: fresh, touched } = await this.#write(async (transaction) => {
      const writer = new MailWriter(this.#parts.database, transaction, this.#account.id);
      const rows = new ThreadRows(this.#parts.database, transaction, this.#account.id);
      const known = portions.flatMap(({ group }) => this.#conversations.get(group.oldest) ?? []);
      const there = await rows.conversationsThere([...left, ...known]);
      const made = await this.#made(writer, rows, portions, there);
      const settled = new Set(left.filter((id) => there.has(id)));
      const moved: number[] = [];
      for (const { group, strays, last } of portions) {
        const into = made.get(group.oldest) ?? this.#conversations.get(group.oldest);
        if (into === undefined || !(there.has(into) || made.has(group.oldest))) continue;
        moved.push(
          ...(await rows.put(
            strays.map(({ id }) => id),
            into,
          )),
        );
        if (group.merged.length > 0) await rows.lead(group.merged, into);
        if (last) settled.add(into);
      }
      await shownAnew(rows, [...settled]);
      await rows.recount([...settled]);
      await this.#tell(transaction, 'emails.updated', 'emails', moved, ['conversationId']);
      const news = new Set(made.values());
      await this.#tell(transaction, 'conversations.created', 'conversations', [...news]);
      await this.#tellChanged(
        transaction,
        [...settled].filter((id) => !news.has(id)),
      );
      return { made, touched: [...settled, ...news] };
    });
    for (const id of touched) this.#changed.add(id);
    for (const [oldest, id] of fresh) this.#conversations.set(oldest, id);
  }

  /**
   * Conversations that have all that parts from them behind them. They are counted then, once: of one that thousands part from, each
   * hundred would count all.
   */
  #leftBy(portions: readonly Portion[]): number[] {
    const left: number[] = [];
    for (const { from } of portions.flatMap(({ strays }) => strays)) {
      if (from === null) continue;
      const more = this.#leaving.get(from)! - 1;
      this.#leaving.set(from, more);
      if (more === 0) left.push(from);
    }
    return left;
  }

  /**
   * Makes the conversations that are not there yet, or not any more, by the oldest e-mails of their groups; none for e-mails that
   * were all destroyed meanwhile.
   */
  async #made(
    writer: MailWriter,
    rows: ThreadRows,
    portions: readonly Portion[],
    there: ReadonlySet<number>,
  ): Promise<Map<number, number>> {
    const emails = await rows.emailsThere(portions.flatMap(({ strays }) => strays.map(({ id }) => id)));
    const filled = portions.filter(({ strays }) => strays.some(({ id }) => emails.has(id)));
    const wanted = [...new Set(filled.map(({ group }) => group))].filter(
      ({ oldest }) => !there.has(this.#conversations.get(oldest) ?? 0),
    );
    const ids = await writer.addConversations(wanted.map(() => ''));
    for (const [index, { strays }] of wanted.entries()) {
      const from = strays[0]!.from;
      if (from !== null) await rows.standAs(ids[index]!, from);
    }
    return new Map(wanted.map(({ oldest }, index) => [oldest, ids[index]!]));
  }

  /** Has the former keys lead where their e-mails are now; a key without e-mails goes. */
  async #leadKeys(regrouping: Regrouping, last: number): Promise<void> {
    const { database } = this.#parts;
    for (let after = -1; after < last; ) {
      const rows = await threadKeysAfter(database, this.#account.id, after, keysAtOnce);
      if (rows.length === 0) return;
      after = rows.at(-1)!.id;
      const stale: number[] = [];
      const wrong = new Map<number, number[]>();
      for (const row of rows.filter(({ id }) => id <= last)) this.#judge(regrouping, row, stale, wrong);
      if (stale.length + wrong.size > 0) await this.#mend(stale, wrong);
      await breathe();
    }
  }

  #judge(regrouping: Regrouping, row: ThreadKeyRow, stale: number[], wrong: Map<number, number[]>): void {
    const oldest = regrouping.take(row.key);
    const conversation = oldest === null ? undefined : this.#conversations.get(oldest);
    if (conversation === undefined) stale.push(row.id);
    else if (conversation !== row.conversation) wrong.set(conversation, [...(wrong.get(conversation) ?? []), row.id]);
  }

  #mend(stale: readonly number[], wrong: ReadonlyMap<number, readonly number[]>): Promise<void> {
    return this.#write(async (transaction) => {
      const rows = new ThreadRows(this.#parts.database, transaction, this.#account.id);
      if (stale.length > 0) await rows.forgetKeys(stale);
      const there = await rows.conversationsThere([...wrong.keys()]);
      for (const [conversation, keys] of wrong) if (there.has(conversation)) await rows.leadKeys(keys, conversation);
    });
  }

  /** Adds the keys that were not there. */
  async #addKeys(regrouping: Regrouping): Promise<void> {
    const left = [...regrouping.left()];
    for (let from = 0; from < left.length; from += keysAtOnce) {
      const keys = left.slice(from, from + keysAtOnce).flatMap((key) => {
        const conversation = this.#conversations.get(regrouping.take(key)!);
        return conversation === undefined ? [] : [[key, conversation] as const];
      });
      await this.#write(async (transaction) => {
        const rows = new ThreadRows(this.#parts.database, transaction, this.#account.id);
        const there = await rows.conversationsThere([...new Set(keys.map(([, conversation]) => conversation))]);
        const writer = new MailWriter(this.#parts.database, transaction, this.#account.id);
        await writer.addThreadKeys(keys.filter(([, conversation]) => there.has(conversation)));
      });
    }
  }

  /** Looks at what conversations count and show, and puts right what is wrong. */
  async #checkAll(): Promise<void> {
    const { database } = this.#parts;
    for (let after = 0; ; ) {
      const ids = await conversationsAfter(database, this.#account.id, after, conversationsAtOnce);
      if (ids.length === 0) return;
      after = ids.at(-1)!;
      const rows = new ThreadRows(database, null, this.#account.id);
      const wrong = new Set([...(await rows.miscounted(ids)), ...(await wronglyShown(rows, ids)).map(({ id }) => id)]);
      if (wrong.size > 0) await this.#correct([...wrong]);
      await breathe();
    }
  }

  async #correct(ids: readonly number[]): Promise<void> {
    await this.#write(async (transaction) => {
      const rows = new ThreadRows(this.#parts.database, transaction, this.#account.id);
      await shownAnew(rows, ids);
      await rows.recount(ids);
      await this.#tellChanged(transaction, ids);
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
    return database.write(checked, { heavy: true, turn: `mail ${this.#account.id}` });
  }

  #tellChanged(transaction: Transaction, ids: readonly number[]): Promise<void> {
    return this.#tell(transaction, 'conversations.updated', 'conversations', ids);
  }

  async #tell(
    transaction: Transaction,
    name: string,
    resource: string,
    keys: readonly number[],
    changed: readonly string[] = [],
  ): Promise<void> {
    const { changes, clock } = this.#parts;
    const events = { name, resource, tks: keys.map(String), ...this.#by, changed, by: null };
    await changes.append(transaction, events, isoTime(clock.now()));
  }
}

/** What decides on the conversation, as the message had it. Whoever is joined by no subject is as good as from a list. */
function mailOf({ alone, ...row }: ThreadedRow): Parameters<typeof threadSigns>[0] {
  return { ...row, bulk: alone, ownAddresses: row.ownAddresses ?? readOwnAddresses(row, row.folder) };
}

function* portionsOf(group: Regrouped): Generator<Portion> {
  const { strays } = group;
  for (let from = 0; from === 0 || from < strays.length; from += emailsPut)
    yield { group, strays: strays.slice(from, from + emailsPut), last: from + emailsPut >= strays.length };
}
