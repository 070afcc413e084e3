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

/** What stands under every path: for which application the request is. */
export function applicationHeader(application: string, main: string): Parameter {
  const description = `The application; without it "${main}".`;
  const header = headerParameter('X-App', description, { type: 'string', default: application }, application);
  return { ...header, required: application !== main };
}

/** The parameters that operations share, by the name under which the document keeps them. */
export const sharedParameters: Readonly<Record<string, Parameter>> = {
  filter: {
    name: 'filter',
    in: 'query',
    description: `Which records: {"field": {"$operator": value}}, dotted relation paths, $and, $or, $not; at most ${limits.filterConditions} conditions, ${limits.filterDepth} deep, ${limits.filterTextBytes / 1024} KiB (longer ones by POST).\n\n${describeOperators()}`,
    content: { 'application/json': { schema: { type: 'object' }, example: { id: { $gt: 10 } } } },
  },
  fields: listParameter('fields', 'Fields to show, also of relations (author.name); without it all that may be seen.', [
    'id',
  ]),
  except: listParameter('except', 'Fields to leave out.', ['updatedAt']),
  appends: listParameter(
    'appends',
    `Relations to show, at most ${limits.pathDepth} deep; ${limits.appendedRecords} records each.`,
    [],
    limits.appends,
  ),
  sort: listParameter(
    'sort',
    'Fields to sort by; - before a name: descending. To-one paths are dotted.',
    ['-id'],
    limits.sortTerms,
  ),
  page: queryParameter('page', 'Which page; excludes after.', { type: 'integer', minimum: 1, default: 1 }, 2),
  pageSize: queryParameter(
    'pageSize',
    'Records of a page.',
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
    `How meta.count is found; exact up to ${limits.maxExactCount}.`,
    { type: 'string', enum: ['exact', 'estimated', 'none'], default: 'exact' },
    'none',
  ),
  after: queryParameter('after', 'Go on after meta.nextCursor of the page before; excludes page.', { type: 'string' }),
  search: queryParameter(
    'search',
    'Text that one of the text fields must hold, whatever its case.',
    { type: 'string', maxLength: limits.patternLength },
    'word',
  ),
  searchFields: listParameter('searchFields', 'Where search looks.', ['title']),
  versions: booleanParameter('versions', 'Write counters in meta.versions.'),
  withDeleted: booleanParameter('withDeleted', 'Destroyed records that are kept are shown too.'),
  onlyDeleted: booleanParameter('onlyDeleted', 'Destroyed records that are kept are shown alone.'),
  whitelist: listParameter('whitelist', 'Members of the body to take; others are dropped.', ['title']),
  blacklist: listParameter('blacklist', 'Members of the body to drop.', ['id']),
  updateAssociationValues: listParameter('updateAssociationValues', 'Relations whose records a body may change.', [
    'author',
  ]),
  filterKeys: { ...listParameter('filterKeys', 'Fields by which the record is found.', ['id']), required: true },
  force: booleanParameter('force', 'Removes records for good.'),
  cascade: booleanParameter('cascade', 'Takes relations of other collections along.'),
  dryRun: booleanParameter('dryRun', 'Everything runs, the reply says what would be, and all of it is taken back.'),
  'Idempotency-Key': headerParameter(
    'Idempotency-Key',
    'Asked again under the same key within 24 hours, the request is not done again, and the reply is that of the first time (Idempotency-Replayed).',
    { type: 'string', pattern: '^[!-~]{1,255}$' },
    '8e03978e-40d5-43dd-bc93-6894a57f9324',
  ),
  'If-None-Match': headerParameter(
    'If-None-Match',
    'An ETag: 304 where nothing has changed.',
    { type: 'string' },
    '"0.9c1f"',
  ),
  'If-Match': headerParameter(
    'If-Match',
    'The ETag of a get: 412 where the record was written since.',
    { type: 'string' },
    '"3.9c1f"',
  ),
  'X-Timezone': headerParameter(
    'X-Timezone',
    'Zone in which days are counted, by IANA name or offset.',
    { type: 'string', default: 'UTC' },
    'Europe/Berlin',
  ),
};

/** The headers that an action reads. */
export const headersByAction: Readonly<Record<string, readonly string[]>> = {
  list: ['If-None-Match', 'X-Timezone'],
  get: ['If-None-Match', 'X-Timezone'],
  query: ['X-Timezone'],
  history: ['If-None-Match'],
  revert: ['If-Match'],
  update: ['If-Match'],
  destroy: ['If-Match'],
  restore: ['If-Match'],
};

export function parameterRef(name: string): Parameter {
  return { $ref: `#/components/parameters/${name}` };
}

/** The key of a record in the query: one, or where an action takes several also their JSON list. */
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
