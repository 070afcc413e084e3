/**
 * Reads: a normalised request becomes a cached plan, and the plan one statement whose rows hold finished JSON text. A
 * missing record is 404, or 403 if the role has a row filter; the planner refuses everything else.
 */
import { bind, createBindEnvironment, type Row } from '../../database/database.ts';
import type { PageTotal } from '../../database/page-query.ts';
import type { BindEnvironment, BindParts } from '../../database/sql.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { limits } from '../../protocol/limits.ts';
import type { RecordRequest } from '../../protocol/record-request.ts';
import { decodeSortCursor, encodeSortCursor, fingerprintList } from '../../query/cursor.ts';
import type { Grant } from '../../query/grant.ts';
import { permissionDenied } from '../../query/read-access.ts';
import {
  classifyOffset,
  type GetPlan,
  type ListPlan,
  type PageShape,
  planGet,
  planList,
} from '../../query/read-plan.ts';
import { planSort } from '../../query/sort-plan.ts';
import type { Collection } from '../../schema/registry.ts';
import {
  getCachedPlan,
  getRecordedPlan,
  type RecordContext,
  type RecordedPlan,
  toPlanContext,
} from '../record-context.ts';
import { parseKey } from '../record-key.ts';
import { readCounted } from './counts.ts';
import { buildPage } from './list-page.ts';
import { runReads } from './read-statements.ts';
import { recordList, recordRead } from './record-run.ts';

/** The `meta` of a list. Undefined members are left out of the reply. */
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

/** One record. */
export interface RecordResult {
  /** The record as JSON text. */
  readonly data: string;
  /** Its write counter, from which the ETag is made. */
  readonly counter: number;
}

/**
 * Reads a page of records, and how many there are in all.
 *
 *     await listRecords(context, posts, normaliseRequest('list', { filter: { status: 'open' }, pageSize: 2 }, false));
 *     // { data: '[{"id":1,…},{"id":2,…}]', meta: { count: 5, page: 1, pageSize: 2, totalPage: 3, hasNext: true, … } }
 *     // SELECT json_object('id',…,'status',…),… FROM "t_posts" WHERE "status"=? AND <row filter> ORDER BY "id" LIMIT 3
 *
 * The statement reads one record more than the page has; it tells whether there is a next page.
 *
 * @throws ApiError 403 without a list grant; 400 or 403 for names in the request that do not exist or are denied;
 *   `QUERY_TIMEOUT`.
 */
export async function listRecords(
  context: RecordContext,
  collection: Collection,
  request: RecordRequest,
): Promise<ListResult> {
  const grant = requireGrant(context, collection, 'list');
  requireTrashSupport(request, collection);
  const pageSize = request.pageSize ?? limits.pageSizeDefault;
  const shape = { size: pageSize, content: 'text' } as const;
  const { plan, environment, fingerprint } = prepareList(context, { collection, grant, request }, shape);
  const { dialect } = context.database;
  const statement = bind(dialect, plan.page, environment);
  const started = plan.shape ? plan.shape.begin() : -1;
  const { rows, countRow, countVisited } = plan.count
    ? await readCounted(context, statement, bind(dialect, plan.count, environment), plan.tables)
    : { rows: (await runReads(context, [statement]))[0]!, countRow: null, countVisited: 0 };
  const result = plan.read(rows, countRow);
  if (started >= 0)
    recordList(plan, { statement, started, rows, result, countVisited, pageSize, offset: environment.offset });
  const page = buildPage(result.rows, plan, pageSize);
  let { total } = result;
  if (plan.estimate && total && total.count > plan.cap)
    total = await estimateTotal(context, plan.estimate, environment, total.count);
  const meta: ListMeta = {
    count: total?.count,
    countIsEstimate: total?.isEstimate ? true : undefined,
    page: request.after === null ? request.page : undefined,
    pageSize,
    totalPage: total ? Math.ceil(total.count / pageSize) : undefined,
    hasNext: page.hasNext,
    nextCursor: page.hasNext ? encodeSortCursor(fingerprint(), page.lastKeys(), plan.keys) : null,
    versions: request.versions ? page.versions() : undefined,
  };
  return { data: `[${page.text}]`, meta };
}

/**
 * Reads one record: by its key, or the first one that matches the filter.
 *
 *     await getRecord(context, posts, requestByKeys('get', 1));
 *     // { data: '{"id":1,"title":"Hello"}', counter: 3 }
 *     // SELECT json_object('id',…,'title',…),_v FROM "t_posts" WHERE "id"=? AND <row filter>
 *
 * @throws ApiError 403 without a get grant; 404 for a missing record, or 403 if the grant has a row filter;
 *   `TARGET_MISSING` without key and filter.
 */
export async function getRecord(
  context: RecordContext,
  collection: Collection,
  request: RecordRequest,
): Promise<RecordResult> {
  const grant = requireGrant(context, collection, 'get');
  requireTrashSupport(request, collection);
  const key = parseKey(request.filterByTk, collection);
  if (key === undefined && request.filter === null && request.within === null)
    throw new ApiError('TARGET_MISSING', 'get needs "filterByTk" or a filter.');
  const plan = getRecordedPlan(context, grant, `${collection.name}:get ${request.shape}`, () =>
    planGet(request, collection, grant, toPlanContext(context)),
  );
  const row = await readFirstRow(context, plan, buildRequestEnvironment(context, request, { key }));
  if (!row) throw recordNotFound(collection, grant, request.filter !== null);
  return { data: row[0] as string, counter: row[1] as number };
}

/** @throws ApiError 400 if the request asks for soft-deleted records of a collection without a trash. */
export function requireTrashSupport(request: RecordRequest, collection: Collection): void {
  if (request.trash !== 'without' && collection.trash === null)
    throw new ApiError('PARAMETER_INVALID', `Soft delete is not enabled for ${collection.name} ("options.paranoid").`);
}

