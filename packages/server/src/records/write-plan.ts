import { compile, type Statement } from '../database/database.ts';
import type { Dialect, ReturningWrite } from '../database/dialect.ts';
import { nextSortPosition } from '../database/sort-positions.ts';
import { identifier, join, type Param, type Sql, sql } from '../database/sql.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import { planRows } from '../query/filter-plan.ts';
import type { Grant } from '../query/grant.ts';
import { compileObject } from '../query/object-compiler.ts';
import type { Predicate } from '../query/predicate.ts';
import { compilePredicate, StatementScope } from '../query/predicate-compiler.ts';
import {
  compileCounter,
  compileWhere,
  keyCondition,
  type PlanContext,
  planWriteCondition,
} from '../query/read-plan.ts';
import { planSelection } from '../query/selection.ts';
import { type Collection, listColumnFields as columnsIn, type Field, getField } from '../schema/registry.ts';
import { findSortFields, getSortColumn } from './sort-columns.ts';

/**
 * The write compiler: a write is one statement with its grant in the WHERE, whose RETURNING shows the reply and tells
 * whether the new row still passes. Columns of every result: key, write counter, passes, seen, object.
 */
export interface WritePlan {
  readonly statement: Statement;
  /** Reads the result columns afterwards, by keys, where a predicate looks at other tables or relations are appended. */
  readonly readBack: Statement | null;
  /** The same write with its event row in one statement that may commit by itself; null where something must be looked at first. */
  readonly autocommit: Statement | null;
}

export const resultColumns = { key: 0, counter: 1, passes: 2, visible: 3, object: 4 } as const;

interface ResultShape {
  /** Rows that the write must still reach afterwards: the new row passes the row filter. */
  readonly passes: Predicate | null;
  /** Rows that the caller's get grant shows; undefined where there is no such grant. */
  readonly visible: Predicate | null | undefined;
  readonly object: (alias: string, scope: StatementScope) => Sql;
  readonly isLocal: boolean;
}

/** An INSERT of `rows` records that give these fields. */
export function planInsert(
  request: RecordRequest,
  collection: Collection,
  grant: Grant,
  names: readonly string[],
  rows: number,
  context: PlanContext,
): WritePlan {
  const result = planResult(request, collection, grant, context);
  const sortFields = findSortFields(collection).filter((field) => !names.includes(field.name));
  const all = [...names, ...sortFields.map((field) => field.name)];
  // A record that gives nothing still has a write counter.
  const columns = all.map((name) => identifier(getField(collection, name).column!)).join(',') || '_v';
  const values = Array.from({ length: rows }, (_, row) => {
    const given = names.map((name) => sql`${valueParam(collection, name, row)}`);
    const positions = sortFields.map((field) => compileEndPosition(collection, field, names));
    return all.length === 0 ? sql`(1)` : sql`(${join([...given, ...positions], ',')})`;
  });
  const rowsGiven = sql`VALUES ${join(values, ',')}`;
  const guard = context.dialect.versionGuard();
  const source = guard ? sql`SELECT * FROM (${rowsGiven}) v WHERE ${guard}` : rowsGiven;
  return compileWrite(
    sql`INSERT INTO ${identifier(collection.table)} (${columns}) ${source}`,
    'created',
    result,
    collection,
    context,
  );
}

/** A record without a place goes to the end of its scope. */
function compileEndPosition(collection: Collection, field: Field, names: readonly string[]): Sql {
  const { scopeKey } = field.definition;
  const scope = scopeKey !== undefined && names.includes(scopeKey) ? valueParam(collection, scopeKey, 0) : null;
  return nextSortPosition(getSortColumn(collection, field), scope);
}

/** An UPDATE of these fields, guarded by key, filter, old row and counter. */
export function planUpdate(
  request: RecordRequest,
  collection: Collection,
  grant: Grant,
  names: readonly string[],
  hasIfMatch: boolean,
  context: PlanContext,
): WritePlan {
  const result = planResult(request, collection, grant, context);
  const sets = names.map(
    (name) => sql`${identifier(getField(collection, name).column!)}=${valueParam(collection, name, -1)}`,
  );
  const where = compileWriteCondition(request, collection, grant, hasIfMatch, context);
  const assignments = [...sets, sql`_v=_v+1`].reduce((left, right) => sql`${left},${right}`);
  return compileWrite(
    sql`UPDATE ${identifier(collection.table)} SET ${assignments}${where}`,
    'updated',
    result,
    collection,
    context,
  );
}

