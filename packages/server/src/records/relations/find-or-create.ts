import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { RecordRequest } from '../../protocol/record-request.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import type { Collection } from '../../schema/registry.ts';
import { getRecord, listRecords } from '../read/read-records.ts';
import { inTransaction, type RecordContext, type TransactionContext } from '../record-context.ts';
import { getRules } from '../system/system-rules.ts';
import { refuseDeniedBody } from '../write/denied-fields.ts';
import { findWriteLocks, type WriteResult } from '../write/write-records.ts';
import { applyFieldLists } from './field-lists.ts';
import { findNestedLocks } from './nested-locks.ts';
import { createWithNested, updateWithNested } from './nested-values.ts';

/** The body of a find-or-create. */
export interface FindOrCreate {
  readonly body: unknown;
  /** Whether a record that is found is updated to the body. */
  readonly updates: boolean;
}

/**
 * Finds the first record whose `filterKeys` have the values of the body, or creates one. Concurrent calls with the same
 * values run one after the other, on all nodes, so that only one of them creates a record.
 *
 *     POST /api/tags:firstOrCreate?filterKeys=name   {"name": "new", "color": "red"}
 *
 * @throws ApiError 400 if a filter key is not a field, or the body has no value for it; and as a create or update.
 */
export async function findOrCreate(
  context: RecordContext,
  collection: Collection,
  request: RecordRequest,
  { body, updates }: FindOrCreate,
): Promise<WriteResult> {
  const filter = buildFilter(collection, request, body);
  const permittedBody = applyFieldLists({ context, collection, action: 'create' }, body, request);
  refuseDeniedBody(context, { collection, body: permittedBody }, updates ? ['create', 'update'] : ['create']);
  const work = async (tx: TransactionContext): Promise<WriteResult> => {
    const { name } = collection.primaryKey;
    const listRequest = normaliseRequest('list', { filter, fields: [name], pageSize: 1, count: 'none' }, false);
    const { data } = await listRecords(tx, collection, listRequest);
    const [found] = JSON.parse(data) as Record<string, unknown>[];
    if (!found) return createWithNested(tx, collection, request, body);
    const key = found[name];
    const selection = { ...pickSelection(request), filterByTk: key };
    if (updates) {
      const update = { ...normaliseRequest('update', selection, false), ...pickWriteLists(request) };
      return updateWithNested(tx, collection, update, { body, match: null });
    }
    if (!tx.findGrant(collection.name, 'get'))
      return { data: JSON.stringify({ [name]: key }), counter: null, keys: [key] };
    const record = await getRecord(tx, collection, normaliseRequest('get', selection, false));
    return { data: record.data, counter: record.counter, keys: [key] };
  };
  // Heavy: without an index, the search reads every record.
  const locks = updates ? await findWriteLocks(context, getRules(collection), {}) : [];
  const nested = await findNestedLocks(context, collection, request, body);
  const lockKey = [findOrCreateLockKey(collection, request, body), ...locks, ...nested];
  return inTransaction(context, work, { lockKey, heavy: true });
}

/** The lock of calls that search for the same values. */
export function findOrCreateLockKey(collection: Collection, request: RecordRequest, body: unknown): string {
  return `first ${collection.id} ${JSON.stringify(buildFilter(collection, request, body))}`;
}

function pickSelection({ fields, except, appends }: RecordRequest): Record<string, unknown> {
  return { appends, ...(fields && { fields }), ...(except && { except }) };
}

function pickWriteLists({ whitelist, blacklist, updateAssociationValues }: RecordRequest): Partial<RecordRequest> {
  return { whitelist, blacklist, updateAssociationValues };
}

function buildFilter(collection: Collection, { filterKeys }: RecordRequest, body: unknown): Record<string, unknown> {
  if (!isObject(body))
    throw new ApiError('BODY_INVALID', `The body must be an object with the fields of ${collection.name}.`);
  if (filterKeys.length === 0)
    throw new ApiError('PARAMETER_INVALID', '"filterKeys" must name the fields by which a record is found.');
  return Object.fromEntries(
    filterKeys.map((name) => {
      const field = collection.byName.get(name);
      if (!field || field.hidden)
        throw new ApiError('FIELD_UNKNOWN', `${collection.name} has no field "${name.slice(0, 60)}".`);
      if (field.relation || body[name] === undefined)
        throw new ApiError(
          'PARAMETER_INVALID',
          `"filterKeys" names "${name}", but the body has no plain value for it.`,
        );
      // A list, because a text such as {{$now}} would otherwise be a variable.
      return [name, body[name] === null ? null : { $in: [body[name]] }];
    }),
  );
}
