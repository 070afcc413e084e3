/**
 * The conversations of an account, made anew from its e-mails. It looks through all of them, then puts right what is not as the rule has
 * it, in small transactions, each of which leaves the account whole: who is killed at it begins again and has less to do.
 */
import { setImmediate as breathe } from 'node:timers/promises';
import { type Clock, isoTime } from '../../base/clock.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { isAccountOpen } from '../../database/mail/leaving-rows.ts';
import { MailWriter } from '../../database/mail/mail-writer.ts';
import {
  conversationsAfter,
  lastContent,
  lastThreadKey,
  type ShownConversation,
  type ThreadedRow,
  type ThreadKeyRow,
  ThreadRows,
  threadedAfter,
  threadKeysAfter,
} from '../../database/mail/thread-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { conversationSubject } from '../threads/conversation-subject.ts';
import { addPeople, type Participants } from '../threads/participants.ts';
import { type Regrouped, Regrouping } from '../threads/regrouping.ts';
import { threadSigns } from '../threads/thread-signs.ts';
import type { IngestBy, MailAccount } from './incoming-mail.ts';

export interface RethreadParts {
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly clock: Clock;
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
const emailsPut = 100;
const keysAtOnce = 500;
const conversationsAtOnce = 100;
/** Where mail arrives meanwhile, it is looked through again, so many times at most. */
const mostPasses = 3;

/** Some e-mails of a group, on their way into its conversation. */
interface Portion {
  readonly group: Regrouped;
  readonly emails: readonly number[];
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
    const regrouping = new Regrouping(new Set([this.#account.address.toLowerCase()]));
    for (let after = -1; ; ) {
      const rows = await threadedAfter(this.#parts.database, this.#account.id, after, emailsRead);
      for (const row of rows)
        regrouping.add({ id: row.id, conversation: row.conversation, signs: threadSigns(mailOf(row), row.at) });
      if (rows.length < emailsRead) return regrouping;
      after = rows.at(-1)!.id;
      await breathe();
    }
  }

  async #putAll(regrouping: Regrouping): Promise<void> {
    let waiting: Portion[] = [];
    let count = 0;
    const flush = async (): Promise<void> => {
      if (waiting.length > 0) await this.#put(waiting);
      [waiting, count] = [[], 0];
    };
    for (const group of regrouping.groups()) {
      if (group === null) {
        await breathe();
        continue;
      }
      if (group.keeps !== null) this.#conversations.set(group.emails[0]!, group.keeps);
      if (!group.strays && group.merged.length === 0) continue;
      for (const portion of portionsOf(group)) {
        if (count + portion.emails.length > emailsPut) await flush();
        waiting.push(portion);
        count += portion.emails.length;
      }
    }
    await flush();
  }

  /** Puts e-mails into the conversations of their groups, and makes those that are not there. */
  async #put(portions: readonly Portion[]): Promise<void> {
    const made = await this.#write(async (transaction) => {
      const writer = new MailWriter(this.#parts.database, transaction, this.#account.id);
      const rows = new ThreadRows(this.#parts.database, transaction, this.#account.id);
      const fresh = await this.#made(writer, rows, portions);
      const touched = new Set<number>(fresh.values());
      const moved: number[] = [];
      for (const { group, emails, last } of portions) {
        const first = group.emails[0]!;
        const into = this.#conversations.get(first) ?? fresh.get(first)!;
        for (const [id, from] of await rows.put(emails, into)) {
          moved.push(id);
          if (from !== null) touched.add(from);
        }
        touched.add(into);
        if (!last || group.merged.length === 0) continue;
        await rows.lead(group.merged, into);
        for (const each of group.merged) touched.add(each);
      }
      const all = [...touched];
      await shownAnew(rows, all);
      await rows.recount(all);
      await this.#tell(transaction, 'emails.updated', 'emails', moved, ['conversationId']);
      const news = new Set(fresh.values());
      await this.#tell(transaction, 'conversations.created', 'conversations', [...news]);
      await this.#tellChanged(
        transaction,
        all.filter((id) => !news.has(id)),
      );
      return { fresh, all };
    });
    for (const [first, id] of made.fresh) this.#conversations.set(first, id);
    for (const id of made.all) this.#changed.add(id);
  }

  /** Makes the conversations that are not there yet, by the oldest e-mails of their groups. */
  async #made(writer: MailWriter, rows: ThreadRows, portions: readonly Portion[]): Promise<Map<number, number>> {
    const wanted = [...new Set(portions.map(({ group }) => group))].filter(
      ({ emails }) => !this.#conversations.has(emails[0]!),
    );
    const ids = await writer.addConversations(wanted.map(() => ''));
    for (const [index, { from }] of wanted.entries()) if (from !== null) await rows.standAs(ids[index]!, from);
    return new Map(wanted.map(({ emails }, index) => [emails[0]!, ids[index]!]));
  }

  /** Has the keys that were there lead where their e-mails are; keys that no e-mail has any more go. */
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
      for (const [conversation, keys] of wrong) await rows.leadKeys(keys, conversation);
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
      await this.#write((transaction) =>
        new MailWriter(this.#parts.database, transaction, this.#account.id).addThreadKeys(keys),
      );
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
  return { ...row, bulk: alone };
}

function* portionsOf(group: Regrouped): Generator<Portion> {
  for (let from = 0; from < group.emails.length; from += emailsPut) {
    const emails = group.emails.slice(from, from + emailsPut);
    yield { group, emails, last: from + emailsPut >= group.emails.length };
  }
}

/** Has conversations say again who takes part in them, and what they are about. */
async function shownAnew(rows: ThreadRows, ids: readonly number[]): Promise<void> {
  for (const each of await wronglyShown(rows, ids)) await rows.show(each);
}

/** Conversations that say something else than their e-mails, as they should be; what has no e-mails says what it said. */
async function wronglyShown(rows: ThreadRows, ids: readonly number[]): Promise<ShownConversation[]> {
  const { shown, messages } = await rows.shown(ids);
  const byConversation = Map.groupBy(messages, ({ conversation }) => conversation);
  return shown.flatMap((each) => {
    const own = byConversation.get(each.id);
    if (!own) return [];
    const people: Participants = new Map();
    for (const message of own) addPeople(people, message.people);
    const right = { id: each.id, subject: conversationSubject(own[0]!.subject), participants: [...people.values()] };
    return JSON.stringify(right) === JSON.stringify(each) ? [] : [right];
  });
}
