import { formatActor } from '../../identity/caller.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { recordNotFound, requireGrant } from '../../records/read/read-records.ts';
import { createVisibilityQuery, readVisibleRecords } from '../../records/read/visible-records.ts';
import { withAllFields } from '../../records/with-grants.ts';
import { findVisibleAccount } from '../visible-account.ts';
import { type MailData, type MailRequest, readBodyObject } from './mail-request.ts';

/** `accounts:rethread`: rebuilds the conversations of an account from its e-mails. Other requests run meanwhile. */
export async function runRethread(request: MailRequest): Promise<MailData> {
  const { context, mail } = request;
  const accounts = context.registry.get('accounts');
  const grant = requireGrant(context, accounts, 'update');
  const { filterByTk } = request.knownParameters(['filterByTk'], false);
  readBodyObject(request, []);
  if (filterByTk === undefined) throw new ApiError('TARGET_MISSING', 'Name the account by "filterByTk".');
  const account = await findVisibleAccount(context, String(filterByTk));
  const visibleAccounts = await readVisibleRecords(
    context,
    accounts,
    withAllFields(grant),
    createVisibilityQuery(null),
    [account.id],
  );
  if (visibleAccounts.size === 0) throw recordNotFound(accounts, grant);
  const actor = { actor: formatActor(context.caller), requestId: context.requestId };
  const report = await mail.rebuildConversations(account, actor);
  if (report) return { data: JSON.stringify(report) };
  throw new ApiError(
    'RETHREAD_RUNNING',
    'The conversations of this account are already being rebuilt. Wait until that has finished.',
    { retryAfter: 5 },
  );
}
