/** Plans the history of one record as one statement: whether the caller may see the record, and the entries it may see. */
import { compile, type Statement } from '../database/database.ts';
import { identifier, listValue, type Param, type Sql, sql, value } from '../database/sql.ts';
import { type Collection, type Field, listColumnFields } from '../schema/registry.ts';
import { planRows } from './filter-plan.ts';
import type { Grant } from './grant.ts';
import { compileWhere, keyCondition, type PlanContext } from './read-plan.ts';
import { StatementScope } from './statement-scope.ts';

/** Columns of each row. The first three are set in every row; the others are null in a row without an entry. */
export const historyColumns = {
  current: 0,
  reached: 1,
  total: 2,
  id: 3,
  time: 4,
  action: 5,
  actor: 6,
  requestId: 7,
  changes: 8,
} as const;

export interface HistoryPage {
  /** The key, canonical. */
  readonly key: unknown;
  /** Entries older than this one; null: from the newest. */
  readonly before: number | null;
  readonly offset: number;
  readonly size: number;
  readonly counted: boolean;
}

/** The fields whose changes history shows: those that all of the grants show. */
export function listReadableFields(collection: Collection, grants: readonly Grant[]): readonly Field[] {
  return listColumnFields(collection).filter(
    (field) => !field.type.secret && !field.serverManaged && grants.every((grant) => grant.may(field)),
  );
}

/** Whether a grant has a row filter: then only the history of the record that exists now is shown. */
export function isRestricted(grants: readonly Grant[]): boolean {
  return grants.some((grant) => grant.rows !== null);
}

/**
 * Plans a page of entries, newest first. Changes of fields that the caller may not see are left out. Under a row filter the record must
 * exist and match it, and entries of an earlier record with the same key are not shown.
 */
export function planHistory(
  collection: Collection,
  grants: readonly Grant[],
  { key, before, offset, size, counted }: HistoryPage,
  { registry, dialect }: PlanContext,
): Statement {
  const compileRecordFilter = (name: 'h' | 'c'): Sql => {
    const recordKey = value('text', String(key));
    const isOfRecord = sql`${name}.collection_id=${value('integer', collection.id)} AND ${name}.tk=${recordKey}`;
    const tick = dialect.deadlineCheck(name, 1);
    return tick ? sql`${tick} AND ${isOfRecord}` : isOfRecord;
  };
  const rows = grants.map((grant) => planRows(grant.rows, collection, registry, 'with'));
  const where = compileWhere(
    [keyCondition({ filterByTk: key }, collection), ...rows],
    false,
    collection,
    new StatementScope(dialect),
  );
  const reached = sql`(SELECT 1 AS v FROM ${identifier(collection.table)}${where}) r`;
  const ids: Param = listValue(
    'text',
    listReadableFields(collection, grants).map((field) => String(field.id)),
  );
  const changedFields = dialect.memberNames(sql`h.changes`);
  const isReadable = sql`(h.action<>'updated'
OR EXISTS (SELECT 1 FROM ${changedFields} WHERE ${dialect.isIn(sql`n.v`, ids)}))`;
  const created = sql`SELECT max(c.id) FROM _history c WHERE ${compileRecordFilter('c')} AND c.action='created'`;
  const isVisible = isRestricted(grants)
    ? sql` AND EXISTS (SELECT 1 FROM ${reached}) AND h.id>=COALESCE((${created}),0)`
    : sql``;
  const all = sql`_history h WHERE ${compileRecordFilter('h')} AND ${isReadable}${isVisible}`;
  const older = before === null ? sql`` : sql` AND h.id<${value('bigint', before)}`;
  const time = dialect.scalar('datetime', sql`h.at`);
  const page = sql`SELECT h.id,${time} AS at,h.action,h.actor,h.request_id,h.changes FROM ${all}${older}
ORDER BY h.id DESC LIMIT ${size} OFFSET ${value('bigint', offset)}`;
  const current = dialect.versionGuard() ?? sql`1=1`;
  const total = counted ? sql`(SELECT count(*) FROM ${all})` : sql`NULL`;
  return compile(
    dialect,
    sql`SELECT CASE WHEN ${current} THEN 1 ELSE 0 END,(SELECT count(*) FROM ${reached}),${total},
e.id,e.at,e.action,e.actor,e.request_id,e.changes
FROM (SELECT 1 AS v) o LEFT JOIN (${page}) e ON 1=1 ORDER BY e.id DESC`,
  );
}
