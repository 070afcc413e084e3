import { compile, type Statement } from '../../database/database.ts';
import type { Dialect, ReturningWrite } from '../../database/dialect.ts';
import { nextSortPosition } from '../../database/sort-positions.ts';
import { identifier, join, type Param, type Sql, sql } from '../../database/sql.ts';
import { planRows } from '../../query/filter-plan.ts';
import { type IndexNeed, planNeed } from '../../query/index-need.ts';
import { compileObject } from '../../query/object-compiler.ts';
import type { Predicate } from '../../query/predicate.ts';
import { compilePredicate, StatementScope } from '../../query/predicate-compiler.ts';
import {
  compileCounter,
  compileWhere,
  keyCondition,
  type PlanContext,
  planWriteCondition,
} from '../../query/read-plan.ts';
import { planSelection } from '../../query/selection.ts';
import { requireColumn, requireStorage } from '../../schema/field-parts.ts';
import { type Collection, listColumnFields as columnsIn, type Field, getField } from '../../schema/registry.ts';
import { toPlanContext } from '../record-context.ts';
import { isTimestamp } from './record-input.ts';
import { findSortFields, getSortColumn } from './sort-columns.ts';
import type { WriteOperation } from './write-steps.ts';

/**
 * The write compiler: a write is one statement. Its WHERE holds the grant's row filter. Its RETURNING holds the reply, and
 * says whether the new row still passes the row filter.
 *
 *     UPDATE "t_orders" SET "status"=?,_v=_v+1 WHERE "t_orders"."id"=? AND <row filter>
 *       RETURNING "id",_v,<passes>,<visible>,json_object('id',…,'status',…)
 *
 * Rows of {@link resultColumns}; a DELETE returns only the key.
 */
export interface WritePlan {
  readonly statement: Statement;
  /** Reads the result columns by keys after the write, if a predicate reads other tables or relations are appended. */
  readonly readBack: Statement | null;
  /** Whether the new row may violate the row filter of the grant. */
  readonly checksRow: boolean;
  /** The same write with its event row in one statement that commits by itself; null if the engine or the grant rules it out. */
  readonly autocommit: Statement | null;
}

/** Columns of a write's result. */
export const resultColumns = { key: 0, counter: 1, passes: 2, visible: 3, object: 4 } as const;

/** Columns of {@link planDiagnosis}. */
export const diagnosisColumns = { key: 0, counter: 1, isReached: 2, isCurrent: 3 } as const;

/** The input for planning a write. */
export type PlannedWrite = Pick<WriteOperation, 'context' | 'collection' | 'request' | 'grant'>;

interface ResultShape {
  /** The condition that the new row must still match; null: none. */
  readonly passes: Predicate | null;
  /** The rows that the caller's get grant shows; null: all. Undefined without such a grant. */
  readonly visible: Predicate | null | undefined;
  readonly object: (alias: string, scope: StatementScope) => Sql;
  readonly isLocal: boolean;
}

/** An INSERT of `rows` records that specify these fields. */
export function planInsert(write: PlannedWrite, names: readonly string[], rows: number): WritePlan {
  const { collection } = write;
  const result = planResult(write);
  const sortFields = findSortFields(collection).filter((field) => !names.includes(field.name));
  const all = [...names, ...sortFields.map((field) => field.name)];
  // An INSERT needs a column: a record without values still has a write counter.
  const columns = all.map((name) => identifier(requireColumn(getField(collection, name)))).join(',') || '_v';
  const values = Array.from({ length: rows }, (_, row) => {
    const given = names.map((name) => sql`${valueParam(collection, name, row)}`);
    const positions = sortFields.map((field) => compileEndPosition(collection, field, names));
    return all.length === 0 ? sql`(1)` : sql`(${join([...given, ...positions], ',')})`;
  });
  const rowsGiven = sql`VALUES ${join(values, ',')}`;
  const guard = write.context.database.dialect.versionGuard();
  const source = guard ? sql`SELECT * FROM (${rowsGiven}) v WHERE ${guard}` : rowsGiven;
  return compileWrite(
    sql`INSERT INTO ${identifier(collection.table)} (${columns}) ${source}`,
    'created',
    result,
    write,
  );
}

