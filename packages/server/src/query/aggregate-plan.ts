import { compile, type Statement } from '../database/database.ts';
import type { Dialect } from '../database/dialect.ts';
import type { ReadPage } from '../database/page-query.ts';
import { identifier, join, type Param, type Sql, sql } from '../database/sql.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { ParsedDimension, ParsedMeasure, ParsedQuery } from '../protocol/query-request.ts';
import { requireStorage } from '../schema/field-parts.ts';
import { type FieldType, readDecimalScale, type Storage } from '../schema/field-type.ts';
import { fieldTypes } from '../schema/field-types.ts';
import { type Collection, type Field, makeCollection } from '../schema/registry.ts';
import { noTraits } from '../schema/system-traits.ts';
import { planFilter } from './filter-plan.ts';
import type { Grant } from './grant.ts';
import { type IndexNeed, planNeed } from './index-need.ts';
import { planListDimension } from './list-dimension.ts';
import { compilePredicate } from './predicate-compiler.ts';
import { compileWhere, type PlanContext, planCondition } from './read-plan.ts';
import { compileSortKey, planSortKey } from './sort-plan.ts';
import { StatementScope } from './statement-scope.ts';

/** A query, compiled. `read` gives one row: the groups' objects as one text, and their number. */
export interface QueryPlan {
  readonly statement: Statement;
  readonly read: ReadPage;
  /** What an index must provide to find its records; null for system collections. */
  readonly need: IndexNeed | null;
}

/** A column of the result before it is JSON. A sum may have another storage than its type. */
interface ResultColumn {
  readonly alias: string;
  readonly value: Sql;
  readonly type: FieldType;
  readonly storage: Storage;
}

const offset: Param = { storage: 'bigint', read: (environment) => environment.offset };
const zone: Param = { storage: 'text', read: (environment) => environment.zone };
const numbers: ReadonlySet<Storage> = new Set(['integer', 'bigint', 'double']);
const ordered: ReadonlySet<Storage> = new Set(['integer', 'bigint', 'double', 'text', 'datetime']);
/** `having` may refer to every column of the query. */
const havingGrant: Grant = { identity: 'having', rows: null, may: () => true };

/**
 * Plans a query that groups and measures the records that a list would show.
 *
 * Example: `albums:query?measures=[{"aggregation":"count"}]&dimensions=["artist.name"]` groups by a dimension `c0` and has the measure
 * `c1`: `SELECT json_object('artist.name',g."c0",'count',g."c1") AS j FROM (SELECT … AS "c0",count(*) AS "c1" FROM … GROUP BY 1) g …`.
 *
 * @throws ApiError 400 for names and types that do not fit, 403 for denied fields.
 */
export function planQuery(query: ParsedQuery, collection: Collection, grant: Grant, context: PlanContext): QueryPlan {
  const { dialect } = context;
  const scope = new StatementScope(dialect);
  const values = resolveValues(collection, grant, context, scope);
  const list = planListDimension(query.dimensions, collection, grant, dialect);
  const dimensions = query.dimensions.map((each) =>
    each === list?.dimension
      ? toResult(each.alias, list.value, 'string')
      : compileDimension(each, values.resolve(each.field), scope),
  );
  const measures = query.measures.map((each) =>
    compileMeasure(each, each.field === null ? null : values.resolve(each.field), scope),
  );
  const results = [...dimensions, ...measures];
  const request = {
    filter: query.filter,
    trash: 'without',
    within: null,
    search: null,
    fullText: null,
    folders: [],
  } as const;
  const condition = planCondition(request, collection, grant, context);
  const where = compileWhere([condition], true, collection, scope);
  const columns = results.map(({ value }, index) => sql`${value} AS ${column(index)}`);
  const ordinals = dimensions.map((_, index) => sql`${index + 1}`);
  const groups = ordinals.length > 0 ? sql` GROUP BY ${join(ordinals, ',')}` : sql``;
  const grouped = sql`SELECT ${join(columns, ',')} FROM ${identifier(collection.table)}${list?.join ?? sql``}${where}${groups}`;
  const members = results.map(({ alias, storage }, index) => dialect.member(alias, storage, sql`g.${column(index)}`));
  const range = query.offset > 0 ? sql`LIMIT ${query.limit} OFFSET ${offset}` : sql`LIMIT ${query.limit}`;
  const having = compileHaving(query, results, context, scope);
  const order = compileOrder(query, results, dimensions.length, dialect);
  const rows = sql`SELECT ${dialect.object(members)} AS j FROM (${grouped}) g${having}${order} ${range}`;
  const { page, read } = dialect.pageQuery({ rows: dialect.pageText(rows), columns: 2, count: null, cap: 0 });
  const need = planNeed(condition, null, collection, dialect);
  return { statement: compile(dialect, page), read, need };
}

/** A field that a query groups by or measures. */
interface QueryValue {
  readonly type: FieldType;
  readonly storage: Storage;
  readonly sql: () => Sql;
}

