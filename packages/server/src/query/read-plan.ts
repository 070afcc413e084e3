import { compile, type Row, type Statement } from '../database/database.ts';
import type { Dialect } from '../database/dialect.ts';
import type { CountedRows, ReadPage } from '../database/page-query.ts';
import { identifier, join, joinBalanced, type Param, type Sql, sql } from '../database/sql.ts';
import { limits } from '../protocol/limits.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import type { Storage } from '../schema/field-type.ts';
import { type Collection, getField } from '../schema/registry.ts';
import { compileCandidateScan } from './candidate-scan.ts';
import { planFilter, planRows, requireRelationAccess } from './filter-plan.ts';
import type { Grant } from './grant.ts';
import {
  afterCursor,
  afterCursorInOneSegment,
  type CursorNulls,
  type OrderedKey,
  type Segment,
  wholeOrder,
} from './keyset.ts';
import { compileObject } from './object-compiler.ts';
import { compileGroupedPage, compileMailboxPage, findPageSource, keyBounds, type PageSource } from './page-source.ts';
import type { PlanContext } from './plan-context.ts';
import { both, countTests, type Predicate, presentCondition } from './predicate.ts';
import {
  Aliases,
  compileColumn,
  compileFieldTest,
  compileFullText,
  compileMailboxes,
  compilePredicate,
} from './predicate-compiler.ts';
import { permissionDenied } from './read-access.ts';
import { planFolders, planFullText, planSearch } from './search-plan.ts';
import { planSelection, type Selection } from './selection.ts';
import { compileSortKey, planSort, type SortKey } from './sort-plan.ts';

export type { PlanContext } from './plan-context.ts';

/** A list, compiled: run it with values as often as wanted while registry and access stay as they are. */
export interface ListPlan {
  /**
   * With `keyNames` one row: the objects as one text ({@link Dialect.pageText}) and their number. Else rows of: the
   * object as JSON text, the value of each key, and the write counter where versions are asked for. Takes one record
   * more than the page has. {@link ListPlan.read} makes these rows of the statement's result.
   */
  readonly page: Statement;
  /** Reads the total in one row. Null where the page carries the total, or none is wanted. */
  readonly count: Statement | null;
  /** The total is exact up to this number. */
  readonly cap: number;
  /** Estimates a total above the cap; null where the total already is an estimate. */
  readonly estimate: { readonly statement: Statement; readonly read: (row: Row) => number } | null;
  readonly read: ReadPage;
  readonly keys: readonly SortKey[];
  /** Names under which the objects show all keys; null where rows carry them. */
  readonly keyNames: readonly string[] | null;
  /** Tables on which the count depends. */
  readonly tables: readonly string[];
}

/** One record by key, or the first match of a filter. `read` gives rows of: the object as JSON text, the write counter. */
export interface GetPlan {
  readonly statement: Statement;
  readonly read: ReadPage;
}

type Conditions = Pick<RecordRequest, 'filter' | 'trash' | 'within' | 'search' | 'fullText' | 'folders'>;

const offset: Param = { storage: 'bigint', read: (environment) => environment.offset };

/** The condition under which a request may see a row: filter, the grant's row filter, and whether it is in the trash. */
export function planCondition(
  request: Conditions,
  collection: Collection,
  grant: Grant,
  context: PlanContext,
): Predicate | null {
  const visible = both(planWithin(request, context), planRows(grant.rows, collection, context.registry, request.trash));
  const fullText = planFullText(request.fullText, collection, context);
  const folders = planFolders(request.folders, collection, grant, context.registry, context.findGrant);
  const rows = both(both(both(visible, fullText), folders), planSearch(request.search, collection, grant));
  if (request.filter === null) return rows;
  return both(rows, planFilter(request.filter, collection, grant, context.registry, context.findGrant));
}

/**
 * The condition under which a write reaches a row. Its filter is a read: it may name what list shows, and matches rows
 * that list shows, so that a write by filter tells nothing that a list would not.
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

/** The rows that the relation of one record names, where that is asked for; the caller must be able to get the record. */
function planWithin({ within }: Conditions, { registry, findGrant }: PlanContext): Predicate | null {
  if (within === null) return null;
  const source = registry.get(within.collection);
  const field = getField(source, within.relation);
  const relation = field.relation!;
  const access = requireRelationAccess(field, source, registry.get(relation.target), findGrant, registry);
  return { kind: 'within', source, relation, parent: both(presentCondition(source, 'without'), access.parent) };
}

