/** The descriptions and input schemas of tools. They only name fields that the caller may use. */
import type { Tool } from '@modelcontextprotocol/server';
import { returnsWholeMail } from '../../mail/actions/action-facts.ts';
import { valueSchema } from '../../openapi/field-schema.ts';
import { buildRecordSchemas } from '../../openapi/record-schemas.ts';
import { findVisibleFields, findVisibleRelations, type Subject } from '../../openapi/subject.ts';
import { limits } from '../../protocol/limits.ts';
import { aggregations, dateFormats } from '../../protocol/query-request.ts';
import type { JsonSchema } from '../../schema/field-type.ts';
import type { Collection, Field } from '../../schema/registry.ts';
import { isWriteTool, type ToolTarget, type WriteToolAction } from './tools.ts';

type Properties = Record<string, JsonSchema>;

/** Characters of the text of a definition in the description of a tool. */
const maxDefinitionText = 500;
const text: JsonSchema = { type: 'string' };
const cursor: JsonSchema = {
  ...text,
  description: '`meta.nextCursor` of the previous page. Repeat all other arguments.',
};
const dryRun: JsonSchema = {
  type: 'boolean',
  default: true,
  description: 'true: show what would change and write nothing. false: write. Ask the user before you send false.',
};
const summaries: Readonly<Record<ToolTarget['action'], string>> = {
  list: 'List records, with filter, search, sort order and pages.',
  get: 'Get one record by its key.',
  query: 'Count and aggregate records, in groups if "dimensions" is given.',
  create: 'Create a record.',
  update: 'Change fields of one record.',
  destroy: 'Delete one record.',
};

/** A tool as `tools/list` describes it. */
export function describeTool(subject: Subject, tool: ToolTarget): Tool {
  const { name, action, isMailSearch } = tool;
  const collection = subject.registry.get(tool.resource);
  const isRead = !isWriteTool(action);
  const summary = isMailSearch ? 'Search e-mails in the full-text index.' : summaries[action];
  return {
    name,
    title: isMailSearch ? 'Search mail' : `${action} ${collection.title ?? collection.name}`,
    description: `${summary}${isMailSearch ? '' : describeCollection(collection)}`,
    inputSchema: {
      type: 'object',
      ...(isMailSearch ? makeMailSearch(subject, collection) : makeInput(subject, collection, action)),
      additionalProperties: false,
    } as Tool['inputSchema'],
    annotations: {
      readOnlyHint: isRead,
      ...(!isRead && { destructiveHint: action !== 'create', idempotentHint: action !== 'create' }),
      openWorldHint: false,
    },
  };
}

function describeCollection({ name, title, description }: Collection): string {
  const more = [title, description].filter(Boolean).join(': ').slice(0, maxDefinitionText);
  return ` Collection "${name}"${more === '' ? '' : ` (${more})`}.`;
}

interface Input {
  readonly properties: Properties;
  readonly required?: string[];
}

function makeInput(subject: Subject, collection: Collection, action: ToolTarget['action']): Input {
  if (action === 'list') return { properties: makeListProperties(subject, collection) };
  if (action === 'query') return makeQuery(subject, collection);
  if (isWriteTool(action)) return makeWrite(subject, collection, action);
  const selection = isWholeMail(collection) ? {} : makeSelection(subject, collection, 'get');
  return { properties: { key: keySchema(collection), ...selection }, required: ['key'] };
}

/** Mail has a search of its own, and is returned as a whole. */
function isWholeMail({ system, name }: Collection): boolean {
  return system && returnsWholeMail(name);
}

function makeListProperties(subject: Subject, collection: Collection): Properties {
  return {
    filter: makeFilter(findVisibleFields(subject, collection, 'list') ?? []),
    ...(!isWholeMail(collection) && { search: { ...text, description: 'Text that one of the text fields contains.' } }),
    ...makeSelection(subject, collection, 'list'),
    sort: {
      type: 'array',
      items: text,
      description: 'Names of fields; "-" before a name sorts in descending order. Example: ["-createdAt"].',
    },
    ...pageProperties,
  };
}

const limit: JsonSchema = { type: 'integer', minimum: 1, maximum: limits.mcpRows, default: limits.pageSizeDefault };
const pageProperties: Properties = { limit, cursor };

