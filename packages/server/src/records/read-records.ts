/**
 * Reads: a normalised request becomes a kept plan, the plan one statement, its rows finished text.
 * Refuses what the planner refuses; a missing record is 404, or 403 for a role with a row filter.
 */
import { bind, environmentOf, type Row, StaleVersion } from '../database/database.ts';
import type { BindEnvironment, BindParts } from '../database/sql.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import type { AskedRecordRequest } from '../protocol/record-request.ts';
import { cursorMark, decodeCursor, encodeCursor } from '../query/cursor.ts';
import type { Grant } from '../query/grant.ts';
import { denied } from '../query/read-access.ts';
import { type GetPlan, type ListPlan, type PageShape, planGet, planList } from '../query/read-plan.ts';
import { planSort } from '../query/sort-plan.ts';
import type { Collection } from '../schema/registry.ts';
import { readCounted } from './counts.ts';
import { pageOf } from './list-page.ts';
import { run } from './read-statements.ts';
import { keptPlan, planContext, type RecordContext } from './record-context.ts';
import { keyOf } from './record-key.ts';

/** What stands beside a list; what is undefined is left out. */
export interface ListMeta {
  readonly count: number | undefined;
  readonly countIsEstimate: true | undefined;
  readonly page: number | undefined;
  readonly pageSize: number;
  readonly totalPage: number | undefined;
  readonly hasNext: boolean;
  readonly nextCursor: string | null;
  readonly versions: Record<string, number> | undefined;
}

export interface ListResult {
  /** The records as JSON text, brackets included. */
  readonly data: string;
  readonly meta: ListMeta;
}

export interface RecordResult {
  readonly data: string;
  /** The record's hidden write counter. */
  readonly counter: number;
}

export async function listRecords(
  context: RecordContext,
  collection: Collection,
  request: AskedRecordRequest,
): Promise<ListResult> {
  const grant = requireGrant(context, collection, 'list');
  requireTrashAsked(request, collection);
  const pageSize = request.pageSize ?? limits.pageSizeDefault;
  const { plan, environment, mark } = preparedList(context, collection, grant, request, {
    size: pageSize,
    content: 'text',
  });
  const { dialect } = context.database;
  const statement = bind(dialect, plan.page, environment);
  const { rows, countRow } = plan.count
    ? await readCounted(context, statement, bind(dialect, plan.count, environment), plan.tables)
    : { rows: (await run(context, [statement]))[0]!, countRow: null };
  const page = pageOf(presentRows(rows, plan), plan, pageSize);
  let total = totalOf(plan, countRow, rows);
  if (plan.estimate && total && total.count > plan.cap) total = await estimate(context, plan, environment, total.count);
  const meta: ListMeta = {
    count: total?.count,
    countIsEstimate: total?.isEstimate ? true : undefined,
    page: request.after === null ? request.page : undefined,
    pageSize,
    totalPage: total ? Math.ceil(total.count / pageSize) : undefined,
    hasNext: page.hasNext,
    nextCursor: page.hasNext ? encodeCursor(mark(), page.lastKeys(), plan.keys) : null,
    versions: request.versions ? page.versions() : undefined,
  };
  return { data: `[${page.text}]`, meta };
}

export async function getRecord(
  context: RecordContext,
  collection: Collection,
  request: AskedRecordRequest,
): Promise<RecordResult> {
  const grant = requireGrant(context, collection, 'get');
  requireTrashAsked(request, collection);
  const key = keyOf(request.filterByTk, collection);
  if (key === undefined && request.filter === null && request.within === null)
    throw new ApiError('TARGET_MISSING', 'get needs filterByTk or a filter.');
  const plan = keptPlan(context, grant, `${collection.name}:get ${request.shape}`, () =>
    planGet(request, collection, grant, planContext(context)),
  );
  const row = await firstRow(context, plan, environmentFor(context, request, { key }));
  if (!row) throw missing(collection, grant, request.filter !== null);
  return { data: row[plan.lead] as string, counter: row[plan.lead + 1] as number };
}

/** @throws ApiError 400 when destroyed records are asked for where none are kept. */
export function requireTrashAsked(request: AskedRecordRequest, collection: Collection): void {
  if (request.trash !== 'without' && collection.trash === null)
    throw new ApiError('PARAMETER_INVALID', `${collection.name} keeps no destroyed records: it is not paranoid.`);
}

/** What a role may do with an action on a collection, or 403. */
export function requireGrant(context: RecordContext, collection: Collection, action: string): Grant {
  const grant = context.grantOf(collection.name, action);
  if (!grant) throw denied(collection.name, action);
  return grant;
}

/** A role with a row filter gets the same answer for a missing record as for a filtered one. */
export function missing(collection: Collection, grant: Grant, byFilter = false): ApiError {
  if (grant.rows && !byFilter)
    return new ApiError('NO_PERMISSION', `The role does not reach this record of ${collection.name}.`);
  return new ApiError(
    'RECORD_UNKNOWN',
    byFilter ? `No record of ${collection.name} matches.` : `${collection.name} has no record with this key.`,
  );
}

