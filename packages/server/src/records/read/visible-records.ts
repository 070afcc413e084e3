import { bind } from '../../database/database.ts';
import { limits } from '../../protocol/limits.ts';
import type { RecordRequest } from '../../protocol/record-request.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import type { Grant } from '../../query/grant.ts';
import { planList } from '../../query/read-plan.ts';
import type { Collection } from '../../schema/registry.ts';
import { getCachedPlan, type RecordContext, toPlanContext } from '../record-context.ts';
import { buildRequestEnvironment } from './read-records.ts';
import { runReads } from './read-statements.ts';

/** Maximum number of keys of one query. */
export const maxVisibleKeys = 1000;

/** A query for those records of known keys that a caller may see. */
export interface VisibilityQuery {
  readonly request: RecordRequest;
}

/**
 * Creates a query for records by key.
 *
 * @param filter as on the wire, or null.
 * @param options `shows`: the result has all fields that the caller may see, not just the key. `trashed`: it includes
 *   records in the trash.
 * @throws ApiError 400 for a filter that does not follow the grammar.
 */
export function createVisibilityQuery(filter: unknown, { shows = false, trashed = false } = {}): VisibilityQuery {
  const parameters = { filter, count: 'none', ...(trashed && { withDeleted: true }) };
  const request = normaliseRequest('list', parameters, false);
  const shape = `sight ${shows} ${request.shape}`;
  return { request: { ...request, filterByTk: [], shape, fields: shows ? null : [] } };
}

/**
 * Of the records with these keys, reads the ones that a get of the caller would find: their JSON text by key, or null
 * if that is longer than {@link limits.recordInEvent}. It takes one statement, whatever the number of keys.
 *
 * @param keys canonical, at most {@link maxVisibleKeys}.
 * @param grant of the caller on `get`.
 * @throws ApiError 400 and 403 as a get with the filter would.
 */
export async function readVisibleRecords(
  context: RecordContext,
  collection: Collection,
  grant: Grant,
  { request }: VisibilityQuery,
  keys: readonly unknown[],
): Promise<Map<string, string | null>> {
  if (keys.length === 0) return new Map();
  const plan = getVisibilityPlan(context, collection, grant, request);
  const environment = buildRequestEnvironment(context, request, { key: keys });
  const [rows] = await runReads(context, [bind(context.database.dialect, plan.page, environment)]);
  return new Map(plan.read(rows!).rows.map(([object, key]) => [String(key), object as string | null] as const));
}

/** Checks a query before there are keys. @throws ApiError as {@link readVisibleRecords}. */
export function checkVisibilityQuery(
  context: RecordContext,
  collection: Collection,
  grant: Grant,
  { request }: VisibilityQuery,
): void {
  getVisibilityPlan(context, collection, grant, request);
}

function getVisibilityPlan(
  context: RecordContext,
  collection: Collection,
  grant: Grant,
  request: RecordRequest,
): ReturnType<typeof planList> {
  const shape = {
    size: maxVisibleKeys,
    content: 'rows',
    offset: 'none',
    cursorNulls: null,
    maxLength: limits.recordInEvent,
  } as const;
  return getCachedPlan(context, grant, `${collection.name}:${request.shape}`, () =>
    planList(
      { request: { ...request, fields: request.fields && [collection.primaryKey.name] }, shape },
      collection,
      grant,
      toPlanContext(context),
    ),
  );
}
