/**
 * Plans a page of records that match a full-text search, where the index does not give them in the order of the list.
 *
 * The newest records are tested one by one until the page is full. Only if many were tested in vain are all matches looked
 * up. A common word is found in the first records, and a rare word has few matches, so both are fast. It is one
 * statement, and its plan does not depend on statistics.
 *
 * Example: the newest 21 e-mails with a word, in the accounts of one user, on SQLite, shortened:
 *
 *     WITH visible_groups AS MATERIALIZED (            -- the accounts that the user may see
 *       SELECT DISTINCT group_key FROM (SELECT "accountId" AS group_key FROM "accountMembers" WHERE "userId"=?) d),
 *     share AS MATERIALIZED (                          -- how many records of each account are candidates
 *       SELECT CASE WHEN count(*)<2 THEN 80 WHEN count(*)<10 THEN 80/count(*) ELSE 8 END AS size FROM visible_groups),
 *     candidates AS MATERIALIZED (                     -- the newest records of each account, by an index
 *       SELECT visible_groups.group_key, b.id, b.date AS sort_value FROM visible_groups CROSS JOIN emails b
 *       WHERE b.id IN (SELECT r.id FROM emails r WHERE r."accountId"=visible_groups.group_key
 *                      ORDER BY r.date DESC LIMIT (SELECT size FROM share))),
 *     known_until AS MATERIALIZED (                    -- an account with a full share may have more from here on
 *       SELECT max(sort_value) AS sort_value FROM (
 *         SELECT min(sort_value) AS sort_value FROM candidates GROUP BY group_key
 *         HAVING count(*)=(SELECT size FROM share)) x),
 *     probed AS MATERIALIZED (                         -- candidates before that point, in the order of the list
 *       SELECT group_key,id,sort_value FROM candidates
 *       WHERE (SELECT sort_value FROM known_until) IS NULL OR sort_value>(SELECT sort_value FROM known_until)
 *       ORDER BY sort_value DESC,id DESC LIMIT 80),
 *     stopped_at AS MATERIALIZED (                     -- where the list continues after them; null: nowhere
 *       SELECT CASE WHEN count(*)=80 THEN min(sort_value) ELSE (SELECT sort_value FROM known_until) END AS sort_value
 *       FROM probed),
 *     hits AS MATERIALIZED (SELECT probed.id FROM probed WHERE <probed.id matches> LIMIT 21)
 *     SELECT id FROM hits UNION ALL
 *     SELECT id FROM (<all matches from stopped_at on, unless hits fill the page>) s
 */
import { identifier, type Sql, sql } from '../database/sql.ts';
import { requireColumn } from '../schema/field-parts.ts';
import { type Collection, getField } from '../schema/registry.ts';
import type { FullTextMatch } from './page-source.ts';
import { compileColumn, compileFullText, compilePredicate } from './predicate-compiler.ts';
import type { StatementScope } from './statement-scope.ts';

export interface CandidateScan {
  readonly collection: Collection;
  readonly match: FullTextMatch;
  /** The field that names the group of a record. */
  readonly group: string;
  /** A query for the groups that the caller may see, with the column `group_key`. */
  readonly groups: Sql;
  /** The first key of the order, a field that is never null. */
  readonly key: string;
  readonly descending: boolean;
  /** Further conditions on the row `r`, and the order of these rows. */
  readonly condition: Sql | null;
  readonly order: Sql;
  readonly maxRecords: number;
}

/** The parts of the statement that its steps have in common. */
interface ScanColumns {
  readonly table: string;
  readonly key: string;
  readonly sortColumn: string;
  readonly groupColumn: string;
  /** The further conditions, with AND in front. */
  readonly andCondition: Sql;
}

/** A query for the keys of the records of a page, and of some more records. */
export function compileCandidateScan(page: CandidateScan, scope: StatementScope): Sql {
  const { maxRecords, descending, match } = page;
  const columns = listScanColumns(page);
  const scan = match.matched.index.candidateScan;
  const { probeLimit } = scan;
  const [first, last, isBefore] = descending ? ['max', 'min', '>'] : ['min', 'max', '<'];
  const direction = descending ? ' DESC' : '';
  const { table, key, sortColumn, groupColumn, andCondition } = columns;
  const rowsOfGroup = sql`FROM ${table} r WHERE r.${groupColumn}=visible_groups.group_key${andCondition}
ORDER BY ${page.order} LIMIT (SELECT size FROM share)`;
  // Rows of `probed` are read in its order. The rows after the last requested match are not tested.
  return sql`WITH visible_groups AS MATERIALIZED (SELECT DISTINCT group_key FROM (${page.groups}) d),
share AS MATERIALIZED (${compileShare(probeLimit)}),
candidates AS MATERIALIZED (${scan.candidates({ table, key, sortColumn, rowsOfGroup })}),
known_until AS MATERIALIZED (SELECT ${first}(sort_value) AS sort_value FROM (
SELECT ${last}(sort_value) AS sort_value FROM candidates
GROUP BY group_key HAVING count(*)=(SELECT size FROM share)) x),
probed AS MATERIALIZED (SELECT group_key,id,sort_value FROM candidates
WHERE (SELECT sort_value FROM known_until) IS NULL OR sort_value${isBefore}(SELECT sort_value FROM known_until)
ORDER BY sort_value${direction},id${direction} LIMIT ${probeLimit}),
stopped_at AS MATERIALIZED (SELECT CASE WHEN count(*)=${probeLimit} THEN ${last}(sort_value)
ELSE (SELECT sort_value FROM known_until) END AS sort_value FROM probed),
hits AS MATERIALIZED (SELECT probed.id FROM probed WHERE ${compileHasMatch(page, scope)} LIMIT ${maxRecords})
SELECT id FROM hits UNION ALL SELECT id FROM (${compileRemainder(page, columns, scope)}) s`;
}

