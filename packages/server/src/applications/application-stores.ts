import type { BlobStore } from '../base/blob-store.ts';
import type { Database } from '../database/database.ts';

/** Where applications lie: a file each, or a schema each. */
export interface ApplicationStores {
  /** @param mayCreate false where a store that is not there must not come up empty. @throws Error when it cannot be opened. */
  open(store: string, mayCreate: boolean): Promise<Database>;
  /** The store of an application's audit journal; null where its tables lie in the application's own store. */
  openJournal(store: string): Promise<Database | null>;
  /** Where the bytes of a store's mail lie. */
  blobs(store: string, database: Database): BlobStore;
  /** Removes a closed store with its journal and its files; nothing where it is gone already. */
  remove(store: string): Promise<void>;
}