/** The grant for an action on a collection. @throws ApiError `NO_PERMISSION` without one. */
export function requireGrant(context: RecordContext, collection: Collection, action: string): Grant {
  const grant = context.findGrant(collection.name, action);
  if (!grant) throw permissionDenied(collection.name, action);
  return grant;
}

/**
 * The error for a record that the grant does not reach. Under a row filter it is 403 whether or not the record exists, so
 * that it does not reveal which records exist.
 */
export function recordNotFound(collection: Collection, grant: Grant, byFilter = false): ApiError {
  if (grant.rows && !byFilter)
    return new ApiError('NO_PERMISSION', `The role may not access this record of ${collection.name}.`);
  return new ApiError(
    'RECORD_UNKNOWN',
    byFilter ? `No record of ${collection.name} matches.` : `${collection.name} has no record with this key.`,
  );
}

/**
 * The environment that a statement is bound to: the values of the request, the caller's variables, the time and the
 * snapshot version.
 */
export function buildRequestEnvironment(
  context: RecordContext,
  request: RecordRequest,
  parts: BindParts,
): BindEnvironment {
  return createBindEnvironment({
    values: parts.values ?? request.values,
    valuesAreText: request.valuesAreText,
    variables: context.variables,
    now: context.clock.now(),
    zone: context.zone,
    parent: request.within ? parseKey(request.within.key, context.registry.get(request.within.collection)) : undefined,
    version: context.snapshotVersion.version,
    key: parts.key,
    cursor: parts.cursor,
    offset: parts.offset,
    record: parts.record,
    counters: parts.counters,
    event: parts.event,
  });
}

/** The input for planning a list. */
export interface ListQuery {
  readonly collection: Collection;
  readonly grant: Grant;
  readonly request: RecordRequest;
  /** Canonical keys that replace the `filterByTk` of the request. */
  readonly keys?: readonly unknown[];
}

/** Plans a page of a list, and reads the cursor of its request. @throws ApiError 400 for a cursor of another list. */
export function prepareList(
  context: RecordContext,
  query: ListQuery,
  { size, content }: Pick<PageShape, 'size' | 'content'>,
): PreparedList {
  const { collection, grant, request } = query;
  const fingerprint = (): string => getListFingerprint(request, collection, context.caller.role);
  const key = query.keys ?? parseKey(request.filterByTk, collection);
  const offset = (request.page - 1) * size;
  const shape: PageShape = { size, content, offset: classifyOffset(offset), cursorNulls: null };
  if (request.after === null) {
    const plan = getListPlan(context, query, shape);
    return {
      plan,
      environment: buildRequestEnvironment(context, request, { key, offset }),
      fingerprint,
    };
  }
  const sortKeys = getCachedPlan(context, grant, `${collection.name}:sort ${request.shape}`, () =>
    planSort(request.sort, collection, grant, context),
  );
  const cursor = decodeSortCursor(request.after, fingerprint(), sortKeys);
  const plan = getListPlan(context, query, {
    ...shape,
    cursorNulls: cursor.map((each) => each === null),
  });
  return { plan, environment: buildRequestEnvironment(context, request, { key, cursor }), fingerprint };
}

/** A list that is ready to run. */
export interface PreparedList {
  readonly plan: RecordedPlan<ListPlan>;
  readonly environment: BindEnvironment;
  /** The prefix of the cursors of this list. Other lists refuse these cursors. */
  readonly fingerprint: () => string;
}

/** Repeated requests are the same object, so their fingerprints are cached by it. */
const fingerprints = new WeakMap<RecordRequest, { readonly scope: string; readonly fingerprint: string }>();

function getListFingerprint(request: RecordRequest, collection: Collection, role: string): string {
  const { within } = request;
  const scope = `${collection.id} ${role}${within ? ` ${within.collection} ${within.relation} ${String(within.key)}` : ''}`;
  const cached = fingerprints.get(request);
  if (cached?.scope === scope) return cached.fingerprint;
  const fingerprint = fingerprintList(scope, request.sort, request.filter, request.values, request.filterByTk);
  fingerprints.set(request, { scope, fingerprint });
  return fingerprint;
}

function getListPlan(
  context: RecordContext,
  { collection, grant, request }: ListQuery,
  shape: PageShape,
): RecordedPlan<ListPlan> {
  const nulls = shape.cursorNulls?.map(Number).join('') ?? '';
  const key = `${collection.name}:list ${request.shape}${shape.size} ${shape.offset} ${shape.content}${nulls}`;
  return getRecordedPlan(context, grant, key, () =>
    planList({ request, shape }, collection, grant, toPlanContext(context)),
  );
}

async function readFirstRow(
  context: RecordContext,
  plan: RecordedPlan<GetPlan>,
  environment: BindEnvironment,
): Promise<Row | null> {
  const statement = bind(context.database.dialect, plan.statement, environment);
  const started = plan.shape ? plan.shape.begin() : -1;
  const [rows] = await runReads(context, [statement]);
  const found = plan.read(rows!).rows;
  if (started >= 0)
    recordRead(plan.shape, { statement, started, rows: rows!, returned: found.length, hasMore: found.length > 0 });
  return found[0] ?? null;
}

/** Estimates a total that is too large to be counted. */
async function estimateTotal(
  context: RecordContext,
  estimate: NonNullable<ListPlan['estimate']>,
  environment: BindEnvironment,
  counted: number,
): Promise<PageTotal> {
  const [rows] = await runReads(context, [bind(context.database.dialect, estimate.statement, environment)]);
  return { count: Math.max(counted, estimate.read(rows![0]!)), isEstimate: true };
}
