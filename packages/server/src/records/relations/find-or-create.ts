import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { RecordRequest } from '../../protocol/record-request.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import type { Collection } from '../../schema/registry.ts';
import { getRecord, listRecords } from '../read/read-records.ts';
import { inTransaction, type RecordContext } from '../record-context.ts';
import { refuseDeniedBody } from '../write/denied-fields.ts';
import type { WriteResult } from '../write/write-records.ts';
import { applyFieldLists, createWithNested, updateWithNested } from './nested-values.ts';

/**
 * The first record whose `filterKeys` hold the values of the body, or a new one; `updates`: the found one is changed to the
 * body. Parallel calls with the same values follow each other, on every node, so that they make one.
 *
 * @throws ApiError 400 where a filter key is no field or the body gives no value for it.
 */
export async function findOrCreate(
  context: RecordContext,
  collection: Collection,
  request: RecordRequest,
  body: unknown,
  updates: boolean,
): Promise<WriteResult> {
  const filter = buildFilter(collection, request, body);
  const permittedBody = applyFieldLists(context, collection, 'create', body, request);
  refuseDeniedBody(context, collection, permittedBody, updates ? ['create', 'update'] : ['create']);
  return inTransaction(
    context,
    async (tx) => {
      const { name } = collection.primaryKey;
      const listRequest = normaliseRequest('list', { filter, fields: [name], pageSize: 1, count: 'none' }, false);
      const { data } = await listRecords(tx, collection, listRequest);
      const [found] = JSON.parse(data) as Record<string, unknown>[];
      if (!found) return createWithNested(tx, collection, request, body);
      const key = found[name];
      const selection = pickSelection(request);
      if (updates)
        return updateWithNested(
          tx,
          collection,
          { ...normaliseRequest('update', { ...selection, filterByTk: key }, false), ...pickWriteLists(request) },
          body,
          null,
        );
      if (!tx.findGrant(collection.name, 'get'))
        return { data: JSON.stringify({ [name]: key }), counter: null, keys: [key] };
      const record = await getRecord(tx, collection, normaliseRequest('get', { ...selection, filterByTk: key }, false));
      return { data: record.data, counter: record.counter, keys: [key] };
    },
    // The look for it may be one at every record.
    { lockKey: findOrCreateLockKey(collection, request, body), heavy: true },
  );
}

/** The turn of calls that look for the same values. */
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
    throw new ApiError('PARAMETER_INVALID', 'filterKeys must name the fields by which a record is found.');
  return Object.fromEntries(
    filterKeys.map((name) => {
      const field = collection.byName.get(name);
      if (!field || field.hidden)
        throw new ApiError('FIELD_UNKNOWN', `${collection.name} has no field "${name.slice(0, 60)}".`);
      if (field.relation || body[name] === undefined)
        throw new ApiError('PARAMETER_INVALID', `filterKeys names "${name}", for which the body gives no plain value.`);
      return [name, body[name] === null ? null : { $eq: body[name] }];
    }),
  );
}
