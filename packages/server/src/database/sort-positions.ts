/** Statements about sort positions: the numbers of `sort` fields, which give records an order that callers choose. */
import type { Storage } from '../schema/field-type.ts';
import { maxSortPosition } from '../schema/number-ranges.ts';
import type { Database, Row, Transaction } from './database.ts';
import { runInTransaction } from './run-statement.ts';
import { identifier, type Param, type Sql, sql, value } from './sql.ts';

/** A column of sort positions, and the key of its rows. Positions are counted within equal values of the scope's column. */
export interface SortPositionColumn {
  readonly table: string;
  readonly column: string;
  readonly key: string;
  readonly scope: { readonly column: string; readonly storage: Storage } | null;
}

/**
 * The position after the last one, as an expression in an INSERT of one row. At the end of the range it is the last position
 * itself: rows with equal positions are sorted by the key, and the next move renumbers all of them.
 */
export function nextSortPosition({ table, column, scope }: SortPositionColumn, inScope: Param | null): Sql {
  const last = sql`max(${identifier(column)})`;
  const max = String(Number.MAX_SAFE_INTEGER);
  const next = sql`CASE WHEN ${last}>=${max} THEN ${last} ELSE coalesce(${last},0)+1 END`;
  return sql`(SELECT ${next} FROM ${identifier(table)}${buildScopeCondition(scope, inScope)})`;
}

/** Numbers all rows from 1, in the order of their present positions. Rows without a position come last. */
export async function renumberSortPositions(
  database: Database,
  transaction: Transaction,
  positionColumn: SortPositionColumn,
): Promise<void> {
  const table = identifier(positionColumn.table);
  const column = identifier(positionColumn.column);
  const key = identifier(positionColumn.key);
  const within = positionColumn.scope ? sql`PARTITION BY ${identifier(positionColumn.scope.column)} ` : sql``;
  const order = sql`${database.dialect.nullsLast(sql`${column}`, false)},${key}`;
  const numbered = sql`SELECT ${key} AS k,row_number() OVER (${within}ORDER BY ${order}) AS n FROM ${table}`;
  const update = sql`UPDATE ${table} SET ${column}=p.n FROM (${numbered}) p WHERE p.k=${table}.${key}`;
  await runInTransaction(database, transaction, update);
}

/** Whether the rows must be renumbered: two have the same position, one is at the end of the range, or one has none. */
export async function hasInvalidSortPositions(
  database: Database,
  transaction: Transaction,
  { table, column, scope }: SortPositionColumn,
  inScope: unknown,
): Promise<boolean> {
  const position = identifier(column);
  const where = buildScopeCondition(scope, scope && value(scope.storage, inScope));
  const [min, max] = [String(1 - maxSortPosition), String(maxSortPosition - 1)];
  const inRange = sql`CASE WHEN ${position} BETWEEN ${min} AND ${max} THEN ${position} END`;
  const counts = sql`SELECT count(*),count(DISTINCT ${inRange}) FROM ${identifier(table)}${where}`;
  const [rows, positions] = await readOnly(database, transaction, counts);
  return Number(rows) !== Number(positions);
}

/** The first and the last position; null if there is none. */
export async function readSortPositionBounds(
  database: Database,
  transaction: Transaction,
  { table, column, scope }: SortPositionColumn,
  inScope: unknown,
): Promise<readonly [number | null, number | null]> {
  const position = identifier(column);
  const where = buildScopeCondition(scope, scope && value(scope.storage, inScope));
  const bounds = sql`SELECT min(${position}),max(${position}) FROM ${identifier(table)}${where}`;
  const [first, last] = await readOnly(database, transaction, bounds);
  return [first === null ? null : Number(first), last === null ? null : Number(last)];
}

/** Rows whose positions are from `from` to `to`, both included, and by how much they move. */
export interface PositionShift {
  /** The value of the scope's column. */
  readonly inScope: unknown;
  readonly from: number;
  readonly to: number;
  readonly delta: 1 | -1;
}

/** Moves rows by one position. */
export async function shiftSortPositions(
  database: Database,
  transaction: Transaction,
  { table, column, scope }: SortPositionColumn,
  { inScope, from, to, delta }: PositionShift,
): Promise<void> {
  const position = identifier(column);
  const where = buildScopeCondition(scope, scope && value(scope.storage, inScope));
  const between = sql`${position} BETWEEN ${value('bigint', from)} AND ${value('bigint', to)}`;
  const all = where.parts.length === 0 ? sql` WHERE ${between}` : sql`${where} AND ${between}`;
  const update = sql`UPDATE ${identifier(table)} SET ${position}=${position}+(${delta})${all}`;
  await runInTransaction(database, transaction, update);
}

function buildScopeCondition(scope: SortPositionColumn['scope'], inScope: Param | null): Sql {
  if (scope === null) return sql``;
  const column = identifier(scope.column);
  return inScope === null ? sql` WHERE ${column} IS NULL` : sql` WHERE ${column} IS NOT DISTINCT FROM ${inScope}`;
}

/** The one row of an aggregate. */
async function readOnly(database: Database, transaction: Transaction, statement: Sql): Promise<Row> {
  const [row] = await runInTransaction(database, transaction, statement);
  return row ?? [];
}
