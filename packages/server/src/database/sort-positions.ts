/** Statements about places in an order: the numbers of `sort` fields. */

import type { Storage } from '../schema/field-type.ts';
import { maxSortPosition } from '../schema/number-ranges.ts';
import { type BoundStatement, bindFixed, type Database, type Row, type Transaction } from './database.ts';
import type { Dialect } from './dialect.ts';
import { identifier, type Param, type Sql, sql, value } from './sql.ts';

/** A column of places, the key of its rows, and the column within whose equal values they count. */
export interface SortPositionColumn {
  readonly table: string;
  readonly column: string;
  readonly key: string;
  readonly scope: { readonly column: string; readonly storage: Storage } | null;
}

/**
 * The place after the last one, as an expression in an INSERT of one row. At the end of the range it is the last one
 * itself: equal places go by the key, and the next move numbers all of them again.
 */
export function nextSortPosition({ table, column, scope }: SortPositionColumn, inScope: Param | null): Sql {
  const last = sql`max(${identifier(column)})`;
  const max = String(Number.MAX_SAFE_INTEGER);
  return sql`(SELECT CASE WHEN ${last}>=${max} THEN ${last} ELSE coalesce(${last},0)+1 END FROM ${identifier(table)}${buildScopeCondition(scope, inScope)})`;
}

/** Numbers all rows from 1, in the order of the places that they have; rows without one come last. */
export async function renumberSortPositions(
  database: Database,
  transaction: Transaction,
  positionColumn: SortPositionColumn,
): Promise<void> {
  const { table, column, key, scope } = positionColumn;
  const within = scope ? sql`PARTITION BY ${identifier(scope.column)} ` : sql``;
  const order = sql`${database.dialect.nullsLast(sql`${identifier(column)}`, false)},${identifier(key)}`;
  const numbered = sql`SELECT ${identifier(key)} AS k,row_number() OVER (${within}ORDER BY ${order}) AS n FROM ${identifier(table)}`;
  await runStatement(
    database.dialect,
    transaction,
    sql`UPDATE ${identifier(table)} SET ${identifier(column)}=p.n FROM (${numbered}) p WHERE p.k=${identifier(table)}.${identifier(key)}`,
  );
}

/** Whether a place is held twice or is at the end of the range, or a row has none. */
export async function hasInvalidSortPositions(
  database: Database,
  transaction: Transaction,
  { table, column, scope }: SortPositionColumn,
  inScope: unknown,
): Promise<boolean> {
  const c = identifier(column);
  const where = buildScopeCondition(scope, scope && value(scope.storage, inScope));
  const [row] = await runStatement(
    database.dialect,
    transaction,
    sql`SELECT count(*),count(DISTINCT CASE WHEN ${c} BETWEEN ${String(1 - maxSortPosition)} AND ${String(maxSortPosition - 1)} THEN ${c} END) FROM ${identifier(table)}${where}`,
  );
  return Number(row![0]) !== Number(row![1]);
}

/** The first and the last place; null where there is none. */
export async function readSortPositionBounds(
  database: Database,
  transaction: Transaction,
  { table, column, scope }: SortPositionColumn,
  inScope: unknown,
): Promise<readonly [number | null, number | null]> {
  const c = identifier(column);
  const where = buildScopeCondition(scope, scope && value(scope.storage, inScope));
  const [row] = await runStatement(
    database.dialect,
    transaction,
    sql`SELECT min(${c}),max(${c}) FROM ${identifier(table)}${where}`,
  );
  return [row![0] === null ? null : Number(row![0]), row![1] === null ? null : Number(row![1])];
}

/** Moves the rows between two places, both included, by one place up or down. */
export async function shiftSortPositions(
  database: Database,
  transaction: Transaction,
  { table, column, scope }: SortPositionColumn,
  inScope: unknown,
  from: number,
  to: number,
  delta: 1 | -1,
): Promise<void> {
  const c = identifier(column);
  const where = buildScopeCondition(scope, scope && value(scope.storage, inScope));
  const between = sql`${c} BETWEEN ${value('bigint', from)} AND ${value('bigint', to)}`;
  const all = where.parts.length === 0 ? sql` WHERE ${between}` : sql`${where} AND ${between}`;
  await runStatement(database.dialect, transaction, sql`UPDATE ${identifier(table)} SET ${c}=${c}+(${delta})${all}`);
}

function buildScopeCondition(scope: SortPositionColumn['scope'], inScope: Param | null): Sql {
  if (scope === null) return sql``;
  const column = identifier(scope.column);
  return inScope === null ? sql` WHERE ${column} IS NULL` : sql` WHERE ${column} IS NOT DISTINCT FROM ${inScope}`;
}

function runStatement(dialect: Dialect, transaction: Transaction, statement: Sql): Promise<Row[]> {
  const bound: BoundStatement = bindFixed(dialect, statement);
  return transaction.run(bound);
}
