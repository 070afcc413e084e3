/**
 * Compiles a page of records that match a search with the help of search indexes. It is one statement, whose branches
 * are chosen by the values of a run: texts without a trigram are scanned for.
 *
 * On SQLite, a list in the order of its keys reads the candidates of the indexes in this order, and stops when the page is
 * full. In another order, up to 5,000 candidates are sorted; if there are more, a scan in the order of the list soon finds
 * a page of them. Example, shortened:
 *
 *     SELECT … FROM posts WHERE id IN (
 *       WITH few AS MATERIALIZED (SELECT … AS id FROM _sx7_12 WHERE _sx7_12 MATCH ? LIMIT 5001)
 *       SELECT id FROM (SELECT r.id FROM (SELECT DISTINCT id FROM few) m CROSS JOIN posts r ON r.id=m.id
 *         WHERE <condition> ORDER BY r.title,r.id LIMIT CASE WHEN <few> THEN 21 ELSE 0 END)
 *       UNION ALL SELECT id FROM (<scan> LIMIT CASE WHEN <few> THEN 0 ELSE 21 END)) ORDER BY title,id LIMIT 21
 *
 * On PostgreSQL, the first 1,000 records in the order of the list are tested first; if they do not fill the page, the
 * planner looks up all matches, and sorts them:
 *
 *     WITH hits AS MATERIALIZED (SELECT r.id FROM (SELECT * FROM posts r ORDER BY r.id LIMIT 1000) r
 *       WHERE <condition> LIMIT 21)
 *     SELECT id FROM hits UNION ALL
 *     SELECT id FROM (SELECT r.id FROM (SELECT r.id FROM posts r WHERE <folded text> LIKE ? AND <rest>
 *       AND (SELECT count(*) FROM hits)<21 OFFSET 0) r ORDER BY r.id LIMIT 21) s
 *     UNION ALL <scan, unless the indexes can answer>
 */
import type { CountedRows } from '../database/page-query.ts';
import type { SearchLookUp, SearchTest } from '../database/search-index.ts';
import { identifier, join, joinBalanced, type Param, type Sql, sql } from '../database/sql.ts';
import { requireColumn, requireStorage } from '../schema/field-parts.ts';
import type { Collection } from '../schema/registry.ts';
import { type Condition, compileConditions, compileKey, compileWhere } from './conditions.ts';
import { afterCursorInOneSegment, type OrderedKeys, type Segment, wholeOrder } from './keyset.ts';
import { compileTablePage, orderKeys, type PageParts, pageOffset, selectByKeys } from './page-compiler.ts';
import { canLookUp, compileSearchTests, type SearchSource } from './search-source.ts';
import { isIndexOrder } from './sort-plan.ts';
import type { StatementScope } from './statement-scope.ts';

/** Above this number of candidates, a scan in the order of the list finds a page sooner than sorting them. */
const maxSorted = 5000;
/** For larger pages, the first records of a list are not tested first. */
const maxProbedPage = 200;

/** A page of records that match a search. */
export function compileSearchPage(page: PageParts, source: SearchSource, scope: StatementScope): Sql {
  const { search } = scope.dialect;
  if (search.lookUp === null) return selectByKeys(page, compilePlannedKeys(page, source, scope), scope);
  const keys = isKeyOrder(page) && !source.isNarrow ? compileKeyOrder : compileFewOrScan;
  return selectByKeys(page, keys(page, source, search.lookUp, scope), scope);
}

/** The list is in the order of the table's row ids. */
function isKeyOrder({ keys, collection }: PageParts): boolean {
  const storage = requireStorage(collection.primaryKey);
  return keys[0]?.field === collection.primaryKey && (storage === 'integer' || storage === 'bigint');
}

/** Candidates in the order of their row ids; rows are read until the page is full. */
function compileKeyOrder(page: PageParts, source: SearchSource, lookUp: SearchLookUp, scope: StatementScope): Sql {
  const { collection, condition } = page;
  const usable = sql`${canLookUp(source)}`;
  const descending = page.keys[0]?.descending ? ' DESC' : '';
  const bounds = compileSegment(page, sortByRowId(page, lookUp), scope).condition;
  const tests = compileSearchTests(source, 'r', collection, scope);
  const found = tests.map(({ index, operator, operand }) =>
    lookUp.candidates(index, toExpression(lookUp, operator, operand), bounds),
  );
  // The limit keeps the order: SQLite would omit the sort of a subquery in a join.
  const matches = sql`${join(found, ' UNION ')} ORDER BY 1${descending} LIMIT -1`;
  const where = compileConditions({ alias: 'r', collection, conditions: [condition], scans: true }, scope);
  const table = identifier(collection.table);
  const rows = sql`SELECT r.${quoteKey(collection)} AS id FROM (${matches}) m
CROSS JOIN ${table} r ON ${lookUp.rowIdOf('r')}=m.id WHERE ${where ?? '1=1'} ${limitWhere(page, usable)}`;
  return sql`SELECT id FROM (${rows}) UNION ALL SELECT id FROM (${compileScan(page, usable, scope)})`;
}

