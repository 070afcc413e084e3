import type { CollectionOptions, FieldDefinition } from '../protocol/definition.ts';
import type { FieldFacts } from '../schema/load-registry.ts';
import { type NewField, plainFacts } from './new-field.ts';

/** The fields that the server keeps in a collection with these options: readable, never written by clients. */
export function keptFields({ timestamps, authors, paranoid }: CollectionOptions, core: boolean): NewField[] {
  const moment = (name: string, notNull: boolean): NewField => kept({ name, type: 'datetime' }, { notNull, core });
  return [
    ...(timestamps ? [moment('createdAt', true), moment('updatedAt', true)] : []),
    ...(authors ? [...author('createdBy'), ...author('updatedBy')] : []),
    ...(paranoid
      ? [moment('deletedAt', false), kept({ name: 'deletedWith', type: 'integer' }, { hidden: true, core })]
      : []),
  ];
}

/** Who made or changed a record: a relation to users with its foreign key; null where nobody signed in. */
function author(name: string): NewField[] {
  const foreignKey = `${name}Id`;
  const references = { collection: 'users', field: 'id', onDelete: 'setNull' } as const;
  const relation = {
    kind: 'belongsTo',
    many: false,
    target: 'users',
    sourceField: foreignKey,
    targetField: 'id',
    through: null,
  } as const;
  return [
    kept({ name: foreignKey, type: 'integer', index: true }, { references }),
    kept({ name, type: 'belongsTo', target: 'users', foreignKey }, { relation, base: null }),
  ];
}

function kept(definition: FieldDefinition, facts: Partial<FieldFacts>): NewField {
  return {
    definition,
    facts: { ...plainFacts, base: definition.name, kept: true, ...facts },
  };
}
