/** Statements about how accounts sign in to their mail servers. */
import type { Database, Transaction } from '../database.ts';
import { parseJsonColumn } from '../json-column.ts';
import { createRunner } from '../run-statement.ts';
import { sql, value } from '../sql.ts';
import { deletingStatus } from './account-status.ts';

/** What is stored about the sign-in of an account. The secrets are encrypted. */
export interface AccountLoginRow {
  readonly address: string;
  readonly auth: 'password' | 'oauth2';
  readonly imap: unknown;
  readonly smtp: unknown;
  readonly oauth: unknown;
  /** By name: `password`, `smtpPassword`, `refreshToken`, `clientSecret`, `accessToken`. */
  readonly secrets: Readonly<Record<string, string>>;
}

/**
 * How an account signs in; null if it does not exist or is being deleted.
 *
 * @param transaction the open one, if any.
 */
export async function readAccountLogin(
  database: Database,
  account: number,
  transaction?: Transaction,
): Promise<AccountLoginRow | null> {
  const run = createRunner(database, transaction);
  const [row] = await run(
    sql`SELECT address,auth,imap,smtp,oauth,secrets FROM accounts WHERE id=${value('integer', account)} AND status<>${value('text', deletingStatus)}`,
  );
  if (!row) return null;
  const [address, auth, imap, smtp, oauth, secrets] = row;
  return {
    address: address as string,
    auth: auth as AccountLoginRow['auth'],
    imap: parseJsonColumn(imap),
    smtp: parseJsonColumn(smtp),
    oauth: parseJsonColumn(oauth),
    secrets: (parseJsonColumn(secrets) ?? {}) as AccountLoginRow['secrets'],
  };
}
