/**
 * A page of records that have some words, where the index does not give them in the order of the list: the newest records are asked one
 * at a time until the page is full; only where many have been asked in vain are all that have the words looked up. A common word
 * is met at once, a rare one is in few records. One statement; no statistics decide.
 */
import type { Dialect } from '../database/dialect.ts';
import { identifier, type Sql, sql } from '../database/sql.ts';
import { type Collection, getField } from '../schema/registry.ts';
import type { FullTextMatch } from './page-source.ts';
import { type Aliases, compileColumn, compileFullText, compilePredicate } from './predicate-compiler.ts';

export interface CandidateScan {
  readonly collection: Collection;
  readonly match: FullTextMatch;
  /** The field that names the group of a record. */
  readonly group: string;
  /** A query for the groups that may be seen, one column. */
  readonly groups: Sql;
  /** The first key of the order, a column of the row `r` that is never null. */
  readonly key: string;
  readonly descending: boolean;
  /** What else holds for the row `r`, and the order of these rows. */
  readonly condition: Sql | null;
  readonly order: Sql;
  /** Records that are wanted at most. */
  readonly maxRecords: number;
}

/** A query for keys: those of the page, and some more. */
export function compileCandidateScan(page: CandidateScan, dialect: Dialect, aliases: Aliases): Sql {
  const { maxRecords, descending } = page;
  const { probeLimit } = dialect.fullText;
  const further = descending ? 'max' : 'min';
  const nearer = descending ? 'min' : 'max';
  const before = descending ? '>' : '<';
  const direction = descending ? ' DESC' : '';
  // Its rows come in the order of `v`, and no more of them are asked than are taken.
  const hits = sql`SELECT v.id FROM v WHERE ${compileHasMatch(page, dialect, aliases)} LIMIT ${maxRecords}`;
  return sql`WITH g AS MATERIALIZED (${compileDistinctGroups(page.groups, dialect)}),
n AS MATERIALIZED (${compileShare(probeLimit)}),
c AS MATERIALIZED (${compileCandidates(page, dialect)}),
e AS MATERIALIZED (SELECT ${further}(o) AS o FROM (SELECT ${nearer}(o) AS o FROM c GROUP BY k HAVING count(*)=(SELECT n FROM n)) x),
v AS MATERIALIZED (SELECT k,id,o FROM c WHERE (SELECT o FROM e) IS NULL OR o${before}(SELECT o FROM e) ORDER BY o${direction},id${direction} LIMIT ${probeLimit}),
z AS MATERIALIZED (SELECT CASE WHEN count(*)=${probeLimit} THEN ${nearer}(o) ELSE (SELECT o FROM e) END AS o FROM v),
h AS MATERIALIZED (${hits})
SELECT id FROM h UNION ALL SELECT id FROM (${compileRemainder(page, dialect, aliases)}) s`;
}

/** How many records of each group are looked at: fewer of many groups, but never too few. */
function compileShare(probeLimit: number): Sql {
  const minShare = probeLimit / 10;
  return sql`SELECT CASE WHEN count(*)<2 THEN ${probeLimit} WHEN count(*)<10 THEN ${probeLimit}/count(*) ELSE ${minShare} END AS n FROM g`;
}

function compileDistinctGroups(groups: Sql, { lateral }: Dialect): Sql {
  return lateral
    ? sql`SELECT DISTINCT k FROM (${groups}) d(k)`
    : sql`SELECT DISTINCT k FROM (SELECT NULL AS k WHERE 0 UNION ALL ${groups})`;
}

/** The newest records of each group. What lies beyond the last one of a group that has more is not known yet: `e` is where that begins. */
function compileCandidates(page: CandidateScan, dialect: Dialect): Sql {
  const { collection, condition, order } = page;
  const table = identifier(collection.table);
  const id = identifier(collection.primaryKey.column!);
  const key = identifier(getField(collection, page.key).column!);
  const groupColumn = identifier(getField(collection, page.group).column!);
  const extraCondition = condition === null ? sql`` : sql` AND ${condition}`;
  const some = sql`FROM ${table} r WHERE r.${groupColumn}=g.k${extraCondition} ORDER BY ${order} LIMIT (SELECT n FROM n)`;
  // Another column than an index has: else PostgreSQL would rather sort all that it reads there.
  if (dialect.lateral)
    return sql`SELECT g.k,b.id,b.o,b.x FROM g CROSS JOIN LATERAL (SELECT r.${id} AS id,r.${key} AS o,r._v AS x ${some}) b`;
  return sql`SELECT g.k AS k,b.${id} AS id,b.${key} AS o FROM g CROSS JOIN ${table} b WHERE b.${id} IN (SELECT r.${id} ${some})`;
}

