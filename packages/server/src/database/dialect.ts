import type { DateFormat } from '../protocol/query-request.ts';
import type { Storage } from '../schema/field-type.ts';
import type { BoundStatement } from './database.ts';
import type { EventName } from './event-insert.ts';
import type { PageQuery, PageQueryParts } from './page-query.ts';
import type { SearchIndexSql } from './search-index.ts';
import type { Param, Sql } from './sql.ts';

/** A member of a JSON object expression. */
export interface JsonMember {
  readonly name: string;
  /** The result of {@link Dialect.member}, or a nested object or list. */
  readonly value: Sql;
  /** The value is a plain SQL value, not yet JSON. */
  readonly plain?: boolean;
}

/** Elements of a JSON list as rows: the table expression, the text of an element, and whether the element is a text. */
export interface JsonElements {
  readonly rows: Sql;
  readonly text: Sql;
  readonly isText: Sql;
}

/** A column of a table to be created or changed. */
export interface ColumnDefinition {
  readonly name: string;
  readonly storage: Storage;
  readonly notNull: boolean;
  readonly primaryKey: boolean;
  readonly autoIncrement: boolean;
  readonly unique: boolean;
  readonly references: {
    readonly table: string;
    readonly column: string;
    readonly onDelete: 'setNull' | 'cascade' | 'restrict';
  } | null;
}

export interface IndexPlan {
  readonly name: string;
  readonly columns: readonly string[];
  readonly unique: boolean;
  /** The index only covers rows in which this column is null; null: all rows. */
  readonly where: string | null;
  /** The index only covers rows in which this column is not null; null: all rows. */
  readonly present: string | null;
}

/** Separates the objects of a page. The JSON text of a value never contains a line break. */
export const pageSeparator = ',\n';

/** Rows that are sent with the statement that reads them, under the name of a table. */
export interface RowSource {
  readonly table: string;
  readonly columns: readonly { readonly name: string; readonly storage: Storage }[];
  /** A JSON list of rows; a row is the list of its values, in the order of the columns. */
  readonly json: string;
}

/** A query that runs once for each group of rows. */
export interface GroupedQuery {
  /** A query for the groups, with the column `group_key`. */
  readonly groups: Sql;
  /** The quoted names of the table and its key. */
  readonly table: string;
  readonly key: string;
  /** The query for keys of one group; it names the group as `g.group_key`. */
  readonly keysOfGroup: Sql;
}

/** An INSERT, UPDATE or DELETE with RETURNING. */
export interface ReturningWrite {
  readonly statement: Sql;
  /** Names for the columns that it returns; the first one is the record's key. */
  readonly columns: readonly [key: string, ...rest: string[]];
}