/** Resolves the paths of a query: `price`, or `artist.name` through a to-one relation. */
function resolveValues(
  collection: Collection,
  grant: Grant,
  context: PlanContext,
  scope: StatementScope,
): { resolve(path: string): QueryValue } {
  return {
    resolve(path) {
      const key = planSortKey({ path, descending: false }, collection, grant, context);
      return {
        type: key.field.type,
        storage: requireStorage(key.field),
        sql: () => compileSortKey(key, collection.table, scope),
      };
    },
  };
}

function compileDimension(
  { alias, field, format }: ParsedDimension,
  value: QueryValue,
  { dialect }: StatementScope,
): ResultColumn {
  const { type, storage } = value;
  if (format === null) return { alias, value: value.sql(), type, storage };
  if (!type.operators.has('date'))
    throw new ApiError(
      'OPERATOR_MISFIT',
      `"format" can only be used with dates; "${field}" has the type ${type.name}.`,
    );
  return toResult(alias, dialect.dateText(format, storage, value.sql(), zone), 'string');
}

function compileMeasure(
  { alias, aggregation, distinct, field }: ParsedMeasure,
  measured: QueryValue | null,
  { dialect }: StatementScope,
): ResultColumn {
  if (measured === null) return toResult(alias, sql`count(*)`, 'bigInt');
  const { type, storage } = measured;
  const value = distinct ? sql`DISTINCT ${measured.sql()}` : measured.sql();
  if (aggregation === 'count') return toResult(alias, sql`count(${value})`, 'bigInt');
  const scale = readDecimalScale(storage);
  const fits = scale !== null || (aggregation === 'min' || aggregation === 'max' ? ordered : numbers).has(storage);
  if (!fits)
    throw new ApiError(
      'OPERATOR_MISFIT',
      `${aggregation} cannot be used with "${field}", which has the type ${type.name}.`,
    );
  if (aggregation === 'avg') return toResult(alias, dialect.average(value, storage), 'double');
  if (aggregation !== 'sum') return { alias, value: sql`${aggregation}(${value})`, type, storage };
  const sum = dialect.sum(measured.sql(), storage, distinct);
  if (storage === 'integer') return toResult(alias, sum, 'bigInt');
  return { alias, value: sum, type, storage: scale === null ? storage : widestDecimal(scale) };
}

function toResult(alias: string, value: Sql, typeName: 'string' | 'bigInt' | 'double'): ResultColumn {
  const type = fieldTypes.get(typeName);
  if (!type?.storage) throw new Error(`There is no field type ${typeName}.`);
  return { alias, value, type, storage: type.storage };
}

/** A sum has the scale of its values, and the maximum number of digits. */
function widestDecimal(scale: number): Storage {
  return `decimal(18,${scale})`;
}

/** A filter over the results, by their names. */
function compileHaving(
  { having }: ParsedQuery,
  results: readonly ResultColumn[],
  context: PlanContext,
  scope: StatementScope,
): Sql {
  const [first, ...rest] = results.map(resultField);
  if (having === null || !first) return sql``;
  const shape = makeCollection({
    id: 0,
    name: 'the query',
    title: null,
    description: null,
    options: { timestamps: false, paranoid: false, logging: false, authors: false },
    table: 'g',
    system: false,
    internal: true,
    traits: noTraits,
    fields: [{ ...first, primaryKey: true }, ...rest],
  });
  const predicate = planFilter(having, shape, havingGrant, context);
  return sql` WHERE ${compilePredicate(predicate, 'g', shape, scope)}`;
}

function resultField({ alias, type, storage }: ResultColumn, index: number): Field {
  const columnName = `c${index}`;
  return {
    id: index,
    name: alias,
    column: columnName,
    base: columnName,
    type: type.storage === storage ? type : { ...type, storage },
    definition: { name: alias, type: type.name },
    primaryKey: false,
    autoIncrement: false,
    notNull: false,
    serverManaged: false,
    hidden: false,
    core: false,
    references: null,
    relation: null,
    referencedKey: false,
    searchIndex: null,
  };
}

/** Groups with equal values in the requested order are sorted by the dimensions, so that pages do not overlap. */
function compileOrder(
  { orders }: ParsedQuery,
  results: readonly ResultColumn[],
  dimensions: number,
  dialect: Dialect,
): Sql {
  const requested = orders.map(({ alias, descending }) => ({
    index: results.findIndex((each) => each.alias === alias),
    descending,
  }));
  const rest = Array.from({ length: dimensions }, (_, index) => ({ index, descending: false })).filter(
    ({ index }) => !requested.some((each) => each.index === index),
  );
  const terms = [...requested, ...rest].map(({ index, descending }) =>
    dialect.nullsLast(sql`g.${column(index)}`, descending),
  );
  return terms.length === 0 ? sql`` : sql` ORDER BY ${join(terms, ',')}`;
}

function column(index: number): Sql {
  return sql`${identifier(`c${index}`)}`;
}
