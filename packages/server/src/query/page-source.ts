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
type Placed = Extract<Predicate, { kind: 'placed' }>;
type Related = Extract<Predicate, { kind: 'related' }>;

/** A page by one of these ways; `rest` is what is left of its condition. */
export type PageSource =
  | { readonly by: 'words'; readonly matched: Matched; readonly rest: Predicate | null }
  | { readonly by: 'asking'; readonly wanted: Wanted; readonly groups: Related; readonly rest: Predicate | null }
  | { readonly by: 'placed'; readonly placed: Placed; readonly rest: Predicate | null }
  | { readonly by: 'groups'; readonly groups: Related; readonly rest: Predicate | null };

/** Which records have the words: e-mails themselves, or what has such e-mails. */
export interface Wanted {
  readonly matched: Matched;
  /** By which relation the e-mails are had, and what else holds for them; null: the records are e-mails. */
  readonly through: { readonly path: Related; readonly others: Predicate | null } | null;
}

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
  const groups = parts.find((each): each is Related => each.kind === 'related' && isSharing(each));
  const byKey = keys[0]!.field === collection.primaryKey;
  const placed = parts.find((each): each is Placed => each.kind === 'placed' && each.by === 'probe');
  if (placed && byKey && !matched) return { by: 'placed', placed, rest: without(parts, placed) };
  const wanted = groups ? wantedIn(parts, groups, collection, dialect) : null;
  if (groups && wanted && isOneWay(keys, collection))
    return { by: 'asking', wanted: wanted.wanted, groups, rest: without(parts, groups, wanted.part) };
  if (matched && dialect.words.page) return byKey ? { by: 'words', matched, rest: without(parts, matched) } : null;
  if (!groups) return null;
  const own = groups.relation.sourceField;
  // Where one group is named anyway, the plain way goes straight to it; with LATERAL the other groups cost nothing.
  if (
    !dialect.lateral &&
    parts.some((each) => each.kind === 'test' && each.operator === '$eq' && each.field.name === own)
  )
    return null;
  return { by: 'groups', groups, rest: without(parts, groups) };
}

/** A field that is never null, and the key after it, in one direction. */
function isOneWay(keys: readonly SortKey[], { primaryKey }: Collection): boolean {
  const [first, ...rest] = keys as readonly [SortKey, ...SortKey[]];
  return !first.nullable && rest.every((each) => each.field === primaryKey && each.descending === first.descending);
}

/** Rows are shared out by the members of an account: a few groups, each found by an index over its field and the key. */
function isSharing({ relation, target }: Related): boolean {
  return target.internal && relation.kind === 'hasMany' && relation.through === null;
}

/** Bounds of the key in a condition: an index that goes by the key begins there. */
export function keyBounds(
  condition: Predicate | null,
  { primaryKey }: Collection,
): Extract<Predicate, { kind: 'test' }>[] {
  const parts = condition === null ? [] : conjuncts(condition);
  return parts
    .filter((each) => each.kind === 'test')
    .filter(({ field, operator }) => field === primaryKey && bounds.has(operator));
}

const bounds: ReadonlySet<string> = new Set(['$lt', '$lte', '$gt', '$gte']);

function conjuncts(predicate: Predicate): readonly Predicate[] {
  if (predicate.kind === 'all') return predicate.of.flatMap(conjuncts);
  // A filter with variables is false as a whole where one is missing; what it shares out by is none of it.
  if (predicate.kind === 'variables' && predicate.of.kind === 'related')
    return [predicate.of, { kind: 'variables', variables: predicate.variables, of: { kind: 'all', of: [] } }];
  return [predicate];
}

/**
 * The words that are asked of one record at a time. An index that gives what it finds in order needs that only where another
 * condition leaves little, and it is slow at phrases and beginnings of words.
 */
function wantedIn(
  parts: readonly Predicate[],
  groups: Related,
  collection: Collection,
  { words }: Dialect,
): { readonly wanted: Wanted; readonly part: Predicate } | null {
  for (const part of parts.filter((each) => each !== groups)) {
    const wanted = wantedBy(part);
    if (!wanted) continue;
    const isNarrow = wanted.through !== null || parts.some((each) => isFlag(each, collection, groups));
    return words.page && !(wanted.matched.plain && isNarrow) ? null : { wanted, part };
  }
  return null;
}

function wantedBy(part: Predicate): Wanted | null {
  if (part.kind === 'matched') return { matched: part, through: null };
  if (part.kind !== 'related' || part.of === null || part.relation.through !== null) return null;
  const inner = conjuncts(part.of);
  const matched = inner.find((each) => each.kind === 'matched');
  return matched ? { matched, through: { path: part, others: without(inner, matched) } } : null;
}

/** One value of a field that is neither the key nor what tells groups apart. */
function isFlag(part: Predicate, { primaryKey }: Collection, { relation }: Related): boolean {
  if (part.kind !== 'test' || part.operator !== '$eq') return false;
  return part.field !== primaryKey && part.field.name !== relation.sourceField;
}

function without(parts: readonly Predicate[], ...taken: readonly Predicate[]): Predicate | null {
  const rest = parts.filter((each) => !taken.includes(each));
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

/** The keys of a page's e-mails, read mailbox by mailbox in the order of an index. */
export interface PlacedPage {
  readonly collection: Collection;
  /** A query for the mailboxes, one column `k`. */
  readonly mailboxes: Sql;
  readonly most: number;
  /** The condition about the e-mail `r` and its placement `p`, and the order of these. */
  readonly condition: Sql | null;
  readonly order: Sql;
}

/** A query for keys: those of the page, and some more. */
export function compilePlacedPage(
  { collection, mailboxes, most, condition, order }: PlacedPage,
  dialect: Dialect,
): Sql {
  const table = identifier(collection.table);
  const also = condition === null ? sql`` : sql` AND ${condition}`;
  // One e-mail may lie twice in a mailbox.
  const first = sql`SELECT DISTINCT p."emailId" FROM "mailPlacements" p CROSS JOIN ${table} r WHERE p."mailboxId"=g.k AND r.id=p."emailId"${also} ORDER BY ${order} LIMIT ${most}`;
  if (dialect.lateral) return sql`SELECT b."emailId" FROM (${mailboxes}) g CROSS JOIN LATERAL (${first}) b`;
  return sql`SELECT b.id FROM (${mailboxes}) g CROSS JOIN ${table} b WHERE b.id IN (${first})`;
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
