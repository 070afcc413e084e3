import { updateOptions } from '../database/catalogue.ts';
import type { Database, Transaction } from '../database/database.ts';
import type { IndexDefinition } from '../protocol/definition.ts';
import { type Collection, makeCollection } from '../schema/registry.ts';
import type { SystemCollection } from '../schema/system-collections.ts';
import { runDefinitionChange } from './definition-change.ts';
import type { DefinitionContext } from './definition-context.ts';
import { replaceIndexes } from './replace-indexes.ts';

/**
 * The changes that an older store needs when its system collection gets the indexes of this version, in the same
 * transaction.
 */
export interface IndexMigration {
  /** Runs before the indexes are replaced, for example to shorten values that would not fit. */
  before?(database: Database, transaction: Transaction): Promise<void>;
  /** Runs after they are replaced. */
  after?(database: Database, transaction: Transaction): Promise<void>;
}

/** The definition of a system collection, with what its indexes need in older stores. */
export interface IndexedSystemCollection extends SystemCollection {
  readonly indexMigration?: IndexMigration;
}

/**
 * Whether a stored system collection has other indexes over several fields than this version of the server gives it.
 */
export function needsIndexes({ options }: Collection, { indexes }: SystemCollection): boolean {
  return toComparable(options.indexes) !== toComparable(indexes);
}

function toComparable(indexes: readonly IndexDefinition[] = []): string {
  return JSON.stringify(indexes.map(({ fields, unique = false }) => [fields, unique]).sort());
}

/** Gives a system collection of an earlier version the indexes of this version. Its fields exist already. */
export async function setSystemIndexes(
  context: DefinitionContext,
  { name, indexes = [], indexMigration }: IndexedSystemCollection,
): Promise<void> {
  const { registry, database } = context;
  const collection = registry.get(name);
  const after = makeCollection({ ...collection, options: { ...collection.options, indexes } });
  await runDefinitionChange(context, { subject: name, tables: [collection.table] }, async (transaction) => {
    await indexMigration?.before?.(database, transaction);
    await replaceIndexes(context, transaction, collection, after);
    await indexMigration?.after?.(database, transaction);
    await updateOptions(database, transaction, after);
  });
}
