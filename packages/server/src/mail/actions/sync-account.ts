import { countWaitingOperations } from '../../database/mail/operation-rows.ts';
import { readWaitingCounts } from '../../database/mail/waiting-rows.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { requireGrant } from '../../records/read/read-records.ts';
import { findVisibleAccount } from '../visible-account.ts';
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

/** `accounts:waiting`: what an account has not sent yet. */
export async function runWaiting(request: MailRequest): Promise<MailData> {
  const { context } = request;
  requireGrant(context, context.registry.get('accounts'), 'get');
  const { filterByTk } = request.knownParameters(['filterByTk'], false);
  if (filterByTk === undefined) throw new ApiError('TARGET_MISSING', 'Name the account by "filterByTk".');
  const account = await findVisibleAccount(context, String(filterByTk));
  return { data: JSON.stringify(await readWaitingCounts(context.database, account.id)) };
}
