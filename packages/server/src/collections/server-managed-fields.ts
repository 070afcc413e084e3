import type { CollectionOptions, FieldDefinition } from '../protocol/definition.ts';
import type { FieldFacts } from '../schema/load-registry.ts';
import { defaultFieldFacts, type NewField } from './new-field.ts';

/** The fields that the server manages in a collection with these options: clients can read but not write them. */
export function buildServerManagedFields(
  { timestamps, authors, paranoid }: CollectionOptions,
  core: boolean,
): NewField[] {
  const dateTimeField = (name: string, notNull: boolean): NewField =>
    serverManagedField({ name, type: 'datetime' }, { notNull, core });
  return [
    ...(timestamps ? [dateTimeField('createdAt', true), dateTimeField('updatedAt', true)] : []),
    ...(authors ? [...buildAuthorFields('createdBy'), ...buildAuthorFields('updatedBy')] : []),
    ...(paranoid
      ? [
          dateTimeField('deletedAt', false),
          serverManagedField({ name: 'deletedWith', type: 'integer' }, { hidden: true, core }),
        ]
      : []),
  ];
}

/**
 * Relations to the users who created and changed a record, with their foreign keys; null if the caller was not a user.
 */
function buildAuthorFields(name: string): NewField[] {
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
    serverManagedField({ name: foreignKey, type: 'integer', index: true }, { references }),
    serverManagedField({ name, type: 'belongsTo', target: 'users', foreignKey }, { relation, base: null }),
  ];
}

function serverManagedField(definition: FieldDefinition, facts: Partial<FieldFacts>): NewField {
  return {
    definition,
    facts: { ...defaultFieldFacts, base: definition.name, kept: true, ...facts },
  };
}
