/** Statements about e-mails whose authenticity is to be checked, and about the results. */
import type { Database, Row, Transaction } from '../database.ts';
import { parseJsonColumn } from '../json-column.ts';
import { insertRows } from '../row-insert.ts';
import { createReader, createTxRunner } from '../run-statement.ts';
import { listValue, sql, value } from '../sql.ts';
import type { MailAddressValue } from './mail-writer.ts';

/** An e-mail to be checked. */
export interface DueCheck {
  readonly id: number;
  readonly accountId: number;
  readonly emailId: number;
  /** Checks that were begun before. */
  readonly attempts: number;
  /** ISO 8601. */
  readonly receivedAt: string;
  readonly from: readonly MailAddressValue[];
  readonly warnings: readonly string[];
  /** Names and decoded values. */
  readonly headers: readonly (readonly [string, string])[];
  /** Names the blob with the raw message. */
  readonly rawSha256: string;
  /** Whether the account's mail server delivered it. */
  readonly isFromServer: boolean;
}

/** The result of a check. */
export interface CheckResult {
  readonly id: number;
  readonly emailId: number;
  /** Null: the value does not change. */
  readonly authentication: object | null;
  /** Null: the values do not change. */
  readonly warnings: readonly string[] | null;
  /** ISO 8601: the e-mail is checked again then; null: it is not. */
  readonly again: string | null;
}

/** Adds e-mails to those that are to be checked. @param now ISO 8601. */
export async function addChecks(
  database: Database,
  transaction: Transaction,
  account: number,
  { emails, now }: { readonly emails: readonly number[]; readonly now: string },
): Promise<void> {
  transaction.touch('mailChecks');
  await insertRows(
    createTxRunner(database, transaction),
    database.dialect,
    'mailChecks',
    [
      ['accountId', 'integer'],
      ['emailId', 'bigint'],
      ['attempts', 'integer'],
      ['notBefore', 'datetime'],
    ],
    emails.map((email) => [account, email, 0, now]),
    sql` ON CONFLICT DO NOTHING`,
  );
}

/** The e-mails that are to be checked now, the newest first. @param now ISO 8601. */
export async function readDueChecks(database: Database, now: string, max: number): Promise<DueCheck[]> {
  const isDelivered = sql`EXISTS (SELECT 1 FROM "mailPlacements" p WHERE p."emailId"=e.id AND p.uid IS NOT NULL)`;
  const rows = await createReader(database)(
    sql`SELECT k.id,k."accountId",k."emailId",k.attempts,e."receivedAt",e."from",e.warnings,c.headers,c."rawSha256",CASE WHEN ${isDelivered} THEN 1 ELSE 0 END FROM "mailChecks" k JOIN emails e ON e.id=k."emailId" JOIN "mailContents" c ON c.id=e."contentId" WHERE k."notBefore"<=${value('datetime', now)} ORDER BY k."emailId" DESC LIMIT ${max}`,
  );
  return rows.map(toDueCheck);
}

function toDueCheck([
  id,
  account,
  email,
  attempts,
  receivedAt,
  from,
  warnings,
  headers,
  raw,
  delivered,
]: Row): DueCheck {
  return {
    id: Number(id),
    accountId: Number(account),
    emailId: Number(email),
    attempts: Number(attempts),
    receivedAt: receivedAt as string,
    from: (parseJsonColumn(from) ?? []) as DueCheck['from'],
    warnings: (parseJsonColumn(warnings) ?? []) as string[],
    headers: (parseJsonColumn(headers) ?? []) as DueCheck['headers'],
    rawSha256: raw as string,
    isFromServer: Number(delivered) === 1,
  };
}

/** Counts a check of e-mails before it begins. */
export async function beginChecks(database: Database, transaction: Transaction, ids: readonly number[]): Promise<void> {
  transaction.touch('mailChecks');
  await createTxRunner(
    database,
    transaction,
  )(sql`UPDATE "mailChecks" SET attempts=attempts+1 WHERE ${database.dialect.isIn(sql`id`, listValue('bigint', ids))}`);
}

