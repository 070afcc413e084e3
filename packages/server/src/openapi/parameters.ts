import { limits } from '../protocol/limits.ts';
import { aggregations, dateFormats } from '../protocol/query-request.ts';
import type { JsonSchema } from '../schema/field-type.ts';

export type Parameter = Readonly<Record<string, unknown>>;

const inQuery = (name: string, description: string, schema: JsonSchema, example?: unknown): Parameter => ({
  name,
  in: 'query',
  description,
  schema,
  ...(example !== undefined && { example }),
});
const names = (name: string, description: string, example: readonly string[], maxItems?: number): Parameter => ({
  ...inQuery(name, description, { type: 'array', items: { type: 'string' }, ...(maxItems && { maxItems }) }, example),
  style: 'form',
  explode: false,
});
const truth = (name: string, description: string): Parameter =>
  inQuery(name, description, { type: 'boolean', default: false }, true);
const inHeader = (name: string, description: string, schema: JsonSchema, example: string): Parameter => ({
  name,
  in: 'header',
  description,
  schema,
  example,
});

/** What stands under every path: for which application the request is. */
export function applicationHeader(application: string, main: string): Parameter {
  const description = `The application; without it "${main}".`;
  const header = inHeader('X-App', description, { type: 'string', default: application }, application);
  return { ...header, required: application !== main };
}

/** The parameters that operations share, by the name under which the document keeps them. */
export const sharedParameters: Readonly<Record<string, Parameter>> = {
  filter: {
    name: 'filter',
    in: 'query',
    description: `Which records: {"field": {"$operator": value}}, dotted relation paths, $and, $or, $not; at most ${limits.filterConditions} conditions, ${limits.filterDepth} deep, ${limits.filterTextBytes / 1024} KiB (longer ones by POST).`,
    content: { 'application/json': { schema: { type: 'object' }, example: { id: { $gt: 10 } } } },
  },
  fields: names('fields', 'Fields to show, also of relations (author.name); without it all that may be seen.', ['id']),
  except: names('except', 'Fields to leave out.', ['updatedAt']),
  appends: names(
    'appends',
    `Relations to show, at most ${limits.pathDepth} deep; ${limits.appendedRecords} records each.`,
    [],
    limits.appends,
  ),
  sort: names(
    'sort',
    'Fields to sort by; - before a name: descending. To-one paths are dotted.',
    ['-id'],
    limits.sortTerms,
  ),
  page: inQuery('page', 'Which page; excludes after.', { type: 'integer', minimum: 1, default: 1 }, 2),
  pageSize: inQuery(
    'pageSize',
    'Records of a page.',
    { type: 'integer', minimum: 1, maximum: limits.pageSizeMaximum, default: limits.pageSizeDefault },
    50,
  ),
  paginate: inQuery(
    'paginate',
    'false: all records, as a stream without meta.',
    { type: 'boolean', default: true },
    true,
  ),
  count: inQuery(
    'count',
    `How meta.count is found; exact up to ${limits.exactCountMaximum}.`,
    { type: 'string', enum: ['exact', 'estimated', 'none'], default: 'exact' },
    'none',
  ),
  after: inQuery('after', 'Go on after meta.nextCursor of the page before; excludes page.', { type: 'string' }),
  search: inQuery(
    'search',
    'Text that one of the text fields must hold, whatever its case.',
    { type: 'string', maxLength: limits.patternLength },
    'word',
  ),
  searchFields: names('searchFields', 'Where search looks.', ['title']),
  versions: truth('versions', 'Write counters in meta.versions.'),
  withDeleted: truth('withDeleted', 'Destroyed records that are kept are shown too.'),
  onlyDeleted: truth('onlyDeleted', 'Destroyed records that are kept are shown alone.'),
  whitelist: names('whitelist', 'Members of the body to take; others are dropped.', ['title']),
  blacklist: names('blacklist', 'Members of the body to drop.', ['id']),
  updateAssociationValues: names('updateAssociationValues', 'Relations whose records a body may change.', ['author']),
  filterKeys: { ...names('filterKeys', 'Fields by which the record is found.', ['id']), required: true },
  force: truth('force', 'Removes records for good.'),
  cascade: truth('cascade', 'Takes relations of other collections along.'),
  dryRun: truth('dryRun', 'Everything runs, the reply says what would be, and all of it is taken back.'),
  'Idempotency-Key': inHeader(
    'Idempotency-Key',
    'Asked again under the same key within 24 hours, the request is not done again, and the reply is that of the first time (Idempotency-Replayed).',
    { type: 'string', pattern: '^[!-~]{1,255}$' },
    '8e03978e-40d5-43dd-bc93-6894a57f9324',
  ),
  'If-None-Match': inHeader('If-None-Match', 'An ETag: 304 where nothing has changed.', { type: 'string' }, '"0.9c1f"'),
  'If-Match': inHeader(
    'If-Match',
    'The ETag of a get: 412 where the record was written since.',
    { type: 'string' },
    '"3.9c1f"',
  ),
  'X-Timezone': inHeader(
    'X-Timezone',
    'Zone in which days are counted, by IANA name or offset.',
    { type: 'string', default: 'UTC' },
    'Europe/Berlin',
  ),
};

/** The headers that an action reads. */
export const headersOf: Readonly<Record<string, readonly string[]>> = {
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
export function keyParameter(key: JsonSchema, several: boolean, required: boolean): Parameter {
  const schema = several
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