/** The order by the key, which is the row id of the index. */
function sortByRowId({ keys }: PageParts, { rowId }: SearchLookUp): OrderedKeys {
  const [key] = keys;
  if (!key) throw new Error('A sort has at least one key.');
  return [{ key, value: rowId }];
}

/**
 * Up to {@link maxSorted} candidates are sorted; if there are more, matches are found by a scan in the order of the
 * list.
 */
function compileFewOrScan(page: PageParts, source: SearchSource, lookUp: SearchLookUp, scope: StatementScope): Sql {
  const { collection, condition } = page;
  const isFew = sql`(${canLookUp(source)} AND (SELECT count(*) FROM few)<=${maxSorted})`;
  const segment = compileSegment(page, orderKeys(page.keys, 'r', scope), scope);
  const conditions = [toCondition(segment.condition), condition];
  const where = compileConditions({ alias: 'r', collection, conditions, scans: true }, scope);
  const rows = sql`SELECT r.${quoteKey(collection)} AS id FROM (SELECT DISTINCT id FROM few) m
CROSS JOIN ${identifier(collection.table)} r ON ${lookUp.rowIdOf('r')}=m.id WHERE ${where ?? '1=1'}
ORDER BY ${segment.order} ${limitWhere(page, isFew)}`;
  return sql`WITH few AS MATERIALIZED (${compileFew(source, collection, lookUp, scope)})
SELECT id FROM (${rows}) UNION ALL SELECT id FROM (${compileScan(page, isFew, scope)})`;
}

/** The candidates of each index, and one more than {@link maxSorted} of them. */
function compileFew(source: SearchSource, collection: Collection, lookUp: SearchLookUp, scope: StatementScope): Sql {
  const found = compileSearchTests(source, 'r', collection, scope).map(({ index, operator, operand }) => {
    const candidates = lookUp.candidates(index, toExpression(lookUp, operator, operand), null);
    return sql`SELECT id FROM (${candidates} LIMIT ${maxSorted + 1})`;
  });
  return join(found, ' UNION ALL ');
}

/** A page without an index. It reads nothing where `isFound` holds. */
function compileScan(page: PageParts, isFound: Sql, scope: StatementScope): Sql {
  const { collection, keys } = page;
  const scanned = { ...page, columns: sql`${compileKey(collection)} AS id` };
  const limit = sql`CASE WHEN ${isFound} THEN 0 ELSE ${page.shape.size + 1} END`;
  return compileTablePage(scanned, orderKeys(keys, collection.table, scope), scope, limit);
}

/** The planner chooses how to look up matches. The first records of the list are tested before that. */
function compilePlannedKeys(page: PageParts, source: SearchSource, scope: StatementScope): Sql {
  const { collection, keys, shape } = page;
  const key = quoteKey(collection);
  const usable = sql`${canLookUp(source)}`;
  const segment = compileSegment(page, orderKeys(keys, 'r', scope), scope);
  const bounds = toCondition(segment.condition);
  const tests = compileSearchTests(source, 'r', collection, scope);
  const isIndexed = (): Sql => compileIndexedPart(tests, scope);
  const hits = compileHits(page, segment, usable, scope);
  const isNeeded = hits === null ? null : () => sql`(SELECT count(*) FROM hits)<${shape.size + 1}`;
  const conditions = [() => usable, isNeeded, bounds, isIndexed, source.rest];
  const where = compileConditions({ alias: 'r', collection, conditions, scans: true }, scope);
  // The rows are found before they are sorted: the planner would read the whole order for few matches.
  const columns = keys.some(({ steps }) => steps.length > 0)
    ? 'r.*'
    : [...new Set([key, ...keys.map(({ field }) => identifier(requireColumn(field)))])]
        .map((each) => `r.${each}`)
        .join();
  const found = sql`SELECT r.${key} AS id FROM (
SELECT ${columns} FROM ${identifier(collection.table)} r WHERE ${where ?? '1=1'} OFFSET 0) r
ORDER BY ${segment.order} ${limitAll(page)}`;
  const all = sql`SELECT id FROM (${found}) f UNION ALL SELECT id FROM (${compileScan(page, usable, scope)}) s`;
  return hits === null ? all : sql`WITH hits AS MATERIALIZED (${hits}) SELECT id FROM hits UNION ALL ${all}`;
}

