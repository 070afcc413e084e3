/** Where a move builds the copy of an application: in stores that this process opens, or on another server. */
import { createHash } from 'node:crypto';
import type { BlobStore } from '../../base/blob-store.ts';
import type { MovedVersions, MoveReader, RowChanges } from '../../database/move/move-stores.ts';
import type { MovedTable } from '../../database/move/moved-table.ts';
import type { TablePlan } from './plan-tables.ts';
import type { TableComparison } from './sync-table.ts';

/** The {@link describeTable} of the definitions that the tables of the target were created from, by table. They are stored, so that a move can be continued. */
export type CreatedTables = Record<string, string>;

export interface CreatedParts {
  readonly created: CreatedTables;
  /** Stores {@link CreatedParts.created}. */
  readonly save: () => Promise<void>;
}

/** What is written when all rows are equal. */
export interface CopyEnd {
  readonly application: string;
  readonly versions: MovedVersions;
  /** The largest keys that were ever generated, by table. */
  readonly generated: Readonly<Record<string, string>>;
}

export interface CopiedBlobs {
  /** Those that were missing. */
  readonly blobs: number;
  readonly bytes: number;
}

export interface CopyTarget {
  /** Creates the tables of the catalogue and of the audit journal that do not exist yet. */
  createFixedTables(): Promise<void>;
  /**
   * Creates the tables of collections that are missing or whose definitions have changed, and drops those of collections that no longer
   * exist.
   *
   * @returns false if the definitions have changed since the plan was made: make another one.
   */
  createTables(plan: TablePlan, parts: CreatedParts): Promise<boolean>;
  /** Makes a table equal to that of the source. */
  syncTable(source: MoveReader, table: MovedTable): Promise<TableComparison>;
  /** Writes changes, and compares what was written. The key of the table is one column. @throws Error if it differs. */
  applyChanges(table: MovedTable, changes: RowChanges): Promise<void>;
  /**
   * Copies the blobs that are missing and were not found by an earlier call.
   *
   * @param onBlob is called before each blob. It may throw to end the work.
   * @throws Error if the bytes of a blob do not match its name.
   */
  copyBlobs(from: BlobStore, onBlob: () => void): Promise<CopiedBlobs>;
  /** Informs the planner about the copied rows. */
  analyse(): Promise<void>;
  /** Does the slow part of {@link complete} without any effect, to find out how long it takes. Not on other servers. */
  tryToComplete(plan: TablePlan): Promise<void>;
  /** After this the copy can be put in place. */
  complete(end: CopyEnd, plan: TablePlan): Promise<void>;
  /** Requests and statements that run are ended. */
  close(): Promise<void>;
}

/** The SHA-256 of the definition of a table; undefined if the plan does not have it. */
export function describeTable({ created }: TablePlan, name: string): string | undefined {
  const found = created.find(({ table }) => table === name);
  return found && createHash('sha256').update(JSON.stringify(found)).digest('hex');
}
