import type { Database } from '../database/database.ts';

/** Where applications lie: a file each, or a schema each. */
export interface ApplicationStores {
  /** @param mayMake false where a store that is not there must not come up empty. @throws Error when it cannot be opened. */
  open(store: string, mayMake: boolean): Promise<Database>;
  /** Removes a closed store; nothing where it is gone already. */
  remove(store: string): Promise<void>;
}
