/** Plans reads: a request with its names resolved under the caller's grants, compiled to statements. */
import { compile, type Row, type Statement } from '../database/database.ts';
import type { Dialect } from '../database/dialect.ts';
import { placementTables } from '../database/mail/mail-conditions.ts';
import type { CountedRows, ReadPage } from '../database/page-query.ts';
import { identifier, join, type Sql, sql } from '../database/sql.ts';
import { limits } from '../protocol/limits.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import { requireRelation, requireStorage } from '../schema/field-parts.ts';
import type { Storage } from '../schema/field-type.ts';
import { type Collection, getField } from '../schema/registry.ts';
import { compileCounter, compileWhere, keyCondition } from './conditions.ts';
import { planFilter, planRows, requireRelationAccess } from './filter-plan.ts';
import type { Grant } from './grant.ts';
import { type IndexNeed, planNeed } from './index-need.ts';
import { type OrderedKeys, wholeOrder } from './keyset.ts';
import { compileObject } from './object-compiler.ts';
import { compilePage, compileSourcedPage, orderKeys, type PageParts, type PageShape } from './page-compiler.ts';
import { findPageSource, type PageSource } from './page-source.ts';
import type { PlanContext } from './plan-context.ts';
import { both, type Predicate, presentCondition } from './predicate.ts';
import { permissionDenied } from './read-access.ts';
import { compileSearchCount, compileSearchPage } from './search-page.ts';
import { planFolders, planFullText, planSearch } from './search-plan.ts';
import { findSearchSource, findUnindexedSearch, type SearchSource } from './search-source.ts';
import { planSelection, type Selection } from './selection.ts';
import { planSort, type SortKey } from './sort-plan.ts';
import { StatementScope } from './statement-scope.ts';

export { compileCounter, compileWhere, keyCondition } from './conditions.ts';
export { classifyOffset, type PageShape } from './page-compiler.ts';
export type { PlanContext } from './plan-context.ts';

/** A compiled list. It can be run with other values as long as registry and access are the same. */
export interface ListPlan {
  /**
   * {@link ListPlan.read} makes these rows of its result: with `keyNames` one row, the objects as one text ({@link Dialect.pageText}) and
   * their number; else one row for each record, the object as JSON text, the value of each key, and the write counter if versions
   * are requested. Reads one record more than the page has.
   */
  readonly page: Statement;
  /** Reads the total in one row. Null if the page carries the total, or none is wanted. */
  readonly count: Statement | null;
  /** The total is exact up to this number. */
  readonly cap: number;
  /** Estimates a total above the cap; null if the total already is an estimate. */
  readonly estimate: { readonly statement: Statement; readonly read: (row: Row) => number } | null;
  readonly read: ReadPage;
  readonly keys: readonly SortKey[];
  /** Names under which the objects show all keys; null if rows carry them. */
  readonly keyNames: readonly string[] | null;
  /** Tables on which the count depends. */
  readonly tables: readonly string[];
  /** What an index must provide for it; null for reads by key and of system collections. */
  readonly need: IndexNeed | null;
}

/** One record by key, or the first match of a filter. `read` gives rows of: the object as JSON text, the write counter. */
export interface GetPlan {
  readonly statement: Statement;
  readonly read: ReadPage;
  /** As in {@link ListPlan}. */
  readonly need: IndexNeed | null;
}

type Conditions = Pick<RecordRequest, 'filter' | 'trash' | 'within' | 'search' | 'fullText' | 'folders'>;

/** The condition under which a request sees a row: its filter, the grant's row filter, and whether the row is in the trash. */
export function planCondition(
  request: Conditions,
  collection: Collection,
  grant: Grant,
  context: PlanContext,
): Predicate | null {
  const visible = both(planWithin(request, context), planRows(grant.rows, collection, context.registry, request.trash));
  const fullText = planFullText(request.fullText, collection, context);
  const folders = planFolders(request.folders, collection, grant, context);
  const rows = both(both(both(visible, fullText), folders), planSearch(request.search, collection, grant));
  if (request.filter === null) return rows;
  return both(rows, planFilter(request.filter, collection, grant, context));
}

/**
 * The condition under which a write reaches a row. Its filter is a read: it may only name what a list shows, and it
 * only matches rows that a list shows, so that a write by filter reveals nothing else.
 */
export function planWriteCondition(
  request: Conditions,
  collection: Collection,
  grant: Grant,
  context: PlanContext,
): Predicate | null {
  const rows = both(planWithin(request, context), planRows(grant.rows, collection, context.registry, request.trash));
  if (request.filter === null) return rows;
  const list = context.findGrant(collection.name, 'list');
  if (!list) throw permissionDenied(collection.name, 'list');
  return both(rows, planCondition(request, collection, list, context));
}