/** What of a page stands in the statement's text. */
export interface PageShape {
  /** Records of the page; the statement takes one more. */
  readonly size: number;
  readonly hasOffset: boolean;
  /** Where the cursor of `after` holds null; null without a cursor. */
  readonly cursorNulls: CursorNulls | null;
  /** As one text where that is possible, or as rows; `keys`: as text, of objects that show the sort's keys by their place. */
  readonly content: 'text' | 'rows' | 'keys';
  /** Characters of a record's text past which null stands in its place, so that it is never taken into memory; rows only. */
  readonly maxLength?: number;
}

export function planList(
  request: RecordRequest,
  collection: Collection,
  grant: Grant,
  shape: PageShape,
  context: PlanContext,
): ListPlan {
  const { dialect, registry, findGrant } = context;
  const selection = planSelection(request, collection, grant, registry, findGrant);
  const keys = planSort(request.sort, collection, grant, registry, findGrant);
  const condition = planCondition(request, collection, grant, context);
  const keyed = keyCondition(request, collection);
  const segments = compileSegments(keys, shape.cursorNulls, collection, dialect);
  const isKeysOnly = shape.content === 'keys';
  const wantsText = shape.content !== 'rows' && !request.versions;
  const keyNames = wantsText ? findKeyNames(keys, isKeysOnly ? null : selection) : null;
  const extra = [
    ...(keyNames ? [] : segments.keys.map(({ key, value }) => dialect.scalar(key.field.type.storage!, value))),
    ...(request.versions ? [compileCounter(collection)] : []),
  ];
  const whole = isKeysOnly
    ? dialect.object(
        segments.keys.map(({ key, value }, index) => dialect.member(String(index), key.field.type.storage!, value)),
      )
    : compileObject(selection, collection.table, dialect, segments.aliases);
  const object = shape.maxLength === undefined ? whole : limitLength(whole, shape.maxLength);
  const columns = join([sql`${object} AS j`, ...extra], ',');
  const isPlain = shape.hasOffset || keyed !== null || request.trash !== 'without';
  const source = isPlain ? null : findPageSource(condition, keys, collection, dialect);
  const records = source
    ? compileSourcedPage(source, columns, keys, shape, collection, dialect, segments.aliases)
    : compilePage(columns, segments, condition, keyed, shape, collection, dialect);
  const page = keyNames ? dialect.pageText(records) : records;
  const wantsCount = request.count !== 'none';
  const cap = request.count === 'estimated' ? 1000 : limits.maxExactCount;
  const count = wantsCount ? planCount(condition, keyed, collection, dialect) : null;
  const query = dialect.pageQuery({ rows: page, columns: keyNames ? 2 : 1 + extra.length, count, cap });
  return {
    page: compile(dialect, query.page),
    count: query.count && compile(dialect, query.count),
    cap,
    estimate: query.estimate && { ...query.estimate, statement: compile(dialect, query.estimate.statement) },
    read: query.read,
    keys,
    keyNames,
    tables: [...collectTables(condition, new Set([collection.table]))],
  };
}

function limitLength(object: Sql, maxLength: number): Sql {
  return sql`(SELECT CASE WHEN length(CAST(b.t AS text))>${maxLength} THEN NULL ELSE b.t END FROM (SELECT ${object} AS t) b)`;
}

/** The object keeps the action's own field mask, whatever grant the rows come from. */
export function planGet(request: RecordRequest, collection: Collection, grant: Grant, context: PlanContext): GetPlan {
  const { dialect, registry, findGrant } = context;
  const selection = planSelection(request, collection, grant, registry, findGrant);
  const keys = planSort(request.sort, collection, grant, registry, findGrant);
  const condition = planCondition(request, collection, grant, context);
  const keyed = keyCondition(request, collection);
  const isByFilter = request.filter !== null || keyed === null;
  const aliases = new Aliases();
  const object = compileObject(selection, collection.table, dialect, aliases);
  const where = compileWhere([keyed, condition], isByFilter, collection, dialect, aliases);
  const order = isByFilter
    ? sql` ORDER BY ${wholeOrder(orderKeys(keys, collection, dialect, aliases), dialect).order} LIMIT 1`
    : sql``;
  const select = sql`SELECT ${object},${compileCounter(collection)} FROM ${identifier(collection.table)}${where}${order}`;
  const { page, read } = dialect.pageQuery({ rows: select, columns: 2, count: null, cap: 0 });
  return { statement: compile(dialect, page), read };
}

/** The hidden write counter of a row. */
export function compileCounter(collection: Collection): Sql {
  return sql`${identifier(collection.table)}._v`;
}

