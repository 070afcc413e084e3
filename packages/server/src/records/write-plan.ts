import { fusedEventInsert } from '../changes/change-log.ts';
import { compile, type Statement } from '../database/database.ts';
import type { Dialect } from '../database/dialect.ts';
import { lastPlace } from '../database/positions.ts';
import { identifier, join, type Param, type Sql, sql } from '../database/sql.ts';
import type { AskedRecordRequest } from '../protocol/record-request.ts';
import { planRows } from '../query/filter-plan.ts';
import type { Grant } from '../query/grant.ts';
import { compileObject } from '../query/object-compiler.ts';
import type { Predicate } from '../query/predicate.ts';
import { Aliases, compilePredicate } from '../query/predicate-compiler.ts';
import { counterOf, keyCondition, type PlanContext, planWriteCondition, whereOf } from '../query/read-plan.ts';
import { planSelection } from '../query/selection.ts';
import { type Collection, columnsOf as columnsIn, type Field, fieldOf } from '../schema/registry.ts';
import { placeOf, sortFieldsOf } from './places.ts';

/**
 * The write compiler: a write is one statement with its grant in the WHERE, whose RETURNING shows the reply and tells
 * whether the new row still passes. Columns of every result: key, write counter, passes, seen, object.
 */
export interface WritePlan {
  readonly statement: Statement;
  /** Reads the result columns afterwards, by keys, where a predicate looks at other tables or relations are appended. */
  readonly look: Statement | null;
  /** The same write with its event row in one statement that may commit by itself; null where something must be looked at first. */
  readonly alone: Statement | null;
}

export const resultColumns = { key: 0, counter: 1, passes: 2, seen: 3, object: 4 } as const;

interface Result {
  /** Rows that the write must still reach afterwards: the new row passes the row filter. */
  readonly passes: Predicate | null;
  /** Rows that the caller's get grant shows; undefined where there is no such grant. */
  readonly seen: Predicate | null | undefined;
  readonly object: (alias: string, aliases: Aliases) => Sql;
  readonly local: boolean;
}

/** An INSERT of `rows` records that give these fields. */
export function planInsert(
  request: AskedRecordRequest,
  collection: Collection,
  grant: Grant,
  names: readonly string[],
  rows: number,
  context: PlanContext,
): WritePlan {
  const result = resultOf(request, collection, grant, context);
  const places = sortFieldsOf(collection).filter((field) => !names.includes(field.name));
  const all = [...names, ...places.map((field) => field.name)];
  // A record that gives nothing still has a write counter.
  const columns = all.map((name) => identifier(fieldOf(collection, name).column!)).join(',') || '_v';
  const values = Array.from({ length: rows }, (_, row) => {
    const given = names.map((name) => sql`${valueParam(collection, name, row)}`);
    const placed = places.map((field) => newPlace(collection, field, names));
    return all.length === 0 ? sql`(1)` : sql`(${join([...given, ...placed], ',')})`;
  });
  const rowsGiven = sql`VALUES ${join(values, ',')}`;
  const guard = context.dialect.versionGuard();
  const source = guard ? sql`SELECT * FROM (${rowsGiven}) v WHERE ${guard}` : rowsGiven;
  return finish(
    sql`INSERT INTO ${identifier(collection.table)} (${columns}) ${source}`,
    'created',
    result,
    collection,
    context,
  );
}

/** A record without a place goes to the end of its scope. */
function newPlace(collection: Collection, field: Field, names: readonly string[]): Sql {
  const { scopeKey } = field.definition;
  const scope = scopeKey !== undefined && names.includes(scopeKey) ? valueParam(collection, scopeKey, 0) : null;
  return lastPlace(placeOf(collection, field), scope);
}

/** An UPDATE of these fields, guarded by key, filter, old row and counter. */
export function planUpdate(
  request: AskedRecordRequest,
  collection: Collection,
  grant: Grant,
  names: readonly string[],
  matched: boolean,
  context: PlanContext,
): WritePlan {
  const result = resultOf(request, collection, grant, context);
  const sets = names.map(
    (name) => sql`${identifier(fieldOf(collection, name).column!)}=${valueParam(collection, name, -1)}`,
  );
  const where = guarded(request, collection, grant, matched, context);
  const assignments = [...sets, sql`_v=_v+1`].reduce((left, right) => sql`${left},${right}`);
  return finish(
    sql`UPDATE ${identifier(collection.table)} SET ${assignments}${where}`,
    'updated',
    result,
    collection,
    context,
  );
}

/** A DELETE that returns the keys it destroyed. */
export function planDestroy(
  request: AskedRecordRequest,
  collection: Collection,
  grant: Grant,
  matched: boolean,
  context: PlanContext,
): WritePlan {
  const { dialect } = context;
  const where = guarded(request, collection, grant, matched, context);
  const statement = sql`DELETE FROM ${identifier(collection.table)}${where} RETURNING ${keyColumn(collection, context.dialect)}`;
  const event = fusedEventInsert(`${collection.name}.destroyed`, collection.name, sql`(SELECT k::text AS v FROM w) u`);
  const alone = dialect.shared
    ? compile(dialect, sql`WITH w(k) AS (${statement}), e AS (${event}) SELECT k FROM w`)
    : null;
  return { statement: compile(dialect, statement), look: null, alone };
}

/** The keys that a write by filter would reach. */
export function planKeys(
  request: AskedRecordRequest,
  collection: Collection,
  grant: Grant,
  context: PlanContext,
): Statement {
  const where = guarded(request, collection, grant, false, context);
  return compile(
    context.dialect,
    sql`SELECT ${keyColumn(collection, context.dialect)} FROM ${identifier(collection.table)}${where}`,
  );
}

