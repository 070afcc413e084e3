import { ApiError } from './api-error.ts';
import { normaliseFilter } from './filter-normaliser.ts';
import { isObject, parseJson } from './json-text.ts';
import { requireKnownNames } from './known-names.ts';
import { limits } from './limits.ts';
import type { ParsedFilter } from './record-request.ts';

export const aggregations = ['count', 'sum', 'avg', 'min', 'max'] as const;
export type Aggregation = (typeof aggregations)[number];

/** The formats in which a dimension shows a date or time: the periods of `$date…`, and hours. */
export const dateFormats = ['YYYY', 'YYYYQ', 'YYYY-MM', 'YYYYW', 'YYYY-MM-DD', 'YYYY-MM-DD HH'] as const;
export type DateFormat = (typeof dateFormats)[number];

export interface ParsedMeasure {
  /** A dotted path, or null for the records themselves. */
  readonly field: string | null;
  readonly aggregation: Aggregation;
  readonly alias: string;
  readonly distinct: boolean;
}

export interface ParsedDimension {
  readonly field: string;
  readonly alias: string;
  readonly format: DateFormat | null;
}

/** A query in its normalised form. Its names are not checked against the schema. */
export interface ParsedQuery {
  /** Equal for queries that only differ in values. */
  readonly shape: string;
  readonly measures: readonly ParsedMeasure[];
  readonly dimensions: readonly ParsedDimension[];
  readonly filter: ParsedFilter | null;
  readonly having: ParsedFilter | null;
  /** Values of the filter, then those of having. */
  readonly values: readonly unknown[];
  readonly orders: readonly { readonly alias: string; readonly descending: boolean }[];
  readonly limit: number;
  readonly offset: number;
}

const knownParameters = new Set(['measures', 'dimensions', 'filter', 'having', 'orders', 'limit', 'offset']);

/** @throws ApiError 400 naming the parameter. */
export function normaliseQuery(parameters: Readonly<Record<string, unknown>>): ParsedQuery {
  requireKnownNames('query', parameters, knownParameters);
  const dimensions = readList('dimensions', parameters['dimensions'], limits.queryDimensions).map(parseDimension);
  const measures = readList('measures', parameters['measures'], limits.queryMeasures).map(parseMeasure);
  if (dimensions.length + measures.length === 0)
    throw invalidQuery('"measures" or "dimensions" is required. Give at least one of them.');
  const aliases = [...dimensions, ...measures].map((each) => each.alias);
  const duplicate = aliases.find((alias, index) => aliases.indexOf(alias) !== index);
  if (duplicate !== undefined)
    throw invalidQuery(`Two members of the query are named "${duplicate}". Give one of them another "alias".`);
  const filter = normaliseFilter(parseIfText('filter', parameters['filter']) ?? {});
  const having = normaliseFilter(parseIfText('having', parameters['having']) ?? {}, filter.values);
  const orders = readList('orders', parameters['orders'], limits.sortTerms).map((each) =>
    parseOrder(each, dimensions, measures),
  );
  const limit = readInteger('limit', parameters['limit'], { min: 1, max: limits.queryRows, fallback: 1000 });
  const offset = readInteger('offset', parameters['offset'], { min: 0, max: Number.MAX_SAFE_INTEGER, fallback: 0 });
  return {
    shape: JSON.stringify([measures, dimensions, filter.shape, having.shape, orders, limit, offset > 0]),
    measures,
    dimensions,
    filter: filter.filter,
    having: having.filter,
    values: having.values,
    orders,
    limit,
    offset,
  };
}

function readList(name: string, input: unknown, max: number): unknown[] {
  const list = parseIfText(name, input) ?? [];
  if (!Array.isArray(list)) throw invalidQuery(`"${name}" must be a list.`);
  if (list.length > max)
    throw invalidQuery(`"${name}" has more than ${max} members. Remove some of them.`, 'LIMIT_EXCEEDED');
  return list;
}

function parseIfText(name: string, input: unknown): unknown {
  if (typeof input !== 'string') return input;
  return input.trim() === '' ? null : parseJson(input, () => invalidQuery(`"${name}" is not valid JSON.`));
}

