import type { JsonSchema } from '../schema/field-type.ts';
import { fieldTypes } from '../schema/field-types.ts';
import { schemaRef } from './record-schemas.ts';
import { listOf, name, number, object, text, textOrNull, truth, whole } from './schema-parts.ts';

const indexes: JsonSchema = listOf(
  object({ fields: { ...listOf(text), minItems: 1, maxItems: 10 }, unique: truth }, ['fields']),
);

const fieldProperties: Readonly<Record<string, JsonSchema>> = {
  name,
  // Extensions add types when the server starts.
  type: {
    type: 'string',
    get enum(): string[] {
      return [...fieldTypes.keys()];
    },
  },
  title: text,
  description: text,
  uiSchema: { type: 'object' },
  required: truth,
  unique: truth,
  index: truth,
  allowNull: truth,
  defaultValue: {},
  primaryKey: truth,
  autoIncrement: truth,
  maxLength: { type: 'integer', minimum: 1 },
  pattern: { type: 'string', description: 'A regular expression in RE2 syntax.' },
  min: number,
  max: number,
  precision: whole,
  scale: whole,
  enum: { ...listOf(text), minItems: 1, maxItems: 500 },
  multiple: truth,
  dateOnly: truth,
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
  timestamps: { ...truth, default: true },
  paranoid: { ...truth, default: false },
  logging: { ...truth, default: false },
  authors: { ...truth, default: false },
  indexes,
};
const fieldExample = { name: 'title', type: 'string', required: true, maxLength: 200 };
const collectionExample = { name: 'posts', title: 'Posts', fields: [fieldExample] };

const definitionInput = object(
  {
    name,
    title: textOrNull,
    description: textOrNull,
    fields: listOf(schemaRef('FieldDefinition')),
    options: object(optionProperties),
  },
  ['name'],
);

/** Schemas for those who may see or change definitions. */
export const definitionSchemas: Readonly<Record<string, JsonSchema>> = {
  Collection: object(
    {
      name: text,
      title: textOrNull,
      description: textOrNull,
      fields: listOf(schemaRef('Field')),
      options: object(optionProperties),
      system: truth,
    },
    ['name', 'options'],
  ),
  Field: object({ ...fieldProperties, readOnly: { ...truth, description: 'Kept by the server.' } }, ['name', 'type']),
  CollectionDefinition: { ...definitionInput, examples: [collectionExample] },
  CollectionChange: object({ title: textOrNull, description: textOrNull, options: object({ indexes }) }),
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
  FieldChange: object({ ...fieldProperties, collectionName: text, newName: name, options: { type: 'object' } }),
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
