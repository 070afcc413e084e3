import { compile, type Statement } from '../database/database.ts';
import type { ReadPage } from '../database/page-query.ts';
import { identifier, join, type Param, type Sql, sql } from '../database/sql.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { ParsedDimension, ParsedMeasure, ParsedQuery } from '../protocol/query-request.ts';
import { type FieldType, readDecimalScale, type Storage } from '../schema/field-type.ts';
import { fieldTypes } from '../schema/field-types.ts';
import { type Collection, type Field, makeCollection } from '../schema/registry.ts';
import { planFilter } from './filter-plan.ts';
import type { Grant } from './grant.ts';
import { Aliases, compilePredicate } from './predicate-compiler.ts';
import { compileWhere, type PlanContext, planCondition } from './read-plan.ts';
import { compileSortKey, planSort, type SortKey } from './sort-plan.ts';

/** A query, compiled. `read` gives one row: the groups' objects as one text, and their number. */
export interface QueryPlan {
  readonly statement: Statement;
  readonly read: ReadPage;
}

/** A column of the result before it is JSON. */
interface ResultColumn {
  readonly alias: string;
  readonly value: Sql;
  readonly type: FieldType;
}

const offset: Param = { storage: 'bigint', read: (environment) => environment.offset };
const zone: Param = { storage: 'text', read: (environment) => environment.zone };
const numbers: ReadonlySet<Storage> = new Set(['integer', 'bigint', 'double']);
const ordered: ReadonlySet<Storage> = new Set(['integer', 'bigint', 'double', 'text', 'datetime']);
/** What having may name is what the query shows. */
const havingGrant: Grant = { identity: 'having', rows: null, may: () => true };

/**
 * Groups the records that a list would show.
 *
 * @throws ApiError 400 for names and types that do not fit, 403 for denied fields.
 */
export function planQuery(query: ParsedQuery, collection: Collection, grant: Grant, context: PlanContext): QueryPlan {
  const { dialect, registry, findGrant } = context;
  const aliases = new Aliases();
  const compileValue = (key: SortKey): Sql => compileSortKey(key, collection.table, dialect, aliases);
  const resolveKey = (path: string): SortKey =>
    planSort([{ path, descending: false }], collection, grant, registry, findGrant)[0]!;
  const dimensions = query.dimensions.map((each) =>
    compileDimension(each, resolveKey(each.field), compileValue, context),
  );
  const measures = query.measures.map((each) =>
    compileMeasure(each, each.field === null ? null : resolveKey(each.field), compileValue, context),
  );
  const results = [...dimensions, ...measures];
  const condition = planCondition(
    { filter: query.filter, trash: 'without', within: null, search: null, fullText: null, folders: [] },
    collection,
    grant,
    context,
  );
  const where = compileWhere([condition], true, collection, dialect, aliases);
  const columns = join(
    results.map(({ value }, index) => sql`${value} AS ${column(index)}`),
    ',',
  );
  const groups =
    dimensions.length > 0
      ? sql` GROUP BY ${join(
          dimensions.map((_, index) => sql`${index + 1}`),
          ',',
        )}`
      : sql``;
  const grouped = sql`SELECT ${columns} FROM ${identifier(collection.table)}${where}${groups}`;
  const object = dialect.object(
    results.map(({ alias, type }, index) => dialect.member(alias, type.storage!, sql`g.${column(index)}`)),
  );
  const range = query.offset > 0 ? sql`LIMIT ${query.limit} OFFSET ${offset}` : sql`LIMIT ${query.limit}`;
  const page = sql`SELECT ${object} AS j FROM (${grouped}) g${compileHaving(query, results, context, aliases)}${compileOrder(query, results, dimensions.length, context)} ${range}`;
  const { page: text, read } = dialect.pageQuery({ rows: dialect.pageText(page), columns: 2, count: null, cap: 0 });
  return { statement: compile(dialect, text), read };
}

function compileDimension(
  { alias, field, format }: ParsedDimension,
  key: SortKey,
  compileValue: (key: SortKey) => Sql,
  { dialect }: PlanContext,
): ResultColumn {
  if (format === null) return { alias, value: compileValue(key), type: key.field.type };
  if (!key.field.type.operators.has('date'))
    throw new ApiError('OPERATOR_MISFIT', `A format goes with dates; "${field}" is a ${key.field.type.name} field.`);
  const value = dialect.dateText(format, key.field.type.storage!, compileValue(key), zone);
  return { alias, value, type: fieldTypes.get('string')! };
}

function compileMeasure(
  { alias, aggregation, distinct, field }: ParsedMeasure,
  key: SortKey | null,
  compileValue: (key: SortKey) => Sql,
  { dialect }: PlanContext,
): ResultColumn {
  const bigInt = fieldTypes.get('bigInt')!;
  if (key === null) return { alias, value: sql`count(*)`, type: bigInt };
  const { type } = key.field;
  const value = distinct ? sql`DISTINCT ${compileValue(key)}` : compileValue(key);
  if (aggregation === 'count') return { alias, value: sql`count(${value})`, type: bigInt };
  const decimal = readDecimalScale(type.storage!) !== null;
  const fits = decimal || (aggregation === 'min' || aggregation === 'max' ? ordered : numbers).has(type.storage!);
  if (!fits)
    throw new ApiError('OPERATOR_MISFIT', `${aggregation} does not fit "${field}", which is a ${type.name} field.`);
  if (aggregation === 'avg')
    return { alias, value: dialect.average(value, type.storage!), type: fieldTypes.get('double')! };
  if (aggregation === 'sum') {
    const sum =
      type.storage === 'integer' ? bigInt : decimal ? { ...type, storage: widestDecimal(type.storage!) } : type;
    return { alias, value: dialect.sum(compileValue(key), type.storage!, distinct), type: sum };
  }
  return { alias, value: sql`${aggregation}(${value})`, type };
}

/** A sum has the scale of what it adds, and as many digits as there are. */
function widestDecimal(storage: Storage): Storage {
  return `decimal(18,${readDecimalScale(storage)!})`;
}

/** A filter over the results, by their names. */
function compileHaving(
  { having }: ParsedQuery,
  results: readonly ResultColumn[],
  context: PlanContext,
  aliases: Aliases,
): Sql {
  if (having === null) return sql``;
  const fields = results.map(({ alias, type }, index) => resultField(alias, type, `c${index}`, index));
  const shape = makeCollection({
    id: 0,
    name: 'the query',
    title: null,
    description: null,
    options: { timestamps: false, paranoid: false, logging: false, authors: false },
    table: 'g',
    system: false,
    internal: true,
    fields: [{ ...fields[0]!, primaryKey: true }, ...fields.slice(1)],
  });
  const predicate = planFilter(having, shape, havingGrant, context.registry, context.findGrant);
  return sql` WHERE ${compilePredicate(predicate, 'g', shape, context.dialect, aliases)}`;
}

function resultField(name: string, type: FieldType, columnName: string, id: number): Field {
  return {
    id,
    name,
    column: columnName,
    base: columnName,
    type,
    definition: { name, type: type.name },
    primaryKey: false,
    autoIncrement: false,
    notNull: false,
    serverManaged: false,
    hidden: false,
    core: false,
    references: null,
    relation: null,
    referencedKey: false,
  };
}

/** What is not ordered otherwise is ordered by the dimensions, so that pages do not overlap. */
function compileOrder(
  { orders }: ParsedQuery,
  results: readonly ResultColumn[],
  dimensions: number,
  { dialect }: PlanContext,
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