function makeMailSearch(subject: Subject, collection: Collection): Input {
  return {
    properties: {
      query: {
        ...text,
        description:
          'Words and operators: from:, to:, cc:, subject:, filename:, in:, label:, has:attachment, is:unread, is:starred, before:2026-01-31, after:2026-01-31, larger:5M; "-" excludes, quotes make a phrase.',
      },
      folder: { ...text, description: 'Role or path of a mailbox. Default: all except trash and junk.' },
      accountId: { type: 'integer' },
      unread: { type: 'boolean' },
      fields: makeSelection(subject, collection, 'list')['fields']!,
      ...pageProperties,
    },
    required: ['query'],
  };
}

function makeQuery(subject: Subject, collection: Collection): Input {
  const names = (findVisibleFields(subject, collection, 'list') ?? []).map(({ name }) => name);
  const field: JsonSchema = { ...text, description: `One of ${names.join(', ')}, or a path over a relation.` };
  const list = (properties: Properties, required: string[]): JsonSchema => ({
    type: 'array',
    items: { type: 'object', properties, required, additionalProperties: false },
  });
  return {
    properties: {
      measures: list({ field, aggregation: { enum: [...aggregations] }, alias: text, distinct: { type: 'boolean' } }, [
        'aggregation',
      ]),
      dimensions: list({ field, alias: text, format: { enum: [...dateFormats] } }, ['field']),
      filter: makeFilter(findVisibleFields(subject, collection, 'list') ?? []),
      having: { type: 'object', description: 'A filter on the names of measures.' },
      orders: list({ alias: text, order: { enum: ['asc', 'desc'] } }, ['alias']),
      limit: { ...limit, default: limits.mcpRows },
      offset: { type: 'integer', minimum: 0, default: 0 },
    },
  };
}

function makeWrite(subject: Subject, collection: Collection, action: WriteToolAction): Input {
  const key = { key: keySchema(collection) };
  if (action === 'destroy') return { properties: { ...key, dryRun }, required: ['key'] };
  const values = inlineSchema(buildRecordSchemas(subject, collection)[`${collection.name}.${action}`]!);
  return action === 'create'
    ? { properties: { values, dryRun }, required: ['values'] }
    : { properties: { ...key, values, dryRun }, required: ['key', 'values'] };
}

function keySchema(collection: Collection): JsonSchema {
  return { ...valueSchema(collection.primaryKey, 'given'), description: 'The primary key of the record.' };
}

function makeSelection(subject: Subject, collection: Collection, action: 'list' | 'get'): Properties {
  const grant = subject.findGrant(collection.name, action);
  const names = (findVisibleFields(subject, collection, action) ?? []).map(({ name }) => name);
  const relations = findVisibleRelations(subject, collection)
    .filter(({ field }) => grant?.may(field))
    .map(({ field }) => field.name);
  return {
    ...(names.length > 0 && {
      fields: { type: 'array', items: { enum: names }, description: 'The fields to return. Default: all.' },
    }),
    ...(relations.length > 0 && {
      appends: { type: 'array', items: { enum: relations }, description: 'Relations whose records are included.' },
    }),
  };
}

function makeFilter(fields: readonly Field[]): JsonSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map((field) => [field.name, { description: describeField(field) }])),
    description:
      'Conditions, all of which must hold: {"field": value} or {"field": {"$op": value}}, with $eq, $ne, $gt, $gte, $lt, $lte, $in, $notIn, $between, $includes, $startsWith, $endsWith, $empty, $notEmpty; for dates also $dateOn, $dateBefore, $dateAfter with "2026-01-31" or {"type": "thisMonth"}; $and, $or, $not; paths such as "author.name".',
  };
}

function describeField({ type, definition }: Field): string {
  const choices = definition.enum ? `: ${definition.enum.slice(0, 50).join(', ')}` : '';
  const title = definition.title === undefined ? '' : `${definition.title}; `;
  return `${title}${type.name}${choices}`;
}

/** A schema without references: related records are given by their keys. Examples are left out, because they cost tokens. */
function inlineSchema(schema: JsonSchema): JsonSchema {
  return inlineValue(schema) as JsonSchema;
}

function inlineValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((each) => !isReference(each)).map(inlineValue);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).filter(([name, each]) => name !== 'examples' || !Array.isArray(each));
  return Object.fromEntries(entries.map(([name, each]) => [name, isReference(each) ? {} : inlineValue(each)]));
}

function isReference(value: unknown): boolean {
  return value !== null && typeof value === 'object' && '$ref' in value;
}
