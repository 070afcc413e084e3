/** What has become of one record: who changed what, and when, as far as the caller may see it. */
import { bind, environmentOf, type Row, StaleVersion } from '../database/database.ts';
import { ApiError } from '../protocol/api-error.ts';
import { parseExactJson } from '../protocol/exact-json.ts';
import { parameterUnknown } from '../protocol/known-names.ts';
import { limits } from '../protocol/limits.ts';
import { normaliseRequest } from '../protocol/request-normaliser.ts';
import { cursorMark, decodePlace, encodePlace } from '../query/cursor.ts';
import type { Grant } from '../query/grant.ts';
import {
  historyColumns as at,
  fieldsTold,
  type HistoryPage,
  isRestricted,
  planHistory,
} from '../query/history-plan.ts';
import type { Collection, Field } from '../schema/registry.ts';
import { type ListResult, missing, requireGrant } from './read-records.ts';
import { run } from './read-statements.ts';
import { planContext, type RecordContext } from './record-context.ts';
import { keyOf } from './record-key.ts';

/** One entry as it is stored: before and after by field id. */
export interface Entry {
  readonly id: number;
  readonly action: string;
  readonly changes: Readonly<Record<string, readonly [unknown, unknown]>>;
  readonly row: Row;
}

const known: ReadonlySet<string> = new Set(['filterByTk', 'page', 'pageSize', 'after', 'count']);

/** Entries newest first, a page at a time. @throws ApiError 404 for collections that keep no history. */
export async function readHistory(
  context: RecordContext,
  collection: Collection,
  parameters: Readonly<Record<string, unknown>>,
): Promise<ListResult> {
  const grants = historyGrants(context, collection);
  requireLogging(collection);
  const unknown = Object.keys(parameters).find((name) => !known.has(name));
  if (unknown !== undefined) throw parameterUnknown('history', unknown, known);
  const request = normaliseRequest('list', parameters, true, true);
  const key = oneKeyOf(request.filterByTk, collection, 'history');
  const size = request.pageSize ?? limits.pageSizeDefault;
  const counted = request.count !== 'none';
  const mark = cursorMark('history', collection.id, context.caller.role, String(key));
  const before = request.after === null ? null : decodePlace(request.after, mark);
  const page = { key, before, offset: (request.page - 1) * size, size: size + 1, counted };
  const { entries, total } = await readEntries(context, collection, grants, page);
  const shown = entries.slice(0, size);
  const hasNext = entries.length > size;
  const told = fieldsTold(collection, grants);
  return {
    data: `[${shown.map((entry) => textOf(entry, told)).join(',\n')}]`,
    meta: {
      count: total ?? undefined,
      countIsEstimate: undefined,
      page: before === null ? request.page : undefined,
      pageSize: size,
      totalPage: total === null ? undefined : Math.ceil(total / size),
      hasNext,
      nextCursor: hasNext ? encodePlace(mark, shown.at(-1)!.id) : null,
      versions: undefined,
    },
  };
}

/** History shows what get shows, to those who may see history: both grants hold, for rows and for fields. */
export function historyGrants(context: RecordContext, collection: Collection): readonly Grant[] {
  return [requireGrant(context, collection, 'history'), requireGrant(context, collection, 'get')];
}

export function requireLogging({ name, options }: Collection): void {
  if (!options.logging) throw new ApiError('ROUTE_UNKNOWN', `${name} keeps no history: it is not logging.`);
}

/** @throws ApiError `TARGET_MISSING` where not one record is named. */
export function oneKeyOf(filterByTk: unknown, collection: Collection, action: string): unknown {
  const key = keyOf(filterByTk, collection);
  if (key === undefined || Array.isArray(key))
    throw new ApiError('TARGET_MISSING', `${action} needs one record: name it by filterByTk.`);
  return key;
}

/** @throws ApiError 404, or 403 under a row filter, for a record out of reach, and for one that never was. */
export async function readEntries(
  context: RecordContext,
  collection: Collection,
  grants: readonly Grant[],
  page: HistoryPage,
): Promise<{ readonly entries: Entry[]; readonly total: number | null }> {
  const plan = planHistory(collection, grants, page, planContext(context));
  const { variables, at: snapshot, clock, zone } = context;
  const parts = { key: page.key, variables, version: snapshot.version, now: clock.now(), zone };
  const [rows] = await run(context, [bind(context.database.dialect, plan, environmentOf(parts))]);
  const [first] = rows!;
  if (Number(first![at.current]) === 0) throw new StaleVersion();
  const entries = rows!.filter((row) => row[at.id] !== null).map(entryOf);
  const isFirst = page.before === null && page.offset === 0;
  if (Number(first![at.reached]) === 0 && (isRestricted(grants) || (isFirst && entries.length === 0)))
    throw missing(collection, grants.find((grant) => grant.rows !== null) ?? grants[0]!);
  return { entries, total: first![at.total] === null ? null : Number(first![at.total]) };
}

function entryOf(row: Row): Entry {
  return {
    id: Number(row[at.id]),
    action: row[at.action] as string,
    changes: parseExactJson(row[at.changes] as string) as Entry['changes'],
    row,
  };
}

/** Fields go by their names of now; those that are no more are left out. */
function textOf({ id, action, changes, row }: Entry, told: readonly Field[]): string {
  const shown = told.flatMap((field) => {
    const pair = changes[String(field.id)];
    return pair ? [{ field: field.name, before: pair[0], after: pair[1] }] : [];
  });
  const [when, actor, requestId] = [row[at.at], row[at.actor], row[at.requestId]];
  return JSON.stringify({ id, at: when, action, actor, requestId, changes: shown });
}
