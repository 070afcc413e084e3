import type { Database } from '../database/database.ts';

/** Where applications lie: a file each, or a schema each. */
export interface ApplicationStores {
  /** @param mayMake false where a store that is not there must not come up empty. @throws Error when it cannot be opened. */
  open(store: string, mayMake: boolean): Promise<Database>;
  /** The store of an application's audit journal; null where its tables lie in the application's own store. */
  openJournal(store: string): Promise<Database | null>;
  /** Removes a closed store with its journal; nothing where it is gone already. */
  remove(store: string): Promise<void>;
}
