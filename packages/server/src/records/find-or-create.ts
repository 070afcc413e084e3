import { ApiError } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import type { AskedRecordRequest } from '../protocol/record-request.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import type { Collection } from '../schema/registry.ts';
import { refuseDeniedBody } from './denied-names.ts';
import { allowed, createWithNested, updateWithNested } from './nested-values.ts';
import { getRecord, listRecords } from './read-records.ts';
import { type RecordContext, together } from './record-context.ts';
import type { WriteResult } from './write-records.ts';

/**
 * The first record whose `filterKeys` hold the values of the body, or a new one; `updates`: the found one is changed to the
 * body. Parallel calls with the same values follow each other, on every node, so that they make one.
 *
 * @throws ApiError 400 where a filter key is no field or the body gives no value for it.
 */
export async function findOrCreate(
  context: RecordContext,
  collection: Collection,
  request: AskedRecordRequest,
  body: unknown,
  updates: boolean,
): Promise<WriteResult> {
  const filter = filterOf(collection, request, body);
  const written = allowed(context, collection, 'create', body, request);
  refuseDeniedBody(context, collection, written, updates ? ['create', 'update'] : ['create']);
  return together(
    context,
    async (inside) => {
      const { name } = collection.primaryKey;
      const asked = normaliseRequest('list', { filter, fields: [name], pageSize: 1, count: 'none' }, false);
      const { data } = await listRecords(inside, collection, asked);
      const [found] = JSON.parse(data) as Record<string, unknown>[];
      if (!found) return createWithNested(inside, collection, request, body);
      const key = found[name];
      const shown = shownAs(request);
      if (updates)
        return updateWithNested(
          inside,
          collection,
          { ...normaliseRequest('update', { ...shown, filterByTk: key }, false), ...carried(request) },
          body,
          null,
        );
      if (!inside.grantOf(collection.name, 'get'))
        return { data: JSON.stringify({ [name]: key }), counter: null, keys: [key] };
      const record = await getRecord(inside, collection, normaliseRequest('get', { ...shown, filterByTk: key }, false));
      return { data: record.data, counter: record.counter, keys: [key] };
    },
    // The look for it may be one at every record.
    { turn: turnOf(collection, request, body), heavy: true },
  );
}

/** The turn of calls that look for the same values. */
export function turnOf(collection: Collection, request: AskedRecordRequest, body: unknown): string {
  return `first ${collection.id} ${JSON.stringify(filterOf(collection, request, body))}`;
}

function shownAs({ fields, except, appends }: AskedRecordRequest): Record<string, unknown> {
  return { appends, ...(fields && { fields }), ...(except && { except }) };
}

function carried({ whitelist, blacklist, updateAssociationValues }: AskedRecordRequest): Partial<AskedRecordRequest> {
  return { whitelist, blacklist, updateAssociationValues };
}

function filterOf(collection: Collection, { filterKeys }: AskedRecordRequest, body: unknown): Record<string, unknown> {
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
