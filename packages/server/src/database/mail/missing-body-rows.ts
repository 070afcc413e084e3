/** Statements about e-mails whose body is still on the mail server, and about the attempts to download it. */
import type { Database, Transaction } from '../database.ts';
import { insertRows } from '../row-insert.ts';
import { createReader, createTxRunner } from '../run-statement.ts';
import { listValue, type Sql, sql, value } from '../sql.ts';
import { emailKey } from './email-keys.ts';

/** The body of an e-mail that is to be downloaded, and where it is on the mail server. */
export interface MissingBody {
  readonly emailId: number;
  /** Downloads that were begun before. */
  readonly attempts: number;
  /** Bytes, as the server reported them. */
  readonly size: number;
  readonly mailboxId: number;
  readonly path: string;
  /** The server's name of the mailbox. */
  readonly rawPath: string;
  readonly uidvalidity: string;
  readonly uid: number;
}

/** Adds e-mails whose bodies are to be downloaded. */
export async function addMissingBodies(
  database: Database,
  transaction: Transaction,
  account: number,
  emails: readonly number[],
): Promise<void> {
  if (emails.length === 0) return;
  transaction.touch('mailMissingBodies');
  await insertRows(
    createTxRunner(database, transaction),
    database.dialect,
    'mailMissingBodies',
    [
      ['accountId', 'integer'],
      ['emailId', 'bigint'],
      ['attempts', 'integer'],
    ],
    emails.map((email) => [account, email, 0]),
    sql` ON CONFLICT DO NOTHING`,
  );
}

/** Selects missing bodies of an account. */
export interface MissingBodySelection {
  readonly account: number;
  /** ISO 8601: only e-mails that were received at or after this time; null: all. */
  readonly since: string | null;
}

/** Bodies that are to be downloaded now, those of the newest e-mails first. @param now ISO 8601. */
export async function readMissingBodies(
  database: Database,
  selection: MissingBodySelection,
  now: string,
  max: number,
): Promise<MissingBody[]> {
  // An e-mail that is being moved, or that the server does not show at present, has no UID.
  const placements = sql`"mailPlacements" p ON p."emailId"=b."emailId" AND p.uid IS NOT NULL JOIN mailboxes m ON m.id=p."mailboxId" AND m."rawPath" IS NOT NULL`;
  const rows = await createReader(database)(
    sql`SELECT b."emailId",b.attempts,e.size,m.id,m.path,m."rawPath",p.uidvalidity,p.uid FROM "mailMissingBodies" b JOIN emails e ON e.id=b."emailId" JOIN ${placements} WHERE ${isSelected(selection)} AND (b."notBefore" IS NULL OR b."notBefore"<=${value('datetime', now)}) ORDER BY b."emailId" DESC,p.id LIMIT ${max}`,
  );
  const bodies = rows.map(([emailId, attempts, size, mailboxId, path, rawPath, uidvalidity, uid]) => ({
    emailId: Number(emailId),
    attempts: Number(attempts),
    size: Number(size),
    mailboxId: Number(mailboxId),
    path: path as string,
    rawPath: rawPath as string,
    uidvalidity: uidvalidity as string,
    uid: Number(uid),
  }));
  return bodies.filter(({ emailId }, index) => emailId !== bodies[index - 1]?.emailId);
}

/** Counts an attempt of e-mails before it begins. @param notBefore when the next one may begin, ISO 8601. */
export async function beginBodies(
  database: Database,
  transaction: Transaction,
  emails: readonly number[],
  notBefore: string,
): Promise<void> {
  transaction.touch('mailMissingBodies');
  await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE "mailMissingBodies" SET attempts=attempts+1,"notBefore"=${value('datetime', notBefore)} WHERE ${isOneOf(database, emails)}`,
  );
}

/** Removes e-mails from the list, because their bodies are stored or will not be downloaded. */
export async function removeMissingBodies(
  database: Database,
  transaction: Transaction,
  emails: readonly number[],
): Promise<void> {
  transaction.touch('mailMissingBodies');
  await createTxRunner(database, transaction)(sql`DELETE FROM "mailMissingBodies" WHERE ${isOneOf(database, emails)}`);
}

/** How many bodies of an account are still to be downloaded, and which number its record shows. */
export async function countMissingBodies(
  database: Database,
  selection: MissingBodySelection,
): Promise<{ readonly waiting: number; readonly shown: number }> {
  const shown = sql`SELECT "bodiesWaiting" FROM accounts WHERE id=${value('integer', selection.account)}`;
  const [row] = await createReader(database)(
    sql`SELECT count(*),(${shown}) FROM "mailMissingBodies" b WHERE ${isSelected(selection)}`,
  );
  return { waiting: Number(row?.[0] ?? 0), shown: Number(row?.[1] ?? 0) };
}

/** Keys of e-mails begin with the second in which they were received. */
function isSelected({ account, since }: MissingBodySelection): Sql {
  const first = since === null ? 0 : emailKey(since, 0);
  return sql`b."accountId"=${value('integer', account)} AND b."emailId">=${value('bigint', first)}`;
}

function isOneOf(database: Database, emails: readonly number[]): Sql {
  return database.dialect.isIn(sql`"emailId"`, listValue('bigint', emails));
}
