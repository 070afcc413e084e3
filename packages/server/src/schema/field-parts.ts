/** Parts that only some fields have, for code that knows that its field has them. */
import type { Storage } from './field-type.ts';
import type { Field, Join, Relation } from './registry.ts';

/** The column of a field. @throws Error for a relation, which has none. */
export function requireColumn({ column, name }: Field): string {
  if (column === null) throw createMissingPartError(name, 'column');
  return column;
}

/** How values of a field are stored. @throws Error for a relation, which stores none. */
export function requireStorage({ type, name }: Field): Storage {
  if (type.storage === null) throw createMissingPartError(name, 'storage');
  return type.storage;
}

/** The collection and field that a foreign key references. @throws Error for any other field. */
export function requireReference({ references, name }: Field): NonNullable<Field['references']> {
  if (references === null) throw createMissingPartError(name, 'reference');
  return references;
}

/** The relation of a relation field. @throws Error for any other field. */
export function requireRelation({ relation, name }: Field): Relation {
  if (relation === null) throw createMissingPartError(name, 'relation');
  return relation;
}

/** The join of a many-to-many relation. @throws Error for any other relation. */
export function requireJoin({ target, through }: Relation): Join {
  if (through === null) throw new Error(`internal error: the relation to ${target} has no join`);
  return through;
}

function createMissingPartError(name: string, part: string): Error {
  return new Error(`internal error: the field "${name}" has no ${part}`);
}
