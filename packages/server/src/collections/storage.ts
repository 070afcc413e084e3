import type { ColumnDefinition, IndexPlan } from '../database/dialect.ts';
import {
  type Collection,
  type ColumnField,
  type Field,
  getColumnField,
  hasColumn,
  listColumnFields,
  type Registry,
  requireColumnField,
} from '../schema/registry.ts';
import { renameInOptions } from '../schema/search-fields.ts';

/** The column of a field. @throws Error for a relation, which has none. */
export function toColumnDefinition(field: Field, registry: Registry): ColumnDefinition {
  const { references } = field;
  const { column, type } = requireColumnField(field);
  const target = references && registry.get(references.collection);
  return {
    name: column,
    storage: type.storage,
    notNull: field.notNull,
    primaryKey: field.primaryKey,
    autoIncrement: field.autoIncrement,
    unique: Boolean(field.definition.unique),
    references:
      target && references
        ? {
            table: target.table,
            column: getColumnField(target, references.field).column,
            onDelete: references.onDelete,
          }
        : null,
  };
}

/** All indexes of a collection: those of its fields and those of `options.indexes`. */
export function planIndexes(collection: Collection): IndexPlan[] {
  const fieldIndexes = listColumnFields(collection).flatMap((field) => planFieldIndex(collection, field) ?? []);
  const optionIndexes = (collection.options.indexes ?? []).map(({ fields, unique = false, present }) =>
    makeIndexPlan(
      collection,
      fields.map((name) => getColumnField(collection, name)),
      unique,
      present === undefined ? null : getColumnField(collection, present),
    ),
  );
  return [...new Map([...fieldIndexes, ...optionIndexes].map((index) => [index.name, index])).values()];
}

/** The index that a field has by its own definition; null if it has none. */
export function planFieldIndex(collection: Collection, field: Field): IndexPlan | null {
  if (!hasColumn(field) || field.primaryKey) return null;
  if (field.definition.unique) return makeIndexPlan(collection, [field], true);
  return field.definition.index || field.references ? makeIndexPlan(collection, [field], false) : null;
}

/** Non-unique indexes end with the primary key, so that pages over equal values have an order and can seek by it. */
function makeIndexPlan(
  collection: Collection,
  fields: readonly ColumnField[],
  unique: boolean,
  present: ColumnField | null = null,
): IndexPlan {
  const columns = fields.map((field) => field.column);
  const key = collection.primaryKey.column;
  const name = `${nameIndex(collection, fields, unique)}${present === null ? '' : `_with_${present.id}`}`;
  // Records in the trash do not block unique values, unless foreign keys refer to the column.
  const live = unique && !fields.some((field) => field.referencedKey) ? collection.trash : null;
  const where = live?.deletedAt.column ?? null;
  return {
    name,
    columns: unique || columns.includes(key) ? columns : [...columns, key],
    unique,
    where,
    present: present?.column ?? null,
  };
}

/** The name of the index of a collection over some of its fields. */
export function nameIndex({ id }: Collection, fields: readonly Field[], unique: boolean): string {
  return `${unique ? 'u' : 'i'}_${id}_${fields.map((field) => field.id).join('_')}`;
}

/** The options of a collection without the indexes that contain one of the fields. */
export function omitIndexesOver({ options }: Collection, fields: readonly Field[]): Collection['options'] {
  if (!options.indexes && !options.search) return options;
  const removedNames = new Set(fields.map((field) => field.name));
  return renameInOptions(options, (name) => (removedNames.has(name) ? null : name));
}
