import { ApiError } from './api-error.ts';
import { normaliseFilter } from './filter-normaliser.ts';
import { isObject, parseJson } from './json-text.ts';
import { parameterUnknown } from './known-names.ts';
import { limits } from './limits.ts';
import type { AskedFilter } from './record-request.ts';

export const aggregations = ['count', 'sum', 'avg', 'min', 'max'] as const;
export type Aggregation = (typeof aggregations)[number];

/** Shapes in which a dimension shows a date or moment: the spellings of the periods of `$date…`, and hours. */
export const dateFormats = ['YYYY', 'YYYYQ', 'YYYY-MM', 'YYYYW', 'YYYY-MM-DD', 'YYYY-MM-DD HH'] as const;
export type DateFormat = (typeof dateFormats)[number];

export interface AskedMeasure {
  /** A dotted path, or null for the records themselves. */
  readonly field: string | null;
  readonly aggregation: Aggregation;
  readonly alias: string;
  readonly distinct: boolean;
}

export interface AskedDimension {
  readonly field: string;
  readonly alias: string;
  readonly format: DateFormat | null;
}

/** A query in its one normal form; names are not checked against any schema. */
export interface AskedQuery {
  /** Equal for queries that differ in values alone. */
  readonly shape: string;
  readonly measures: readonly AskedMeasure[];
  readonly dimensions: readonly AskedDimension[];
  readonly filter: AskedFilter | null;
  readonly having: AskedFilter | null;
  /** Values of the filter, then those of having. */
  readonly values: readonly unknown[];
  readonly orders: readonly { readonly alias: string; readonly descending: boolean }[];
  readonly limit: number;
  readonly offset: number;
}

const known = new Set(['measures', 'dimensions', 'filter', 'having', 'orders', 'limit', 'offset']);