function parseMeasure(input: unknown): ParsedMeasure {
  const {
    field,
    aggregation,
    alias,
    distinct = false,
  } = readMembers('measures', input, ['field', 'aggregation', 'alias', 'distinct']);
  if (!aggregations.includes(aggregation as Aggregation))
    throw invalidQuery(`"aggregation" of a measure must be one of: ${aggregations.join(', ')}.`);
  const path = field === undefined || field === '*' ? null : parsePath('measures', field);
  if (path === null && aggregation !== 'count')
    throw invalidQuery(`A measure with the aggregation "${String(aggregation)}" needs a "field".`);
  if (typeof distinct !== 'boolean' || (distinct && path === null))
    throw invalidQuery('"distinct" of a measure must be true or false, and true requires a "field".');
  const fallback = path === null ? 'count' : `${aggregation}_${path.replaceAll('.', '_')}`;
  return { field: path, aggregation: aggregation as Aggregation, alias: parseAlias(alias, fallback), distinct };
}

function parseDimension(input: unknown): ParsedDimension {
  const given = typeof input === 'string' ? { field: input } : input;
  const { field, alias, format } = readMembers('dimensions', given, ['field', 'alias', 'format']);
  const path = parsePath('dimensions', field);
  if (format !== undefined && format !== null && !dateFormats.includes(format as DateFormat))
    throw invalidQuery(`"format" of a dimension must be one of: ${dateFormats.join(', ')}.`);
  return { field: path, alias: parseAlias(alias, path), format: (format as DateFormat | undefined) ?? null };
}

function parseOrder(
  input: unknown,
  dimensions: readonly ParsedDimension[],
  measures: readonly ParsedMeasure[],
): { alias: string; descending: boolean } {
  const { field, alias, order = 'asc' } = readMembers('orders', input, ['field', 'alias', 'order']);
  const path = alias === undefined && field !== undefined ? parsePath('orders', field) : null;
  const all = [...dimensions, ...measures];
  const found =
    all.find((each) => each.alias === (alias ?? path)) ?? all.find((each) => path !== null && each.field === path);
  if (!found)
    throw invalidQuery(
      `"orders" names "${String(path ?? asText(alias)).slice(0, 60)}", which is not a measure or dimension of the query.`,
    );
  const direction = asText(order)?.toLowerCase();
  if (direction !== 'asc' && direction !== 'desc') throw invalidQuery('"order" must be "asc" or "desc".');
  return { alias: found.alias, descending: direction === 'desc' };
}

/** Objects are refused, because their conversion to text can run code of the object. */
function asText(input: unknown): string | null {
  return typeof input === 'string' ? input : null;
}

function readMembers(name: string, input: unknown, members: readonly string[]): Record<string, unknown> {
  if (!isObject(input)) throw invalidQuery(`"${name}" must be a list of objects such as {"field": "id"}.`);
  const unknown = Object.keys(input).find((each) => !members.includes(each));
  if (unknown !== undefined)
    throw invalidQuery(
      `A member of "${name}" has no property "${unknown.slice(0, 60)}". Its properties are: ${members.join(', ')}.`,
    );
  return input;
}

/** A dotted path, or its steps as a list. */
function parsePath(name: string, field: unknown): string {
  const path = Array.isArray(field) && field.every((each) => typeof each === 'string') ? field.join('.') : field;
  if (typeof path !== 'string' || path === '' || path.length > 400)
    throw invalidQuery(`A member of "${name}" needs a "field": a name or a dotted path of at most 400 characters.`);
  return path;
}

function parseAlias(alias: unknown, fallback: string): string {
  if (alias === undefined || alias === null) return fallback;
  if (typeof alias === 'string' && /^[A-Za-z][A-Za-z0-9_.]{0,119}$/.test(alias)) return alias;
  throw invalidQuery(
    '"alias" must start with a letter and consist of at most 120 letters, digits, underscores and dots.',
  );
}

/** The range of an integer parameter, and its default value. */
interface IntegerRange {
  readonly min: number;
  readonly max: number;
  readonly fallback: number;
}

function readInteger(name: string, input: unknown, { min, max, fallback }: IntegerRange): number {
  if (input === undefined || input === null) return fallback;
  const number = typeof input === 'string' && /^\d{1,16}$/.test(input) ? Number(input) : input;
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < min || number > max)
    throw invalidQuery(`"${name}" must be a whole number from ${min} to ${max}.`);
  return number;
}

function invalidQuery(message: string, code: 'PARAMETER_INVALID' | 'LIMIT_EXCEEDED' = 'PARAMETER_INVALID'): ApiError {
  return new ApiError(code, message);
}
