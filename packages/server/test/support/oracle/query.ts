import { matchesFilter } from './filter.ts';
import { filterRows, readPath, readPathType } from './list.ts';
import type { CollectionModel, FieldModel, Row, TypeName } from './model.ts';
import { formatPeriod } from './periods.ts';
import type { QueryRequest } from './requests.ts';
import { compare, compareNullable, formatHundredths, toHundredths } from './values.ts';
import type { Visibility } from './visibility.ts';

type Measure = QueryRequest['measures'][number];
type Dimension = QueryRequest['dimensions'][number];

/** The groups of a query; null if a sum is too large to be exact. */
export function computeGroups(query: QueryRequest, collection: CollectionModel, sight: Visibility): Row[] | null {
  const grant = sight.grant(collection, 'list')!;
  const asked = { filter: query.filter, search: null, searchFields: null, trash: 'without' } as const;
  const groups = grouped(filterRows(asked, collection, grant, sight), query.dimensions, collection, sight);
  const results = groups.map(({ dimensions, rows }): Row => {
    const measures = query.measures.map((each) => [each.alias, measured(each, rows, collection, sight)]);
    return { ...dimensions, ...Object.fromEntries(measures) };
  });
  if (results.some((row) => Object.values(row).includes(tooLarge))) return null;
  const fields = resultFields(query, collection, sight);
  return results
    .filter((row) => matchesFilter(query.having, row, { ...collection, fields, relations: [] }, sight))
    .toSorted((a, b) => compareResults(a, b, query, fields))
    .slice(query.offset, query.offset + query.limit);
}

interface Group {
  readonly dimensions: Row;
  readonly rows: Row[];
}

/** Without dimensions, all records are one group, even if there are no records. */
function grouped(
  rows: readonly Row[],
  asked: readonly Dimension[],
  collection: CollectionModel,
  sight: Visibility,
): Group[] {
  if (asked.length === 0) return [{ dimensions: {}, rows: [...rows] }];
  const groups = new Map<string, Group>();
  for (const row of rows) {
    const dimensions = Object.fromEntries(asked.map((each) => [each.alias, dimensionOf(each, row, collection, sight)]));
    const key = JSON.stringify(dimensions);
    const group = groups.get(key) ?? { dimensions, rows: [] };
    group.rows.push(row);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function dimensionOf({ field, format }: Dimension, row: Row, collection: CollectionModel, sight: Visibility): unknown {
  const value = readPath(field, row, collection, sight);
  if (format === undefined || value === null) return value;
  return formatPeriod(
    value as string,
    readPathType(field, collection, sight) === 'datetime',
    format,
    sight.caller.calendar,
  );
}

export const tooLarge: unique symbol = Symbol('too large');

function measured(
  { field, aggregation, distinct }: Measure,
  rows: readonly Row[],
  collection: CollectionModel,
  sight: Visibility,
): unknown {
  if (field === undefined) return rows.length;
  const type = readPathType(field, collection, sight);
  const all = rows.map((row) => readPath(field, row, collection, sight)).filter((value) => value !== null);
  const values = distinct
    ? all.filter((value, index) => all.findIndex((each) => compare(type, each, value) === 0) === index)
    : all;
  if (aggregation === 'count') return values.length;
  if (values.length === 0) return null;
  if (aggregation === 'sum') return sum(values, type);
  if (aggregation === 'avg') return average(values, type);
  const sorted = values.toSorted((a, b) => compare(type, a, b));
  return aggregation === 'min' ? sorted[0] : sorted.at(-1);
}

function sum(values: readonly unknown[], type: TypeName): unknown {
  if (type === 'float' || type === 'double') return values.reduce((total: number, each) => total + Number(each), 0);
  const exact = exactSum(values, type);
  if (exact >= 2n ** 63n || exact < -(2n ** 63n)) return tooLarge;
  if (type === 'decimal') return formatHundredths(exact);
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : String(exact);
}

function average(values: readonly unknown[], type: TypeName): number {
  if (type === 'float' || type === 'double')
    return values.reduce((total: number, each) => total + Number(each) / values.length, 0);
  return Number(exactSum(values, type)) / values.length / (type === 'decimal' ? 100 : 1);
}

function exactSum(values: readonly unknown[], type: TypeName): bigint {
  return values.reduce(
    (total: bigint, each) => total + (type === 'decimal' ? toHundredths(each) : BigInt(each as string)),
    0n,
  );
}

/** The result columns of a query, as fields that `having` and `orders` may name. */
function resultFields(query: QueryRequest, collection: CollectionModel, sight: Visibility): FieldModel[] {
  const dimensions = query.dimensions.map(
    ({ alias, field, format }): FieldModel => ({
      name: alias,
      type: format === undefined ? readPathType(field, collection, sight) : 'string',
    }),
  );
  const measures = query.measures.map(({ alias, field, aggregation }): FieldModel => {
    if (field === undefined || aggregation === 'count') return { name: alias, type: 'bigInt' };
    const type = readPathType(field, collection, sight);
    if (aggregation === 'avg') return { name: alias, type: 'double' };
    return { name: alias, type: aggregation === 'sum' && type === 'integer' ? 'bigInt' : type };
  });
  return [...dimensions, ...measures];
}

/** Compares by `orders`, then by the dimensions. */
function compareResults(a: Row, b: Row, query: QueryRequest, fields: readonly FieldModel[]): number {
  const rest = query.dimensions.map(({ alias }) => ({ alias, order: 'asc' as const }));
  for (const { alias, order } of [...query.orders, ...rest]) {
    const { type } = fields.find(({ name }) => name === alias)!;
    const by = compareNullable(type, a[alias], b[alias], order === 'desc');
    if (by !== 0) return by;
  }
  return 0;
}
