/**
 * How a page finds its rows where a plain read of the table would visit too many: through the full-text index, which may give
 * them in the order of their keys, or account by account, so that a small account is not searched in a large one.
 */
import type { Dialect } from '../database/dialect.ts';
import { placementTable } from '../database/mail/mail-conditions.ts';
import { identifier, type Sql, sql } from '../database/sql.ts';
import { requireColumn } from '../schema/field-parts.ts';
import { type Collection, getField } from '../schema/registry.ts';
import { conjuncts, type Predicate } from './predicate.ts';
import type { SortKey } from './sort-plan.ts';

type Matched = Extract<Predicate, { kind: 'matched' }>;
type Placed = Extract<Predicate, { kind: 'placed' }>;
type Related = Extract<Predicate, { kind: 'related' }>;

/** Where a page's rows come from; `rest` is the part of its condition that the source does not cover. */
export type PageSource =
  | {
      readonly by: 'index';
      readonly matched: Matched;
      readonly index: NonNullable<Matched['index']['inKeyOrder']>;
      readonly rest: Predicate | null;
    }
  | {
      readonly by: 'candidates';
      readonly match: FullTextMatch;
      readonly groups: Related;
      readonly rest: Predicate | null;
    }
  | { readonly by: 'folders'; readonly placed: Placed; readonly rest: Predicate | null }
  | { readonly by: 'groups'; readonly groups: Related; readonly rest: Predicate | null };

/** Records that match a search: e-mails themselves, or records that have such e-mails. */
export interface FullTextMatch {
  readonly matched: Matched;
  /** The relation to the e-mails, and further conditions on them; null: the records are e-mails. */
  readonly through: { readonly path: Related; readonly conditions: Predicate | null } | null;
}

/** The source of a list's rows; null: its table. */
export function findPageSource(
  condition: Predicate | null,
  keys: readonly SortKey[],
  collection: Collection,
  dialect: Dialect,
): PageSource | null {
  if (condition === null || keys.some(({ steps }) => steps.length > 0)) return null;
  const parts = conjuncts(condition);
  const matched = parts.find((each) => each.kind === 'matched');
  const groups = parts.find((each): each is Related => each.kind === 'related' && isMembership(each));
  const isByKey = keys[0]?.field === collection.primaryKey;
  const placed = parts.find((each): each is Placed => each.kind === 'placed' && each.by === 'probe');
  if (placed && isByKey && !matched) return { by: 'folders', placed, rest: without(parts, placed) };
  const found = groups ? findMatch(parts, groups, collection) : null;
  if (groups && found && isOneWay(keys, collection))
    return { by: 'candidates', match: found.match, groups, rest: without(parts, groups, found.part) };
  const index = matched?.index.inKeyOrder;
  if (matched && index) return isByKey ? { by: 'index', matched, index, rest: without(parts, matched) } : null;
  if (!groups) return null;
  const groupField = groups.relation.sourceField;
  // A plain list reads the one group that a condition names.
  if (
    !dialect.skipsExcludedGroups &&
    parts.some((each) => each.kind === 'test' && each.operator === '$eq' && each.field.name === groupField)
  )
    return null;
  return { by: 'groups', groups, rest: without(parts, groups) };
}

/** A field that is never null, and the key after it, in one direction. */
function isOneWay(keys: readonly SortKey[], { primaryKey }: Collection): boolean {
  const [first, ...rest] = keys;
  if (!first) return false;
  return !first.nullable && rest.every((each) => each.field === primaryKey && each.descending === first.descending);
}

/** The condition with its folders tested row by row, see {@link Predicate}. */
export function probeFolders(condition: Predicate | null): Predicate | null {
  if (condition === null) return null;
  const probe = (part: Predicate): Predicate =>
    part.kind === 'related' && part.of !== null && conjuncts(part.of).some(({ kind }) => kind === 'placed')
      ? { ...part, isProbed: true }
      : part;
  return { kind: 'all', of: conjuncts(condition).map(probe) };
}

/** Whether a relation limits rows to those of the caller's accounts: a few groups, each found by an index over its field and the key. */
function isMembership({ relation, target }: Related): boolean {
  return target.internal && relation.kind === 'hasMany' && relation.through === null;
}

