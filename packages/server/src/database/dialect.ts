import type { DateFormat } from '../protocol/query-request.ts';
import type { Storage } from '../schema/field-type.ts';
import type { BoundStatement } from './database.ts';
import type { EventName } from './event-insert.ts';
import type { PageQuery, PageQueryParts } from './page-query.ts';
import type { Param, Sql } from './sql.ts';

/** A member of a JSON object in the making. */
export interface JsonMember {
  readonly name: string;
  /** What {@link Dialect.member} gave, or a nested object or list. */
  readonly value: Sql;
  /** The value is a plain SQL value, not yet JSON. */
  readonly plain?: boolean;
}

/** Where a column is filled or compared with another table's. */
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
  /** Column that is null in the rows that the index covers; null: all rows. */
  readonly where: string | null;
}

/** Stands between the objects of a page: white space and control characters never stand in the JSON text of a value. */
export const pageSeparator = ',\n';

/** Rows that no table holds, under the name of one: they are sent with the statement that reads them. */
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

/** How one engine spells what the compilers mean. Pure: no connection, no state. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres';
  /** Rows that one INSERT carries; engines without a network need no more than one. */
  readonly rowsPerInsert: number;
  /** Whether a change of a table's structure builds the table again, with all of its indexes. */
  readonly rebuildsTables: boolean;
  /** Whether reading a list group by group costs nothing for groups that its condition excludes. */
  readonly skipsExcludedGroups: boolean;
  /** Whether a statement that fails ends its transaction, so that nothing more can be read in it. */
  readonly faultEndsTransaction: boolean;

  placeholder(index: number, param: Param): string;
  /** A canonical value (or list) as the driver takes it. */
  toEngine(param: Param, canonical: unknown): unknown;

  /** A column as a member of a JSON object. */
  member(name: string, storage: Storage, column: Sql): JsonMember;
  object(members: readonly JsonMember[]): Sql;
  /** The one object that `rest` (FROM … WHERE …) finds, or JSON null. */
  objectFrom(members: readonly JsonMember[], rest: Sql): Sql;
  /** The objects that `rest` finds, in its order, as a JSON list; raises `overflow` past `most`. */
  listFrom(members: readonly JsonMember[], rest: Sql, maxItems: number, path: string): Sql;
  /** A column as a statement's result, in canonical form. */
  scalar(storage: Storage, column: Sql): Sql;

  /**
   * A condition that ends a statement whose time is up; null where the engine does that itself.
   *
   * @param tests how many conditions each visited row is held against: the more, the oftener the time is looked at.
   */
  deadlineCheck(alias: string, tests: number): Sql | null;
  /** False when the snapshot has moved on; null where only one process writes. */
  versionGuard(): Sql | null;
  /** One row of the page's objects (its column `j`) as one text, {@link pageSeparator} between them, and their number. */
  pageText(page: Sql): Sql;
  /** The statements that read a page of rows with its total, and the reader of their results. */
  pageQuery(parts: PageQueryParts): PageQuery;
  /**
   * A write and the log entries of what it wrote as one statement that may be committed without a transaction around it;
   * null where that saves nothing. Its result is that of the write.
   */
  writeWithEvent(write: ReturningWrite, event: EventName): Sql | null;

  /** A query with the column `id`: the keys that a query about one group finds, for each of the groups. */
  keysPerGroup(query: GroupedQuery): Sql;

  /** The read statement over the rows of a source. */
  overRows(statement: BoundStatement, source: RowSource): BoundStatement;
  /** A list as rows with the column `v`. */
  listAsRows(list: Param): Sql;
  isIn(operand: Sql, list: Param): Sql;
  /** Whether text, folded by code point alike on both engines, holds, starts or ends with a folded needle. */
  contains(text: Sql, needle: Param): Sql;
  startsWith(text: Sql, needle: Param): Sql;
  endsWith(text: Sql, needle: Param): Sql;
  like(text: Sql, pattern: Param, foldCase: boolean): Sql;
  /** Whether a JSON list holds one of the elements, given as JSON texts; and whether it holds the same ones. */
  anyElement(list: Sql, elements: Param): Sql;
  sameElements(list: Sql, elements: Param): Sql;
  /** Null, '' or an empty list. */
  isEmpty(storage: Storage, operand: Sql): Sql;
  isTrue(operand: Sql): Sql;
  /**
   * An exact sum in the storage's own terms, in whatever order the values come. Of whole numbers and decimals, one past 64 bits (of a
   * decimal: its digits without the point) is the fault `range`.
   */
  sum(value: Sql, storage: Storage, distinct: boolean): Sql;
  /** An average as a double. */
  average(value: Sql, storage: Storage): Sql;
  /** A date or moment as the text of the period that it lies in, in the zone of the statement. */
  dateText(format: DateFormat, storage: Storage, value: Sql, zone: Param): Sql;
  nullsLast(term: Sql, descending: boolean): Sql;

  /**
   * A table with its indexes. Its columns may refer to the table itself, by any column that one of the indexes keeps unique.
   *
   * @param mostlyNullColumn the column that is null in most rows, and asked for in most statements.
   */
  createTable(
    table: string,
    columns: readonly ColumnDefinition[],
    indexes: readonly IndexPlan[],
    mostlyNullColumn?: string | null,
  ): Sql[];
  /** @param initial the canonical value of the rows that exist; without it they get null. */
  addColumn(table: string, column: ColumnDefinition, initial?: string): Sql[];
  /** Drops columns without foreign keys and without indexes, in place. */
  dropPlainColumns(table: string, dropped: readonly string[]): Sql[];
  /** Has the planner learn that a new column is null in most rows; null where the engine's planner does not ask. */
  noteMostlyNull(table: string, column: string): Sql | null;
  /** Drops columns; `kept` and `indexes` describe the table as it will be, for engines that must build it anew. */
  dropColumns(
    table: string,
    dropped: readonly string[],
    remaining: readonly ColumnDefinition[],
    indexes: readonly IndexPlan[],
  ): Sql[];
  /** Takes back {@link Dialect.addColumn}; null where adding one keeps no reader off. */
  dropNewColumn(table: string, column: string): Sql | null;
  /** Makes a column that is there a foreign key; `all` and `indexes` describe the table as it will be. */
  addReference(
    table: string,
    column: ColumnDefinition,
    all: readonly ColumnDefinition[],
    indexes: readonly IndexPlan[],
  ): Sql[];
  /** Gives a foreign key that exists another `onDelete`; `all` and `indexes` as above. */
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
   * Gives a table another name, where a writer that waited for the change would go on under the version it began with:
   * it looks the table up by name when its turn comes. Null where each write asks for its version in its turn.
   */
  renameTable(from: string, to: string): Sql | null;
  /**
   * Keeps other writers off, and readers too unless `readable`; null where writes follow each other anyway. What changes
   * the shape of a table keeps readers off from then on.
   */
  lockTables(tables: readonly string[], readable: boolean): Sql | null;
  /** Takes a lock until the transaction ends, unless another one holds it: one row that says so. Null where writes follow each other anyway. */
  tryLock(name: Param): Sql | null;
  /** The names of a JSON object's members, as rows with the column `v`. */
  memberNames(object: Sql): Sql;
  /** A generated key as the result of an INSERT; raises `keysExhausted` past the range of the column's type. */
  generatedKey(storage: Storage, column: Sql): Sql;
  /** Makes later generated keys pass the explicit ones, which are at most `max`. Null where the engine does so itself. */
  advanceKey(table: string, column: string, max: bigint): Sql | null;
  /** Whether all keys of a table are used up, where the engine tells that like a full disk: a row with a truth value. Else null. */
  keysExhausted(table: string, column: string): Sql | null;
  /** A query for the names of the catalogue's tables that are there. */
  readonly catalogueProbe: string;
  /** The catalogue's own tables, each with what makes it. */
  readonly catalogue: Readonly<Record<string, readonly Sql[]>>;
}
