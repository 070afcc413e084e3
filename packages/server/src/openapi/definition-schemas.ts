import { limits } from '../protocol/limits.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { fieldTypes } from '../schema/field-types.ts';
import { schemaRef } from './record-schemas.ts';
import {
  arraySchema,
  booleanSchema,
  identifierSchema,
  integerSchema,
  numberSchema,
  objectSchema,
  stringOrNullSchema,
  stringSchema,
} from './schema-parts.ts';

const indexes: JsonSchema = {
  ...arraySchema(
    objectSchema({ fields: { ...arraySchema(stringSchema), minItems: 1, maxItems: 10 }, unique: booleanSchema }, [
      'fields',
    ]),
  ),
  maxItems: limits.indexes,
};
const labelProperties: Readonly<Record<string, JsonSchema>> = {
  title: { ...stringOrNullSchema, maxLength: limits.titleLength },
  description: { ...stringOrNullSchema, maxLength: limits.descriptionLength },
};

const fieldProperties: Readonly<Record<string, JsonSchema>> = {
  name: identifierSchema,
  // Extensions add types when the server starts.
  type: {
    type: 'string',
    get enum(): string[] {
      return fieldTypes.names();
    },
  },
  title: { ...stringSchema, maxLength: limits.titleLength },
  description: { ...stringSchema, maxLength: limits.descriptionLength },
  uiSchema: { type: 'object', description: `At most ${limits.definitionJsonLength} characters of JSON.` },
  required: booleanSchema,
  unique: booleanSchema,
  index: booleanSchema,
  allowNull: booleanSchema,
  defaultValue: {
    description: `Null: no default value. At most ${limits.definitionJsonLength} characters of JSON.`,
  },
  primaryKey: booleanSchema,
  autoIncrement: booleanSchema,
  maxLength: { type: 'integer', minimum: 1 },
  pattern: {
    type: 'string',
    maxLength: limits.patternLength,
    description: 'A regular expression in RE2 syntax.',
  },
  min: numberSchema,
  max: numberSchema,
  precision: integerSchema,
  scale: integerSchema,
  enum: { ...arraySchema({ ...stringSchema, maxLength: limits.titleLength }), minItems: 1, maxItems: 500 },
  multiple: booleanSchema,
  dateOnly: { ...booleanSchema, description: 'A datetime stores only the day. No effect on a date.' },
  autoNow: { ...booleanSchema, description: 'Set on create.' },
  autoNowAdd: { ...booleanSchema, description: 'Set on every update.' },
  target: stringSchema,
  foreignKey: stringSchema,
  otherKey: stringSchema,
  sourceKey: stringSchema,
  targetKey: stringSchema,
  through: stringSchema,
  scopeKey: stringSchema,
  onDelete: { type: 'string', enum: ['setNull', 'cascade', 'restrict'] },
};
const optionProperties: Readonly<Record<string, JsonSchema>> = {
  timestamps: { ...booleanSchema, default: true, description: 'createdAt and updatedAt.' },
  paranoid: {
    ...booleanSchema,
    default: false,
    description: 'Soft delete: destroyed records stay in the trash, marked by deletedAt.',
  },
  logging: { ...booleanSchema, default: false, description: 'Store the history of each record.' },
  authors: { ...booleanSchema, default: false, description: 'createdBy and updatedBy.' },
  indexes,
};
const changedOptionProperties: Readonly<Record<string, JsonSchema>> = {
  ...Object.fromEntries(Object.keys(optionProperties).map((each) => [each, booleanSchema])),
  indexes,
};
const fieldExample = { name: 'title', type: 'string', required: true, maxLength: 200 };
const collectionExample = { name: 'posts', title: 'Posts', fields: [fieldExample] };

const definitionInput = objectSchema(
  {
    name: identifierSchema,
    ...labelProperties,
    fields: arraySchema(schemaRef('FieldDefinition')),
    options: { ...objectSchema(optionProperties), description: 'Options may also be given next to "options".' },
    ...optionProperties,
  },
  ['name'],
);

/** Null removes a property. */
function makeNullable(properties: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(properties).map(([each, schema]) => [each, { anyOf: [schema, { type: 'null' }] }]),
  );
}

/** Schemas for roles that may read or change definitions. */
export const definitionSchemas: Readonly<Record<string, JsonSchema>> = {
  Collection: objectSchema({
    name: stringSchema,
    title: stringOrNullSchema,
    description: stringOrNullSchema,
    fields: arraySchema(schemaRef('Field')),
    options: objectSchema(optionProperties),
    system: booleanSchema,
  }),
  Field: objectSchema({ ...fieldProperties, readOnly: { ...booleanSchema, description: 'Managed by the server.' } }),
  CollectionDefinition: { ...definitionInput, examples: [collectionExample] },
  CollectionChange: objectSchema({
    ...labelProperties,
    options: objectSchema(changedOptionProperties),
    ...changedOptionProperties,
  }),
  FieldDefinition: {
    ...objectSchema(
      {
        ...fieldProperties,
        readOnly: booleanSchema,
        options: { type: 'object', description: 'The options may also be given here.' },
      },
      ['name', 'type'],
    ),
    examples: [fieldExample],
  },
  FieldChange: objectSchema({
    ...makeNullable(fieldProperties),
    name: identifierSchema,
    collectionName: stringSchema,
    newName: identifierSchema,
    options: { type: 'object' },
  }),
  DefinitionEvent: objectSchema({ name: stringSchema, tk: stringSchema }),
  DefinitionTrial: objectSchema(
    {
      dryRun: { const: true },
      changes: arraySchema(schemaRef('DefinitionEvent')),
      records: { type: 'object', additionalProperties: integerSchema },
    },
    ['dryRun', 'changes', 'records'],
  ),
};
