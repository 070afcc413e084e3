import type { Database } from '../database/database.ts';
import { readSearchIndexes, type SearchIndexState } from '../database/search-index-rows.ts';
import type { Collection } from '../schema/registry.ts';
import { listSearchFields } from '../schema/search-fields.ts';

/** The search index of a field, as replies show it. */
export interface SearchIndexReport {
  readonly field: string;
  readonly state: SearchIndexState;
  /** Records that are in the index, and how many there are; only while it is being built. */
  readonly done?: number;
  readonly total?: number;
  /** Why it is not available. */
  readonly problem?: string;
}

/** The member `searchIndexes` of collections, by their ids; only of those that have search indexes. */
export async function readSearchIndexReports(
  database: Database,
  collections: readonly Collection[],
): Promise<ReadonlyMap<number, { readonly searchIndexes: readonly SearchIndexReport[] }>> {
  const indexed = collections.filter((each) => listSearchFields(each).length > 0);
  if (indexed.length === 0) return new Map();
  const stored = new Map((await readSearchIndexes(database)).map((each) => [each.fieldId, each]));
  return new Map(
    indexed.map((collection) => {
      const searchIndexes = listSearchFields(collection).map(({ id, name }): SearchIndexReport => {
        const { state = 'building', done = 0, total = null, problem = null } = stored.get(id) ?? {};
        if (state === 'ready') return { field: name, state };
        const isBuilding = state === 'building';
        return {
          field: name,
          state,
          ...(isBuilding && { done }),
          ...(isBuilding && total !== null && { total }),
          ...(problem !== null && { problem }),
        };
      });
      return [collection.id, { searchIndexes }];
    }),
  );
}
