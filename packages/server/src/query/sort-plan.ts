import type { Dialect } from '../database/dialect.ts';
import { identifier, type Sql, sql } from '../database/sql.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import type { SortTerm } from '../protocol/record-request.ts';
import type { Collection, Field, Registry } from '../schema/registry.ts';
import { requireRelationAccess } from './filter-plan.ts';
import type { Grant, GrantLookup } from './grant.ts';
import type { Predicate } from './predicate.ts';
import { type Aliases, compileColumn, compilePredicate } from './predicate-compiler.ts';
import { requireReadableField } from './read-access.ts';

/** A step along a to-one relation on the way to the field that sorts. */
export interface SortStep {
  readonly source: Collection;
  readonly field: Field;
  readonly target: Collection;
  readonly parent: Predicate | null;
  readonly rows: Predicate | null;
}

export interface SortKey {
  readonly field: Field;
  readonly collection: Collection;
  readonly steps: readonly SortStep[];
  readonly descending: boolean;
  readonly nullable: boolean;
}

/**
 * Resolves a sort. The primary key is the last tiebreak, in the direction of the last term.
 *
 * @throws ApiError 400 for fields that do not exist or do not sort, 403 for denied ones.
 */
export function planSort(
  terms: readonly SortTerm[],
  collection: Collection,
  grant: Grant,
  registry: Registry,
  findGrant: GrantLookup,
): SortKey[] {
  const keys = terms.map((term) => sortKey(term, collection, grant, registry, findGrant));
  const keyed = keys.findIndex((key) => key.field === collection.primaryKey && key.steps.length === 0);
  if (keyed >= 0) return keys.slice(0, keyed + 1);
  const descending = keys.at(-1)?.descending ?? false;
  return [...keys, { field: collection.primaryKey, collection, steps: [], descending, nullable: false }];
}

function sortKey(
  term: SortTerm,
  root: Collection,
  rootGrant: Grant,
  registry: Registry,
  findGrant: GrantLookup,
): SortKey {
  const path = term.path.split('.');
  if (path.length > limits.pathDepth + 1)
    throw new ApiError('LIMIT_EXCEEDED', `A sort path is at most ${limits.pathDepth} deep.`);
  const steps: SortStep[] = [];
  let collection = root;
  let grant = rootGrant;
  for (const name of path.slice(0, -1)) {
    const field = requireReadableField(collection, name, grant);
    if (!field.relation || field.relation.many)
      throw new ApiError('SORT_INVALID', `"${term.path.slice(0, 120)}" is no path of to-one relations.`);
    const target = registry.get(field.relation.target);
    const access = requireRelationAccess(field, collection, target, findGrant, registry);
    steps.push({ source: collection, field, target, parent: access.parent, rows: access.target });
    grant = access.grant;
    collection = target;
  }
  const field = requireReadableField(collection, path.at(-1)!, grant);
  if (!field.type.sortable)
    throw new ApiError('SORT_INVALID', `"${term.path.slice(0, 120)}" is a ${field.type.name} field and does not sort.`);
  return { field, collection, steps, descending: term.descending, nullable: steps.length > 0 || !field.notNull };
}

/** The value that a key sorts by, for the row `alias`. */
export function compileSortKey(key: SortKey, alias: string, dialect: Dialect, aliases: Aliases): Sql {
  return compileSteps(key, 0, alias, dialect, aliases);
}

function compileSteps(key: SortKey, step: number, alias: string, dialect: Dialect, aliases: Aliases): Sql {
  const current = key.steps[step];
  if (!current) return sql`${identifier(alias)}.${identifier(key.field.column!)}`;
  const inner = aliases.next();
  const relation = current.field.relation!;
  const conditions = [
    sql`${compileColumn(inner, current.target, relation.targetField)}=${compileColumn(alias, current.source, relation.sourceField)}`,
  ];
  if (current.parent) conditions.push(compilePredicate(current.parent, alias, current.source, dialect, aliases));
  if (current.rows) conditions.push(compilePredicate(current.rows, inner, current.target, dialect, aliases));
  const where = conditions.reduce((left, right) => sql`${left} AND ${right}`);
  return sql`(SELECT ${compileSteps(key, step + 1, inner, dialect, aliases)} FROM ${identifier(current.target.table)} ${identifier(inner)} WHERE ${where})`;
}
