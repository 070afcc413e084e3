import type { JsonSchema } from '../schema/field-type.ts';
import { fieldTypes } from '../schema/field-types.ts';
import { errorSchema } from './error-responses.ts';
import { querySchema } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';

const text: JsonSchema = { type: 'string' };
const textOrNull: JsonSchema = { type: ['string', 'null'] };
const truth: JsonSchema = { type: 'boolean' };
const whole: JsonSchema = { type: 'integer' };
const number: JsonSchema = { type: 'number' };
const moment: JsonSchema = { type: 'string', format: 'date-time' };
const momentOrNull: JsonSchema = { type: ['string', 'null'], format: 'date-time' };
const name: JsonSchema = { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_]{0,59}$' };

export function object(properties: Readonly<Record<string, JsonSchema>>, required: readonly string[] = []): JsonSchema {
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false };
}

export function listOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items };
}

const indexes: JsonSchema = listOf(
  object({ fields: { ...listOf(text), minItems: 1, maxItems: 10 }, unique: truth }, ['fields']),
);

const fieldProperties: Readonly<Record<string, JsonSchema>> = {
  name,
  type: { type: 'string', enum: [...fieldTypes.keys()] },
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

/** Schemas of every document. */
export const commonSchemas: Readonly<Record<string, JsonSchema>> = {
  Error: errorSchema,
  ListMeta: object(
    {
      count: { type: 'integer', description: 'All that match; absent with count=none.' },
      countIsEstimate: { const: true },
      page: whole,
      pageSize: whole,
      totalPage: whole,
      hasNext: truth,
      nextCursor: { ...textOrNull, description: 'For after; null on the last page.' },
      versions: { type: 'object', additionalProperties: whole },
    },
    ['pageSize', 'hasNext', 'nextCursor'],
  ),
  HistoryEntry: object(
    {
      id: whole,
      at: moment,
      action: { type: 'string', enum: ['created', 'updated', 'destroyed', 'restored'] },
      actor: textOrNull,
      requestId: textOrNull,
      changes: listOf(object({ field: text, before: {}, after: {} }, ['field', 'before', 'after'])),
    },
    ['id', 'at', 'action', 'actor', 'requestId', 'changes'],
  ),
  WriteMeta: object({ dryRun: { const: true } }),
  Query: querySchema,
  Health: object({ status: { const: 'ok' }, uptime: { type: 'integer', description: 'Seconds.' } }, [
    'status',
    'uptime',
  ]),
  Credentials: {
    ...object({ email: text, account: text, username: text, password: { ...text, writeOnly: true } }, ['password']),
    anyOf: [{ required: ['email'] }, { required: ['account'] }, { required: ['username'] }],
    examples: [{ email: 'ann@example.com', password: 'correct horse battery' }],
  },
  Session: object(
    {
      user: { type: 'object', description: 'The user, with the names of its roles.' },
      token: { type: 'string', description: 'For the header Authorization: Bearer <token>.' },
    },
    ['user', 'token'],
  ),
};

/** Schemas for those who have proved who they are. */
export const callerSchemas: Readonly<Record<string, JsonSchema>> = {
  Check: object({
    id: { type: ['integer', 'null'] },
    email: textOrNull,
    nickname: textOrNull,
    roles: listOf(text),
    currentRole: text,
    application: text,
    credential: object({
      type: { type: 'string', enum: ['session', 'apiKey'] },
      id: whole,
      name: textOrNull,
      expiresAt: momentOrNull,
    }),
  }),
  NewKey: {
    ...object(
      {
        name: { type: ['string', 'null'], maxLength: 255 },
        role: { anyOf: [object({ name: text }, ['name']), text] },
        expiresIn: { type: 'string', pattern: '^(?:[1-9]\\d{0,3}[hdwmy]|never)$', default: '30d' },
      },
      ['role'],
    ),
    examples: [{ role: { name: 'viewer' }, expiresIn: '1y' }],
  },
  MadeKey: object(
    {
      id: whole,
      token: { type: 'string', description: 'Shown here and never again.' },
      name: textOrNull,
      role: text,
      expiresAt: momentOrNull,
      createdAt: moment,
    },
    ['id', 'token', 'name', 'role', 'expiresAt', 'createdAt'],
  ),
};

const applicationOptions = object({ autoStart: truth, metadata: { type: 'object' } });

/** Schemas for those who manage applications. */
export const applicationSchemas: Readonly<Record<string, JsonSchema>> = {
  NewApplication: {
    ...object(
      {
        name: { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_-]{0,59}$' },
        displayName: { type: ['string', 'null'], maxLength: 255 },
        description: textOrNull,
        options: applicationOptions,
      },
      ['name'],
    ),
    examples: [{ name: 'shop', displayName: 'The shop', options: { autoStart: true } }],
  },
  ApplicationChange: object({
    displayName: { type: ['string', 'null'], maxLength: 255 },
    description: textOrNull,
    options: applicationOptions,
  }),
};
