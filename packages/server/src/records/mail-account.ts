import { bothRows, mailSight } from '../access/mail-sight.ts';
import { ApiError } from '../protocol/api-error.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import type { Grant } from '../query/grant.ts';
import { getRecord } from './read-records.ts';
import type { RecordContext } from './record-context.ts';

/** An account whose mail the caller sees. */
export interface AccountInSight {
  readonly id: number;
  readonly address: string;
}

/**
 * The account that a caller names by id or address, if the caller sees its mail: as owner or member, which an
 * administrator need not be.
 *
 * @throws ApiError 403, the same for an account that is not there.
 */
export async function accountInSight(context: RecordContext, named: string): Promise<AccountInSight> {
  const grant: Grant = {
    identity: 'mail account',
    rows: bothRows(context.grantOf('accounts', 'get')?.rows ?? null, mailSight('accounts', false)),
    may: (field) => !field.hidden,
  };
  const grantOf: RecordContext['grantOf'] = (resource, action) =>
    resource === 'accounts' ? grant : context.grantOf(resource, action);
  const text = named.trim();
  const filter = /^\d{1,9}$/.test(text) ? { id: Number(text) } : { address: text.toLowerCase() };
  const asked = normaliseRequest('get', { filter, fields: ['id', 'address'] }, false);
  const inside = { ...context, grantOf, grants: `${context.grants} mail account` };
  try {
    const { data } = await getRecord(inside, context.registry.get('accounts'), asked);
    return JSON.parse(data) as AccountInSight;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'RECORD_UNKNOWN')
      throw new ApiError('NO_PERMISSION', 'You see the mail of no such account; name it by id or address.');
    throw error;
  }
}
