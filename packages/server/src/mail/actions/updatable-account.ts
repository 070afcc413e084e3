import { ApiError } from '../../protocol/api-error.ts';
import { recordNotFound, requireGrant } from '../../records/read/read-records.ts';
import { createVisibilityQuery, readVisibleRecords } from '../../records/read/visible-records.ts';
import { withAllFields } from '../../records/with-grants.ts';
import { findVisibleAccount, type VisibleAccount } from '../visible-account.ts';
import { type MailRequest, readBodyObject } from './mail-request.ts';

/**
 * The account that `filterByTk` names, for an operation that takes no other parameters and no body.
 *
 * @throws ApiError unless the caller can see the account and the role may update it; `PARAMETER_UNKNOWN`, `BODY_INVALID` and
 * `TARGET_MISSING` for another request.
 */
export async function findUpdatableAccount(request: MailRequest): Promise<VisibleAccount> {
  const { context } = request;
  const accounts = context.registry.get('accounts');
  const grant = requireGrant(context, accounts, 'update');
  const { filterByTk } = request.knownParameters(['filterByTk'], false);
  readBodyObject(request, []);
  if (filterByTk === undefined) throw new ApiError('TARGET_MISSING', 'Name the account by "filterByTk".');
  const account = await findVisibleAccount(context, String(filterByTk));
  const query = createVisibilityQuery(null);
  const visible = await readVisibleRecords(context, accounts, withAllFields(grant), query, [account.id]);
  if (visible.size === 0) throw recordNotFound(accounts, grant);
  return account;
}
