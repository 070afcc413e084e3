import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { listVisibleAccounts } from '../visible-account.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Completes the account of a new contact or group: without one, it is the only account of the caller.
 *
 * @param key null on create.
 * @throws ApiError 422 if the caller has several accounts, or none.
 */
export async function completeAccount(row: Fields, key: unknown, context: RecordContext): Promise<Fields> {
  const isNamed = row['accountId'] != null || row['account'] != null;
  if (key !== null && 'account' in row) throw unchangeableAccount();
  if (key !== null || isNamed) return row;
  const [account, another] = await listVisibleAccounts(context, {}, 2);
  if (account === undefined || another !== undefined)
    throw invalidValues({ accountId: 'Give the id of an account of which you are the owner or a member.' });
  const { account: _account, accountId: _accountId, ...rest } = row;
  return { ...rest, accountId: account.id };
}

/**
 * Refuses to move records to another account. An update may repeat the account, as imports do.
 *
 * @param accounts of the records.
 * @throws ApiError `SYSTEM_PROTECTED`
 */
export function requireSameAccount(body: Fields | null, accounts: readonly number[]): void {
  if (body && 'accountId' in body && accounts.some((each) => each !== body['accountId'])) throw unchangeableAccount();
}

function unchangeableAccount(): ApiError {
  return new ApiError(
    'SYSTEM_PROTECTED',
    'The account of a contact or group ("accountId") cannot be changed. Omit it.',
  );
}