/** The rows that the relation of one record names, if the request reads a relation; the caller must be able to get the record. */
function planWithin({ within }: Conditions, context: PlanContext): Predicate | null {
  if (within === null) return null;
  const { registry } = context;
  const source = registry.get(within.collection);
  const field = getField(source, within.relation);
  const relation = requireRelation(field);
  const access = requireRelationAccess(field, source, registry.get(relation.target), context);
  return { kind: 'within', source, relation, parent: both(presentCondition(source, 'without'), access.parent) };
}

/** A list request and the shape of its page. */
export interface PageRequest {
  readonly request: RecordRequest;
  readonly shape: PageShape;
}

/**
 * Plans one page of a list.
 *
 * Example: `albums:list?count=none&sort=-id&pageSize=20` on SQLite, shortened:
 *
 *     SELECT group_concat(j,…),count(*) FROM (SELECT json_object('id',"albums_1"."id_1",…) AS j FROM "albums_1"
 *     WHERE <deadline check> ORDER BY "albums_1"."id_1" DESC LIMIT 21)
 *
 * @param grant of the caller for the action whose rows are listed.
 * @throws ApiError 400 for names and values that do not fit, 403 for denied fields.
 */
export function planList(
  { request, shape }: PageRequest,
  collection: Collection,
  grant: Grant,
  context: PlanContext,
): ListPlan {
  const { dialect } = context;
  const { scope, selection, keys, condition, keyed } = resolveRead(request, collection, grant, context);
  const orderedKeys = orderKeys(keys, collection.table, scope);
  const { keyNames, columns, columnCount } = compileColumns({ request, shape }, selection, orderedKeys, scope);
  const hasPlainSource = shape.offset !== 'none' || keyed !== null || request.trash !== 'without';
  const source = hasPlainSource ? null : findPageSource(condition, keys, collection, dialect);
  const search = source || keyed !== null ? null : findSearchSource(condition, collection);
  const page = { collection, columns, condition, keyed, keys, shape };
  const records = compileRecords(page, { source, search }, orderedKeys, scope);
  const cap = request.count === 'estimated' ? 1000 : limits.maxExactCount;
  const query = dialect.pageQuery({
    rows: keyNames ? dialect.pageText(records) : records,
    columns: columnCount,
    count: request.count === 'none' ? null : planCount({ keyed, condition, search }, collection, context),
    cap,
  });
  return {
    page: compile(dialect, query.page),
    count: query.count && compile(dialect, query.count),
    cap,
    estimate: query.estimate && { ...query.estimate, statement: compile(dialect, query.estimate.statement) },
    read: query.read,
    keys,
    keyNames,
    tables: [...collectTables(condition, new Set([collection.table]))],
    need: keyed === null ? planListNeed(condition, keys, collection, dialect) : null,
  };
}

/** What an index must provide for a list. Other reads do not use search indexes. */
function planListNeed(...parts: Parameters<typeof planNeed>): IndexNeed | null {
  const need = planNeed(...parts);
  const [condition, , collection] = parts;
  return need && { ...need, searched: findUnindexedSearch(condition, collection) };
}

/** How a page finds its rows; null: by reading its table. */
interface RowSources {
  readonly source: PageSource | null;
  readonly search: SearchSource | null;
}

function compileRecords(
  page: PageParts,
  { source, search }: RowSources,
  orderedKeys: OrderedKeys,
  scope: StatementScope,
): Sql {
  if (source) return compileSourcedPage(page, source, scope);
  return search ? compileSearchPage(page, search, scope) : compilePage(page, orderedKeys, scope);
}

/** A read with its names resolved under the grants, ready to be compiled. */
interface ResolvedRead {
  readonly scope: StatementScope;
  readonly selection: Selection;
  readonly keys: readonly SortKey[];
  readonly condition: Predicate | null;
  /** The primary keys that the request names; null: none. */
  readonly keyed: ((dialect: Dialect) => Sql) | null;
}

function resolveRead(request: RecordRequest, collection: Collection, grant: Grant, context: PlanContext): ResolvedRead {
  return {
    scope: new StatementScope(context.dialect),
    selection: planSelection(request, collection, grant, context),
    keys: planSort(request.sort, collection, grant, context),
    condition: planCondition(request, collection, grant, context),
    keyed: keyCondition(request, collection),
  };
}

/** What a page selects of each row, and how many columns its result has. */
interface PageColumns {
  readonly columns: Sql;
  readonly columnCount: number;
  readonly keyNames: readonly string[] | null;
}

