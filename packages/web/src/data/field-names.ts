/** How collections and fields are called: on pages, and in bodies of requests. */
import type { Field } from '@tablinum/client';

/** The property of the request body that writes a field: the foreign key for a relation. */
export function getWriteName(field: Field): string {
  return field.type === 'belongsTo' ? (field.foreignKey ?? field.name) : field.name;
}

/** The title of a collection or field; its name if it has no title. */
export function getTitle({ title, name }: { readonly title?: string | null; readonly name: string }): string {
  return title || name;
}
