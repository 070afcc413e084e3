/** The interfaces through which a move reads and builds the stores of one application, on both engines. */
import type { Transaction } from '../database.ts';
import type { ColumnDefinition, IndexPlan } from '../dialect.ts';
import type { ReadableStore } from '../run-statement.ts';
import type { KeyRange, MovedRow, MovedTable } from './moved-table.ts';

/** The versions of the definitions, and of the store. */
export interface MovedVersions {
  readonly version: string;
  readonly schema: string;
  /** The number of the last migration. */
  readonly store: number;
}

/** Reads the stores of an application, which a server may be writing. */
export interface MoveReader {
  /** The rows in the order of {@link MovedTable.key}, in batches. Each batch may show a later state than the one before. */
  rows(table: MovedTable, range?: KeyRange): AsyncGenerator<readonly MovedRow[]>;
  /** The rows with these keys, in the order of the key, which is one column. */
  rowsOf(table: MovedTable, keys: readonly string[]): Promise<MovedRow[]>;
  versions(): Promise<MovedVersions>;
  /** The largest key that was ever generated; null if none was. */
  lastGenerated(table: MovedTable): Promise<bigint | null>;
  close(): Promise<void>;
}

/** Reads an application that is moved. */
export interface MoveSource extends MoveReader {
  snapshot(): Promise<MoveSnapshot>;
}

/** How many times a snapshot can be advanced. */
export const maxAdvances = 8;

/** Reads an application as it was at one moment, while servers write it. It is closed soon, because it keeps engines from cleaning up. */
export interface MoveSnapshot extends MoveReader {
  /**
   * Advances the snapshot to the present, at most {@link maxAdvances} times. Afterwards only {@link changes} can be read.
   *
   * @param deadline by performance.now(), for {@link changes} on SQLite, whose statements block this process. They fail after it.
   */
  advance(deadline?: number): Promise<void>;
  /**
   * The rows that differ between the moment before the last {@link advance} and the one after it, in pieces: first all removed ones, of
   * which only the key is set, then the added ones. An updated row is removed and added. Only the keys are held in memory.
   *
   * @returns null if they cannot be found without a comparison of all rows.
   */
  changes(table: MovedTable): Promise<AsyncGenerator<RowChanges> | null>;
}

/** A table as definitions describe it. */
export interface NewTable {
  readonly table: string;
  readonly columns: readonly ColumnDefinition[];
  readonly indexes: readonly IndexPlan[];
  readonly mostlyNullColumn: string | null;
}

/** Changes of the rows of one table. */
export interface RowChanges {
  readonly removed: readonly MovedRow[];
  readonly added: readonly MovedRow[];
}

/**
 * Builds the stores of an application in a place that no server uses. Foreign keys are not enforced until {@link
 * MoveTarget.relate}.
 */
export interface MoveTarget extends MoveReader, ReadableStore {
  /** Creates the tables of the catalogue and of the audit journal that do not exist yet. */
  createFixedTables(): Promise<void>;
  /** The stores are no longer complete. Removes foreign keys, also those of an earlier attempt: rows are copied one table after the other. */
  beginCopy(): Promise<void>;
  /** Creates a table, in place of one of the same name. */
  createTable(table: NewTable): Promise<void>;
  dropTable(name: string): Promise<void>;
  /** One transaction. @throws DatabaseFault `unique` if an added row has a unique value of another one. */
  apply(table: MovedTable, changes: RowChanges): Promise<void>;
  setLastGenerated(table: MovedTable, last: bigint): Promise<void>;
  /** Informs the planner about the copied rows. */
  analyse(): Promise<void>;
  /** Enforces foreign keys. @throws DatabaseFault if a row refers to a missing one. */
  relate(tables: readonly NewTable[]): Promise<void>;
  /** Does the work of {@link relate} without any effect, to measure how long it takes. @throws DatabaseFault */
  tryToRelate(tables: readonly NewTable[]): Promise<void>;
  /** Runs work in a transaction on the application's store. */
  inTransaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** Writes the versions, and a new name of the event log. After this the stores are complete. */
  complete(application: string, versions: MovedVersions): Promise<void>;
}
