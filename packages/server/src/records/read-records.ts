/**
 * Reads: a normalised request becomes a kept plan, the plan one statement, its rows finished text.
 * Refuses what the planner refuses; a missing record is 404, or 403 for a role with a row filter.
 */
import { bind, environmentOf, type Row, StaleVersion } from '../database/database.ts';
import type { BindEnvironment } from '../database/sql.ts';
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
import { run } from './read-statements.ts';
import { keptPlan, planContext, type RecordContext } from './record-context.ts';
import { keyOf } from './record-key.ts';

export interface ListMeta {
  count?: number;
  countIsEstimate?: true;
  page?: number;
  pageSize?: number;
  totalPage?: number;
  hasNext: boolean;
  nextCursor: string | null;
  versions?: Record<string, number>;
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
  const pageSize = request.pageSize ?? limits.pageSizeDefault;
  const { plan, environment, mark } = preparedList(context, collection, grant, request, pageSize);
  const { dialect } = context.database;
  const page = bind(dialect, plan.page, environment);
  const { rows, countRow } = plan.count
    ? await readCounted(context, page, bind(dialect, plan.count, environment), plan.tables)
    : { rows: (await run(context, [page]))[0]!, countRow: null };
  const records = presentRows(rows, plan);
  const hasNext = records.length > pageSize;
  const shown = hasNext ? records.slice(0, pageSize) : records;
  const meta: ListMeta = { ...totals(plan, countRow, rows), hasNext, nextCursor: null };
  if (plan.estimate && (meta.count ?? 0) > plan.cap) await estimate(context, plan, environment, meta);
  if (request.after === null) meta.page = request.page;
  meta.pageSize = pageSize;
  if (meta.count !== undefined) meta.totalPage = Math.ceil(meta.count / pageSize);
  if (hasNext) meta.nextCursor = encodeCursor(mark(), keyValues(shown.at(-1)!, plan));
  if (request.versions) meta.versions = versionsOf(shown, plan);
  return { data: `[${joined(shown, plan)}]`, meta };
}

/** Every record, in pieces of JSON text without brackets or commas between pieces: bounded memory whatever the size. */
export async function* streamRecords(
  context: RecordContext,
  collection: Collection,
  request: AskedRecordRequest,
): AsyncGenerator<readonly string[]> {
  const chunk = limits.pageSizeMaximum;
  let asked: AskedRecordRequest = { ...request, count: 'none', pageSize: chunk, page: 1 };
  for (;;) {
    const grant = requireGrant(context, collection, 'list');
    const { plan, environment, mark } = preparedList(context, collection, grant, asked, chunk);
    const [rows] = await run(context, [bind(context.database.dialect, plan.page, environment)]);
    const records = presentRows(rows!, plan);
    const shown = records.slice(0, chunk);
    if (shown.length > 0) yield shown.map((row) => row[plan.lead] as string);
    if (records.length <= chunk) return;
    asked = { ...asked, after: encodeCursor(mark(), keyValues(shown.at(-1)!, plan)), shape: `${request.shape} stream` };
  }
}

