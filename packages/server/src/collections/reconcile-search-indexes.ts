import type { Transaction } from '../database/database.ts';
import { bindFixed } from '../database/database.ts';
import type { ReadableStore } from '../database/run-statement.ts';
import { deleteSearchIndex, insertSearchIndex, readSearchIndexes } from '../database/search-index-rows.ts';
import type { Sql } from '../database/sql.ts';
import type { Registry } from '../schema/registry.ts';
import { listSearchFields } from '../schema/search-fields.ts';

/**
 * Brings the search indexes in line with the definitions: drops those that no definition names, and creates missing
 * ones, which are empty until the builder has filled them. Runs at the end of the transaction of each definition
 * change, so that no change needs to know of them. A changed column gets a new index; a rebuilt table gets its triggers
 * again.
 *
 * @param registry the definitions after the change.
 */
export async function reconcileSearchIndexes(
  database: ReadableStore,
  transaction: Transaction,
  registry: Registry,
): Promise<void> {
  const { search } = database.dialect;
  const run = async (statements: readonly Sql[]): Promise<void> => {
    for (const statement of statements) await transaction.run(bindFixed(database.dialect, statement));
  };
  const wanted = new Map(
    registry
      .all()
      .flatMap((collection) =>
        listSearchFields(collection).map(({ id, column }) => [id, { collection, column }] as const),
      ),
  );
  const present = await readSearchIndexes(database, transaction);
  for (const { fieldId, name, column } of present) {
    const found = wanted.get(fieldId);
    if (found?.column === column) {
      wanted.delete(fieldId);
      await run(search.maintain({ name, table: found.collection.table, column }));
      continue;
    }
    await run(search.drop(name));
    await deleteSearchIndex(database, transaction, fieldId);
  }
  for (const [fieldId, { collection, column }] of wanted) {
    // No two indexes ever have the same name: one that is being dropped may still exist.
    const name = `_sx${fieldId}_${registry.version}`;
    await run(search.create({ name, table: collection.table, column }));
    await insertSearchIndex(database, transaction, { fieldId, collectionId: collection.id, name, column });
  }
}
