import { csvDelimiters, exportFormats, exportHeaders } from '../protocol/export-request.ts';
import { limits } from '../protocol/limits.ts';
import { operators } from '../protocol/operators.ts';
import { aggregations, dateFormats } from '../protocol/query-request.ts';
import type { JsonSchema } from '../schema/field-type.ts';

export type Parameter = Readonly<Record<string, unknown>>;

const queryParameter = (name: string, description: string, schema: JsonSchema, example?: unknown): Parameter => ({
  name,
  in: 'query',
  description,
  schema,
  ...(example !== undefined && { example }),
});
const listParameter = (
  name: string,
  description: string,
  example: readonly string[],
  maxItems?: number,
): Parameter => ({
  ...queryParameter(
    name,
    description,
    { type: 'array', items: { type: 'string' }, ...(maxItems && { maxItems }) },
    example,
  ),
  style: 'form',
  explode: false,
});
const booleanParameter = (name: string, description: string): Parameter =>
  queryParameter(name, description, { type: 'boolean', default: false }, true);
const headerParameter = (name: string, description: string, schema: JsonSchema, example: string): Parameter => ({
  name,
  in: 'header',
  description,
  schema,
  example,
});

/** The parameter of every path: the application of the request. */
export function applicationHeader(application: string, main: string): Parameter {
  const description = `The application. Default: "${main}".`;
  const header = headerParameter('X-App', description, { type: 'string', default: application }, application);
  return { ...header, required: application !== main };
}

/** Shared parameters, by their names in the document. */
export const sharedParameters: Readonly<Record<string, Parameter>> = {
  filter: {
    name: 'filter',
    in: 'query',
    description: `Selects records: {"field": {"$operator": value}}, dotted relation paths, $and, $or, $not; at most ${limits.filterConditions} conditions, ${limits.filterDepth} deep, ${limits.filterTextBytes / 1024} KiB (longer ones by POST).\n\n${describeOperators()}`,
    content: { 'application/json': { schema: { type: 'object' }, example: { id: { $gt: 10 } } } },
  },
  fields: listParameter('fields', 'Fields to return, also of relations (author.name). Default: all visible fields.', [
    'id',
  ]),
  except: listParameter('except', 'Fields to omit.', ['updatedAt']),
  appends: listParameter(
    'appends',
    `Relations to include, at most ${limits.pathDepth} deep, with at most ${limits.appendedRecords} records each.`,
    [],
    limits.appends,
  ),
  sort: listParameter(
    'sort',
    'Fields to sort by, also dotted paths of to-one relations; descending with a - prefix.',
    ['-id'],
    limits.sortTerms,
  ),
  page: queryParameter(
    'page',
    'The number of the page. Cannot be combined with "after".',
    { type: 'integer', minimum: 1, default: 1 },
    2,
  ),
  pageSize: queryParameter(
    'pageSize',
    'Maximum number of records on the page.',
    { type: 'integer', minimum: 1, maximum: limits.maxPageSize, default: limits.pageSizeDefault },
    50,
  ),
  paginate: queryParameter(
    'paginate',
    'false: all records, as a stream without meta.',
    { type: 'boolean', default: true },
    true,
  ),
  count: queryParameter(
    'count',
    `How meta.count is determined. It is exact up to ${limits.maxExactCount}.`,
    { type: 'string', enum: ['exact', 'estimated', 'none'], default: 'exact' },
    'none',
  ),
  after: queryParameter('after', 'meta.nextCursor of the previous page. Cannot be combined with "page".', {
    type: 'string',
  }),
  search: queryParameter(
    'search',
    'Text that one of the text fields must contain, ignoring case.',
    { type: 'string', maxLength: limits.patternLength },
    'word',
  ),
  searchFields: listParameter('searchFields', 'The fields in which to search.', ['title']),
  versions: booleanParameter('versions', 'Return the versions of records in meta.versions.'),
  withDeleted: booleanParameter('withDeleted', 'Include soft-deleted records.'),
  onlyDeleted: booleanParameter('onlyDeleted', 'Return only soft-deleted records.'),
  format: queryParameter('format', 'The format of the file.', { type: 'string', enum: exportFormats, default: 'csv' }),
  header: queryParameter('header', 'The first line: names or titles of the fields. For csv and xlsx.', {
    type: 'string',
    enum: exportHeaders,
    default: 'names',
  }),
  bom: booleanParameter('bom', 'Begin the file with a byte order mark, by which Excel recognises UTF-8. For csv.'),
  delimiter: queryParameter('delimiter', 'The character between two cells. For csv.', {
    type: 'string',
    enum: Object.keys(csvDelimiters),
    default: ',',
  }),
  localTimes: booleanParameter('localTimes', 'Date-times in the time zone of X-Timezone. For csv and xlsx.'),
  whitelist: listParameter('whitelist', 'Properties of the body to use; others are ignored.', ['title']),
  blacklist: listParameter('blacklist', 'Properties of the body to ignore.', ['id']),
  updateAssociationValues: listParameter(
    'updateAssociationValues',
    'Relations whose existing records the body may change.',
    ['author'],
  ),
  filterKeys: { ...listParameter('filterKeys', 'Fields that identify the record.', ['id']), required: true },
  force: booleanParameter('force', 'Delete records irreversibly instead of moving them to the trash.'),
  cascade: booleanParameter('cascade', 'Also destroy the relations of other collections to it.'),
  dryRun: booleanParameter('dryRun', 'A dry run: the reply shows the result, and the transaction is rolled back.'),
  'Idempotency-Key': headerParameter(
    'Idempotency-Key',
    'A repeated request with the same key within 24 hours is not executed again and gets the first reply (Idempotency-Replayed). Only API keys and sessions may send it; other callers are refused (400).',
    { type: 'string', pattern: '^[!-~]{1,255}$' },
    '8e03978e-40d5-43dd-bc93-6894a57f9324',
  ),
  'If-None-Match': headerParameter(
    'If-None-Match',
    'An ETag: 304 if nothing has changed.',
    { type: 'string' },
    '"0.9c1f"',
  ),
  'If-Match': headerParameter(
    'If-Match',
    'The ETag of a get: 412 if the record has changed since.',
    { type: 'string' },
    '"3.9c1f"',
  ),
  'X-Timezone': headerParameter(
    'X-Timezone',
    'The time zone of date filters: an IANA name or an offset.',
    { type: 'string', default: 'UTC' },
    'Europe/Berlin',
  ),
};

