/** Compiles the rows of one page of a list. */
import type { Dialect } from '../database/dialect.ts';
import { identifier, type Param, type Sql, sql } from '../database/sql.ts';
import type { Collection } from '../schema/registry.ts';
import { compileCandidateScan } from './candidate-scan.ts';
import { type Condition, compileConditions, compileKey, compileWhere } from './conditions.ts';
import {
  afterCursor,
  afterCursorInOneSegment,
  type CursorNulls,
  fromStart,
  type OrderedKey,
  type OrderedKeys,
  type Segment,
  wholeOrder,
} from './keyset.ts';
import { compileGroupedPage, compileMailboxPage, keyBounds, type PageSource, probeFolders } from './page-source.ts';
import type { Predicate } from './predicate.ts';
import {
  compileColumn,
  compileFieldTest,
  compileFullText,
  compileMailboxes,
  compilePredicate,
} from './predicate-compiler.ts';
import { compileSortKey, isIndexed, isIndexOrder, type SortKey } from './sort-plan.ts';
import type { StatementScope } from './statement-scope.ts';

/** How many records a page skips. */
export const pageOffset: Param = { storage: 'bigint', read: (environment) => environment.offset };

/** The parts of a page that are fixed in the statement's text. */
export interface PageShape {
  /** Records of the page; the statement reads one more. */
  readonly size: number;
  /** How many records the page skips, see {@link classifyOffset}. */
  readonly offset: 'none' | 'near' | 'far';
  /** Where the cursor of `after` holds null; null without a cursor. */
  readonly cursorNulls: CursorNulls | null;
  /**
   * `text`: one text if possible. `rows`: one row for each record. `keys`: one text, whose objects contain the sort
   * keys by their index.
   */
  readonly content: 'text' | 'rows' | 'keys';
  /**
   * The maximum length of a record's text, in characters. Longer texts are replaced by null, so that they are never
   * read into memory. Only for rows.
   */
  readonly maxLength?: number;
}

/** From this number of skipped records on, a page is found by the keys in an index. */
const farOffset = 500;

/** The offset of a page as a part of its shape. */
export function classifyOffset(records: number): PageShape['offset'] {
  if (records >= farOffset) return 'far';
  return records > 0 ? 'near' : 'none';
}

/** A page, resolved. */
export interface PageParts {
  readonly collection: Collection;
  /** The columns that are selected from each row. */
  readonly columns: Sql;
  readonly condition: Predicate | null;
  /** The condition on the keys in the request. */
  readonly keyed: Condition;
  readonly keys: readonly SortKey[];
  readonly shape: PageShape;
}

/** The sort keys with their SQL, for the row `alias`. */
export function orderKeys(keys: readonly SortKey[], alias: string, scope: StatementScope): OrderedKeys {
  const [first, ...rest] = keys.map((key): OrderedKey => ({ key, value: compileSortKey(key, alias, scope) }));
  if (!first) throw new Error('A sort has at least one key.');
  return [first, ...rest];
}

/** A page that is read from its table. */
export function compilePage(page: PageParts, orderedKeys: OrderedKeys, scope: StatementScope): Sql {
  const { collection, condition, keyed, keys, shape } = page;
  if (shape.offset === 'far' && condition === null && keyed === null && isIndexOrder(keys, collection))
    return selectByKeys(page, compileKeysAfterOffset(page, orderedKeys, scope), scope);
  return compileTablePage(page, orderedKeys, scope, sql`${shape.size + 1}`);
}

/** A page that is read from its table in the order of the list. @param limit how many records are read. */
export function compileTablePage(page: PageParts, orderedKeys: OrderedKeys, scope: StatementScope, limit: Sql): Sql {
  const { collection, condition, keyed, columns, shape } = page;
  const hasOffset = shape.offset !== 'none';
  // A literal limit: SQLite looks at a bound LIMIT while it plans, so it would plan the statement again at each run (25 µs).
  const range = hasOffset ? sql`LIMIT ${limit} OFFSET ${pageOffset}` : sql`LIMIT ${limit}`;
  const table = identifier(collection.table);
  const segments = listSegments(page, orderedKeys, scope.dialect);
  const selects = segments.map((segment) => {
    const where = compileWhere([toCondition(segment.condition), keyed, condition], true, collection, scope);
    const rows = sql`FROM ${table}${where} ORDER BY ${segment.order} ${range}`;
    // PostgreSQL would render every record that the offset skips, so the offset is applied to the bare rows.
    return hasOffset ? sql`SELECT ${columns} FROM (SELECT * ${rows}) ${table}` : sql`SELECT ${columns} ${rows}`;
  });
  const [only, ...others] = selects;
  if (only && others.length === 0) return only;
  const all = selects
    .map((select) => sql`SELECT * FROM (${select}) s`)
    .reduce((left, right) => sql`${left} UNION ALL ${right}`);
  return sql`${all} LIMIT ${limit}`;
}

/** The ranges of rows that a page is read from, one after the other. */
function listSegments({ shape, keys, collection }: PageParts, orderedKeys: OrderedKeys, dialect: Dialect): Segment[] {
  if (shape.cursorNulls) return afterCursor(orderedKeys, shape.cursorNulls, dialect);
  const hasIndex = keys.every(({ steps }) => steps.length === 0) && isIndexed(requireFirst(keys).field, collection);
  return hasIndex && shape.offset === 'none' ? fromStart(orderedKeys, dialect) : [wholeOrder(orderedKeys, dialect)];
}

/**
 * The keys of a page, read from an index. Skipping an entry of an index takes 5 ns on SQLite, and skipping a row 15 to 25, so this
 * needs no check of the deadline.
 */