/** Bounds of the key in a condition: an index in the order of the key can seek to them. */
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

/**
 * The search that a candidate scan tests record by record. An index that gives matches in the order of their keys needs the scan only if
 * another condition excludes most matches, and it is slow at phrases and prefixes.
 */
function findMatch(
  parts: readonly Predicate[],
  groups: Related,
  collection: Collection,
): { readonly match: FullTextMatch; readonly part: Predicate } | null {
  for (const part of parts.filter((each) => each !== groups)) {
    const match = readMatch(part);
    if (!match) continue;
    const isNarrow = match.through !== null || parts.some((each) => isFlag(each, collection, groups));
    return match.matched.index.inKeyOrder && !(match.matched.plain && isNarrow) ? null : { match, part };
  }
  return null;
}

function readMatch(part: Predicate): FullTextMatch | null {
  if (part.kind === 'matched') return { matched: part, through: null };
  if (part.kind !== 'related' || part.of === null || part.relation.through !== null) return null;
  const inner = conjuncts(part.of);
  const matched = inner.find((each) => each.kind === 'matched');
  return matched ? { matched, through: { path: part, conditions: without(inner, matched) } } : null;
}

/** A test for one value of a field that is neither the key nor the group. */
function isFlag(part: Predicate, { primaryKey }: Collection, { relation }: Related): boolean {
  if (part.kind !== 'test' || part.operator !== '$eq') return false;
  return part.field !== primaryKey && part.field.name !== relation.sourceField;
}

function without(parts: readonly Predicate[], ...removed: readonly Predicate[]): Predicate | null {
  const rest = parts.filter((each) => !removed.includes(each));
  return rest.length === 0 ? null : { kind: 'all', of: rest };
}

/** The keys of a page's records, read group by group: of each group as many as the page has. */
export interface GroupedPage {
  readonly collection: Collection;
  readonly relation: Related['relation'];
  /** A query for the groups, with the column `group_key`. */
  readonly groups: Sql;
  readonly maxRecords: number;
  /** The condition and the order of the rows `r`. */
  readonly condition: Sql | null;
  readonly order: Sql;
}

/** The keys of a page's e-mails, read mailbox by mailbox in the order of an index. */
export interface MailboxPage {
  readonly collection: Collection;
  /** A query for the mailboxes, with the column `group_key`. */
  readonly mailboxes: Sql;
  readonly maxRecords: number;
  /** The condition on the e-mail `r` and its placement `p`, and the order of these. */
  readonly condition: Sql | null;
  readonly order: Sql;
}

/** A query for the keys of the page, and of some more records. */
export function compileMailboxPage(page: MailboxPage, dialect: Dialect): Sql {
  const { collection, mailboxes, maxRecords, condition, order } = page;
  const table = identifier(collection.table);
  // An e-mail can be placed twice in a mailbox.
  const keysOfGroup = sql`SELECT DISTINCT p."emailId" FROM ${placementTable} p CROSS JOIN ${table} r
WHERE p."mailboxId"=g.group_key AND r.id=p."emailId"${andCondition(condition)} ORDER BY ${order} LIMIT ${maxRecords}`;
  return dialect.keysPerGroup({ groups: mailboxes, table, key: 'id', keysOfGroup });
}

/** A query for the keys of the page, and of some more records. */
export function compileGroupedPage(page: GroupedPage, dialect: Dialect): Sql {
  const { collection, relation, maxRecords, condition, order } = page;
  const table = identifier(collection.table);
  const key = identifier(requireColumn(collection.primaryKey));
  const groupColumn = identifier(requireColumn(getField(collection, relation.sourceField)));
  const keysOfGroup = sql`SELECT r.${key} FROM ${table} r
WHERE r.${groupColumn}=g.group_key${andCondition(condition)} ORDER BY ${order} LIMIT ${maxRecords}`;
  const groups = sql`SELECT DISTINCT group_key FROM (${page.groups}) d`;
  return dialect.keysPerGroup({ groups, table, key, keysOfGroup });
}

function andCondition(condition: Sql | null): Sql {
  return condition === null ? sql`` : sql` AND ${condition}`;
}