/** A DELETE that returns the keys it destroyed. */
export function planDestroy(
  request: RecordRequest,
  collection: Collection,
  grant: Grant,
  hasIfMatch: boolean,
  context: PlanContext,
): WritePlan {
  const { dialect } = context;
  const where = compileWriteCondition(request, collection, grant, hasIfMatch, context);
  const statement = sql`DELETE FROM ${identifier(collection.table)}${where} RETURNING ${keyColumn(collection, context.dialect)}`;
  const autocommit = compileWithEvent({ statement, columns: ['k'] }, 'destroyed', collection, dialect);
  return { statement: compile(dialect, statement), readBack: null, autocommit };
}

/** The keys that a write by filter would reach. */
export function planKeys(
  request: RecordRequest,
  collection: Collection,
  grant: Grant,
  context: PlanContext,
): Statement {
  const where = compileWriteCondition(request, collection, grant, false, context);
  return compile(
    context.dialect,
    sql`SELECT ${keyColumn(collection, context.dialect)} FROM ${identifier(collection.table)}${where}`,
  );
}

/** How many records a write by filter or keys would reach. */
export function planReach(
  request: RecordRequest,
  collection: Collection,
  grant: Grant,
  max: number,
  context: PlanContext,
): Statement {
  const where = compileWriteCondition(request, collection, grant, false, context);
  return compile(
    context.dialect,
    sql`SELECT count(*) FROM (SELECT 1 FROM ${identifier(collection.table)}${where} LIMIT ${max + 1}) c`,
  );
}

/** Records as a write finds them, for their history. Rows of: key, the object of all fields that are no secrets. */
export function planStates(
  request: RecordRequest,
  collection: Collection,
  grant: Grant,
  context: PlanContext,
): Statement {
  return compileStates(collection, compileWriteCondition(request, collection, grant, false, context), context.dialect);
}

/** The same by keys, whatever the grant. */
export function planStatesByKeys(collection: Collection, dialect: Dialect): Statement {
  return compileStates(collection, sql` WHERE ${dialect.isIn(bareKey(collection), keysParam(collection))}`, dialect);
}

function compileStates(collection: Collection, where: Sql, dialect: Dialect): Statement {
  const members = columnsIn(collection)
    .filter((field) => !field.type.secret && !field.serverManaged)
    .map((field) =>
      dialect.member(
        String(field.id),
        field.type.storage!,
        sql`${identifier(collection.table)}.${identifier(field.column)}`,
      ),
    );
  return compile(
    dialect,
    sql`SELECT ${keyColumn(collection, dialect)},${dialect.object(members)} FROM ${identifier(collection.table)}${where}`,
  );
}

function keysParam({ primaryKey }: Collection): Param {
  return { storage: primaryKey.type.storage!, list: true, read: (environment) => environment.key };
}

/** What stands at the keys of a write that reached nothing. Rows of: key, counter, whether the grant reaches it. */
export function planDiagnosis(
  request: RecordRequest,
  collection: Collection,
  grant: Grant,
  context: PlanContext,
): Statement {
  const { dialect } = context;
  const scope = new StatementScope(dialect);
  const rows = planRows(grant.rows, collection, context.registry, request.trash);
  const reached = rows ? compilePredicate(rows, collection.table, collection, scope) : sql`1=1`;
  const where = compileWhere([keyCondition(request, collection)], false, collection, scope);
  const current = dialect.versionGuard() ?? sql`1=1`;
  return compile(
    dialect,
    sql`SELECT ${keyColumn(collection, dialect)},${compileCounter(collection)},CASE WHEN ${reached} THEN 1 ELSE 0 END,CASE WHEN ${current} THEN 1 ELSE 0 END FROM ${identifier(collection.table)}${where}`,
  );
}

function compileWriteCondition(
  request: RecordRequest,
  collection: Collection,
  grant: Grant,
  hasIfMatch: boolean,
  context: PlanContext,
): Sql {
  const condition = planWriteCondition(request, collection, grant, context);
  const counters: Param = { storage: 'bigint', list: true, read: (environment) => environment.counters };
  const guard = context.dialect.versionGuard();
  return compileWhere(
    [
      keyCondition(request, collection),
      condition,
      hasIfMatch ? (dialect: Dialect) => dialect.isIn(compileCounter(collection), counters) : null,
      guard && (() => guard),
    ],
    request.filterByTk === undefined,
    collection,
    new StatementScope(context.dialect),
  );
}

