import { updateField, updateOptions } from '../database/catalogue.ts';
import type { Database, Transaction } from '../database/database.ts';
import type { FieldDefinition, IndexDefinition } from '../protocol/definition.ts';
import { type Collection, getField, makeCollection } from '../schema/registry.ts';
import type { SystemCollection, SystemField } from '../schema/system-collections.ts';
import { runDefinitionChange } from './definition-change.ts';
import type { DefinitionContext } from './definition-context.ts';
import { replaceIndexes } from './replace-indexes.ts';
import { toStoredFacts } from './stored-facts.ts';

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
 * Whether a stored system collection has other indexes over several fields than this version of the server gives it, or no
 * history although this version keeps one.
 */
export function needsIndexes({ options }: Collection, { indexes, logging = false }: SystemCollection): boolean {
  return toComparable(options.indexes) !== toComparable(indexes) || (logging && !options.logging);
}

/** Fields of a stored system collection whose values this version of the server restricts to another pattern. */
export function findOtherPatterns({ byName }: Collection, { fields }: SystemCollection): readonly SystemField[] {
  return fields.filter((field) => {
    const stored = byName.get(field.name);
    return stored !== undefined && field.pattern !== undefined && stored.definition.pattern !== field.pattern;
  });
}

/** Fields of a stored system collection that were JSON values of any form and are lists in this version of the server. */
export function findNewLists({ byName }: Collection, { fields }: SystemCollection): readonly SystemField[] {
  return fields.filter(({ name, type }) => type === 'array' && byName.get(name)?.definition.type === 'json');
}

/** Gives a field of a system collection of an earlier version the type of this version, which is stored in the same way. */
export async function setSystemType(context: DefinitionContext, name: string, field: SystemField): Promise<void> {
  await setSystemDefinition(context, { name, field: field.name, change: { type: field.type } });
}

/** Gives a field of a system collection of an earlier version the pattern of this version, which allows more values. */
export async function setSystemPattern(context: DefinitionContext, name: string, field: SystemField): Promise<void> {
  await setSystemDefinition(context, {
    name,
    field: field.name,
    change: { ...(field.pattern !== undefined && { pattern: field.pattern }) },
  });
}

interface DefinitionPatch {
  /** The names of the collection and of its field. */
  readonly name: string;
  readonly field: string;
  readonly change: Partial<FieldDefinition>;
}

async function setSystemDefinition(
  context: DefinitionContext,
  { name, field, change }: DefinitionPatch,
): Promise<void> {
  const stored = getField(context.registry.get(name), field);
  const changed = { id: stored.id, name: field, definition: { ...stored.definition, ...change } };
  await runDefinitionChange(context, { subject: name, tables: [] }, (transaction) =>
    updateField(context.database, transaction, { ...changed, facts: toStoredFacts(stored) }),
  );
}

function toComparable(indexes: readonly IndexDefinition[] = []): string {
  return JSON.stringify(indexes.map(({ fields, unique = false, present = null }) => [fields, unique, present]).sort());
}

/** Gives a system collection of an earlier version the indexes of this version. Its fields exist already. */
export async function setSystemIndexes(
  context: DefinitionContext,
  { name, indexes = [], logging = false, indexMigration }: IndexedSystemCollection,
): Promise<void> {
  const { registry, database } = context;
  const collection = registry.get(name);
  const after = makeCollection({
    ...collection,
    options: { ...collection.options, indexes, logging: logging || collection.options.logging },
  });
  await runDefinitionChange(context, { subject: name, tables: [collection.table] }, async (transaction) => {
    await indexMigration?.before?.(database, transaction);
    await replaceIndexes(context, transaction, collection, after);
    await indexMigration?.after?.(database, transaction);
    await updateOptions(database, transaction, after);
  });
}
