/** Parts of a field that only some fields have, for code that knows its field has them. */
import type { Storage } from '../schema/field-type.ts';
import type { Field, Relation } from '../schema/registry.ts';

/** The column of a field. @throws Error for a relation, which has none. */
export function requireColumn({ column, name }: Field): string {
  if (column === null) throw missingPart(name, 'column');
  return column;
}

/** How values of a field are stored. @throws Error for a relation, which stores none. */
export function requireStorage({ type, name }: Field): Storage {
  if (type.storage === null) throw missingPart(name, 'storage');
  return type.storage;
}

/** The collection and field that a foreign key references. @throws Error for any other field. */
export function requireReference({ references, name }: Field): NonNullable<Field['references']> {
  if (references === null) throw missingPart(name, 'reference');
  return references;
}

/** @throws Error for a field that is not a relation. */
export function requireRelation({ relation, name }: Field): Relation {
  if (relation === null) throw missingPart(name, 'relation');
  return relation;
}

function missingPart(name: string, part: string): Error {
  return new Error(`internal error: the field "${name}" has no ${part}`);
}
