/** Parts of a field that a planner knows to exist, because it has checked what kind of field it is. */
import type { Storage } from '../schema/field-type.ts';
import type { Field, Join, Relation } from '../schema/registry.ts';

/** The column of a field that is no relation. */
export function requireColumn({ name, column }: Field): string {
  if (column === null) throw new Error(`The field "${name}" has no column.`);
  return column;
}

/** The storage of a field that is no relation. */
export function requireStorage({ name, type }: Field): Storage {
  if (type.storage === null) throw new Error(`The field "${name}" has no storage.`);
  return type.storage;
}

/** The relation of a relation field. */
export function requireRelation({ name, relation }: Field): Relation {
  if (relation === null) throw new Error(`The field "${name}" is no relation.`);
  return relation;
}

/** The join of a many-to-many relation. */
export function requireJoin({ target, through }: Relation): Join {
  if (through === null) throw new Error(`The relation to ${target} has no join.`);
  return through;
}
