/** Statements about placements: which e-mail is in which mailbox. An e-mail can be in several mailboxes, and several times in one. */
import type { Database, Transaction } from '../database.ts';
import { createTxRunner } from '../run-statement.ts';
import { listValue, type Sql, sql, value } from '../sql.ts';
import { TransactionRows } from './transaction-rows.ts';

/**
 * The primary mailbox of an e-mail (`mailboxId`, `folder`): the first one that it was added to. Trash and junk only
 * count if it is in no other mailbox. So a list without these folders shows e-mails that are in at least one other
 * mailbox.
 */
const selectPrimaryMailbox = sql`SELECT m.id FROM "mailPlacements" p JOIN mailboxes m ON m.id=p."mailboxId" WHERE p."emailId"=emails.id ORDER BY CASE WHEN m.role IN ('trash','junk') THEN 1 ELSE 0 END,p.id LIMIT 1`;

/** Placements inside a transaction. */
export class PlacementRows extends TransactionRows {
  constructor(database: Database, transaction: Transaction) {
    super(database, transaction, ['emails', 'mailPlacements']);
  }

  /** The mailboxes of e-mails, by e-mail, in the order in which the e-mail was added to them. */
  async readMailboxes(emails: readonly unknown[]): Promise<Map<number, Set<number>>> {
    const rows = await this.run(
      sql`SELECT "emailId","mailboxId" FROM "mailPlacements" WHERE ${this.#isIn('"emailId"', emails)} ORDER BY id`,
    );
    const found = new Map<number, Set<number>>();
    for (const [email, mailbox] of rows)
      found.set(Number(email), (found.get(Number(email)) ?? new Set()).add(Number(mailbox)));
    return found;
  }

  /** Moves e-mails from one mailbox to another. Their other mailboxes stay. */
  async move(emails: readonly number[], from: number, to: number): Promise<void> {
    const source = value('integer', from);
    await this.run(
      sql`DELETE FROM "mailPlacements" WHERE "mailboxId"=${source} AND ${this.#isIn('"emailId"', emails)}`,
    );
    await this.add(emails, to);
  }

  /**
   * Adds e-mails to a mailbox. Existing placements do not change, because they contain the position on the mail server.
   */
  async add(emails: readonly number[], mailbox: number): Promise<void> {
    const target = value('integer', mailbox);
    const existing = sql`SELECT 1 FROM "mailPlacements" p WHERE p."emailId"=e.id AND p."mailboxId"=${target}`;
    await this.run(
      sql`INSERT INTO "mailPlacements" ("emailId","mailboxId") SELECT e.id,${target} FROM emails e WHERE ${this.#isIn('e.id', emails)} AND NOT EXISTS (${existing})`,
    );
  }

  /** Sets `mailboxId` and `folder` of e-mails from their placements. @returns the e-mails that changed. */
  async updatePrimaryMailboxes(emails: readonly number[]): Promise<number[]> {
    const rows = await this.run(
      sql`UPDATE emails SET "mailboxId"=(${selectPrimaryMailbox}),folder=(SELECT coalesce(b.role,b.path) FROM mailboxes b WHERE b.id=(${selectPrimaryMailbox})),_v=_v+1 WHERE ${this.#isIn('id', emails)} AND "mailboxId" IS DISTINCT FROM (${selectPrimaryMailbox}) RETURNING id`,
    );
    return rows.map(([id]) => Number(id));
  }

  /** E-mails that are in a mailbox and also in others. */
  async findShared(mailbox: number): Promise<number[]> {
    const rows = await this.run(
      sql`SELECT DISTINCT p."emailId" FROM "mailPlacements" p WHERE p."mailboxId"=${value('integer', mailbox)} AND EXISTS (SELECT 1 FROM "mailPlacements" o WHERE o."emailId"=p."emailId" AND o."mailboxId"<>p."mailboxId")`,
    );
    return rows.map(([id]) => Number(id));
  }

  #isIn(column: string, emails: readonly unknown[]): Sql {
    return this.database.dialect.isIn(sql`${column}`, listValue('bigint', emails));
  }
}

/** Migrates a store of an earlier server version, in which lists and counts did not use placements: adds the missing placements and
 * recounts mailboxes. */
export async function migratePlacements(database: Database, transaction: Transaction): Promise<void> {
  const run = createTxRunner(database, transaction);
  await run(
    sql`INSERT INTO "mailPlacements" ("emailId","mailboxId") SELECT e.id,e."mailboxId" FROM emails e WHERE e."mailboxId" IS NOT NULL AND NOT EXISTS (SELECT 1 FROM "mailPlacements" p WHERE p."emailId"=e.id AND p."mailboxId"=e."mailboxId")`,
  );
  const placed = sql`SELECT DISTINCT p."emailId" FROM "mailPlacements" p WHERE p."mailboxId"=mailboxes.id`;
  const unread = sql`SELECT count(*) FROM emails e WHERE e.id IN (${placed}) AND NOT (${database.dialect.isTrue(sql`e.read`)})`;
  await run(sql`UPDATE mailboxes SET messages=(SELECT count(*) FROM (${placed}) d),unread=(${unread})`);
  const selectSetAside = sql`SELECT id FROM emails WHERE folder IN ('trash','junk') AND id IN (SELECT "emailId" FROM "mailPlacements" GROUP BY "emailId" HAVING count(*)>1)`;
  const rows = await run(selectSetAside);
  const conversations = new PlacementRows(database, transaction);
  if (rows.length > 0) await conversations.updatePrimaryMailboxes(rows.map(([id]) => Number(id)));
}
