import type { ColumnDefinition, IndexPlan } from '../database/dialect.ts';
import { type Collection, columnsOf, type Field, fieldOf, type Registry } from '../schema/registry.ts';

/** A field as the engine's column. */
export function columnDefinition(field: Field, registry: Registry): ColumnDefinition {
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
        ? { table: target.table, column: fieldOf(target, references.field).column!, onDelete: references.onDelete }
        : null,
  };
}

/** Every index of a collection: of its fields, and of `options.indexes`. */
export function indexesOf(collection: Collection): IndexPlan[] {
  const own = columnsOf(collection).flatMap((field) => indexOfField(collection, field) ?? []);
  const wanted = (collection.options.indexes ?? []).map(({ fields, unique = false }) =>
    indexPlan(
      collection,
      fields.map((name) => fieldOf(collection, name)),
      unique,
    ),
  );
  return [...new Map([...own, ...wanted].map((index) => [index.name, index])).values()];
}

export function indexOfField(collection: Collection, field: Field): IndexPlan | null {
  if (field.column === null || field.primaryKey) return null;
  if (field.definition.unique) return indexPlan(collection, [field], true);
  return field.definition.index || field.references ? indexPlan(collection, [field], false) : null;
}

/** Plain indexes end in the primary key, which gives the order of equal values and lets a keyset seek. */
function indexPlan(collection: Collection, fields: readonly Field[], unique: boolean): IndexPlan {
  const columns = fields.map((field) => field.column!);
  const key = collection.primaryKey.column!;
  const name = `${unique ? 'u' : 'i'}_${collection.id}_${fields.map((field) => field.id).join('_')}`;
  // What is in the trash is in nobody's way, unless a foreign key needs the whole column.
  const live = unique && !fields.some((field) => field.anchor) ? collection.trash : null;
  const where = live?.deletedAt.column ?? null;
  return { name, columns: unique || columns.includes(key) ? columns : [...columns, key], unique, where };
}

/** A collection's options without the indexes over these fields. */
export function optionsWithout({ options }: Collection, fields: readonly Field[]): Collection['options'] {
  if (!options.indexes) return options;
  const gone = new Set(fields.map((field) => field.name));
  return { ...options, indexes: options.indexes.filter((index) => !index.fields.some((name) => gone.has(name))) };
}
