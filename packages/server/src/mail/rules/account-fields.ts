/** Fields of accounts that a role must be allowed to write before it changes what has no field of its own. */
import { ApiError } from '../../protocol/api-error.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { getField } from '../../schema/registry.ts';

/** The fields that a secret belongs to: the servers or the provider to which it is sent. */
const fieldsBySecret: Readonly<Record<string, readonly string[]>> = {
  password: ['imap', 'smtp'],
  smtpPassword: ['smtp'],
  clientSecret: ['oauth'],
  refreshToken: ['oauth'],
};

/** @throws ApiError `FIELD_DENIED` naming a field of accounts that the role may not write. */
export function requireAccountFields(
  context: RecordContext,
  action: 'create' | 'update',
  fields: readonly string[],
): void {
  const accounts = context.registry.get('accounts');
  const grant = context.findGrant('accounts', action);
  const denied = fields.find((name) => !grant?.may(getField(accounts, name)));
  if (denied !== undefined) throw new ApiError('FIELD_DENIED', `The role may not write "${denied}" of accounts.`);
}

/** Members and secrets are stored next to the record, so they are compared with the field list of the role here. */
export function requireAccountMembersWritable(
  context: RecordContext,
  action: 'create' | 'update',
  names: readonly string[],
): void {
  const needed = names.flatMap((name) => (name === 'members' ? ['members'] : (fieldsBySecret[name] ?? [])));
  requireAccountFields(context, action, needed);
}
