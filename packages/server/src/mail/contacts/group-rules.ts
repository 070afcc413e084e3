/** What clients may write of groups of contacts. */
import { readGroupAccounts, setGroupMembers } from '../../database/mail/contact-rows.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { limits } from '../../protocol/limits.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import { listRecords } from '../../records/read/read-records.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { Body, GuardedWrite, PreparedBody, RecordRules } from '../../records/record-rules.ts';
import { getField } from '../../schema/registry.ts';
import { completeAccount, requireSameAccount } from './contact-account.ts';

/** Groups of contacts: their members belong to the same account. */
export const groupRules: RecordRules = { changesAccess: false, prepare: prepareGroup, guard: guardGroups };

/** Checks and completes the body of a write. `key` is null on create. */
async function prepareGroup(body: unknown, key: unknown, context: RecordContext): Promise<PreparedBody> {
  if (!isObject(body)) return { body: body as Body };
  const { members, createdAt: _createdAt, updatedAt: _updatedAt, ...row } = body as Record<string, unknown>;
  if (typeof row['name'] === 'string') row['name'] = row['name'].trim();
  if (row['name'] === '') throw invalidValues({ name: 'Give a name of 1 to 120 characters.' });
  const prepared = await completeAccount(row, key, context);
  if (members === undefined) return { body: prepared };
  requireMembersWritable(context, key === null ? 'create' : 'update');
  const keys = await readContactKeys(members, context);
  return {
    body: prepared,
    afterWrite: async (transaction, group) => {
      if (await setGroupMembers(context.database, transaction, group as number, keys)) return ['members'];
      throw invalidValues({ members: 'A group can only contain contacts of its own account.' });
    },
  };
}

/** @throws ApiError `SYSTEM_PROTECTED` if a group would get another account. */
async function guardGroups({ transaction, body, keys, context }: GuardedWrite): Promise<void> {
  if (body && 'accountId' in body)
    requireSameAccount(body, await readGroupAccounts(context.database, transaction, keys));
}

function requireMembersWritable(context: RecordContext, action: 'create' | 'update'): void {
  const collection = context.registry.get('contactGroups');
  const grant = context.findGrant(collection.name, action);
  if (grant && !grant.may(getField(collection, 'members')))
    throw new ApiError('FIELD_DENIED', 'The role may not write "members" of contactGroups.');
}

/** The keys of contacts that the caller may list. */
async function readContactKeys(input: unknown, context: RecordContext): Promise<number[]> {
  const list: readonly unknown[] = input === null ? [] : Array.isArray(input) ? input : [input];
  const keys = list.map((each) => (isObject(each) ? each['id'] : each));
  if (keys.length > limits.bulkRecords || !keys.every((each): each is number => Number.isSafeInteger(each)))
    throw invalidValues({ members: `Give a list of at most ${limits.bulkRecords} ids of contacts.` });
  const wanted = [...new Set(keys)];
  if (wanted.length === 0) return [];
  const parameters = { filterByTk: wanted, fields: ['id'], pageSize: limits.bulkRecords, count: 'none' };
  const request = normaliseRequest('list', parameters, false);
  const { data } = await listRecords(context, context.registry.get('contacts'), request);
  if ((JSON.parse(data) as unknown[]).length < wanted.length)
    throw new ApiError('REFERENCE_MISSING', '"members" names a contact that does not exist, or that you cannot see.');
  return wanted;
}
