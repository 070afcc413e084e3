import type { BlobStore } from '../base/blob-store.ts';
import type { Database } from '../database/database.ts';

/** The storage of applications: a file (SQLite) or a schema (PostgreSQL) for each. */
export interface ApplicationStores {
  /** @param mayCreate false: a missing store is an error and is not created. @throws Error if it cannot be opened. */
  open(store: string, mayCreate: boolean): Promise<Database>;
  /** The separate store of an application's audit journal; null if its tables are in the application's store. */
  openJournal(store: string): Promise<Database | null>;
  /** The storage of the bytes of files and mail. */
  blobs(store: string, database: Database): BlobStore;
  /** Removes a closed store with its journal and files. Does nothing if it no longer exists. */
  remove(store: string): Promise<void>;
}