/** Write replies show what the caller's get grant shows; without one, the primary key alone. */
function planResult(request: RecordRequest, collection: Collection, grant: Grant, context: PlanContext): ResultShape {
  const { registry, findGrant } = context;
  const get = findGrant(collection.name, 'get');
  // Whether the record is in the trash is no matter of grants.
  const passes = planRows(grant.rows, collection, registry, 'with');
  const visible = get ? planRows(get.rows, collection, registry, 'with') : undefined;
  const selection = get
    ? planSelection(request, collection, get, context)
    : { collection, fields: [collection.primaryKey], appends: [] };
  const isLocal = selection.appends.length === 0 && !crossesTables(passes) && !crossesTables(visible ?? null);
  return { passes, visible, isLocal, object: (alias, scope) => compileObject(selection, alias, scope) };
}

function compileWrite(
  statement: Sql,
  verb: string,
  result: ResultShape,
  collection: Collection,
  context: PlanContext,
): WritePlan {
  const { dialect } = context;
  const { primaryKey } = collection;
  const isGenerated = verb === 'created' && primaryKey.autoIncrement;
  const key = isGenerated
    ? dialect.generatedKey(primaryKey.type.storage!, bareKey(collection))
    : keyColumn(collection, dialect);
  if (result.isLocal) {
    const returning = sql`${statement} RETURNING ${compileResultColumns(result, collection, context, key)}`;
    const autocommit =
      result.passes === null
        ? compileWithEvent({ statement: returning, columns: ['k', 'c', 'p', 's', 'o'] }, verb, collection, dialect)
        : null;
    return { statement: compile(dialect, returning), readBack: null, autocommit };
  }
  const readBack = sql`SELECT ${compileResultColumns(result, collection, context, keyColumn(collection, dialect))} FROM ${identifier(collection.table)} WHERE ${dialect.isIn(bareKey(collection), keysParam(collection))}`;
  return {
    statement: compile(dialect, sql`${statement} RETURNING ${key}`),
    readBack: compile(dialect, readBack),
    autocommit: null,
  };
}

/** One round trip instead of four, where a network lies between. */
function compileWithEvent(
  write: ReturningWrite,
  verb: string,
  { name }: Collection,
  dialect: Dialect,
): Statement | null {
  const statement = dialect.writeWithEvent(write, { name: `${name}.${verb}`, resource: name });
  return statement && compile(dialect, statement);
}

function compileResultColumns(result: ResultShape, collection: Collection, { dialect }: PlanContext, key: Sql): Sql {
  const scope = new StatementScope(dialect);
  const flag = (predicate: Predicate | null): Sql =>
    predicate === null
      ? sql`1`
      : sql`CASE WHEN ${compilePredicate(predicate, collection.table, collection, scope)} THEN 1 ELSE 0 END`;
  const visible = result.visible === undefined ? sql`0` : flag(result.visible);
  return sql`${key},${compileCounter(collection)},${flag(result.passes)},${visible},${result.object(collection.table, scope)}`;
}

function crossesTables(predicate: Predicate | null): boolean {
  if (predicate === null) return false;
  if (predicate.kind === 'related' || predicate.kind === 'within') return true;
  if (predicate.kind === 'all' || predicate.kind === 'any') return predicate.of.some(crossesTables);
  return (predicate.kind === 'not' || predicate.kind === 'variables') && crossesTables(predicate.of);
}

function bareKey({ primaryKey, table }: Collection): Sql {
  return sql`${identifier(table)}.${identifier(primaryKey.column!)}`;
}

/** The key as a result, in canonical form. */
function keyColumn(collection: Collection, dialect: Dialect): Sql {
  return dialect.scalar(collection.primaryKey.type.storage!, bareKey(collection));
}

/** @param row index into the list of records that is being inserted, or -1 where there is one. */
function valueParam(collection: Collection, name: string, row: number): Param {
  const { storage } = getField(collection, name).type;
  if (row < 0) return { storage: storage!, read: ({ record }) => record[name] };
  return { storage: storage!, read: ({ values }) => (values[row] as Readonly<Record<string, unknown>>)[name] };
}