/** A record without a sort position goes to the end of its scope. */
function compileEndPosition(collection: Collection, field: Field, names: readonly string[]): Sql {
  const { scopeKey } = field.definition;
  const scope = scopeKey !== undefined && names.includes(scopeKey) ? valueParam(collection, scopeKey, 0) : null;
  return nextSortPosition(getSortColumn(collection, field), scope);
}

/** An UPDATE of these fields, guarded by key, filter, old row and counter. */
export function planUpdate(write: PlannedWrite, names: readonly string[], hasIfMatch: boolean): WritePlan {
  const { collection } = write;
  const result = planResult(write);
  const sets = names.map(
    (name) => sql`${identifier(requireColumn(getField(collection, name)))}=${valueParam(collection, name, -1)}`,
  );
  const where = compileWriteCondition(write, hasIfMatch);
  const assignments = [...sets, sql`_v=_v+1`].reduce((left, right) => sql`${left},${right}`);
  return compileWrite(sql`UPDATE ${identifier(collection.table)} SET ${assignments}${where}`, 'updated', result, write);
}

/** A DELETE that returns the keys it destroyed. */
export function planDestroy(write: PlannedWrite, hasIfMatch: boolean): WritePlan {
  const { collection } = write;
  const { dialect } = write.context.database;
  const where = compileWriteCondition(write, hasIfMatch);
  const key = keyColumn(collection, dialect);
  const statement = sql`DELETE FROM ${identifier(collection.table)}${where} RETURNING ${key}`;
  const autocommit = compileWithEvent({ statement, columns: ['k'] }, 'destroyed', collection, dialect);
  return { statement: compile(dialect, statement), readBack: null, checksRow: false, autocommit };
}

/** The keys of the records that a write would reach. Rows of: key. */
export function planKeys(write: PlannedWrite): Statement {
  const { collection } = write;
  const { dialect } = write.context.database;
  const where = compileWriteCondition(write, false);
  return compile(dialect, sql`SELECT ${keyColumn(collection, dialect)} FROM ${identifier(collection.table)}${where}`);
}

/** How many records a write would reach, counted up to `max + 1`. One row of: count. */
export function planReach(write: PlannedWrite, max: number): Statement {
  const where = compileWriteCondition(write, false);
  const table = identifier(write.collection.table);
  return compile(
    write.context.database.dialect,
    sql`SELECT count(*) FROM (SELECT 1 FROM ${table}${where} LIMIT ${max + 1}) c`,
  );
}

/** What an index must provide for {@link planReach}; null for a write by key. */
export function planWriteNeed({ request, collection, grant, context }: PlannedWrite): IndexNeed | null {
  if (request.filterByTk !== undefined) return null;
  const condition = planWriteCondition(request, collection, grant, toPlanContext(context));
  return planNeed(condition, null, collection, context.database.dialect);
}

/** The records that a write would reach, for their history. Rows of: key, the object of all fields that are no secrets. */
export function planStates(write: PlannedWrite): Statement {
  return compileStates(write.collection, compileWriteCondition(write, false), write.context.database.dialect);
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
        requireStorage(field),
        sql`${identifier(collection.table)}.${identifier(field.column)}`,
      ),
    );
  const state = sql`${keyColumn(collection, dialect)},${dialect.object(members)}`;
  return compile(dialect, sql`SELECT ${state} FROM ${identifier(collection.table)}${where}`);
}

function keysParam({ primaryKey }: Collection): Param {
  return { storage: requireStorage(primaryKey), list: true, read: (environment) => environment.key };
}

/** The records with the keys of a write that reached nothing. Rows of {@link diagnosisColumns}. */
export function planDiagnosis({ request, collection, grant, context }: PlannedWrite): Statement {
  const { dialect } = context.database;
  const scope = new StatementScope(dialect);
  const rows = planRows(grant.rows, collection, context.registry, request.trash);
  const reached = rows ? compilePredicate(rows, collection.table, collection, scope) : sql`1=1`;
  const where = compileWhere([keyCondition(request, collection)], false, collection, scope);
  const current = dialect.versionGuard() ?? sql`1=1`;
  const record = sql`${keyColumn(collection, dialect)},${compileCounter(collection)}`;
  const flags = sql`${compileFlag(reached)},${compileFlag(current)}`;
  return compile(dialect, sql`SELECT ${record},${flags} FROM ${identifier(collection.table)}${where}`);
}