function compileColumns(
  { request, shape }: PageRequest,
  selection: Selection,
  orderedKeys: OrderedKeys,
  scope: StatementScope,
): PageColumns {
  const { dialect } = scope;
  const { collection } = selection;
  const isKeysOnly = shape.content === 'keys';
  const wantsText = shape.content !== 'rows' && !request.versions;
  const keyNames = wantsText ? findKeyNames(orderedKeys, isKeysOnly ? null : selection) : null;
  const keyColumns = orderedKeys.map(({ key, value }) => ({ storage: requireStorage(key.field), value }));
  const extra = [
    ...(keyNames ? [] : keyColumns.map(({ storage, value }) => dialect.scalar(storage, value))),
    ...(request.versions ? [compileCounter(collection)] : []),
  ];
  const whole = isKeysOnly
    ? dialect.object(keyColumns.map(({ storage, value }, index) => dialect.member(String(index), storage, value)))
    : compileObject(selection, collection.table, scope);
  const object = shape.maxLength === undefined ? whole : limitLength(whole, shape.maxLength);
  return {
    columns: join([sql`${object} AS j`, ...extra], ','),
    columnCount: keyNames ? 2 : 1 + extra.length,
    keyNames,
  };
}

function limitLength(object: Sql, maxLength: number): Sql {
  const limited = sql`CASE WHEN length(CAST(b.t AS text))>${maxLength} THEN NULL ELSE b.t END`;
  return sql`(SELECT ${limited} FROM (SELECT ${object} AS t) b)`;
}

/**
 * Plans the read of one record. It shows the fields of the action's own grant, whatever grant the rows come from.
 *
 * Example: `albums:get?filterByTk=1` on SQLite becomes
 * `SELECT json_object(…),"albums_1"._v FROM "albums_1" WHERE "albums_1"."id_1"=?`.
 *
 * @throws ApiError as {@link planList}.
 */
export function planGet(request: RecordRequest, collection: Collection, grant: Grant, context: PlanContext): GetPlan {
  const { dialect } = context;
  const { scope, selection, keys, condition, keyed } = resolveRead(request, collection, grant, context);
  const isByFilter = request.filter !== null || keyed === null;
  const object = compileObject(selection, collection.table, scope);
  const where = compileWhere([keyed, condition], isByFilter, collection, scope);
  const order = isByFilter
    ? sql` ORDER BY ${wholeOrder(orderKeys(keys, collection.table, scope), dialect).order} LIMIT 1`
    : sql``;
  const columns = sql`${object},${compileCounter(collection)}`;
  const select = sql`SELECT ${columns} FROM ${identifier(collection.table)}${where}${order}`;
  const { page, read } = dialect.pageQuery({ rows: select, columns: 2, count: null, cap: 0 });
  const need = isByFilter ? planNeed(condition, keys, collection, dialect) : null;
  return { statement: compile(dialect, page), read, need };
}

/** The names of the keys in a page's objects, from which the next page's cursor is made; null if they do not show them exactly. */
function findKeyNames(orderedKeys: OrderedKeys, selection: Selection | null): string[] | null {
  const keys = orderedKeys.map(({ key }) => key);
  if (!keys.every(({ field }) => exactInJson.has(requireStorage(field)))) return null;
  if (selection === null) return keys.map((_, index) => String(index));
  const isShown = keys.every(({ steps, field }) => steps.length === 0 && selection.fields.includes(field));
  return isShown ? keys.map(({ field }) => field.name) : null;
}

/** Storages whose values JSON text holds exactly. */
const exactInJson: ReadonlySet<Storage> = new Set(['text', 'integer', 'double', 'boolean', 'datetime', 'uuid']);

/** The rows that a list finds on all of its pages. */
function planCount(
  { keyed, condition, search }: Pick<ResolvedRead, 'keyed' | 'condition'> & Pick<RowSources, 'search'>,
  collection: Collection,
  { dialect }: PlanContext,
): CountedRows {
  const scope = new StatementScope(dialect);
  if (search) return compileSearchCount(search, condition, collection, scope);
  const where = compileWhere([keyed, condition], true, collection, scope);
  return { table: identifier(collection.table), where };
}

/** The tables that a predicate reads. */
function collectTables(predicate: Predicate | null, into: Set<string>): Set<string> {
  if (predicate === null) return into;
  if (predicate.kind === 'all' || predicate.kind === 'any') for (const each of predicate.of) collectTables(each, into);
  if (predicate.kind === 'not' || predicate.kind === 'variables') collectTables(predicate.of, into);
  if (predicate.kind === 'within') {
    into.add(predicate.source.table);
    if (predicate.relation.through) into.add(predicate.relation.through.table);
    collectTables(predicate.parent, into);
  }
  if (predicate.kind === 'placed') for (const table of placementTables) into.add(table);
  if (predicate.kind === 'related') {
    into.add(predicate.target.table);
    if (predicate.relation.through) into.add(predicate.relation.through.table);
    collectTables(predicate.of, into);
  }
  return into;
}
