/**
 * Reads: a normalised request becomes a kept plan, the plan one statement, its rows finished text.
 * Refuses what the planner refuses; a missing record is 404, or 403 for a role with a row filter.
 */
import { bind, DatabaseFault, environmentOf, type Row, StaleVersion } from '../database/database.ts';
import type { BindEnvironment } from '../database/sql.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import type { AskedRecordRequest } from '../protocol/record-request.ts';
import { cursorMark, decodeCursor, encodeCursor } from '../query/cursor.ts';
import type { Grant } from '../query/grant.ts';
import { denied } from '../query/read-access.ts';
import { type GetPlan, type ListPlan, planGet, planList } from '../query/read-plan.ts';
import type { SortKey } from '../query/sort-plan.ts';
import type { Collection } from '../schema/registry.ts';
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
  const page = bind(context.database.dialect, plan.page, environment);
  const counted = plan.count && bind(context.database.dialect, plan.count, environment);
  const kept = counted && keptCount(context, plan, counted);
  const [rows, countRows] = await run(context, counted && !kept ? [page, counted] : [page]);
  if (counted && !kept) keepCount(context, plan, counted, countRows![0]!);
  const records = presentRows(rows!, plan);
  const hasNext = records.length > pageSize;
  const shown = hasNext ? records.slice(0, pageSize) : records;
  const meta: ListMeta = { ...totals(plan, kept?.row ?? countRows?.[0] ?? null, rows!), hasNext, nextCursor: null };
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

/** Runs read statements; what the database refuses comes out as the error that the caller reads. */
export async function run(
  context: RecordContext,
  statements: Parameters<RecordContext['database']['read']>[0],
): Promise<Row[][]> {
  try {
    return await context.database.read(statements);
  } catch (error) {
    throw readFault(error);
  }
}

export function readFault(error: unknown): unknown {
  if (!(error instanceof DatabaseFault)) return error;
  if (error.kind === 'timeout')
    return new ApiError('QUERY_TIMEOUT', 'The read took longer than 5 seconds and was ended.', { retryAfter: 1 });
  if (error.kind === 'overflow') {
    return new ApiError(
      'LIMIT_EXCEEDED',
      `A record has more than ${limits.appendedRecords} related records under "${error.message}"; list them instead.`,
    );
  }
  return error;
}

function preparedList(
  context: RecordContext,
  collection: Collection,
  grant: Grant,
  request: AskedRecordRequest,
  pageSize: number,
) {
  const plain = planFor(context, collection, grant, request, null);
  const mark = (): string => markOf(request, collection, context.caller.role);
  const key = keyOf(request.filterByTk, collection);
  if (request.after === null) {
    const environment = environmentFor(context, request, {
      key,
      limit: pageSize + 1,
      offset: (request.page - 1) * pageSize,
    });
    return { plan: plain, environment, mark };
  }
  const cursor = decodeCursor(request.after, mark(), plain.keys);
  const nulls = cursor.map((each) => each === null);
  const environment = environmentFor(context, request, { key, cursor, limit: pageSize + 1 });
  return { plan: planFor(context, collection, grant, request, nulls), environment, mark };
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
  nulls: readonly boolean[] | null,
): ListPlan {
  const key = `${collection.name}:list ${request.shape}${nulls ? nulls.map(Number).join('') : ''}`;
  return keptPlan(context, key, () => planList(request, collection, grant, nulls, planContext(context)));
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

type Bound = ReturnType<typeof bind>;

function countKey(counted: Bound): string {
  return `${counted.text}${JSON.stringify(counted.values, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each))}`;
}

function keptCount(context: RecordContext, plan: ListPlan, counted: Bound): { readonly row: Row } | null {
  const counter = context.database.changeCounter(plan.tables);
  const kept = context.cache.counts.get(countKey(counted));
  return kept && kept.counter === counter ? kept : null;
}

function keepCount(context: RecordContext, plan: ListPlan, counted: Bound, row: Row): void {
  const counter = context.database.changeCounter(plan.tables);
  if (counter !== null) context.cache.counts.set(countKey(counted), { counter, row });
}

function keyValues(row: Row, plan: ListPlan): unknown[] {
  return plan.keys.map((_: SortKey, index) => row[plan.lead + 1 + index]);
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