function compileFlag(condition: Sql): Sql {
  return sql`CASE WHEN ${condition} THEN 1 ELSE 0 END`;
}

function compileWriteCondition(
  { request, collection, grant, context: recordContext }: PlannedWrite,
  hasIfMatch: boolean,
): Sql {
  const context = toPlanContext(recordContext);
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

/** A write's reply shows what the caller's get grant shows. Without a get grant it only shows the primary key. */
function planResult({ request, collection, grant, context }: PlannedWrite): ResultShape {
  const { registry, findGrant } = context;
  const get = findGrant(collection.name, 'get');
  // Grants do not depend on whether the record is in the trash.
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
  { collection, context: recordContext }: PlannedWrite,
): WritePlan {
  const context = toPlanContext(recordContext);
  const { dialect } = context;
  const { primaryKey } = collection;
  const isGenerated = verb === 'created' && primaryKey.autoIncrement;
  const key = isGenerated
    ? dialect.generatedKey(requireStorage(primaryKey), bareKey(collection))
    : keyColumn(collection, dialect);
  const checksRow = result.passes !== null;
  if (result.isLocal) {
    const returning = sql`${statement} RETURNING ${compileResultColumns(result, collection, context, key)}`;
    const autocommit = checksRow
      ? null
      : compileWithEvent({ statement: returning, columns: ['k', 'c', 'p', 's', 'o'] }, verb, collection, dialect);
    return { statement: compile(dialect, returning), readBack: null, checksRow, autocommit };
  }
  return {
    statement: compile(dialect, sql`${statement} RETURNING ${key}`),
    readBack: compileReadBack(result, collection, context),
    checksRow,
    autocommit: null,
  };
}

/** The records with the keys of a write as they are now. Rows of {@link resultColumns}. */
export function planReadBack(write: PlannedWrite): Statement {
  return compileReadBack(planResult(write), write.collection, toPlanContext(write.context));
}

function compileReadBack(result: ResultShape, collection: Collection, context: PlanContext): Statement {
  const { dialect } = context;
  const columns = compileResultColumns(result, collection, context, keyColumn(collection, dialect));
  const isWritten = dialect.isIn(bareKey(collection), keysParam(collection));
  return compile(dialect, sql`SELECT ${columns} FROM ${identifier(collection.table)} WHERE ${isWritten}`);
}

/** One round trip instead of four, for engines that are reached over a network. */
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
    predicate === null ? sql`1` : compileFlag(compilePredicate(predicate, collection.table, collection, scope));
  const visible = result.visible === undefined ? sql`0` : flag(result.visible);
  const passes = flag(result.passes);
  return sql`${key},${compileCounter(collection)},${passes},${visible},${result.object(collection.table, scope)}`;
}

function crossesTables(predicate: Predicate | null): boolean {
  if (predicate === null) return false;
  if (predicate.kind === 'related' || predicate.kind === 'within') return true;
  if (predicate.kind === 'all' || predicate.kind === 'any') return predicate.of.some(crossesTables);
  return (predicate.kind === 'not' || predicate.kind === 'variables') && crossesTables(predicate.of);
}

function bareKey({ primaryKey, table }: Collection): Sql {
  return sql`${identifier(table)}.${identifier(requireColumn(primaryKey))}`;
}

/** The key as a result, in canonical form. */
function keyColumn(collection: Collection, dialect: Dialect): Sql {
  return dialect.scalar(requireStorage(collection.primaryKey), bareKey(collection));
}

/** @param row index into the list of records that is inserted, or -1 for the one record of an update. */
function valueParam(collection: Collection, name: string, row: number): Param {
  const field = getField(collection, name);
  const described = { storage: requireStorage(field), isStamp: isTimestamp(field) };
  if (row < 0) return { ...described, read: ({ record }) => record[name] };
  return { ...described, read: ({ values }) => (values[row] as Readonly<Record<string, unknown>>)[name] };
}