/** `filterByTk` as a condition: one key, or a list of them. */
export function keyCondition(
  request: Pick<RecordRequest, 'filterByTk'>,
  collection: Collection,
): ((dialect: Dialect) => Sql) | null {
  if (request.filterByTk === undefined) return null;
  const isMany = Array.isArray(request.filterByTk);
  const key: Param = {
    storage: collection.primaryKey.type.storage!,
    list: isMany,
    read: (environment) => environment.key,
  };
  const column = sql`${identifier(collection.table)}.${identifier(collection.primaryKey.column!)}`;
  return (dialect) => (isMany ? dialect.isIn(column, key) : sql`${column}=${key}`);
}

function orderKeys(keys: readonly SortKey[], collection: Collection, dialect: Dialect, aliases: Aliases): OrderedKey[] {
  return orderKeysAt(keys, collection.table, dialect, aliases);
}

function orderKeysAt(keys: readonly SortKey[], alias: string, dialect: Dialect, aliases: Aliases): OrderedKey[] {
  return keys.map((key) => ({ key, value: compileSortKey(key, alias, dialect, aliases) }));
}

/** A page's last record tells where the next one starts, if it shows all that it is sorted by. */
function findKeyNames(keys: readonly SortKey[], selection: Selection | null): string[] | null {
  if (!keys.every(({ field }) => exactInJson.has(field.type.storage!))) return null;
  if (selection === null) return keys.map((_, index) => String(index));
  const isShown = keys.every(({ steps, field }) => steps.length === 0 && selection.fields.includes(field));
  return isShown ? keys.map(({ field }) => field.name) : null;
}

/** Storages whose values JSON text gives back as they were. */
const exactInJson: ReadonlySet<Storage> = new Set(['text', 'integer', 'double', 'boolean', 'datetime', 'uuid']);

interface CompiledOrder {
  readonly segments: readonly Segment[];
  readonly keys: readonly OrderedKey[];
  readonly aliases: Aliases;
}

function compileSegments(
  keys: readonly SortKey[],
  nulls: CursorNulls | null,
  collection: Collection,
  dialect: Dialect,
): CompiledOrder {
  const aliases = new Aliases();
  const values = orderKeys(keys, collection, dialect, aliases);
  return {
    segments: nulls ? afterCursor(values, nulls, dialect) : [wholeOrder(values, dialect)],
    keys: values,
    aliases,
  };
}

function compilePage(
  columns: Sql,
  { segments, aliases }: CompiledOrder,
  condition: Predicate | null,
  keyed: ((dialect: Dialect) => Sql) | null,
  { size, hasOffset }: PageShape,
  collection: Collection,
  dialect: Dialect,
): Sql {
  // A number in the text: SQLite looks at a bound LIMIT while it plans, and so plans anew at each run (25 µs).
  const range = hasOffset ? sql`LIMIT ${size + 1} OFFSET ${offset}` : sql`LIMIT ${size + 1}`;
  const table = identifier(collection.table);
  const selects = segments.map((segment) => {
    const where = compileWhere(
      [segment.condition && (() => segment.condition!), keyed, condition],
      true,
      collection,
      dialect,
      aliases,
    );
    const rows = sql`FROM ${table}${where} ORDER BY ${segment.order} ${range}`;
    // PostgreSQL would render every record that the offset passes over; so it passes over bare rows.
    return hasOffset ? sql`SELECT ${columns} FROM (SELECT * ${rows}) ${table}` : sql`SELECT ${columns} ${rows}`;
  });
  if (selects.length === 1) return selects[0]!;
  const all = selects
    .map((select) => sql`SELECT * FROM (${select}) s`)
    .reduce((left, right) => sql`${left} UNION ALL ${right}`);
  return sql`${all} LIMIT ${size + 1}`;
}