/** Stores results. @returns the keys of the e-mails that changed. */
export async function storeCheckResults(
  database: Database,
  transaction: Transaction,
  results: readonly CheckResult[],
): Promise<number[]> {
  const run = createTxRunner(database, transaction);
  for (const table of ['mailChecks', 'emails', 'mailContents']) transaction.touch(table);
  const changed: number[] = [];
  for (const { id, emailId, authentication, warnings, again } of results) {
    if (authentication !== null || warnings !== null) {
      const email = value('bigint', emailId);
      const setWarnings = warnings === null ? sql`` : sql`warnings=${value('json', warnings)},`;
      const [row] = await run(sql`UPDATE emails SET ${setWarnings}_v=_v+1 WHERE id=${email} RETURNING "contentId"`);
      if (row) changed.push(emailId);
      if (row && authentication !== null)
        await run(
          sql`UPDATE "mailContents" SET authentication=${value('json', authentication)} WHERE id=${value('bigint', Number(row[0]))}`,
        );
    }
    await run(
      again === null
        ? sql`DELETE FROM "mailChecks" WHERE id=${value('bigint', id)}`
        : sql`UPDATE "mailChecks" SET "notBefore"=${value('datetime', again)} WHERE id=${value('bigint', id)}`,
    );
  }
  return changed;
}

/** The number of e-mails that are to be checked, now or later. */
export async function countChecks(database: Database): Promise<number> {
  const [row] = await createReader(database)(sql`SELECT count(*) FROM "mailChecks"`);
  return Number(row?.[0] ?? 0);
}

/** What the checks need to know of an account. */
export interface CheckedAccount {
  readonly id: number;
  /** The address and the aliases, in lower case. */
  readonly addresses: readonly string[];
  /** Host of its IMAP server. */
  readonly host: string | null;
  /** Names of its server as its owner gave them; null: the learned ones are used. */
  readonly authservIds: readonly string[] | null;
  readonly createdAt: string | null;
  /** Whether the first synchronisation has not ended. */
  readonly isBackfilling: boolean;
  /** Version of the list of correspondents. */
  readonly correspondentsVersion: number;
}

/** @returns null if the account does not exist. */
export async function readCheckedAccount(database: Database, id: number): Promise<CheckedAccount | null> {
  const [row] = await createReader(database)(
    sql`SELECT address,aliases,imap,"authservIds","createdAt","backfillDone","backfillTotal","correspondentsVersion" FROM accounts WHERE id=${value('integer', id)}`,
  );
  if (!row) return null;
  const [address, aliases, imap, configured, createdAt, done, total, version] = row;
  const server = parseJsonColumn(imap) as { readonly host?: unknown } | null;
  return {
    id,
    addresses: [address as string, ...((parseJsonColumn(aliases) ?? []) as string[])].map((each) => each.toLowerCase()),
    host: typeof server?.host === 'string' ? server.host : null,
    authservIds: parseJsonColumn(configured) as string[] | null,
    createdAt: createdAt as string | null,
    isBackfilling: Number(done ?? 0) < Number(total ?? 0),
    correspondentsVersion: Number(version ?? 0),
  };
}

/** A message that the account's mail server delivered, with the headers from which the server's names are learned. */
export interface DeliveredMessage {
  readonly from: readonly MailAddressValue[];
  readonly headers: readonly (readonly [string, string])[];
}

/** How many e-mails are searched for delivered ones: an imported account may have none at all. */
const maxScannedDelivered = 2000;

/** The newest messages that the account's mail server delivered from others, among its newest e-mails. */
export async function readDeliveredMessages(
  database: Database,
  account: number,
  max: number,
): Promise<DeliveredMessage[]> {
  const { dialect } = database;
  const rows = await createReader(database)(
    sql`SELECT e."from",c.headers FROM emails e JOIN "mailContents" c ON c.id=e."contentId" WHERE e.id IN (SELECT id FROM emails WHERE "accountId"=${value('integer', account)} ORDER BY id DESC LIMIT ${maxScannedDelivered}) AND NOT ${dialect.isTrue(sql`e.outgoing`)} AND NOT ${dialect.isTrue(sql`e.draft`)} AND EXISTS (SELECT 1 FROM "mailPlacements" p WHERE p."emailId"=e.id AND p.uid IS NOT NULL) ORDER BY e.id DESC LIMIT ${max}`,
  );
  return rows.map(([from, headers]) => ({
    from: (parseJsonColumn(from) ?? []) as DeliveredMessage['from'],
    headers: (parseJsonColumn(headers) ?? []) as DeliveredMessage['headers'],
  }));
}