/** @throws ApiError 400 naming the parameter. */
export function normaliseQuery(parameters: Readonly<Record<string, unknown>>): AskedQuery {
  const unknown = Object.keys(parameters).find((name) => !known.has(name));
  if (unknown !== undefined) throw parameterUnknown('query', unknown, known);
  const dimensions = listOf('dimensions', parameters['dimensions'], limits.queryDimensions).map(dimensionOf);
  const measures = listOf('measures', parameters['measures'], limits.queryMeasures).map(measureOf);
  if (dimensions.length + measures.length === 0) throw invalid('query needs measures or dimensions.');
  const aliases = [...dimensions, ...measures].map((each) => each.alias);
  const twice = aliases.find((alias, index) => aliases.indexOf(alias) !== index);
  if (twice !== undefined) throw invalid(`The name "${twice}" stands twice; give one of them an alias.`);
  const filter = normaliseFilter(parsed('filter', parameters['filter']) ?? {});
  const having = normaliseFilter(parsed('having', parameters['having']) ?? {}, filter.values);
  const orders = listOf('orders', parameters['orders'], limits.sortTerms).map((each) =>
    orderOf(each, dimensions, measures),
  );
  const limit = whole('limit', parameters['limit'], 1, limits.queryRows, 1000);
  const offset = whole('offset', parameters['offset'], 0, Number.MAX_SAFE_INTEGER, 0);
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

function listOf(name: string, input: unknown, most: number): unknown[] {
  const list = parsed(name, input) ?? [];
  if (!Array.isArray(list)) throw invalid(`${name} takes a list.`);
  if (list.length > most) throw invalid(`${name} takes at most ${most} members.`, 'LIMIT_EXCEEDED');
  return list;
}

function parsed(name: string, input: unknown): unknown {
  if (typeof input !== 'string') return input;
  return input.trim() === '' ? null : parseJson(input, () => invalid(`${name} is not valid JSON.`));
}

function measureOf(input: unknown): AskedMeasure {
  const {
    field,
    aggregation,
    alias,
    distinct = false,
  } = membersOf('measures', input, ['field', 'aggregation', 'alias', 'distinct']);
  if (!aggregations.includes(aggregation as Aggregation))
    throw invalid(`A measure takes an aggregation: ${aggregations.join(', ')}.`);
  const path = field === undefined || field === '*' ? null : pathOf('measures', field);
  if (path === null && aggregation !== 'count') throw invalid(`${aggregation} needs a field.`);
  if (typeof distinct !== 'boolean' || (distinct && path === null))
    throw invalid('"distinct" must be true or false, and goes with a field.');
  const fallback = path === null ? 'count' : `${aggregation}_${path.replaceAll('.', '_')}`;
  return { field: path, aggregation: aggregation as Aggregation, alias: aliasOf(alias, fallback), distinct };
}

function dimensionOf(input: unknown): AskedDimension {
  const given = typeof input === 'string' ? { field: input } : input;
  const { field, alias, format } = membersOf('dimensions', given, ['field', 'alias', 'format']);
  const path = pathOf('dimensions', field);
  if (format !== undefined && format !== null && !dateFormats.includes(format as DateFormat))
    throw invalid(`A format is one of ${dateFormats.join(', ')}.`);
  return { field: path, alias: aliasOf(alias, path), format: (format as DateFormat | undefined) ?? null };
}

function orderOf(
  input: unknown,
  dimensions: readonly AskedDimension[],
  measures: readonly AskedMeasure[],
): { alias: string; descending: boolean } {
  const { field, alias, order = 'asc' } = membersOf('orders', input, ['field', 'alias', 'order']);
  const path = alias === undefined && field !== undefined ? pathOf('orders', field) : null;
  const all = [...dimensions, ...measures];
  const found =
    all.find((each) => each.alias === (alias ?? path)) ?? all.find((each) => path !== null && each.field === path);
  if (!found)
    throw invalid(`orders names "${String(path ?? textIn(alias)).slice(0, 60)}", which the query does not have.`);
  const direction = textIn(order)?.toLowerCase();
  if (direction !== 'asc' && direction !== 'desc') throw invalid('order is asc or desc.');
  return { alias: found.alias, descending: direction === 'desc' };
}

/** An object is no text, and may not even be told as one. */
function textIn(input: unknown): string | null {
  return typeof input === 'string' ? input : null;
}

function membersOf(name: string, input: unknown, members: readonly string[]): Record<string, unknown> {
  if (!isObject(input)) throw invalid(`${name} takes objects such as {"field": "id"}.`);
  const unknown = Object.keys(input).find((each) => !members.includes(each));
  if (unknown !== undefined) throw invalid(`${name} knows no "${unknown.slice(0, 60)}".`);
  return input;
}

/** A dotted path, or its steps as a list. */
function pathOf(name: string, field: unknown): string {
  const path = Array.isArray(field) && field.every((each) => typeof each === 'string') ? field.join('.') : field;
  if (typeof path !== 'string' || path === '' || path.length > 400) throw invalid(`${name} needs a field.`);
  return path;
}

function aliasOf(alias: unknown, fallback: string): string {
  if (alias === undefined || alias === null) return fallback;
  if (typeof alias === 'string' && /^[A-Za-z][A-Za-z0-9_.]{0,119}$/.test(alias)) return alias;
  throw invalid('An alias starts with a letter and goes on with letters, digits, _ and dots, at most 120 characters.');
}

function whole(name: string, input: unknown, least: number, most: number, fallback: number): number {
  if (input === undefined || input === null) return fallback;
  const number = typeof input === 'string' && /^\d{1,16}$/.test(input) ? Number(input) : input;
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < least || number > most)
    throw invalid(`${name} must be a whole number from ${least} to ${most}.`);
  return number;
}

function invalid(message: string, code: 'PARAMETER_INVALID' | 'LIMIT_EXCEEDED' = 'PARAMETER_INVALID'): ApiError {
  return new ApiError(code, message);
}
