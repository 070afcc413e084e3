import { limits } from '../protocol/limits.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { fieldTypes } from '../schema/field-types.ts';
import { schemaRef } from './record-schemas.ts';
import { listOf, name, number, object, text, textOrNull, truth, whole } from './schema-parts.ts';

const indexes: JsonSchema = {
  ...listOf(object({ fields: { ...listOf(text), minItems: 1, maxItems: 10 }, unique: truth }, ['fields'])),
  maxItems: limits.indexes,
};
const words: Readonly<Record<string, JsonSchema>> = {
  title: { ...textOrNull, maxLength: limits.titleLength },
  description: { ...textOrNull, maxLength: limits.descriptionLength },
};

const fieldProperties: Readonly<Record<string, JsonSchema>> = {
  name,
  // Extensions add types when the server starts.
  type: {
    type: 'string',
    get enum(): string[] {
      return [...fieldTypes.keys()];
    },
  },
  title: { ...text, maxLength: limits.titleLength },
  description: { ...text, maxLength: limits.descriptionLength },
  uiSchema: { type: 'object', description: `At most ${limits.definitionJsonLength} characters of JSON.` },
  required: truth,
  unique: truth,
  index: truth,
  allowNull: truth,
  defaultValue: {
    description: `Null: there is no default. At most ${limits.definitionJsonLength} characters of JSON.`,
  },
  primaryKey: truth,
  autoIncrement: truth,
  maxLength: { type: 'integer', minimum: 1 },
  pattern: {
    type: 'string',
    maxLength: limits.patternLength,
    description: 'A regular expression in RE2 syntax.',
  },
  min: number,
  max: number,
  precision: whole,
  scale: whole,
  enum: { ...listOf({ ...text, maxLength: limits.titleLength }), minItems: 1, maxItems: 500 },
  multiple: truth,
  dateOnly: { ...truth, description: 'A datetime stores only the day. No effect on a date.' },
  autoNow: { ...truth, description: 'Set on create.' },
  autoNowAdd: { ...truth, description: 'Set on every update.' },
  target: text,
  foreignKey: text,
  otherKey: text,
  sourceKey: text,
  targetKey: text,
  through: text,
  scopeKey: text,
  onDelete: { type: 'string', enum: ['setNull', 'cascade', 'restrict'] },
};
const optionProperties: Readonly<Record<string, JsonSchema>> = {
  timestamps: { ...truth, default: true, description: 'createdAt and updatedAt.' },
  paranoid: {
    ...truth,
    default: false,
    description: 'Soft delete: destroyed records stay in the trash, marked by deletedAt.',
  },
  logging: { ...truth, default: false, description: 'Store the history of each record.' },
  authors: { ...truth, default: false, description: 'createdBy and updatedBy.' },
  indexes,
};
const changedOptions: Readonly<Record<string, JsonSchema>> = {
  ...Object.fromEntries(Object.keys(optionProperties).map((each) => [each, truth])),
  indexes,
};
const fieldExample = { name: 'title', type: 'string', required: true, maxLength: 200 };
const collectionExample = { name: 'posts', title: 'Posts', fields: [fieldExample] };

const definitionInput = object(
  {
    name,
    ...words,
    fields: listOf(schemaRef('FieldDefinition')),
    options: { ...object(optionProperties), description: 'Options may also be given next to it.' },
    ...optionProperties,
  },
  ['name'],
);

/** Null removes a property. */
function orNull(properties: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(properties).map(([each, schema]) => [each, { anyOf: [schema, { type: 'null' }] }]),
  );
}

/** Schemas for those who may see or change definitions. */
export const definitionSchemas: Readonly<Record<string, JsonSchema>> = {
  Collection: object({
    name: text,
    title: textOrNull,
    description: textOrNull,
    fields: listOf(schemaRef('Field')),
    options: object(optionProperties),
    system: truth,
  }),
  Field: object({ ...fieldProperties, readOnly: { ...truth, description: 'Set by the server.' } }),
  CollectionDefinition: { ...definitionInput, examples: [collectionExample] },
  CollectionChange: object({ ...words, options: object(changedOptions), ...changedOptions }),
  FieldDefinition: {
    ...object(
      {
        ...fieldProperties,
        readOnly: truth,
        options: { type: 'object', description: 'The options may stand here, too.' },
      },
      ['name', 'type'],
    ),
    examples: [fieldExample],
  },
  FieldChange: object({
    ...orNull(fieldProperties),
    name,
    collectionName: text,
    newName: name,
    options: { type: 'object' },
  }),
  DefinitionEvent: object({ name: text, tk: text }),
  DefinitionTrial: object(
    {
      dryRun: { const: true },
      changes: listOf(schemaRef('DefinitionEvent')),
      records: { type: 'object', additionalProperties: whole },
    },
    ['dryRun', 'changes', 'records'],
  ),
};
