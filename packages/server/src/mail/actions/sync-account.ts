import { countWaitingOperations } from '../../database/mail/operation-rows.ts';
import { invalidValues } from '../../protocol/api-error.ts';
import type { MailData, MailRequest } from './mail-request.ts';
import { findUpdatableAccount } from './updatable-account.ts';

/**
 * `accounts:sync`: synchronises an account with its mail server now. An account that waits after a failure is tried
 * again. The reply does not wait for the end: the events `accounts.status` and `accounts.progress` report it.
 */
export async function runSync(request: MailRequest): Promise<MailData> {
  const { context, mail } = request;
  const account = await findUpdatableAccount(request);
  const status = await mail.retrySync(account.id);
  if (status === null)
    throw invalidValues({ imap: 'The account has no IMAP server to synchronise with. Set "imap" and the password.' });
  const waiting = await countWaitingOperations(context.database, account.id);
  return { data: JSON.stringify({ status, waiting }) };
}
