/**
 * Statements about accounts that were destroyed: they are closed immediately, and their contents are deleted in batches
 * later.
 */

import type { Database, Transaction } from '../database.ts';
import { createReader, createRunner, createTxRunner } from '../run-statement.ts';
import { identifier, listValue, sql, value } from '../sql.ts';
import { deletingStatus } from './account-status.ts';

/** Closes an account: its mail is hidden, nothing of it is sent, and no server signs in for it any more. */
export async function closeAccount(database: Database, transaction: Transaction, account: number): Promise<void> {
  const run = createTxRunner(database, transaction);
  const isOfAccount = sql`"accountId"=${value('integer', account)}`;
  for (const table of ['accountMembers', 'mailOutbox', 'mailOperations']) transaction.touch(table);
  await run(sql`DELETE FROM "accountMembers" WHERE ${isOfAccount}`);
  await run(sql`DELETE FROM "mailOutbox" WHERE ${isOfAccount}`);
  await run(sql`DELETE FROM "mailOperations" WHERE ${isOfAccount}`);
  await run(sql`UPDATE accounts SET secrets=NULL WHERE id=${value('integer', account)}`);
}

/** Accounts that were destroyed and whose contents are not deleted yet. */
export async function readDeletingAccounts(database: Database): Promise<number[]> {
  const rows = await createReader(database)(
    sql`SELECT id FROM accounts WHERE status=${value('text', deletingStatus)} ORDER BY id`,
  );
  return rows.map(([id]) => Number(id));
}

/** Whether mail can be stored in an account: it exists and is not being deleted. @param transaction null: outside of a transaction. */
export async function isAccountOpen(
  database: Database,
  transaction: Transaction | null,
  account: number,
): Promise<boolean> {
  const run = createRunner(database, transaction);
  const rows = await run(
    sql`SELECT 1 FROM accounts WHERE id=${value('integer', account)} AND status<>${value('text', deletingStatus)}`,
  );
  return rows.length > 0;
}

/** Some of an account's records, the latest first. */
export async function readAccountRecordKeys(
  database: Database,
  table:
    | 'emails'
    | 'conversations'
    | 'mailboxes'
    | 'mailCampaignMessages'
    | 'mailCampaigns'
    | 'mailSuppressions'
    | 'mailTemplates'
    | 'contactGroups'
    | 'contacts',
  account: number,
  limit: number,
): Promise<number[]> {
  const rows = await createReader(database)(
    sql`SELECT id FROM ${identifier(table)} WHERE "accountId"=${value('integer', account)} ORDER BY id DESC LIMIT ${limit}`,
  );
  return rows.map(([id]) => Number(id));
}

/** Whether e-mails were stored after the account was closed. */
export async function hasEmails(database: Database, transaction: Transaction, account: number): Promise<boolean> {
  const [row] = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT 1 FROM emails WHERE "accountId"=${value('integer', account)} LIMIT 1`);
  return row !== undefined;
}

/** Deletes the history of records. */
export async function deleteRecordHistory(
  database: Database,
  transaction: Transaction,
  collection: number,
  keys: readonly unknown[],
): Promise<void> {
  const named = database.dialect.isIn(sql`tk`, listValue('text', keys.map(String)));
  await createTxRunner(
    database,
    transaction,
  )(sql`DELETE FROM _history WHERE collection_id=${value('integer', collection)} AND ${named}`);
}

/** Deletes the row of an account that no longer has records. */
export async function deleteAccountRow(database: Database, transaction: Transaction, account: number): Promise<void> {
  transaction.touch('*');
  await createTxRunner(database, transaction)(sql`DELETE FROM accounts WHERE id=${value('integer', account)}`);
}

/** The column of a foreign key, and the column that it refers to. */
export interface ForeignKeyColumns {
  readonly child: { readonly table: string; readonly column: string };
  readonly parent: { readonly table: string; readonly column: string };
}

/** Whether a record refers by a foreign key to a record of an account, or to the account itself. */
export async function isReferencedByRecord(
  database: Database,
  transaction: Transaction,
  account: number,
  { child, parent }: ForeignKeyColumns,
): Promise<boolean> {
  const accountColumn = parent.table === 'accounts' ? 'id' : '"accountId"';
  const names = sql`SELECT ${identifier(parent.column)} FROM ${identifier(parent.table)} WHERE ${accountColumn}=${value('integer', account)}`;
  const [row] = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT 1 FROM ${identifier(child.table)} WHERE ${identifier(child.column)} IN (${names}) LIMIT 1`);
  return row !== undefined;
}
