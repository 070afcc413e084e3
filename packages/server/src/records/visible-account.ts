import { combineRowFilters, mailVisibilityFilter } from '../access/mail-visibility.ts';
import { ApiError } from '../protocol/api-error.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import type { Grant } from '../query/grant.ts';
import { listRecords } from './read/read-records.ts';
import type { RecordContext } from './record-context.ts';
import { withGrants } from './with-grants.ts';

/** An account whose mail the caller sees. */
export interface VisibleAccount {
  readonly id: number;
  readonly address: string;
}

/**
 * The account that a caller names by id or address, if the caller sees its mail: as owner or member, which an
 * administrator need not be.
 *
 * @throws ApiError 403, the same for an account that is not there; 400 for an address of several.
 */
export async function findVisibleAccount(context: RecordContext, idOrAddress: string): Promise<VisibleAccount> {
  const get = context.findGrant('accounts', 'get');
  const grant: Grant = {
    identity: `${get?.identity ?? ''}, mail account`,
    rows: combineRowFilters(get?.rows ?? null, mailVisibilityFilter('accounts', false)),
    may: (field) => !field.hidden,
  };
  const text = idOrAddress.trim();
  const filter = /^\d{1,9}$/.test(text) ? { id: Number(text) } : { address: text.toLowerCase() };
  const parameters = { filter, fields: ['id', 'address'], pageSize: 2, count: 'none' };
  const accountContext = withGrants(context, { resource: 'accounts', grant });
  const accounts = context.registry.get('accounts');
  const { data } = await listRecords(accountContext, accounts, normaliseRequest('list', parameters, false));
  const [account, another] = JSON.parse(data) as VisibleAccount[];
  if (another)
    throw new ApiError('PARAMETER_INVALID', 'account: you see several accounts of this address; name one by its id.');
  if (account) return account;
  throw new ApiError(
    'NO_PERMISSION',
    'No mail account with this id or address is visible to you. Name an account of which you are a member, or create one with accounts:create.',
  );
}
