import type { CollectionDefinition } from '../protocol/definition.ts';
import type { Collection, JoinFields } from '../schema/registry.ts';
import { defaultFieldFacts, type NewField } from './new-field.ts';

/** A join collection that will be created. */
export interface NewJoinCollection {
  readonly definition: CollectionDefinition;
  readonly fields: readonly NewField[];
}

/** The name of a join if the relation does not name it: both collections in the order of code points, in camel case. */
export function joinName(left: string, right: string): string {
  const [first, second] = [left, right].sort() as [string, string];
  return `${first}${second.charAt(0).toUpperCase()}${second.slice(1)}`;
}

/** A join has its own primary key, and contains each pair once. */
export function buildJoinCollection(
  { collection, sourceField, targetField }: JoinFields,
  sides: readonly NewField[],
): NewJoinCollection {
  const id = { name: 'id', type: 'integer', primaryKey: true, autoIncrement: true } as const;
  const facts = { ...defaultFieldFacts, base: 'id', notNull: true };
  const fields = [{ definition: id, facts }, ...sides];
  const options = {
    timestamps: false,
    paranoid: false,
    logging: false,
    authors: false,
    indexes: [{ fields: [sourceField, targetField], unique: true }],
  };
  const definition = { name: collection, fields: fields.map((field) => field.definition), options };
  return { definition, fields };
}

/** Whether a collection only consists of a primary key and two foreign keys. */
export function isOnlyJoin({ fields }: Collection): boolean {
  const foreignKeys = fields.filter((field) => !field.primaryKey && !field.serverManaged);
  return foreignKeys.length === 2 && foreignKeys.every((field) => field.references !== null);
}
