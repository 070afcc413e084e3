/** Statements about the mail servers of accounts. */
import type { Database, Transaction } from '../database.ts';
import { parseJsonColumn } from '../json-column.ts';
import { createRunner, createTxRunner } from '../run-statement.ts';
import { listValue, sql, value } from '../sql.ts';
import { deletingStatus } from './account-status.ts';

/** What local changes must know about the IMAP server of an account. */
export interface AccountServer {
  readonly accountId: number;
  /** Whether the labels of users are labels of Gmail, and no keywords. */
  readonly hasGmailLabels: boolean;
}

/** The accounts with an IMAP server to which e-mails belong. */
export async function findServerAccounts(database: Database, emails: readonly number[]): Promise<number[]> {
  const isOne = database.dialect.isIn(sql`e.id`, listValue('bigint', emails));
  const rows = await createRunner(
    database,
    null,
  )(
    sql`SELECT DISTINCT e."accountId" FROM emails e JOIN accounts a ON a.id=e."accountId" WHERE ${isOne} AND a.imap IS NOT NULL`,
  );
  return rows.map(([id]) => Number(id));
}

/** The accounts with an IMAP server whose mail a user can see. The owner of an account is one of its members. */
export async function findMemberAccounts(database: Database, user: number): Promise<number[]> {
  const rows = await createRunner(
    database,
    null,
  )(
    sql`SELECT a.id FROM accounts a JOIN "accountMembers" m ON m."accountId"=a.id WHERE m."userId"=${value('integer', user)} AND a.imap IS NOT NULL ORDER BY a.id`,
  );
  return rows.map(([id]) => Number(id));
}

const gmailCapability = 'X-GM-EXT-1';

/** Which of the accounts have an IMAP server, by key. */
export async function readAccountServers(
  database: Database,
  transaction: Transaction | null,
  accounts: readonly number[],
): Promise<Map<number, AccountServer>> {
  const run = createRunner(database, transaction);
  const rows = await run(
    sql`SELECT id,capabilities FROM accounts WHERE ${database.dialect.isIn(sql`id`, listValue('integer', accounts))} AND imap IS NOT NULL AND status<>${value('text', deletingStatus)}`,
  );
  return new Map(
    rows.map(([id, capabilities]) => {
      const list = parseJsonColumn(capabilities);
      const hasGmailLabels = Array.isArray(list) && list.includes(gmailCapability);
      return [Number(id), { accountId: Number(id), hasGmailLabels }];
    }),
  );
}

/**
 * Removes all that is known about the server of an account: the account got another server. Mailboxes and e-mails stay, and the
 * new server's are linked to them.
 */
export async function forgetServer(database: Database, transaction: Transaction, account: number): Promise<void> {
  const run = createTxRunner(database, transaction);
  const key = value('integer', account);
  const isOfAccount = sql`"accountId"=${key}`;
  for (const table of [
    'mailOperations',
    'mailTombstones',
    'mailLostPlacements',
    'mailPlacements',
    'mailboxes',
    'emails',
  ])
    transaction.touch(table);
  for (const table of ['mailOperations', 'mailTombstones', 'mailLostPlacements'])
    await run(sql`DELETE FROM "${table}" WHERE ${isOfAccount}`);
  await run(
    sql`UPDATE "mailPlacements" SET uid=NULL,uidvalidity=NULL,modseq=NULL,flags=NULL WHERE uid IS NOT NULL AND "mailboxId" IN (SELECT id FROM mailboxes WHERE ${isOfAccount})`,
  );
  await run(
    sql`UPDATE mailboxes SET "rawPath"=NULL,delimiter=NULL,"objectId"=NULL,uidvalidity=NULL,uidnext=NULL,highestmodseq=NULL,"backfillUid"=NULL,"reconciledAt"=NULL,_v=_v+1 WHERE ${isOfAccount}`,
  );
  await run(
    sql`UPDATE emails SET "providerId"=NULL,"providerThreadId"=NULL WHERE ${isOfAccount} AND ("providerId" IS NOT NULL OR "providerThreadId" IS NOT NULL)`,
  );
  await run(sql`UPDATE accounts SET capabilities=NULL WHERE id=${key}`);
}