/** The request headers of the read actions. */
export const headersByAction: Readonly<Record<string, readonly string[]>> = {
  list: ['If-None-Match', 'X-Timezone'],
  get: ['If-None-Match', 'X-Timezone'],
  query: ['X-Timezone'],
  export: ['X-Timezone'],
  storeExport: ['X-Timezone'],
  history: ['If-None-Match'],
  revert: ['If-Match'],
  update: ['If-Match'],
  destroy: ['If-Match'],
  restore: ['If-Match'],
};

/** A reference to a shared parameter. */
export function parameterRef(name: string): Parameter {
  return { $ref: `#/components/parameters/${name}` };
}

/** The key of a record in the query: one, or for some actions also a JSON list of several. */
export function keyParameter(key: JsonSchema, allowsMany: boolean, required: boolean): Parameter {
  const schema = allowsMany
    ? { anyOf: [key, { type: 'string', pattern: '^\\[', description: 'a JSON list of keys' }] }
    : key;
  return { name: 'filterByTk', in: 'query', ...(required && { required }), schema };
}

/** The body of a query. */
export const querySchema: JsonSchema = {
  type: 'object',
  properties: {
    measures: {
      type: 'array',
      maxItems: limits.queryMeasures,
      items: {
        type: 'object',
        properties: {
          field: { type: 'string' },
          aggregation: { type: 'string', enum: aggregations },
          alias: { type: 'string', maxLength: 120 },
          distinct: { type: 'boolean', default: false },
        },
        required: ['aggregation'],
        additionalProperties: false,
      },
    },
    dimensions: {
      type: 'array',
      description:
        'Fields to group by. One of them may be a list: a record is then counted in the group of each text in it, and without any in the group null.',
      maxItems: limits.queryDimensions,
      items: {
        anyOf: [
          { type: 'string' },
          {
            type: 'object',
            properties: {
              field: { type: 'string' },
              alias: { type: 'string', maxLength: 120 },
              format: { type: ['string', 'null'], enum: [...dateFormats, null] },
            },
            required: ['field'],
            additionalProperties: false,
          },
        ],
      },
    },
    filter: { type: 'object' },
    having: { type: 'object' },
    orders: {
      type: 'array',
      maxItems: limits.sortTerms,
      items: {
        type: 'object',
        properties: {
          field: { type: 'string' },
          alias: { type: 'string' },
          order: { type: 'string', enum: ['asc', 'desc'], default: 'asc' },
        },
        additionalProperties: false,
      },
    },
    limit: { type: 'integer', minimum: 1, maximum: limits.queryRows, default: 1000 },
    offset: { type: 'integer', minimum: 0, default: 0 },
  },
  additionalProperties: false,
  examples: [{ measures: [{ aggregation: 'count' }], limit: 10 }],
};

/** The filter operators as a Markdown list. */
function describeOperators(): string {
  const lines = Object.entries(operators).map(([name, { meaning }]) => `- \`${name}\`: the field ${meaning}`);
  return `Operators:\n\n${lines.join('\n')}`;
}