/** How many records a write by filter or keys would reach. */
export function planReach(
  request: AskedRecordRequest,
  collection: Collection,
  grant: Grant,
  most: number,
  context: PlanContext,
): Statement {
  const where = guarded(request, collection, grant, false, context);
  return compile(
    context.dialect,
    sql`SELECT count(*) FROM (SELECT 1 FROM ${identifier(collection.table)}${where} LIMIT ${most + 1}) c`,
  );
}

/** Records as a write finds them, for their history. Rows of: key, the object of all fields that are no secrets. */
export function planStates(
  request: AskedRecordRequest,
  collection: Collection,
  grant: Grant,
  context: PlanContext,
): Statement {
  return statesWhere(collection, guarded(request, collection, grant, false, context), context.dialect);
}

/** The same by keys, whatever the grant. */
export function planStatesOf(collection: Collection, dialect: Dialect): Statement {
  return statesWhere(collection, sql` WHERE ${dialect.isIn(bareKey(collection), keysParam(collection))}`, dialect);
}

function statesWhere(collection: Collection, where: Sql, dialect: Dialect): Statement {
  const members = columnsIn(collection)
    .filter((field) => !field.type.secret && !field.kept)
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
  request: AskedRecordRequest,
  collection: Collection,
  grant: Grant,
  context: PlanContext,
): Statement {
  const { dialect } = context;
  const aliases = new Aliases();
  const rows = planRows(grant.rows, collection, context.registry, request.trash);
  const reached = rows ? compilePredicate(rows, collection.table, collection, dialect, aliases) : sql`1=1`;
  const where = whereOf([keyCondition(request, collection)], false, collection, dialect, aliases);
  const current = dialect.versionGuard() ?? sql`1=1`;
  return compile(
    dialect,
    sql`SELECT ${keyColumn(collection, dialect)},${counterOf(collection)},CASE WHEN ${reached} THEN 1 ELSE 0 END,CASE WHEN ${current} THEN 1 ELSE 0 END FROM ${identifier(collection.table)}${where}`,
  );
}

function guarded(
  request: AskedRecordRequest,
  collection: Collection,
  grant: Grant,
  matched: boolean,
  context: PlanContext,
): Sql {
  const condition = planWriteCondition(request, collection, grant, context);
  const counters: Param = { storage: 'bigint', list: true, read: (environment) => environment.counters };
  const guard = context.dialect.versionGuard();
  return whereOf(
    [
      keyCondition(request, collection),
      condition,
      matched ? (dialect: Dialect) => dialect.isIn(counterOf(collection), counters) : null,
      guard && (() => guard),
    ],
    request.filterByTk === undefined,
    collection,
    context.dialect,
    new Aliases(),
  );
}

/** Write replies show what the caller's get grant shows; without one, the primary key alone. */
function resultOf(request: AskedRecordRequest, collection: Collection, grant: Grant, context: PlanContext): Result {
  const { registry, grantOf, dialect } = context;
  const get = grantOf(collection.name, 'get');
  // Whether the record is in the trash is no matter of grants.
  const passes = planRows(grant.rows, collection, registry, 'with');
  const seen = get ? planRows(get.rows, collection, registry, 'with') : undefined;
  const selection = get
    ? planSelection(request, collection, get, registry, grantOf)
    : { collection, fields: [collection.primaryKey], appends: [] };
  const local = selection.appends.length === 0 && !crossesTables(passes) && !crossesTables(seen ?? null);
  return { passes, seen, local, object: (alias, aliases) => compileObject(selection, alias, dialect, aliases) };
}

function finish(statement: Sql, verb: string, result: Result, collection: Collection, context: PlanContext): WritePlan {
  const { dialect } = context;
  const { primaryKey } = collection;
  const isGenerated = verb === 'created' && primaryKey.autoIncrement;
  const key = isGenerated
    ? dialect.generatedKey(primaryKey.type.storage!, bareKey(collection))
    : keyColumn(collection, dialect);
  if (result.local) {
    const returning = sql`${statement} RETURNING ${columnsOf(result, collection, context, key)}`;
    const alone =
      dialect.shared && result.passes === null ? compile(dialect, fused(returning, verb, collection)) : null;
    return { statement: compile(dialect, returning), look: null, alone };
  }
  const look = sql`SELECT ${columnsOf(result, collection, context, keyColumn(collection, dialect))} FROM ${identifier(collection.table)} WHERE ${dialect.isIn(bareKey(collection), keysParam(collection))}`;
  return {
    statement: compile(dialect, sql`${statement} RETURNING ${key}`),
    look: compile(dialect, look),
    alone: null,
  };
}

/** One round trip instead of four, where a network lies between. */
function fused(returning: Sql, verb: string, collection: Collection): Sql {
  const event = fusedEventInsert(`${collection.name}.${verb}`, collection.name, sql`(SELECT k::text AS v FROM w) u`);
  return sql`WITH w(k,c,p,s,o) AS (${returning}), e AS (${event}) SELECT k,c,p,s,o FROM w`;
}

function columnsOf(result: Result, collection: Collection, { dialect }: PlanContext, key: Sql): Sql {
  const aliases = new Aliases();
  const flag = (predicate: Predicate | null): Sql =>
    predicate === null
      ? sql`1`
      : sql`CASE WHEN ${compilePredicate(predicate, collection.table, collection, dialect, aliases)} THEN 1 ELSE 0 END`;
  const seen = result.seen === undefined ? sql`0` : flag(result.seen);
  return sql`${key},${counterOf(collection)},${flag(result.passes)},${seen},${result.object(collection.table, aliases)}`;
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
  const { storage } = fieldOf(collection, name).type;
  if (row < 0) return { storage: storage!, read: ({ record }) => record[name] };
  return { storage: storage!, read: ({ values }) => (values[row] as Readonly<Record<string, unknown>>)[name] };
}
