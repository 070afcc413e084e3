import { insertRows } from '../row-insert.ts';
import { join, listValue, type Sql, sql, value } from '../sql.ts';
import { AccountBoundRows } from './account-bound-rows.ts';
import { keysPerSecond } from './email-keys.ts';

/** A party (correspondent) of a message: its key, and the kind of the message (0 to 3). */
export interface StoredParty {
  readonly key: string;
  readonly kind: number;
  readonly email: number;
}

interface KeyRange {
  readonly kind: number;
  /** Seconds since the Unix epoch, both included. */
  readonly from: number;
  readonly to: number;
  readonly nearestTo: 'from' | 'to';
}

interface FoundRow {
  readonly range: number;
  readonly second: number;
  readonly conversation: number | null;
}

/** The index of one account. Its writer holds the lock `mail <account>`. */
export class SubjectPartyRows extends AccountBoundRows {
  /** Which of the keys have rows. */
  async presentKeys(keys: readonly string[]): Promise<ReadonlySet<string>> {
    if (keys.length === 0) return new Set();
    const requestedKeys = this.database.dialect.listAsRows(listValue('text', keys));
    const rows = await this.run(
      sql`SELECT v FROM ${requestedKeys} WHERE EXISTS (SELECT 1 FROM "mailSubjectParties" p WHERE p."accountId"=${value('integer', this.account)} AND p.key=v)`,
    );
    return new Set(rows.map(([key]) => key as string));
  }

  /** The first rows of ranges, at most `limit` of each. */
  async rowsIn(key: string, ranges: readonly KeyRange[], limit: number): Promise<FoundRow[]> {
    if (ranges.length === 0) return [];
    const parts = ranges.map(
      (range, index) =>
        sql`SELECT * FROM (SELECT ${index} AS r,p."emailId" AS e FROM "mailSubjectParties" p WHERE ${this.#within(key, range)} ORDER BY p."emailId" ${range.nearestTo === 'to' ? 'DESC' : 'ASC'} LIMIT ${limit}) s${index}`,
    );
    const rows = await this.run(
      sql`SELECT f.r,f.e,m."conversationId" FROM (${join(parts, ' UNION ALL ')}) f JOIN emails m ON m.id=f.e`,
    );
    const found = rows.map(([range, email, conversation]) => ({
      range: Number(range),
      second: Math.floor(Number(email) / keysPerSecond),
      conversation: conversation === null ? null : Number(conversation),
    }));
    const distance = ({ range, second }: FoundRow): number => (ranges[range]?.nearestTo === 'to' ? -second : second);
    return found.sort((one, second) => one.range - second.range || distance(one) - distance(second));
  }

  /** The conversations of all rows of a range. */
  async conversationsIn(key: string, range: KeyRange): Promise<number[]> {
    const rows = await this.run(
      sql`SELECT DISTINCT m."conversationId" FROM "mailSubjectParties" p JOIN emails m ON m.id=p."emailId" WHERE ${this.#within(key, range)} AND m."conversationId" IS NOT NULL`,
    );
    return rows.map(([id]) => Number(id));
  }

  async add(parties: readonly StoredParty[]): Promise<void> {
    await insertRows(
      this.run,
      this.database.dialect,
      'mailSubjectParties',
      [
        ['accountId', 'integer'],
        ['key', 'text'],
        ['kind', 'integer'],
        ['emailId', 'bigint'],
      ],
      parties.map(({ key, kind, email }) => [this.account, key, kind, email]),
      sql` ON CONFLICT DO NOTHING`,
    );
  }

  /** The rows of some e-mails. */
  async readByEmails(emails: readonly number[]): Promise<StoredParty[]> {
    const rows = await this.run(sql`SELECT key,kind,"emailId" FROM "mailSubjectParties" WHERE ${this.#isOf(emails)}`);
    return rows.map(([key, kind, email]) => ({ key: key as string, kind: Number(kind), email: Number(email) }));
  }

  async deleteByEmails(emails: readonly number[]): Promise<void> {
    await this.run(sql`DELETE FROM "mailSubjectParties" WHERE ${this.#isOf(emails)}`);
  }

  #isOf(emails: readonly number[]): Sql {
    return this.database.dialect.isIn(sql`"emailId"`, listValue('bigint', emails));
  }

  #within(key: string, { kind, from, to }: KeyRange): Sql {
    const first = value('bigint', Math.max(0, from) * keysPerSecond);
    const end = value('bigint', (to + 1) * keysPerSecond);
    return sql`p."accountId"=${value('integer', this.account)} AND p.key=${value('text', key)} AND p.kind=${kind} AND p."emailId">=${first} AND p."emailId"<${end}`;
  }
}