/** A page by its source. */
function compileSourcedPage(
  source: PageSource,
  columns: Sql,
  keys: readonly SortKey[],
  { size, cursorNulls }: PageShape,
  collection: Collection,
  dialect: Dialect,
  aliases: Aliases,
): Sql {
  const table = identifier(collection.table);
  const keyColumn = sql`${table}.${identifier(collection.primaryKey.column!)}`;
  const range = sql`LIMIT ${size + 1}`;
  const buildSegment = (values: readonly OrderedKey[]): Segment =>
    cursorNulls ? afterCursorInOneSegment(values, cursorNulls, dialect) : wholeOrder(values, dialect);
  const compileConditionsIn = (alias: string, conditions: readonly Condition[]): Sql | null =>
    compileConditions(alias, [...conditions, source.rest], true, collection, dialect, aliases);
  if (source.by === 'words') {
    const { table: index, key: found, matches } = source.index;
    const { condition, order } = buildSegment([{ key: keys[0]!, value: found }]);
    const within = keyBounds(source.rest, collection).map((each) => () => compileFieldTest(each, found, dialect));
    const where = compileConditionsIn(collection.table, [
      () => matches(compileFullText(source.matched)),
      condition && (() => condition),
      ...within,
    ]);
    return sql`SELECT ${columns} FROM ${index} CROSS JOIN ${table} ON ${keyColumn}=${found} WHERE ${where!} ORDER BY ${order} ${range}`;
  }
  if (source.by === 'placed') {
    const found = sql`p."emailId"`;
    const { condition, order } = buildSegment([{ key: keys[0]!, value: found }]);
    const within = keyBounds(source.rest, collection).map((each) => () => compileFieldTest(each, found, dialect));
    const where = compileConditionsIn('r', [condition && (() => condition), ...within]);
    const page = {
      collection,
      mailboxes: compileMailboxes(source.placed),
      maxRecords: size + 1,
      condition: where,
      order,
    };
    const whole = wholeOrder(orderKeys(keys, collection, dialect, aliases), dialect).order;
    return sql`SELECT ${columns} FROM ${table} WHERE ${keyColumn} IN (${compileMailboxPage(page, dialect)}) ORDER BY ${whole} ${range}`;
  }
  const { relation, target, of } = source.groups;
  const member = aliases.next();
  const shared = of ? sql` WHERE ${compilePredicate(of, member, target, dialect, aliases)}` : sql``;
  const { condition, order } = buildSegment(orderKeysAt(keys, 'r', dialect, aliases));
  const page = {
    collection,
    groups: sql`SELECT ${compileColumn(member, target, relation.targetField)} AS group_key FROM ${identifier(target.table)} ${identifier(member)}${shared}`,
    maxRecords: size + 1,
    condition: compileConditionsIn('r', [condition && (() => condition)]),
    order,
  };
  const [{ field: first, descending }] = keys as readonly [SortKey];
  const found =
    source.by === 'asking'
      ? compileCandidateScan(
          { ...page, match: source.match, group: relation.sourceField, key: first.name, descending },
          dialect,
          aliases,
        )
      : compileGroupedPage({ ...page, relation }, dialect);
  const whole = wholeOrder(orderKeys(keys, collection, dialect, aliases), dialect).order;
  return sql`SELECT ${columns} FROM ${table} WHERE ${keyColumn} IN (${found}) ORDER BY ${whole} ${range}`;
}

type Condition = Predicate | ((dialect: Dialect) => Sql) | null;

/** WHERE with the tick first, so that it is asked for every row that is visited. */
export function compileWhere(
  conditions: readonly Condition[],
  scans: boolean,
  collection: Collection,
  dialect: Dialect,
  aliases: Aliases,
): Sql {
  const all = compileConditions(collection.table, conditions, scans, collection, dialect, aliases);
  return all === null ? sql`` : sql` WHERE ${all}`;
}

/** Conditions about the row `alias`; null without any. */
function compileConditions(
  alias: string,
  conditions: readonly Condition[],
  scans: boolean,
  collection: Collection,
  dialect: Dialect,
  aliases: Aliases,
): Sql | null {
  const tests = conditions.reduce((sum, each) => sum + (typeof each === 'function' ? 1 : countTests(each)), 0);
  const tick = scans ? dialect.deadlineCheck(alias, tests) : null;
  const compiled = conditions
    .filter((condition) => condition !== null)
    .map((condition) =>
      typeof condition === 'function'
        ? condition(dialect)
        : compilePredicate(condition, alias, collection, dialect, aliases),
    );
  const all = tick ? [tick, ...compiled] : compiled;
  return all.length === 0 ? null : joinBalanced(all, ' AND ');
}

/** The rows that a list finds on all of its pages. */
function planCount(
  condition: Predicate | null,
  keyed: Condition,
  collection: Collection,
  dialect: Dialect,
): CountedRows {
  const where = compileWhere([keyed, condition], true, collection, dialect, new Aliases());
  return { table: identifier(collection.table), where };
}

function collectTables(predicate: Predicate | null, into: Set<string>): Set<string> {
  if (predicate === null) return into;
  if (predicate.kind === 'all' || predicate.kind === 'any') for (const each of predicate.of) collectTables(each, into);
  if (predicate.kind === 'not' || predicate.kind === 'variables') collectTables(predicate.of, into);
  if (predicate.kind === 'within') {
    into.add(predicate.source.table);
    if (predicate.relation.through) into.add(predicate.relation.through.table);
    collectTables(predicate.parent, into);
  }
  if (predicate.kind === 'matched') into.add('emails');
  if (predicate.kind === 'placed') for (const table of ['mailPlacements', 'mailboxes']) into.add(table);
  if (predicate.kind === 'related') {
    into.add(predicate.target.table);
    if (predicate.relation.through) into.add(predicate.relation.through.table);
    collectTables(predicate.of, into);
  }
  return into;
}
