/**
 * How a page finds its rows where the plain way would visit too many: through the index of words, which gives them in the order
 * of their keys, and account by account, where a small one lies beside a big one.
 */
import type { Dialect } from '../database/dialect.ts';
import { identifier, type Sql, sql } from '../database/sql.ts';
import { type Collection, fieldOf } from '../schema/registry.ts';
import type { Predicate } from './predicate.ts';
import type { SortKey } from './sort-plan.ts';

type Matched = Extract<Predicate, { kind: 'matched' }>;
type Related = Extract<Predicate, { kind: 'related' }>;

/** A page by one of these ways; `rest` is what is left of its condition. */
export type PageSource =
  | { readonly by: 'words'; readonly matched: Matched; readonly rest: Predicate | null }
  | { readonly by: 'groups'; readonly groups: Related; readonly rest: Predicate | null };

/** The way of a list; null: the plain way. */
export function pageSourceOf(
  condition: Predicate | null,
  keys: readonly SortKey[],
  collection: Collection,
  dialect: Dialect,
): PageSource | null {
  if (condition === null || keys.some(({ steps }) => steps.length > 0)) return null;
  const parts = conjuncts(condition);
  const matched = parts.find((each) => each.kind === 'matched');
  if (matched && dialect.words.page) {
    const byKey = keys[0]!.field === collection.primaryKey;
    return byKey ? { by: 'words', matched, rest: without(parts, matched) } : null;
  }
  const groups = parts.find((each) => each.kind === 'related' && isSharing(each));
  if (groups?.kind !== 'related') return null;
  const own = groups.relation.sourceField;
  // Where one group is named anyway, the plain way goes straight to it; with LATERAL the other groups cost nothing.
  if (
    !dialect.lateral &&
    parts.some((each) => each.kind === 'test' && each.operator === '$eq' && each.field.name === own)
  )
    return null;
  return { by: 'groups', groups, rest: without(parts, groups) };
}

/** Rows are shared out by the members of an account: a few groups, each found by an index over its field and the key. */
function isSharing({ relation, target }: Related): boolean {
  return target.internal && relation.kind === 'hasMany' && relation.through === null;
}

function conjuncts(predicate: Predicate): readonly Predicate[] {
  if (predicate.kind === 'all') return predicate.of.flatMap(conjuncts);
  // A filter with variables is false as a whole where one is missing; what it shares out by is none of it.
  if (predicate.kind === 'variables' && predicate.of.kind === 'related')
    return [predicate.of, { kind: 'variables', variables: predicate.variables, of: { kind: 'all', of: [] } }];
  return [predicate];
}

function without(parts: readonly Predicate[], taken: Predicate): Predicate | null {
  const rest = parts.filter((each) => each !== taken);
  return rest.length === 0 ? null : { kind: 'all', of: rest };
}

/** The keys of a page's records, read group by group, as many of each as the page has. */
export interface GroupedPage {
  readonly collection: Collection;
  readonly relation: Related['relation'];
  /** A query for the groups, one column. */
  readonly groups: Sql;
  /** Records that are wanted at most. */
  readonly most: number;
  /** The condition and the order of the rows `r`. */
  readonly condition: Sql | null;
  readonly order: Sql;
}

/** A query for keys: those of the page, and some more. */
export function compileGrouped(page: GroupedPage, dialect: Dialect): Sql {
  const { collection, relation, groups, most, condition, order } = page;
  const table = identifier(collection.table);
  const key = identifier(collection.primaryKey.column!);
  const own = identifier(fieldOf(collection, relation.sourceField).column!);
  const also = condition === null ? sql`` : sql` AND ${condition}`;
  const first = sql`SELECT r.${key} FROM ${table} r WHERE r.${own}=g.k${also} ORDER BY ${order} LIMIT ${most}`;
  if (dialect.lateral)
    return sql`SELECT b.${key} FROM (SELECT DISTINCT k FROM (${groups}) d(k)) g CROSS JOIN LATERAL (${first}) b`;
  return sql`SELECT b.${key} FROM (SELECT DISTINCT k FROM (SELECT NULL AS k WHERE 0 UNION ALL ${groups})) g CROSS JOIN ${table} b WHERE b.${key} IN (${first})`;
}
