import { identifier, type Sql, sql } from '../database/sql.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import type { SortTerm } from '../protocol/record-request.ts';
import { requireColumn, requireRelation } from '../schema/field-parts.ts';
import type { Collection, Field } from '../schema/registry.ts';
import { requireRelationAccess } from './filter-plan.ts';
import type { Grant } from './grant.ts';
import type { AccessContext } from './plan-context.ts';
import type { Predicate } from './predicate.ts';
import { compileColumn, compilePredicate } from './predicate-compiler.ts';
import { requireReadableField } from './read-access.ts';
import type { StatementScope } from './statement-scope.ts';

/** A step along a to-one relation to the field that is sorted by. */
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
 * Resolves a sort. The primary key is added as the last tie-breaker, in the direction of the last term.
 *
 * Example: the terms of `sort=-artist.name` become two keys: `name` of artists by the step `artist`, and the own primary
 * key, both descending.
 *
 * @throws ApiError 400 for fields that do not exist or do not sort, 403 for denied ones.
 */
export function planSort(
  terms: readonly SortTerm[],
  collection: Collection,
  grant: Grant,
  context: AccessContext,
): SortKey[] {
  const keys = terms.map((term) => planSortKey(term, collection, grant, context));
  const keyed = keys.findIndex((key) => key.field === collection.primaryKey && key.steps.length === 0);
  if (keyed >= 0) return keys.slice(0, keyed + 1);
  const descending = keys.at(-1)?.descending ?? false;
  return [...keys, { field: collection.primaryKey, collection, steps: [], descending, nullable: false }];
}

/** Resolves one term, for callers that need no tie-breaker. */
export function planSortKey(term: SortTerm, root: Collection, rootGrant: Grant, context: AccessContext): SortKey {
  const path = term.path.split('.');
  const last = path.pop() ?? '';
  if (path.length > limits.pathDepth)
    throw new ApiError('LIMIT_EXCEEDED', `A sort path is at most ${limits.pathDepth} relations deep.`);
  const steps: SortStep[] = [];
  let collection = root;
  let grant = rootGrant;
  for (const name of path) {
    const field = requireReadableField(collection, name, grant);
    if (!field.relation || field.relation.many)
      throw new ApiError('SORT_INVALID', `"${term.path.slice(0, 120)}" is not a path of to-one relations.`);
    const target = context.registry.get(field.relation.target);
    const access = requireRelationAccess(field, collection, target, context);
    steps.push({ source: collection, field, target, parent: access.parent, rows: access.target });
    grant = access.grant;
    collection = target;
  }
  const field = requireReadableField(collection, last, grant);
  if (!field.type.sortable)
    throw new ApiError(
      'SORT_INVALID',
      `"${term.path.slice(0, 120)}" cannot be used to sort or to group: it is a field of the type ${field.type.name}.`,
    );
  return { field, collection, steps, descending: term.descending, nullable: steps.length > 0 || !field.notNull };
}

/**
 * Whether the records of a collection are in this order in an index, whatever their values are: indexes end with the primary key, except
 * unique ones, and the engines differ in where they put null.
 */
export function isIndexOrder(keys: readonly SortKey[], { primaryKey, options }: Collection): boolean {
  const [first, ...rest] = keys;
  if (!first || keys.at(-1)?.field !== primaryKey) return false;
  if (keys.some(({ steps, nullable }) => steps.length > 0 || nullable)) return false;
  if (rest.some(({ descending }) => descending !== first.descending)) return false;
  if (rest.length === 0) return true;
  const { index, unique } = first.field.definition;
  if (rest.length === 1 && !unique && (index === true || first.field.references !== null)) return true;
  const names = keys.slice(0, -1).map(({ field }) => field.name);
  return (options.indexes ?? []).some(
    ({ fields, unique, present }) => !unique && !present && fields.join() === names.join(),
  );
}

/** Whether an index of the collection's table begins with a field. */
export function isIndexed(field: Field, { options }: Collection): boolean {
  const { index, unique } = field.definition;
  if (field.primaryKey || index || unique || field.references !== null) return true;
  return (options.indexes ?? []).some(({ fields, present }) => !present && fields[0] === field.name);
}

/** The value that a key sorts by, for the row `alias`. */
export function compileSortKey(key: SortKey, alias: string, scope: StatementScope): Sql {
  return compileSteps(key, 0, alias, scope);
}

function compileSteps(key: SortKey, step: number, alias: string, scope: StatementScope): Sql {
  const current = key.steps[step];
  if (!current) return sql`${identifier(alias)}.${identifier(requireColumn(key.field))}`;
  const inner = scope.nextAlias();
  const { source, target, parent, rows } = current;
  const relation = requireRelation(current.field);
  const conditions = [
    sql`${compileColumn(inner, target, relation.targetField)}=${compileColumn(alias, source, relation.sourceField)}`,
  ];
  if (parent) conditions.push(compilePredicate(parent, alias, source, scope));
  if (rows) conditions.push(compilePredicate(rows, inner, target, scope));
  const where = conditions.reduce((left, right) => sql`${left} AND ${right}`);
  const value = compileSteps(key, step + 1, inner, scope);
  return sql`(SELECT ${value} FROM ${identifier(target.table)} ${identifier(inner)} WHERE ${where})`;
}