/** Whether the record `v` has the words. */
function compileHasMatch({ match, collection }: CandidateScan, dialect: Dialect, aliases: Aliases): Sql {
  const { expression } = compileFullText(match.matched);
  const { through } = match;
  if (!through) return dialect.fullText.matchesKey(sql`v.id`, sql`v.k`, expression);
  const { path, conditions } = through;
  const inner = aliases.next();
  const email = compileColumn(inner, path.target, path.target.primaryKey.name);
  const extraCondition = conditions
    ? sql` AND ${compilePredicate(conditions, inner, path.target, dialect, aliases)}`
    : sql``;
  const referenceColumn = compileColumn(inner, path.target, path.relation.targetField);
  // The relation goes by the key of the record.
  if (path.relation.sourceField !== collection.primaryKey.name) throw new Error('words are found by the key alone');
  return sql`(SELECT 1 FROM ${identifier(path.target.table)} ${identifier(inner)} WHERE ${referenceColumn}=v.id${extraCondition} AND ${dialect.fullText.matchesKey(email, sql`v.k`, expression)} LIMIT 1) IS NOT NULL`;
}

/** The rest of the page, from where nothing was asked any more; nothing where the page is full, or all were asked. */
function compileRemainder(page: CandidateScan, dialect: Dialect, aliases: Aliases): Sql {
  const { collection, match, condition, order, maxRecords, descending } = page;
  const table = identifier(collection.table);
  const id = identifier(collection.primaryKey.column!);
  const groupColumn = identifier(getField(collection, page.group).column!);
  const extraCondition = condition === null ? sql`` : sql` AND ${condition}`;
  const visible = sql`r.${groupColumn} IN (SELECT k FROM g)${extraCondition}`;
  const isNeeded = sql`(SELECT count(*) FROM h)<${maxRecords} AND (SELECT o FROM z) IS NOT NULL`;
  // Each engine decides by another clause, once, before it looks anything up.
  const range = dialect.lateral
    ? sql`LIMIT ${maxRecords}`
    : sql`LIMIT (SELECT CASE WHEN ${isNeeded} THEN ${maxRecords} ELSE 0 END)`;
  const { expression, accounts } = compileFullText(match.matched);
  const all = dialect.fullText.matchingKeys(expression, accounts);
  const found = dialect.lateral ? sql`${all} AND ${isNeeded}` : all;
  const further = (value: Sql): Sql => sql`${value}${descending ? '<=' : '>='}(SELECT o FROM z)`;
  const direction = descending ? ' DESC' : '';
  const isByKey = match.through === null && page.key === collection.primaryKey.name;
  const index = dialect.fullText.page;
  if (isByKey && index)
    return sql`SELECT ${index.key} AS id FROM ${index.table} CROSS JOIN ${table} r ON r.${id}=${index.key} WHERE ${index.matches(expression, accounts)} AND ${further(index.key)} AND ${visible} ORDER BY ${index.key}${direction} ${range}`;
  if (isByKey) {
    const sorted = sql`SELECT f.id FROM (${found}) f WHERE ${further(sql`f.id`)} ORDER BY f.id${direction}`;
    return sql`SELECT b.id FROM (${sorted} OFFSET 0) f CROSS JOIN LATERAL (SELECT r.${id} AS id FROM ${table} r WHERE r.${id}=f.id AND ${visible} LIMIT 1) b ${range}`;
  }
  const keys = match.through ? compileThroughKeys(match.through, found, dialect, aliases) : found;
  const key = sql`r.${identifier(getField(collection, page.key).column!)}`;
  return sql`SELECT r.${id} AS id FROM ${table} r WHERE r.${id} IN (${keys}) AND ${further(key)} AND ${visible} ORDER BY ${order} ${range}`;
}

/** The keys of records that have some of these e-mails. */
function compileThroughKeys(
  { path, conditions }: NonNullable<FullTextMatch['through']>,
  found: Sql,
  dialect: Dialect,
  aliases: Aliases,
): Sql {
  const { target, relation } = path;
  const inner = aliases.next();
  const email = compileColumn(inner, target, target.primaryKey.name);
  const referenceColumn = compileColumn(inner, target, relation.targetField);
  const extraCondition = conditions
    ? sql` AND ${compilePredicate(conditions, inner, target, dialect, aliases)}`
    : sql``;
  return sql`SELECT ${referenceColumn} FROM ${identifier(target.table)} ${identifier(inner)} WHERE ${email} IN (${found}) AND ${referenceColumn} IS NOT NULL${extraCondition}`;
}