/** How one engine writes the SQL of the compilers. Pure: no connection, no state. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres';
  /** Rows of one INSERT. Without a network more than one row saves nothing. */
  readonly rowsPerInsert: number;
  /** Whether changing a table's structure rebuilds the table with all of its indexes. */
  readonly rebuildsTables: boolean;
  /** Whether reading a list group by group costs nothing for groups that its condition excludes. */
  readonly skipsExcludedGroups: boolean;
  /** Whether IN with a query reads all rows of the query before it tests the first row, even if a page needs few of them. */
  readonly readsListsFirst: boolean;
  /** Whether a statement that fails ends its transaction, so that nothing more can be read in it. */
  readonly faultEndsTransaction: boolean;

  /** The text of a parameter. @param index from 1. */
  placeholder(index: number, param: Param): string;
  /** A canonical value (or list) as the driver takes it. */
  toEngine(param: Param, canonical: unknown): unknown;

  /** A column as a member of a JSON object. */
  member(name: string, storage: Storage, column: Sql): JsonMember;
  object(members: readonly JsonMember[]): Sql;
  /** The object of the row that `rest` (FROM … WHERE …) finds, or JSON null. */
  objectFrom(members: readonly JsonMember[], rest: Sql): Sql;
  /** The objects of the rows that `rest` finds, in its order, as a JSON list. More than `maxItems` raise the fault `overflow`. */
  listFrom(members: readonly JsonMember[], rest: Sql, maxItems: number, path: string): Sql;
  /** A column as a result of a statement, in canonical form. */
  scalar(storage: Storage, column: Sql): Sql;

  /**
   * A condition that ends a statement past its deadline; null if the engine does that itself.
   *
   * @param tests how many conditions are tested on each visited row: the more, the more often the clock is read.
   */
  deadlineCheck(alias: string, tests: number): Sql | null;
  /** Whether the definitions are still those that the statement was compiled for; null if only one process changes them. */
  versionGuard(): Sql | null;
  /** One row: the page's objects (its column `j`) as one text with {@link pageSeparator} between them, and their number. */
  pageText(page: Sql): Sql;
  /** The statements that read a page of rows with its total, and the reader of their results. */
  pageQuery(parts: PageQueryParts): PageQuery;
  /**
   * A write and the log entries of its rows as one statement that can be committed without a transaction around it;
   * null if that saves nothing. Its result is that of the write.
   */
  writeWithEvent(write: ReturningWrite, event: EventName): Sql | null;

  /** A query with the column `id`: the keys that a query about one group finds, for each of the groups. */
  keysPerGroup(query: GroupedQuery): Sql;

  /** A read statement that reads the rows of a source instead of a table. */
  overRows(statement: BoundStatement, source: RowSource): BoundStatement;
  /** A list parameter as rows with the column `v`. */
  listAsRows(list: Param): Sql;
  isIn(operand: Sql, list: Param): Sql;
  /** Whether text contains, starts or ends with another, case-insensitively; both engines fold case by code point. */
  contains(text: Sql, needle: Param): Sql;
  startsWith(text: Sql, needle: Param): Sql;
  endsWith(text: Sql, needle: Param): Sql;
  like(text: Sql, pattern: Param, foldCase: boolean): Sql;
  /** Whether a JSON list contains one of the elements, given as JSON texts; and whether it contains the same set. */
  anyElement(list: Sql, elements: Param): Sql;
  sameElements(list: Sql, elements: Param): Sql;
  /** The elements of a JSON list as rows of a FROM clause, joined to each row that has the list. */
  jsonElements(list: Sql, alias: string): JsonElements;
  /** The different texts of a JSON list as rows, for a join; no row for null. */
  distinctTexts(list: Sql, alias: string): { readonly rows: Sql; readonly text: Sql };
  /** A JSON list of the texts in the column `v` of a query; null if it has no rows. */
  textList(query: Sql): Sql;
  /** Whether the member `id` of a JSON object, or of an object in a JSON list of objects, is a number. */
  hasObjectWithId(json: Sql, isList: boolean, id: Sql): Sql;
  /** The value of a key that is given as text. */
  keyFromText(storage: Storage, text: Sql): Sql;
  /** Whether the operand is null, '' or an empty list. */
  isEmpty(storage: Storage, operand: Sql): Sql;
  isTrue(operand: Sql): Sql;
  /**
   * An exact sum in the storage of its values, independent of their order. A sum of whole numbers or decimals that exceeds 64 bits (of a
   * decimal: its digits without the point) raises the fault `range`.
   */
  sum(value: Sql, storage: Storage, distinct: boolean): Sql;
  /** An average as a double. */
  average(value: Sql, storage: Storage): Sql;
  /** The period of a date or moment as text, in the statement's time zone. */
  dateText(format: DateFormat, storage: Storage, value: Sql, zone: Param): Sql;
  nullsLast(term: Sql, descending: boolean): Sql;
  /** Whether an index gives the rows in an order with nulls last. */
  indexGivesNullsLast(descending: boolean): boolean;

  /**
   * A table with its indexes. Its columns may refer to the table itself, by any column that one of the indexes keeps unique.
   *
   * @param mostlyNullColumn the column that is null in most rows, and tested in most statements.
   */
  createTable(
    table: string,
    columns: readonly ColumnDefinition[],
    indexes: readonly IndexPlan[],
    mostlyNullColumn?: string | null,
  ): Sql[];
  /** @param initial the canonical value for existing rows; without it they get null. */
  addColumn(table: string, column: ColumnDefinition, initial?: string): Sql[];
  /** Drops columns without foreign keys and without indexes, in place. */
  dropPlainColumns(table: string, dropped: readonly string[]): Sql[];
  /** Informs the planner that a new column is null in most rows; null if the engine's planner needs no information. */
  noteMostlyNull(table: string, column: string): Sql | null;
  /** Drops columns. `remaining` and `indexes` describe the new table, for engines that rebuild it. */
  dropColumns(
    table: string,
    dropped: readonly string[],
    remaining: readonly ColumnDefinition[],
    indexes: readonly IndexPlan[],
  ): Sql[];
  /** Reverts {@link Dialect.addColumn}; null if adding a column blocks no reader. */
  dropNewColumn(table: string, column: string): Sql | null;
  /** Makes an existing column a foreign key. `all` and `indexes` describe the new table. */
  addReference(
    table: string,
    column: ColumnDefinition,
    all: readonly ColumnDefinition[],
    indexes: readonly IndexPlan[],
  ): Sql[];
  /** Changes the `onDelete` of a foreign key. `all` and `indexes` describe the new table. */
  replaceReference(
    table: string,
    column: ColumnDefinition,
    all: readonly ColumnDefinition[],
    indexes: readonly IndexPlan[],
  ): Sql[];
  createIndex(table: string, index: IndexPlan): Sql;
  dropIndex(name: string): Sql;
  dropTable(table: string): Sql;
  /**
   * Renames a table, so that a writer that waited for the change, and continues under the version it began with, no longer
   * finds it by name. Null if each write checks its version after it has waited.
   */
  renameTable(from: string, to: string): Sql | null;
  /**
   * Blocks other writers, and readers too unless `readable`; null if writes are serialised anyway. A statement that changes
   * the structure of a table blocks readers from then on.
   */
  lockTables(tables: readonly string[], readable: boolean): Sql | null;
  /** Takes a lock until the transaction ends, unless another transaction holds it: one row with a truth value. Null if writes are serialised anyway. */
  tryLock(name: Param): Sql | null;
  /** The names of a JSON object's members, as rows with the column `v`. */
  memberNames(object: Sql): Sql;
  /** A generated key as the result of an INSERT; raises `keysExhausted` past the range of the column's type. */
  generatedKey(storage: Storage, column: Sql): Sql;
  /** Makes later generated keys larger than the explicit ones, which are at most `max`. Null if the engine does so itself. */
  advanceKey(table: string, column: string, max: bigint): Sql | null;
  /** Whether all keys of a table are used up: a row with a truth value. Null unless the engine reports that like a full disk. */
  keysExhausted(table: string, column: string): Sql | null;
  /** Search indexes on fields of records. */
  readonly search: SearchIndexSql;
  /** A query for the names of the catalogue's tables that exist. */
  readonly catalogueProbe: string;
  /** The tables of the catalogue, each with the statements that create it. */
  readonly catalogue: Readonly<Record<string, readonly Sql[]>>;
}
