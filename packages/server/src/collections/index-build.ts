/**
 * The common parts of the builds of search indexes: the index, its state in the store, and the application that it
 * belongs to.
 */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { ChangeLog } from '../changes/change-log.ts';
import type { Database } from '../database/database.ts';
import type { SearchIndex } from '../database/search-index.ts';
import { type SearchIndexProgress, type StoredSearchIndex, updateSearchIndex } from '../database/search-index-rows.ts';
import type { Registry } from '../schema/registry.ts';

/** The application whose search indexes are built. */
export interface IndexedApplication {
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Loads the definitions again: searches use an index from then on. */
  refresh(): Promise<void>;
  /** Loads the definitions again if another server has changed them. */
  ensureCurrent(): Promise<void>;
}

/** An index that is being built, with its collection. */
export interface IndexBuild {
  readonly stored: StoredSearchIndex;
  readonly index: SearchIndex;
  readonly collection: string;
}

/**
 * Stores the progress of a build in a transaction of its own.
 *
 * @returns whether the index is still wanted.
 */
export function storeProgress(database: Database, name: string, progress: SearchIndexProgress): Promise<boolean> {
  return database.write((transaction) => updateSearchIndex(database, transaction, name, progress));
}