function compileKeysAfterOffset(
  { collection, shape }: PageParts,
  orderedKeys: OrderedKeys,
  scope: StatementScope,
): Sql {
  const { order } = wholeOrder(orderedKeys, scope.dialect);
  return sql`SELECT ${compileKey(collection)} FROM ${identifier(collection.table)} ORDER BY ${order}
LIMIT ${shape.size + 1} OFFSET ${pageOffset}`;
}

/** A page that is read from a {@link PageSource}. */
export function compileSourcedPage(page: PageParts, source: PageSource, scope: StatementScope): Sql {
  switch (source.by) {
    case 'index':
      return compileIndexPage(page, source, scope);
    case 'folders':
      return selectByKeys(page, compileMailboxKeys(page, source, scope), scope);
    case 'candidates':
    case 'groups':
      return selectByKeys(page, compileGroupedKeys(page, source, scope), scope);
  }
}

type Source<By extends PageSource['by']> = Extract<PageSource, { by: By }>;

/** The full-text index gives the rows in the order of the list. */
function compileIndexPage(page: PageParts, source: Source<'index'>, scope: StatementScope): Sql {
  const { collection, columns, shape } = page;
  const { table: index, key: found, matches } = source.index;
  const { condition, order } = compileSegment(page, sortBy(page, found), scope.dialect);
  const conditions = [
    () => matches(compileFullText(source.matched)),
    toCondition(condition),
    ...compileKeyBounds(source, collection, found),
    source.rest,
  ];
  const where = compileConditions({ alias: collection.table, collection, conditions, scans: true }, scope);
  return sql`SELECT ${columns} FROM ${index}
CROSS JOIN ${identifier(collection.table)} ON ${compileKey(collection)}=${found}
WHERE ${where ?? '1=1'} ORDER BY ${order} LIMIT ${shape.size + 1}`;
}

/** Reads the rows of some keys, in the order of the list. */
export function selectByKeys({ collection, columns, keys, shape }: PageParts, found: Sql, scope: StatementScope): Sql {
  const { order } = wholeOrder(orderKeys(keys, collection.table, scope), scope.dialect);
  return sql`SELECT ${columns} FROM ${identifier(collection.table)} WHERE ${compileKey(collection)} IN (${found})
ORDER BY ${order} LIMIT ${shape.size + 1}`;
}

function compileMailboxKeys(page: PageParts, source: Source<'folders'>, scope: StatementScope): Sql {
  const { collection, shape } = page;
  const found = sql`p."emailId"`;
  const { condition, order } = compileSegment(page, sortBy(page, found), scope.dialect);
  const conditions = [toCondition(condition), ...compileKeyBounds(source, collection, found), source.rest];
  return compileMailboxPage(
    {
      collection,
      mailboxes: compileMailboxes(source.placed),
      maxRecords: shape.size + 1,
      condition: compileConditions({ alias: 'r', collection, conditions, scans: true }, scope),
      order,
    },
    scope.dialect,
  );
}

function compileGroupedKeys(page: PageParts, source: Source<'candidates' | 'groups'>, scope: StatementScope): Sql {
  const { collection, shape, keys } = page;
  const { relation, target, of } = source.groups;
  const member = scope.nextAlias();
  const where = of ? sql` WHERE ${compilePredicate(of, member, target, scope)}` : sql``;
  const { condition, order } = compileSegment(page, orderKeys(keys, 'r', scope), scope.dialect);
  const rest = isReadNewestFirst(page, relation.sourceField, scope.dialect) ? probeFolders(source.rest) : source.rest;
  const conditions = [toCondition(condition), rest];
  const groupKey = compileColumn(member, target, relation.targetField);
  const groupedPage = {
    collection,
    groups: sql`SELECT ${groupKey} AS group_key FROM ${identifier(target.table)} ${identifier(member)}${where}`,
    maxRecords: shape.size + 1,
    condition: compileConditions({ alias: 'r', collection, conditions, scans: true }, scope),
    order,
  };
  if (source.by === 'groups') return compileGroupedPage({ ...groupedPage, relation }, scope.dialect);
  const { name, descending } = readFirstKey(keys);
  return compileCandidateScan(
    { ...groupedPage, match: source.match, group: relation.sourceField, key: name, descending },
    scope,
  );
}

/** Whether an index gives the rows of a group in the order of the page, so that few of them may be tested. */
function isReadNewestFirst({ keys, collection }: PageParts, group: string, dialect: Dialect): boolean {
  const [first] = keys;
  if (!dialect.readsListsFirst || !first?.descending) return false;
  return (collection.options.indexes ?? []).some(
    ({ fields, present }) => !present && fields[0] === group && fields[1] === first.field.name,
  );
}

function compileSegment({ shape }: PageParts, keys: OrderedKeys, dialect: Dialect): Segment {
  return shape.cursorNulls ? afterCursorInOneSegment(keys, shape.cursorNulls, dialect) : wholeOrder(keys, dialect);
}

/** The order by the first key only. `value` is the SQL of that key. */
function sortBy({ keys }: PageParts, value: Sql): OrderedKeys {
  return [{ key: requireFirst(keys), value }];
}

/** The condition's bounds of the key, as SQL about the given expression. */
function compileKeyBounds({ rest }: PageSource, collection: Collection, key: Sql): Condition[] {
  return keyBounds(rest, collection).map((test) => (dialect: Dialect) => compileFieldTest(test, key, dialect));
}

function toCondition(condition: Sql | null): Condition {
  return condition && (() => condition);
}

function readFirstKey(keys: readonly SortKey[]): { readonly name: string; readonly descending: boolean } {
  const { field, descending } = requireFirst(keys);
  return { name: field.name, descending };
}

function requireFirst(keys: readonly SortKey[]): SortKey {
  const [first] = keys;
  if (!first) throw new Error('A sort has at least one key.');
  return first;
}
