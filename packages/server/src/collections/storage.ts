import type { ColumnDefinition, IndexPlan } from '../database/dialect.ts';
import { type Collection, type Field, getField, listColumnFields, type Registry } from '../schema/registry.ts';

/** A field as the engine's column. */
export function toColumnDefinition(field: Field, registry: Registry): ColumnDefinition {
  const { references } = field;
  const target = references && registry.get(references.collection);
  return {
    name: field.column!,
    storage: field.type.storage!,
    notNull: field.notNull,
    primaryKey: field.primaryKey,
    autoIncrement: field.autoIncrement,
    unique: Boolean(field.definition.unique),
    references:
      target && references
        ? { table: target.table, column: getField(target, references.field).column!, onDelete: references.onDelete }
        : null,
  };
}

/** Every index of a collection: of its fields, and of `options.indexes`. */
export function planIndexes(collection: Collection): IndexPlan[] {
  const fieldIndexes = listColumnFields(collection).flatMap((field) => planFieldIndex(collection, field) ?? []);
  const optionIndexes = (collection.options.indexes ?? []).map(({ fields, unique = false }) =>
    makeIndexPlan(
      collection,
      fields.map((name) => getField(collection, name)),
      unique,
    ),
  );
  return [...new Map([...fieldIndexes, ...optionIndexes].map((index) => [index.name, index])).values()];
}

export function planFieldIndex(collection: Collection, field: Field): IndexPlan | null {
  if (field.column === null || field.primaryKey) return null;
  if (field.definition.unique) return makeIndexPlan(collection, [field], true);
  return field.definition.index || field.references ? makeIndexPlan(collection, [field], false) : null;
}

/** Plain indexes end in the primary key, which gives the order of equal values and lets a keyset seek. */
function makeIndexPlan(collection: Collection, fields: readonly Field[], unique: boolean): IndexPlan {
  const columns = fields.map((field) => field.column!);
  const key = collection.primaryKey.column!;
  const name = `${unique ? 'u' : 'i'}_${collection.id}_${fields.map((field) => field.id).join('_')}`;
  // What is in the trash is in nobody's way, unless a foreign key needs the whole column.
  const live = unique && !fields.some((field) => field.referencedKey) ? collection.trash : null;
  const where = live?.deletedAt.column ?? null;
  return { name, columns: unique || columns.includes(key) ? columns : [...columns, key], unique, where };
}

/** A collection's options without the indexes over these fields. */
export function omitIndexesOver({ options }: Collection, fields: readonly Field[]): Collection['options'] {
  if (!options.indexes) return options;
  const removedNames = new Set(fields.map((field) => field.name));
  return {
    ...options,
    indexes: options.indexes.filter((index) => !index.fields.some((name) => removedNames.has(name))),
  };
}