export function environmentFor(context: RecordContext, request: AskedRecordRequest, parts: BindParts): BindEnvironment {
  return environmentOf({
    values: parts.values ?? request.values,
    valuesAreText: request.valuesAreText,
    variables: context.variables,
    now: context.clock.now(),
    zone: context.zone,
    parent: request.within ? keyOf(request.within.tk, context.registry.get(request.within.collection)) : undefined,
    version: context.at.version,
    key: parts.key,
    cursor: parts.cursor,
    offset: parts.offset,
    record: parts.record,
    counters: parts.counters,
    event: parts.event,
  });
}

/** A list ready to run, and the mark of its cursors. `keys` stand in for the keys that the request names. */
export function preparedList(
  context: RecordContext,
  collection: Collection,
  grant: Grant,
  request: AskedRecordRequest,
  { size, content }: Pick<PageShape, 'size' | 'content'>,
  keys?: readonly unknown[],
): PreparedList {
  const mark = (): string => markOf(request, collection, context.caller.role);
  const key = keys ?? keyOf(request.filterByTk, collection);
  const shape: PageShape = { size, content, hasOffset: request.page > 1, cursorNulls: null };
  if (request.after === null) {
    const plan = planFor(context, collection, grant, request, shape);
    return { plan, environment: environmentFor(context, request, { key, offset: (request.page - 1) * size }), mark };
  }
  const sortKeys = keptPlan(context, grant, `${collection.name}:sort ${request.shape}`, () =>
    planSort(request.sort, collection, grant, context.registry, context.grantOf),
  );
  const cursor = decodeCursor(request.after, mark(), sortKeys);
  const plan = planFor(context, collection, grant, request, {
    ...shape,
    cursorNulls: cursor.map((each) => each === null),
  });
  return { plan, environment: environmentFor(context, request, { key, cursor }), mark };
}

export interface PreparedList {
  readonly plan: ListPlan;
  readonly environment: BindEnvironment;
  readonly mark: () => string;
}

/** Requests that come again are the same object, so their marks are kept with them. */
const marks = new WeakMap<AskedRecordRequest, { readonly of: string; readonly mark: string }>();

function markOf(request: AskedRecordRequest, collection: Collection, role: string): string {
  const { within } = request;
  const of = `${collection.id} ${role}${within ? ` ${within.collection} ${within.relation} ${String(within.tk)}` : ''}`;
  const kept = marks.get(request);
  if (kept?.of === of) return kept.mark;
  const mark = cursorMark(of, request.sort, request.filter, request.values, request.filterByTk);
  marks.set(request, { of, mark });
  return mark;
}

function planFor(
  context: RecordContext,
  collection: Collection,
  grant: Grant,
  request: AskedRecordRequest,
  shape: PageShape,
): ListPlan {
  const nulls = shape.cursorNulls?.map(Number).join('') ?? '';
  const key = `${collection.name}:list ${request.shape}${shape.size}${shape.hasOffset ? '+' : ' '}${shape.content[0]}${nulls}`;
  return keptPlan(context, grant, key, () => planList(request, collection, grant, shape, planContext(context)));
}

async function firstRow(context: RecordContext, plan: GetPlan, environment: BindEnvironment): Promise<Row | null> {
  const [rows] = await run(context, [bind(context.database.dialect, plan.statement, environment)]);
  return presentRows(rows!, plan)[0] ?? null;
}

/** On a shared engine no row at all says that the plan is stale, and a row without presence that there is none. */
export function presentRows(rows: readonly Row[], plan: { readonly lead: number }): readonly Row[] {
  if (plan.lead === 0) return rows;
  if (rows.length === 0) throw new StaleVersion();
  return rows[0]![1] === null ? [] : rows;
}

interface Total {
  readonly count: number;
  readonly isEstimate: boolean;
}

function totalOf(plan: ListPlan, countRow: Row | null, rows: readonly Row[]): Total | null {
  if (plan.lead > 0) return rows[0]?.[0] == null ? null : { count: rows[0][0] as number, isEstimate: false };
  if (!countRow) return null;
  const [count, reached, highest] = countRow as readonly number[];
  if (count! <= plan.cap) return { count: count!, isEstimate: false };
  return { count: Math.max(count!, Math.round((count! * highest!) / Math.max(1, reached!))), isEstimate: true };
}

/** PostgreSQL's planner guesses what is too much to count. */
async function estimate(
  context: RecordContext,
  plan: ListPlan,
  environment: BindEnvironment,
  counted: number,
): Promise<Total> {
  const [rows] = await run(context, [bind(context.database.dialect, plan.estimate!, environment)]);
  const [explained] = JSON.parse(rows![0]![0] as string) as [{ Plan: { 'Plan Rows': number } }];
  return { count: Math.max(counted, explained.Plan['Plan Rows']), isEstimate: true };
}