function listScanColumns({ collection, group, key, condition }: CandidateScan): ScanColumns {
  return {
    table: identifier(collection.table),
    key: quoteColumn(collection, collection.primaryKey.name),
    sortColumn: quoteColumn(collection, key),
    groupColumn: quoteColumn(collection, group),
    andCondition: condition === null ? sql`` : sql` AND ${condition}`,
  };
}

/** How many records of each group are candidates: fewer if there are many groups, but never too few. */
function compileShare(probeLimit: number): Sql {
  const minShare = probeLimit / 10;
  return sql`SELECT CASE WHEN count(*)<2 THEN ${probeLimit} WHEN count(*)<10 THEN ${probeLimit}/count(*)
ELSE ${minShare} END AS size FROM visible_groups`;
}

/** Whether the record `probed` matches. */
function compileHasMatch({ match, collection }: CandidateScan, scope: StatementScope): Sql {
  const { index } = match.matched;
  const { expression } = compileFullText(match.matched);
  const { through } = match;
  if (!through) return index.matchesKey(sql`probed.id`, sql`probed.group_key`, expression);
  const { path, conditions } = through;
  const inner = scope.nextAlias();
  const email = compileColumn(inner, path.target, path.target.primaryKey.name);
  const andConditions = conditions ? sql` AND ${compilePredicate(conditions, inner, path.target, scope)}` : sql``;
  const referenceColumn = compileColumn(inner, path.target, path.relation.targetField);
  if (path.relation.sourceField !== collection.primaryKey.name)
    throw new Error('A candidate scan needs a relation to the key of its collection.');
  const isMatch = index.matchesKey(email, sql`probed.group_key`, expression);
  return sql`(SELECT 1 FROM ${identifier(path.target.table)} ${identifier(inner)}
WHERE ${referenceColumn}=probed.id${andConditions} AND ${isMatch} LIMIT 1) IS NOT NULL`;
}

/** The rest of the page, from where no record was tested. Nothing is looked up if the page is full or all records were tested. */
function compileRemainder(
  page: CandidateScan,
  { table, key, sortColumn, groupColumn, andCondition }: ScanColumns,
  scope: StatementScope,
): Sql {
  const { collection, match, order, maxRecords, descending } = page;
  const scan = match.matched.index.candidateScan;
  const isVisible = sql`r.${groupColumn} IN (SELECT group_key FROM visible_groups)${andCondition}`;
  const isNeeded = sql`(SELECT count(*) FROM hits)<${maxRecords} AND (SELECT sort_value FROM stopped_at) IS NOT NULL`;
  const isBeyond = (value: Sql): Sql => sql`${value}${descending ? '<=' : '>='}(SELECT sort_value FROM stopped_at)`;
  const lookup = { ...compileFullText(match.matched), isNeeded, maxRecords };
  if (match.through === null && page.key === collection.primaryKey.name)
    return scan.remainderByKey({ ...lookup, table, key, isBeyond, isVisible, descending });
  const { keys: matches, limit } = scan.lookUp(lookup);
  const keys = match.through ? compileThroughKeys(match.through, matches, scope) : matches;
  return sql`SELECT r.${key} AS id FROM ${table} r
WHERE r.${key} IN (${keys}) AND ${isBeyond(sql`r.${sortColumn}`)} AND ${isVisible} ORDER BY ${order} ${limit}`;
}

/** The keys of records that have some of these e-mails. */
function compileThroughKeys(
  { path, conditions }: NonNullable<FullTextMatch['through']>,
  matches: Sql,
  scope: StatementScope,
): Sql {
  const { target, relation } = path;
  const inner = scope.nextAlias();
  const email = compileColumn(inner, target, target.primaryKey.name);
  const referenceColumn = compileColumn(inner, target, relation.targetField);
  const andConditions = conditions ? sql` AND ${compilePredicate(conditions, inner, target, scope)}` : sql``;
  return sql`SELECT ${referenceColumn} FROM ${identifier(target.table)} ${identifier(inner)}
WHERE ${email} IN (${matches}) AND ${referenceColumn} IS NOT NULL${andConditions}`;
}

function quoteColumn(collection: Collection, name: string): string {
  return identifier(requireColumn(getField(collection, name)));
}
