import { readMemberNames } from '../../database/mail/account-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { requireGrant } from '../../records/read/read-records.ts';
import { findVisibleAccount } from '../visible-account.ts';
import type { MailData, MailRequest } from './mail-request.ts';

/**
 * `accounts:members`: the members of an account with their names, for its other members. Colleagues who share an account see the names
 * of each other, whether or not their role may read users.
 */
export async function runGetMembers(request: MailRequest): Promise<MailData> {
  const { context } = request;
  requireGrant(context, context.registry.get('accounts'), 'get');
  const { filterByTk } = request.knownParameters(['filterByTk'], false);
  if (filterByTk === undefined) throw new ApiError('TARGET_MISSING', 'Name the account by "filterByTk".');
  const { id } = await findVisibleAccount(context, String(filterByTk));
  return { data: JSON.stringify(await readMemberNames(context.database, id)) };
}
