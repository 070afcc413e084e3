/** The history of one record: who changed which fields, and when, as far as the caller may see it. */

import { bind, createBindEnvironment, type Row, StaleVersion } from '../../database/database.ts';
import { requireRow } from '../../database/run-statement.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { parseExactJson } from '../../protocol/exact-json.ts';
import { requireKnownNames } from '../../protocol/known-names.ts';
import { limits } from '../../protocol/limits.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import { decodePositionCursor, encodePositionCursor, fingerprintList } from '../../query/cursor.ts';
import type { Grant } from '../../query/grant.ts';
import {
  historyColumns as COLUMN,
  type HistoryPage,
  isRestricted,
  listReadableFields,
  planHistory,
} from '../../query/history-plan.ts';
import type { Collection, Field } from '../../schema/registry.ts';
import { type RecordContext, toPlanContext } from '../record-context.ts';
import { parseKey } from '../record-key.ts';
import { type ListResult, recordNotFound, requireGrant } from './read-records.ts';
import { runReadStatement } from './read-statements.ts';

/** One entry as it is stored: before and after by field id. */
export interface RecordHistoryEntry {
  readonly id: number;
  readonly action: string;
  readonly changes: Readonly<Record<string, readonly [unknown, unknown]>>;
  readonly row: Row;
}

const knownParameters: ReadonlySet<string> = new Set(['filterByTk', 'page', 'pageSize', 'after', 'count']);

/**
 * Reads a page of the history of a record, newest entries first.
 *
 *     // data: [{"id":7,"at":"…","action":"updated","actor":"user:1","requestId":"…","changes":[{"field":"title","before":"a","after":"b"}]}]
 *
 * @param parameters `{filterByTk, page?, pageSize?, after?, count?}`.
 * @throws ApiError 404 for collections without history, and for a record that does not exist; 403 without the grants.
 */
export async function readHistory(
  context: RecordContext,
  collection: Collection,
  parameters: Readonly<Record<string, unknown>>,
): Promise<ListResult> {
  const grants = historyGrants(context, collection);
  requireLogging(collection);
  requireKnownNames('history', parameters, knownParameters);
  const request = normaliseRequest('list', parameters, true, true);
  const key = requireOneKey(request.filterByTk, collection, 'history');
  const size = request.pageSize ?? limits.pageSizeDefault;
  const hasCount = request.count !== 'none';
  const fingerprint = fingerprintList('history', collection.id, context.caller.role, String(key));
  const before = request.after === null ? null : decodePositionCursor(request.after, fingerprint);
  const page = { key, before, offset: (request.page - 1) * size, size: size + 1, counted: hasCount };
  const { entries, total } = await readEntries(context, collection, grants, page);
  const pageEntries = entries.slice(0, size);
  const hasNext = entries.length > size;
  const readableFields = listReadableFields(collection, grants);
  return {
    data: `[${pageEntries.map((entry) => formatEntry(entry, readableFields)).join(',\n')}]`,
    meta: {
      count: total ?? undefined,
      countIsEstimate: undefined,
      page: before === null ? request.page : undefined,
      pageSize: size,
      totalPage: total === null ? undefined : Math.ceil(total / size),
      hasNext,
      nextCursor: hasNext ? encodePositionCursor(fingerprint, pageEntries.at(-1)!.id) : null,
      versions: undefined,
    },
  };
}

/** The grants under which a history is read: both must reach the record, and both must allow a field. */
export type HistoryGrants = readonly [Grant, Grant];

/** The grants to read a history. @throws ApiError 403 without `history` or `get`. */
export function historyGrants(context: RecordContext, collection: Collection): HistoryGrants {
  return [requireGrant(context, collection, 'history'), requireGrant(context, collection, 'get')];
}

/** @throws ApiError 404 for collections without history. */
export function requireLogging({ name, options }: Collection): void {
  if (!options.logging) throw new ApiError('ROUTE_UNKNOWN', `History is not enabled for ${name} ("options.logging").`);
}

/** The key of the one record that a request names. @throws ApiError `TARGET_MISSING` without a key, and for a list. */
export function requireOneKey(filterByTk: unknown, collection: Collection, action: string): unknown {
  const key = parseKey(filterByTk, collection);
  if (key === undefined || Array.isArray(key))
    throw new ApiError('TARGET_MISSING', `${action} needs a "filterByTk" with one key.`);
  return key;
}

/**
 * Reads entries of a history, newest first, with one statement.
 *
 * @throws ApiError 404, or 403 under a row filter, for a record that the grants do not reach or that never existed.
 */
export async function readEntries(
  context: RecordContext,
  collection: Collection,
  grants: HistoryGrants,
  page: HistoryPage,
): Promise<{ readonly entries: RecordHistoryEntry[]; readonly total: number | null }> {
  const plan = planHistory(collection, grants, page, toPlanContext(context));
  const { variables, snapshotVersion: snapshot, clock, zone } = context;
  const parts = { key: page.key, variables, version: snapshot.version, now: clock.now(), zone };
  const rows = await runReadStatement(context, bind(context.database.dialect, plan, createBindEnvironment(parts)));
  const first = requireRow(rows);
  if (Number(first[COLUMN.current]) === 0) throw new StaleVersion();
  const entries = rows.filter((row) => row[COLUMN.id] !== null).map(parseEntry);
  const isFirst = page.before === null && page.offset === 0;
  if (Number(first[COLUMN.reached]) === 0 && (isRestricted(grants) || (isFirst && entries.length === 0)))
    throw recordNotFound(collection, grants.find((grant) => grant.rows !== null) ?? grants[0]);
  return { entries, total: first[COLUMN.total] === null ? null : Number(first[COLUMN.total]) };
}

function parseEntry(row: Row): RecordHistoryEntry {
  return {
    id: Number(row[COLUMN.id]),
    action: row[COLUMN.action] as string,
    changes: parseExactJson(row[COLUMN.changes] as string) as RecordHistoryEntry['changes'],
    row,
  };
}

/** An entry as JSON text, with the current names of the fields. Fields that no longer exist are left out. */
function formatEntry({ id, action, changes, row }: RecordHistoryEntry, readableFields: readonly Field[]): string {
  const visibleChanges = readableFields.flatMap((field) => {
    const pair = changes[String(field.id)];
    return pair ? [{ field: field.name, before: pair[0], after: pair[1] }] : [];
  });
  const [time, actor, requestId] = [row[COLUMN.time], row[COLUMN.actor], row[COLUMN.requestId]];
  return JSON.stringify({ id, at: time, action, actor, requestId, changes: visibleChanges });
}
