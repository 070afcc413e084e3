import { limits } from '../protocol/limits.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { fieldTypes } from '../schema/field-types.ts';
import { schemaRef } from './record-schemas.ts';
import * as schema from './schema-parts.ts';

const indexes: JsonSchema = {
  ...schema.array(
    schema.object(
      {
        fields: { ...schema.array(schema.string), minItems: 1, maxItems: 10 },
        unique: schema.boolean,
        present: {
          type: 'string',
          description:
            'Only in system collections, and read-only: the index only contains records in which this field is not null.',
        },
      },
      ['fields'],
    ),
  ),
  maxItems: limits.indexes,
};
const search: JsonSchema = {
  ...schema.array(schema.string),
  maxItems: limits.searchIndexes,
  uniqueItems: true,
  description:
    'Text fields with a search index. It is built in the background and makes searches for three or more characters fast; it does not change which fields are searched.',
};
/** The progress of search indexes. */
const searchIndexes: JsonSchema = schema.array(
  schema.object(
    {
      field: schema.string,
      state: { type: 'string', enum: ['building', 'ready', 'unavailable'] },
      done: { ...schema.integer, description: 'Records that are in the index, while it is being built.' },
      total: schema.integer,
      problem: schema.string,
    },
    ['field', 'state'],
  ),
);
const labelProperties: Readonly<Record<string, JsonSchema>> = {
  title: { ...schema.stringOrNull, maxLength: limits.titleLength },
  description: { ...schema.stringOrNull, maxLength: limits.descriptionLength },
};

const fieldProperties: Readonly<Record<string, JsonSchema>> = {
  name: schema.identifierName,
  // Extensions add types when the server starts.
  type: {
    type: 'string',
    get enum(): string[] {
      return fieldTypes.names();
    },
  },
  title: { ...schema.string, maxLength: limits.titleLength },
  description: { ...schema.string, maxLength: limits.descriptionLength },
  uiSchema: { type: 'object', description: `At most ${limits.definitionJsonLength} characters of JSON.` },
  required: schema.boolean,
  unique: schema.boolean,
  index: schema.boolean,
  searchIndex: { ...schema.boolean, description: 'A search index on the text of the field, see the option "search".' },
  allowNull: schema.boolean,
  defaultValue: {
    description: `Null: no default value. At most ${limits.definitionJsonLength} characters of JSON.`,
  },
  primaryKey: schema.boolean,
  autoIncrement: schema.boolean,
  maxLength: { type: 'integer', minimum: 1 },
  pattern: {
    type: 'string',
    maxLength: limits.patternLength,
    description: 'A regular expression in RE2 syntax.',
  },
  min: schema.number,
  max: schema.number,
  precision: schema.integer,
  scale: schema.integer,
  enum: { ...schema.array({ ...schema.string, maxLength: limits.titleLength }), minItems: 1, maxItems: 500 },
  multiple: schema.boolean,
  accept: {
    ...schema.array(schema.string),
    minItems: 1,
    maxItems: 100,
    description: 'Media types of files, such as image/* or application/pdf.',
  },
  maxSize: { type: 'integer', minimum: 1, description: 'Bytes of a file.' },
  maxCount: { type: 'integer', minimum: 1, maximum: limits.filesOfField, description: 'Number of files.' },
  dateOnly: { ...schema.boolean, description: 'A datetime stores only the day. No effect on a date.' },
  autoNow: { ...schema.boolean, description: 'Set on create.' },
  autoNowAdd: { ...schema.boolean, description: 'Set on every update.' },
  target: schema.string,
  foreignKey: schema.string,
  otherKey: schema.string,
  sourceKey: schema.string,
  targetKey: schema.string,
  through: schema.string,
  scopeKey: schema.string,
  onDelete: { type: 'string', enum: ['setNull', 'cascade', 'restrict'] },
};
const optionProperties: Readonly<Record<string, JsonSchema>> = {
  timestamps: { ...schema.boolean, default: true, description: 'createdAt and updatedAt.' },
  paranoid: {
    ...schema.boolean,
    default: false,
    description: 'Soft delete: destroyed records stay in the trash, marked by deletedAt.',
  },
  logging: { ...schema.boolean, default: false, description: 'Store the history of each record.' },
  authors: { ...schema.boolean, default: false, description: 'createdBy and updatedBy.' },
  indexes,
  search,
};
const changedOptionProperties: Readonly<Record<string, JsonSchema>> = {
  ...Object.fromEntries(Object.keys(optionProperties).map((each) => [each, schema.boolean])),
  indexes,
  search,
};
const fieldExample = { name: 'title', type: 'string', required: true, maxLength: 200 };
const collectionExample = { name: 'posts', title: 'Posts', fields: [fieldExample] };

const definitionInput = schema.object(
  {
    name: schema.identifierName,
    ...labelProperties,
    fields: schema.array(schemaRef('FieldDefinition')),
    options: { ...schema.object(optionProperties), description: 'Options may also be given next to "options".' },
    ...optionProperties,
  },
  ['name'],
);

/** Null removes a property. */
function makeNullable(properties: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, each]) => [name, { anyOf: [each, { type: 'null' }] }]),
  );
}

/** Schemas for roles that may read or change definitions. */
export const definitionSchemas: Readonly<Record<string, JsonSchema>> = {
  Collection: schema.object({
    name: schema.string,
    title: schema.stringOrNull,
    description: schema.stringOrNull,
    fields: schema.array(schemaRef('Field')),
    options: schema.object(optionProperties),
    searchIndexes: { ...searchIndexes, description: 'Absent without search indexes.' },
    system: schema.boolean,
  }),
  Field: schema.object({ ...fieldProperties, readOnly: { ...schema.boolean, description: 'Managed by the server.' } }),
  CollectionDefinition: { ...definitionInput, examples: [collectionExample] },
  CollectionChange: schema.object({
    ...labelProperties,
    options: schema.object(changedOptionProperties),
    ...changedOptionProperties,
  }),
  FieldDefinition: {
    ...schema.object(
      {
        ...fieldProperties,
        readOnly: schema.boolean,
        options: { type: 'object', description: 'The options may also be given here.' },
      },
      ['name', 'type'],
    ),
    examples: [fieldExample],
  },
  FieldChange: schema.object({
    ...makeNullable(fieldProperties),
    name: schema.identifierName,
    collectionName: schema.string,
    newName: schema.identifierName,
    options: { type: 'object' },
  }),
  DefinitionEvent: schema.object({ name: schema.string, tk: schema.string }),
  DefinitionDryRun: schema.object(
    {
      dryRun: { const: true },
      changes: schema.array(schemaRef('DefinitionEvent')),
      records: { type: 'object', additionalProperties: schema.integer },
    },
    ['dryRun', 'changes', 'records'],
  ),
};
