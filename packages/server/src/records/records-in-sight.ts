import { bind } from '../database/database.ts';
import { limits } from '../protocol/limits.ts';
import type { AskedRecordRequest } from '../protocol/record-request.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import type { Grant } from '../query/grant.ts';
import { planList } from '../query/read-plan.ts';
import type { Collection } from '../schema/registry.ts';
import { environmentFor, presentRows } from './read-records.ts';
import { run } from './read-statements.ts';
import { keptPlan, planContext, type RecordContext } from './record-context.ts';

/** Keys that one look takes. */
export const mostKeysInSight = 1000;

/** What is asked of records whose keys are known. */
export interface Sight {
  readonly request: AskedRecordRequest;
}

/**
 * A look at records by their keys.
 *
 * @param filter as on the wire, or null.
 * @param shows all fields that the caller may see; else the key alone.
 * @param trashed also records in the trash.
 * @throws ApiError 400 for a filter of another form than the grammar.
 */
export function sightOf(filter: unknown, { shows = false, trashed = false } = {}): Sight {
  const asked = { filter, count: 'none', ...(trashed && { withDeleted: true }) };
  const request = normaliseRequest('list', asked, false);
  const shape = `sight ${shows} ${request.shape}`;
  return { request: { ...request, filterByTk: [], shape, fields: shows ? null : [] } };
}

/**
 * Those of some records that a get of the caller would find, by key, with the JSON text of what it would show; null where
 * that is longer than {@link limits.recordInEvent}. One statement, whatever the number of keys.
 *
 * @param keys canonical, at most {@link mostKeysInSight}.
 * @param grant of the caller on `get`.
 * @throws ApiError 400 and 403 as a get with the filter would.
 */
export async function recordsInSight(
  context: RecordContext,
  collection: Collection,
  grant: Grant,
  { request }: Sight,
  keys: readonly unknown[],
): Promise<Map<string, string | null>> {
  if (keys.length === 0) return new Map();
  const plan = planOf(context, collection, grant, request);
  const environment = environmentFor(context, request, { key: keys });
  const [rows] = await run(context, [bind(context.database.dialect, plan.page, environment)]);
  return new Map(
    presentRows(rows!, plan).map((row) => [String(row[plan.lead + 1]), row[plan.lead] as string | null] as const),
  );
}

/** Refuses what the look would refuse, before there is anything to look at. */
export function checkSight(context: RecordContext, collection: Collection, grant: Grant, { request }: Sight): void {
  planOf(context, collection, grant, request);
}

function planOf(
  context: RecordContext,
  collection: Collection,
  grant: Grant,
  request: AskedRecordRequest,
): ReturnType<typeof planList> {
  const shape = {
    size: mostKeysInSight,
    content: 'rows',
    hasOffset: false,
    cursorNulls: null,
    longest: limits.recordInEvent,
  } as const;
  return keptPlan(context, grant, `${collection.name}:${request.shape}`, () =>
    planList(
      { ...request, fields: request.fields && [collection.primaryKey.name] },
      collection,
      grant,
      shape,
      planContext(context),
    ),
  );
}
