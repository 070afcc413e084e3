import type { Dialect } from '../database/dialect.ts';
import { identifier, joinBalanced, type Param, type Sql, sql } from '../database/sql.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import { requireColumn, requireStorage } from '../schema/field-parts.ts';
import type { Collection } from '../schema/registry.ts';
import { countTests, type Predicate } from './predicate.ts';
import { compilePredicate } from './predicate-compiler.ts';
import type { StatementScope } from './statement-scope.ts';

/** A condition on a row: a predicate, or SQL about columns that the statement knows. Null matches all rows. */
export type Condition = Predicate | ((dialect: Dialect) => Sql) | null;

/** Conditions on the row `alias` of a collection. */
export interface RowConditions {
  readonly alias: string;
  readonly collection: Collection;
  readonly conditions: readonly Condition[];
  /** Whether the statement may visit many rows, so that it must check its deadline. */
  readonly scans: boolean;
}

/**
 * ` WHERE …` about the rows of a collection's table; empty without conditions.
 *
 * @param scans whether the statement may visit many rows, so that it must check its deadline.
 */
export function compileWhere(
  conditions: readonly Condition[],
  scans: boolean,
  collection: Collection,
  scope: StatementScope,
): Sql {
  const all = compileConditions({ alias: collection.table, collection, conditions, scans }, scope);
  return all === null ? sql`` : sql` WHERE ${all}`;
}

/** The conditions joined by AND, the deadline check first, so that it runs for every row that is visited; null without any. */
export function compileConditions(
  { alias, collection, conditions, scans }: RowConditions,
  scope: StatementScope,
): Sql | null {
  const tests = conditions.reduce((sum, each) => sum + (typeof each === 'function' ? 1 : countTests(each)), 0);
  const tick = scans ? scope.dialect.deadlineCheck(alias, tests) : null;
  const compiled = conditions
    .filter((condition) => condition !== null)
    .map((condition) =>
      typeof condition === 'function'
        ? condition(scope.dialect)
        : compilePredicate(condition, alias, collection, scope),
    );
  const all = tick ? [tick, ...compiled] : compiled;
  return all.length === 0 ? null : joinBalanced(all, ' AND ');
}

/** The hidden write counter of a row. */
export function compileCounter(collection: Collection): Sql {
  return sql`${identifier(collection.table)}._v`;
}

/** The quoted primary key column of a collection's table. */
export function compileKey({ table, primaryKey }: Collection): Sql {
  return sql`${identifier(table)}.${identifier(requireColumn(primaryKey))}`;
}

/** `filterByTk` as a condition: one key, or a list of them; null if the request names none. */
export function keyCondition(
  request: Pick<RecordRequest, 'filterByTk'>,
  collection: Collection,
): ((dialect: Dialect) => Sql) | null {
  if (request.filterByTk === undefined) return null;
  const isMany = Array.isArray(request.filterByTk);
  const key: Param = {
    storage: requireStorage(collection.primaryKey),
    list: isMany,
    read: (environment) => environment.key,
  };
  const column = compileKey(collection);
  return (dialect) => (isMany ? dialect.isIn(column, key) : sql`${column}=${key}`);
}
