/** Finds records by the values of their fields, under the caller's grant to list them. */
import { parseExactJson } from '../../protocol/exact-json.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import { listRecords } from '../../records/read/read-records.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { toExactValue } from '../../schema/field-type.ts';
import type { Collection, ColumnField } from '../../schema/registry.ts';

/**
 * Maximum records of one query, which is one page of a list. If there are more, each value is searched with its own
 * query.
 */
const maxFound = 1000;
/** Maximum conditions of one filter. */
const maxConditions = 400;

/** What is looked for, and in which collection. */
export interface RecordSearch {
  readonly collection: Collection;
  /** The fields whose values are given. */
  readonly fields: readonly ColumnField[];
  /** The field whose value is wanted. */
  readonly key: ColumnField;
}

/** The values of the fields of a search, in their order. None is null. */
export type SearchedValues = readonly unknown[];

/** A text that is equal for values that are equal in the fields of a search. */
export function toSearchKey(fields: readonly ColumnField[], values: SearchedValues): string {
  return JSON.stringify(values.map((each, index) => readCanonical(fields[index], each)));
}

function readCanonical(field: ColumnField | undefined, value: unknown): unknown {
  if (!field) return null;
  const canonical = field.type.read(toExactValue(field.type, value), field.definition);
  return typeof canonical === 'symbol' ? null : String(canonical);
}

/**
 * Finds the keys of records.
 *
 * @returns for each {@link toSearchKey} the keys of the records that have the values, at most two.
 * @throws ApiError 403 without the grant to list the records and to read the fields.
 */
export async function findKeys(
  context: RecordContext,
  search: RecordSearch,
  wanted: readonly SearchedValues[],
): Promise<ReadonlyMap<string, readonly unknown[]>> {
  const found = new Map<string, unknown[]>();
  const distinct = [...new Map(wanted.map((each) => [toSearchKey(search.fields, each), each])).values()];
  const size = search.fields.length === 1 ? maxFound : Math.floor(maxConditions / search.fields.length);
  for (let start = 0; start < distinct.length; start += size)
    await findSome(context, search, distinct.slice(start, start + size), found);
  return found;
}

async function findSome(
  context: RecordContext,
  search: RecordSearch,
  wanted: readonly SearchedValues[],
  found: Map<string, unknown[]>,
): Promise<void> {
  const { collection, fields, key } = search;
  const pageSize = wanted.length === 1 ? 2 : maxFound;
  const parameters = {
    filter: buildFilter(fields, wanted),
    fields: [...new Set([key, ...fields].map(({ name }) => name))],
    sort: [collection.primaryKey.name],
    count: 'none',
    pageSize,
  };
  const { data, meta } = await listRecords(context, collection, normaliseRequest('list', parameters, false));
  if (meta.hasNext && wanted.length > 1) {
    for (const each of wanted) await findSome(context, search, [each], found);
    return;
  }
  for (const record of parseExactJson(data) as Readonly<Record<string, unknown>>[]) {
    const values = fields.map(({ name }) => record[name]);
    const searchKey = toSearchKey(fields, values);
    const keys = found.get(searchKey);
    if (!keys) found.set(searchKey, [record[key.name]]);
    else if (keys.length < 2) keys.push(record[key.name]);
  }
}

function buildFilter(fields: readonly ColumnField[], wanted: readonly SearchedValues[]): object {
  const [field] = fields;
  if (fields.length === 1 && field) return { [field.name]: { $in: wanted.map(([each]) => each) } };
  // A list, because a text such as {{$now}} would otherwise be a variable.
  return {
    $or: wanted.map((values) => ({
      $and: fields.map(({ name }, index) => ({ [name]: { $in: [values[index]] } })),
    })),
  };
}