export async function getRecord(
  context: RecordContext,
  collection: Collection,
  request: AskedRecordRequest,
): Promise<RecordResult> {
  const grant = requireGrant(context, collection, 'get');
  const key = keyOf(request.filterByTk, collection);
  if (key === undefined && request.filter === null)
    throw new ApiError('TARGET_MISSING', 'get needs filterByTk or a filter.');
  const plan = keptPlan(context, `${collection.name}:get ${request.shape}`, () =>
    planGet(request, collection, grant, planContext(context)),
  );
  const row = await firstRow(context, plan, environmentFor(context, request, { key }));
  if (!row) throw missing(collection, grant, request.filter !== null);
  return { data: row[plan.lead] as string, counter: row[plan.lead + 1] as number };
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

export function environmentFor(
  context: RecordContext,
  request: AskedRecordRequest,
  parts: Partial<BindEnvironment>,
): BindEnvironment {
  return environmentOf({
    values: request.values,
    valuesAreText: request.valuesAreText,
    variables: context.variables,
    version: context.version,
    ...parts,
  });
}

function preparedList(
  context: RecordContext,
  collection: Collection,
  grant: Grant,
  request: AskedRecordRequest,
  size: number,
) {
  const mark = (): string => markOf(request, collection, context.caller.role);
  const key = keyOf(request.filterByTk, collection);
  const shape = { size, hasOffset: request.page > 1, cursorNulls: null };
  if (request.after === null) {
    const plan = planFor(context, collection, grant, request, shape);
    return { plan, environment: environmentFor(context, request, { key, offset: (request.page - 1) * size }), mark };
  }
  const keys = keptPlan(context, `${collection.name}:sort ${JSON.stringify(request.sort)}`, () =>
    planSort(request.sort, collection, grant, context.registry, context.grantOf),
  );
  const cursor = decodeCursor(request.after, mark(), keys);
  const plan = planFor(context, collection, grant, request, {
    ...shape,
    cursorNulls: cursor.map((each) => each === null),
  });
  return { plan, environment: environmentFor(context, request, { key, cursor }), mark };
}

/** Requests that come again are the same object, so their marks are kept with them. */
const marks = new WeakMap<AskedRecordRequest, { readonly of: string; readonly mark: string }>();

function markOf(request: AskedRecordRequest, collection: Collection, role: string): string {
  const of = `${collection.id} ${role}`;
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
  const key = `${collection.name}:list ${request.shape}${shape.size}${shape.hasOffset ? '+' : ' '}${nulls}`;
  return keptPlan(context, key, () => planList(request, collection, grant, shape, planContext(context)));
}

async function firstRow(context: RecordContext, plan: GetPlan, environment: BindEnvironment): Promise<Row | null> {
  const [rows] = await run(context, [bind(context.database.dialect, plan.statement, environment)]);
  return presentRows(rows!, plan)[0] ?? null;
}

/** On a shared engine no row at all says that the plan is stale, and a row without presence that there is none. */
function presentRows(rows: readonly Row[], plan: { readonly lead: number }): readonly Row[] {
  if (plan.lead === 0) return rows;
  if (rows.length === 0) throw new StaleVersion();
  return rows[0]![1] === null ? [] : rows;
}

function totals(plan: ListPlan, countRow: Row | null, rows: readonly Row[]): Partial<ListMeta> {
  if (plan.lead > 0) return rows[0]?.[0] == null ? {} : { count: rows[0][0] as number };
  if (!countRow) return {};
  const [count, reached, highest] = countRow as readonly number[];
  if (count! <= plan.cap) return { count: count! };
  return { count: Math.max(count!, Math.round((count! * highest!) / Math.max(1, reached!))), countIsEstimate: true };
}

/** PostgreSQL's planner guesses what is too much to count. */
async function estimate(
  context: RecordContext,
  plan: ListPlan,
  environment: BindEnvironment,
  meta: ListMeta,
): Promise<void> {
  const [rows] = await run(context, [bind(context.database.dialect, plan.estimate!, environment)]);
  const [explained] = JSON.parse(rows![0]![0] as string) as [{ Plan: { 'Plan Rows': number } }];
  meta.count = Math.max(meta.count!, explained.Plan['Plan Rows']);
  meta.countIsEstimate = true;
}

function keyValues(row: Row, plan: ListPlan): unknown[] {
  if (!plan.shownKeys) return plan.keys.map((_, index) => row[plan.lead + 1 + index]);
  const record = JSON.parse(row[plan.lead] as string) as Record<string, unknown>;
  return plan.shownKeys.map((name) => record[name]);
}

function joined(rows: readonly Row[], plan: ListPlan): string {
  let text = '';
  for (let index = 0; index < rows.length; index += 1)
    text += index === 0 ? rows[index]![plan.lead] : `,${rows[index]![plan.lead]}`;
  return text;
}

function versionsOf(rows: readonly Row[], plan: ListPlan): Record<string, number> {
  const versions: Record<string, number> = {};
  const key = plan.lead + plan.keys.length; // the primary key is the last key of every sort
  for (const row of rows) versions[String(row[key])] = row[key + 1] as number;
  return versions;
}