/** The matches among the first records in an order that an index has; null if that is not worthwhile. */
function compileHits(page: PageParts, segment: Segment, usable: Sql, scope: StatementScope): Sql | null {
  const { collection, condition, keys, shape } = page;
  const { probeLimit } = scope.dialect.search;
  const isProbed = shape.offset === 'none' && shape.size <= maxProbedPage && isIndexOrder(keys, collection);
  if (probeLimit === 0 || !isProbed) return null;
  const bounds = segment.condition === null ? sql`` : sql` WHERE ${segment.condition}`;
  const first = sql`SELECT * FROM ${identifier(collection.table)} r${bounds} ORDER BY ${segment.order} LIMIT ${probeLimit}`;
  const where = compileConditions(
    { alias: 'r', collection, conditions: [() => usable, condition], scans: true },
    scope,
  );
  return sql`SELECT r.${quoteKey(collection)} AS id FROM (${first}) r WHERE ${where ?? '1=1'} LIMIT ${shape.size + 1}`;
}

function compileIndexedPart(tests: readonly SearchTest[], { dialect }: StatementScope): Sql {
  const { indexed } = dialect.search;
  if (indexed === null) throw new Error('The engine looks up search indexes itself.');
  return joinBalanced(tests.map(indexed), ' OR ');
}

/** The rows of a total, found by search indexes where that is possible. */
export function compileSearchCount(
  source: SearchSource,
  condition: Condition,
  collection: Collection,
  scope: StatementScope,
): CountedRows {
  const { lookUp, indexed } = scope.dialect.search;
  const table = identifier(collection.table);
  const usable = sql`${canLookUp(source)}`;
  const compileAll = (conditions: readonly Condition[]): Sql =>
    compileConditions({ alias: collection.table, collection, conditions, scans: true }, scope) ?? sql`1=1`;
  const rows = { table, where: compileWhere([condition], true, collection, scope) };
  const scan = compileAll([condition]);
  const tests = compileSearchTests(source, collection.table, collection, scope);
  if (lookUp === null || indexed !== null) {
    const isFound = (): Sql => compileIndexedPart(tests, scope);
    return { ...rows, indexed: { condition: compileAll([isFound, source.rest]), scan, when: usable } };
  }
  const found = tests.map(({ index, operator, operand }) =>
    lookUp.candidates(index, toExpression(lookUp, operator, operand), null),
  );
  const isFound = (): Sql => sql`${lookUp.rowIdOf(collection.table)} IN (${join(found, ' UNION ALL ')})`;
  const few = sql`SELECT count(*) FROM (${compileFew(source, collection, lookUp, scope)})`;
  const when = source.isNarrow ? sql`(${usable} AND (${few})<=${maxSorted})` : usable;
  return { ...rows, indexed: { condition: compileAll([isFound, condition]), scan, when } };
}

/** The operand of a run as an expression; empty if it contains no trigram. */
function toExpression(
  lookUp: SearchLookUp,
  operator: Parameters<SearchLookUp['expression']>[0],
  operand: Param,
): Param {
  return {
    storage: 'text',
    read: (environment) => {
      const value = operand.read(environment);
      return typeof value === 'string' ? lookUp.expression(operator, value) : '';
    },
  };
}

function compileSegment({ shape }: PageParts, keys: OrderedKeys, { dialect }: StatementScope): Segment {
  return shape.cursorNulls ? afterCursorInOneSegment(keys, shape.cursorNulls, dialect) : wholeOrder(keys, dialect);
}

/** The limit and offset of a page in a branch that is only read if a condition holds. */
function limitWhere({ shape }: PageParts, condition: Sql): Sql {
  const limit = sql`LIMIT CASE WHEN ${condition} THEN ${shape.size + 1} ELSE 0 END`;
  return shape.offset === 'none' ? limit : sql`${limit} OFFSET ${pageOffset}`;
}

function limitAll({ shape }: PageParts): Sql {
  return shape.offset === 'none' ? sql`LIMIT ${shape.size + 1}` : sql`LIMIT ${shape.size + 1} OFFSET ${pageOffset}`;
}

function quoteKey({ primaryKey }: Collection): string {
  return identifier(requireColumn(primaryKey));
}

function toCondition(condition: Sql | null): Condition {
  return condition && (() => condition);
}
