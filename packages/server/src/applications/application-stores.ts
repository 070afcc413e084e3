import type { BlobStore } from '../base/blob-store.ts';
import type { Database } from '../database/database.ts';
import type { ServerGroup } from '../database/server-group.ts';
import type { StoreNodes } from '../database/store-nodes.ts';

/** The storage of applications: a file (SQLite) or a schema (PostgreSQL) for each. */
export interface ApplicationStores {
  /** The nodes of a cluster; null: the engine has none. */
  readonly nodes: StoreNodes | null;
  /** The servers that share the stores, once `main` is open; null: only this one can use them. */
  group(): ServerGroup | null;
  /**
   * @param mayCreate false: a missing store is an error and is not created.
   * @param isServed whether it is opened for requests and background work, so that another server that stops the application waits until
   * it is closed. @throws Error if it cannot be opened.
   */
  open(store: string, mayCreate: boolean, isServed?: boolean): Promise<Database>;
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
  /**
   * Puts the prepared store of `main` in the place of the present one, whose lists of applications and backups it takes over. Call it
   * when all stores are closed. After a failure, the present store is still in place.
   *
   * @returns where the replaced store is, for the log.
   * @throws Error if the job was given up, or another server does not close the store.
   */
  replaceMain(restore: MainRestore): Promise<string>;
}

/** A restore of `main` that is prepared. */
export interface MainRestore {
  /** The name of the restored event log, a UUID. */
  readonly epoch: string;
  /** The id of the restore in the list of backups. */
  readonly job: string;
  /** Now, ISO 8601. */
  readonly at: string;
}
