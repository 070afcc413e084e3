import type { BlobStore } from '../base/blob-store.ts';
import type { Database } from '../database/database.ts';
import type { StoreNodes } from '../database/store-nodes.ts';

/** The storage of applications: a file (SQLite) or a schema (PostgreSQL) for each. */
export interface ApplicationStores {
  /** The nodes of a cluster; null: the engine has none. */
  readonly nodes: StoreNodes | null;
  /** @param mayCreate false: a missing store is an error and is not created. @throws Error if it cannot be opened. */
  open(store: string, mayCreate: boolean): Promise<Database>;
  /** The separate store of an application's audit journal; null if its tables are in the application's store. */
  openJournal(store: string): Promise<Database | null>;
  /** The storage of the bytes of files and mail. */
  blobs(store: string, database: Database): BlobStore;
  /**
   * Copies the database of a store before it is upgraded; not the bytes of files and mail, which an upgrade does not change.
   *
   * @param version the version of the store. @returns where the copy is; null: the operator has switched copies off.
   * @throws StartFailure if there is no space for it.
   */
  saveBeforeUpgrade(store: string, version: number): Promise<string | null>;
  /** Removes a closed store with its journal and files. Does nothing if it no longer exists. */
  remove(store: string): Promise<void>;
}
