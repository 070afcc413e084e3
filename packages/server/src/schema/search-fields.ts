/** Which fields of a collection have a search index, by their own property `searchIndex` or by the option `search`. */
import type { CollectionOptions } from '../protocol/definition.ts';
import type { FieldType } from './field-type.ts';
import { type Collection, type ColumnField, type Field, hasColumn } from './registry.ts';

/** Whether fields of a type can have a search index: they contain text that filters can compare. */
export function isSearchableType({ operators, secret, storage }: FieldType): boolean {
  return operators.has('text') && storage === 'text' && !secret;
}

/** Whether a field can have a search index. */
export function isSearchableField({ type, hidden }: Field): boolean {
  return isSearchableType(type) && !hidden;
}

/** The fields of a collection that have a search index, or that get one soon. */
export function listSearchFields({ fields, options }: Collection): ColumnField[] {
  return fields
    .filter(hasColumn)
    .filter((field) => isSearchableField(field))
    .filter(({ name, definition }) => definition.searchIndex === true || options.search?.includes(name) === true);
}

/** Why a name cannot be in the option `search`. */
export function describeUnsearchable(name: string): string {
  return `"${name.slice(0, 60)}" cannot have a search index: name a field of the collection that contains text.`;
}

/** Options with changed names of fields. A field that becomes null is removed, with the indexes that contain it. */
export function renameInOptions(
  options: CollectionOptions,
  rename: (name: string) => string | null,
): CollectionOptions {
  const { indexes, search } = options;
  const isKept = (name: string): boolean => rename(name) !== null;
  const toNew = (name: string): string => rename(name) ?? name;
  return {
    ...options,
    ...(indexes && {
      indexes: indexes
        .filter(({ fields }) => fields.every(isKept))
        .map((index) => ({ ...index, fields: index.fields.map(toNew) })),
    }),
    ...(search && { search: search.filter(isKept).map(toNew) }),
  };
}
