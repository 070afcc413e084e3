import { ApiError } from '../protocol/api-error.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import type { Grant } from '../query/grant.ts';
import { buildVisibilityFilter, combineRowFilters } from '../query/visibility.ts';
import { listRecords } from '../records/read/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { withGrants } from '../records/with-grants.ts';

/** An account whose mail the caller can see. */
export interface VisibleAccount {
  readonly id: number;
  readonly address: string;
}

/**
 * Accounts whose mail the caller can see, as owner or member. Administrators are not members by themselves.
 *
 * @param max how many at most.
 */
export async function listVisibleAccounts(
  context: RecordContext,
  filter: Readonly<Record<string, unknown>>,
  max: number,
): Promise<VisibleAccount[]> {
  const accounts = context.registry.get('accounts');
  const get = context.findGrant('accounts', 'get');
  const grant: Grant = {
    identity: `${get?.identity ?? ''}, mail account`,
    rows: combineRowFilters(get?.rows ?? null, buildVisibilityFilter(accounts.traits, false)),
    may: (field) => !field.hidden,
  };
  const parameters = { filter, fields: ['id', 'address'], pageSize: max, count: 'none' };
  const accountContext = withGrants(context, { resource: 'accounts', grant });
  const { data } = await listRecords(accountContext, accounts, normaliseRequest('list', parameters, false));
  return JSON.parse(data) as VisibleAccount[];
}

/**
 * The account that a caller names by id or address, if the caller can see its mail.
 *
 * @throws ApiError `NO_PERMISSION`, also for an account that does not exist; `PARAMETER_INVALID` for an address of several accounts.
 */
export async function findVisibleAccount(context: RecordContext, idOrAddress: string): Promise<VisibleAccount> {
  const text = idOrAddress.trim();
  const filter = /^\d{1,9}$/.test(text) ? { id: Number(text) } : { address: text.toLowerCase() };
  const [account, another] = await listVisibleAccounts(context, filter, 2);
  if (another)
    throw new ApiError(
      'PARAMETER_INVALID',
      '"account" matches several accounts with this address. Name one by its id.',
    );
  if (account) return account;
  throw new ApiError(
    'NO_PERMISSION',
    'No mail account with this id or address is visible to you. Name an account of which you are a member, or create one with accounts:create.',
  );
}
