/**
 * The audience of a campaign: records of a collection, and the field that contains their address. It is read under the caller's own grant
 * to list the collection, with its row filter and its fields, at each step of a campaign.
 */
import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import { listRecords } from '../../records/read/read-records.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { parseKey } from '../../records/record-key.ts';
import type { Collection } from '../../schema/registry.ts';
import type { InputProblems } from '../automation/input-problems.ts';
import { parseMailAddress } from '../compose/mail-input.ts';

/** The audience as it is stored. */
export interface Audience {
  readonly collection: string;
  /** As in a list; null: all records. */
  readonly filter: Readonly<Record<string, unknown>> | null;
  /** The field that contains the address. */
  readonly field: string;
}

/** A record of an audience. */
export interface AudienceRecord {
  readonly key: string;
  /** In lower case; null for a value that is no address. */
  readonly address: string | null;
  readonly values: Readonly<Record<string, unknown>>;
}

/** Which records of an audience are read. */
export interface AudienceQuery {
  readonly audience: Audience;
  /** Fields that are read besides the key and the address. */
  readonly variables: readonly string[];
  readonly pageSize: number;
  /** The cursor of the previous page; null: the first page. */
  readonly after?: string | null;
  /** Only records with these keys. */
  readonly keys?: readonly string[];
}

/** Parses the audience of a request. */
export function parseAudience(input: unknown, problems: InputProblems): Audience | null {
  const form =
    'Give {"collection", "filter", "field"}: a collection, a filter or null, and the field with the address.';
  if (!isObject(input)) {
    problems.add('audience', form);
    return null;
  }
  problems.addUnknown('audience', input, ['collection', 'filter', 'field']);
  const { collection, filter = null, field } = input;
  if (typeof collection !== 'string' || collection === '' || collection.length > 60)
    problems.add('audience.collection', 'Name the collection of the recipients.');
  if (typeof field !== 'string' || field === '' || field.length > 60)
    problems.add('audience.field', 'Name the field that contains the address.');
  if (filter !== null && !isObject(filter)) problems.add('audience.filter', 'Give a filter as in a list, or null.');
  if (filter !== null && JSON.stringify(filter).length > 64 * 1024)
    problems.add('audience.filter', 'A filter can have at most 64 KiB.');
  return {
    collection: String(collection),
    filter: isObject(filter) ? (filter as Record<string, unknown>) : null,
    field: String(field),
  };
}

/** The collection of an audience. @throws ApiError as a list of an unknown collection. */
function requireAudienceCollection({ registry, findGrant }: RecordContext, { collection: name }: Audience): Collection {
  const collection = registry.find(name);
  if (collection && !collection.internal && findGrant(name, 'list')) return collection;
  throw new ApiError('NO_PERMISSION', `The role may not list "${name.slice(0, 60)}", or there is no such collection.`);
}

/**
 * Reads a page of an audience in the order of the keys.
 *
 * @throws ApiError 400 and 403 as a list with the filter and the fields would.
 */
export async function readAudience(
  context: RecordContext,
  { audience, variables, pageSize, after = null, keys }: AudienceQuery,
): Promise<{ readonly records: readonly AudienceRecord[]; readonly nextCursor: string | null }> {
  const collection = requireAudienceCollection(context, audience);
  const key = collection.primaryKey.name;
  const conditions = [
    ...(audience.filter === null ? [] : [audience.filter]),
    ...(keys === undefined ? [] : [{ [key]: { $in: keys.map((each) => parseKey(each, collection)) } }]),
  ];
  const parameters = {
    ...(conditions.length > 0 && { filter: { $and: conditions } }),
    fields: [...new Set([key, audience.field, ...variables])],
    sort: [key],
    pageSize,
    count: 'none',
    ...(after !== null && { after }),
  };
  const { data, meta } = await listRecords(context, collection, normaliseRequest('list', parameters, false));
  const records = (JSON.parse(data) as Record<string, unknown>[]).map((values): AudienceRecord => {
    const address = parseMailAddress(values[audience.field])?.address.toLowerCase() ?? null;
    return { key: String(values[key]), address, values };
  });
  return { records, nextCursor: meta.nextCursor };
}
