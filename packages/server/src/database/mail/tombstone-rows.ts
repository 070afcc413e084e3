/** Statements about tombstones: permanently deleted e-mails, which the mail server must not bring back. */
import type { Database, Transaction } from '../database.ts';
import { createTxRunner } from '../run-statement.ts';
import { listValue, type Sql, sql, value } from '../sql.ts';
import { AccountBoundRows } from './account-bound-rows.ts';

/** An e-mail that was deleted for ever. */
export interface Tombstone {
  readonly identity: string;
  readonly providerId: string | null;
  /** The key that the e-mail had. */
  readonly emailId: number;
  /** Whether the mail server has confirmed the deletion: from then on a copy counts as new mail. */
  readonly isConfirmed: boolean;
}

/** The tombstones of one account inside a transaction. */
export class TombstoneRows extends AccountBoundRows {
  constructor(database: Database, transaction: Transaction, account: number) {
    super(database, transaction, account);
    transaction.touch('mailTombstones');
  }

  /** Stores the tombstones of e-mails that are about to be deleted. @param at the present, ISO 8601. */
  async addForEmails(emails: readonly number[], at: string): Promise<void> {
    if (emails.length === 0) return;
    const isDeleted = this.database.dialect.isIn(sql`e.id`, listValue('bigint', emails));
    await this.run(
      sql`INSERT INTO "mailTombstones" ("accountId",identity,"providerId","emailId",at) SELECT e."accountId",e.identity,e."providerId",e.id,${value('datetime', at)} FROM emails e WHERE e."accountId"=${value('integer', this.account)} AND ${isDeleted} ON CONFLICT ("accountId",identity) DO UPDATE SET "providerId"=excluded."providerId","emailId"=excluded."emailId",at=excluded.at`,
    );
  }

  /** The tombstones of some messages. */
  async find(by: 'identity' | 'providerId', values: readonly string[]): Promise<Tombstone[]> {
    if (values.length === 0) return [];
    const isWaiting = sql`EXISTS (SELECT 1 FROM "mailOperations" o WHERE o."emailId"=t."emailId" AND o.kind='delete')`;
    const rows = await this.run(
      sql`SELECT t.identity,t."providerId",t."emailId",CASE WHEN ${isWaiting} THEN 1 ELSE 0 END FROM "mailTombstones" t WHERE ${this.#isNamed(by === 'identity' ? 't.identity' : 't."providerId"', values)}`,
    );
    return rows.map(([identity, providerId, emailId, waiting]) => ({
      identity: identity as string,
      providerId: providerId as string | null,
      emailId: Number(emailId),
      isConfirmed: Number(waiting) === 0,
    }));
  }

  /** Removes the tombstones of messages, for example because a user imports them again. */
  async remove(identities: readonly string[]): Promise<void> {
    if (identities.length > 0)
      await this.run(sql`DELETE FROM "mailTombstones" WHERE ${this.#isNamed('identity', identities)}`);
  }

  /** Removes the tombstone of an e-mail whose deletion the server refuses. */
  async removeByEmail(email: number): Promise<void> {
    await this.run(
      sql`DELETE FROM "mailTombstones" WHERE "accountId"=${value('integer', this.account)} AND "emailId"=${value('bigint', email)}`,
    );
  }

  #isNamed(column: string, values: readonly string[]): Sql {
    return sql`"accountId"=${value('integer', this.account)} AND ${this.database.dialect.isIn(sql`${column}`, listValue('text', values))}`;
  }
}

/** Removes old tombstones, except those whose deletion the mail server has not confirmed. @param before ISO 8601. */
export async function sweepTombstones(database: Database, transaction: Transaction, before: string): Promise<void> {
  await createTxRunner(
    database,
    transaction,
  )(
    sql`DELETE FROM "mailTombstones" WHERE at<${value('datetime', before)} AND NOT EXISTS (SELECT 1 FROM "mailOperations" o WHERE o."emailId"="mailTombstones"."emailId" AND o.kind='delete')`,
  );
}
