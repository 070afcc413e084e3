/** Statements on the event log that engines share. They differ in the columns that order the events. */
import { bindFixed, type Database } from './database.ts';
import type { LoggedEvent, PruneOptions } from './event-log-store.ts';
import { splitPosition } from './event-position.ts';
import { isPassedByOutbox } from './outbox-statements.ts';
import { readRows } from './run-statement.ts';
import { type Sql, sql, value } from './sql.ts';

/** Whether a query with the column `resource` returns a row of this resource. */
export async function containsResource(database: Database, events: Sql, resource: string): Promise<boolean> {
  const statement = sql`SELECT 1 FROM (${events}) newest WHERE resource = ${value('text', resource)} LIMIT 1`;
  return (await readRows(database, statement)).length > 0;
}

/** Conditions on an event that engines write differently. */
export interface PrunableEvents {
  /** It is one of the `batchSize` oldest events. */
  readonly isOldest: Sql;
  /** It is not after the `position` of the outbox. */
  readonly isQueued: Sql;
}

/**
 * Deletes a batch of old events, except the newest event.
 *
 * @param head the newest event that may be read.
 * @returns whether there may be more to delete.
 */
export async function pruneEvents(
  database: Database,
  head: LoggedEvent | null,
  { before, maxEvents, batchSize }: PruneOptions,
  { isOldest, isQueued }: PrunableEvents,
): Promise<boolean> {
  if (head === null) return false;
  const newest = Number(splitPosition(head.position)[1]);
  const isOld = sql`(at < ${value('datetime', before)} OR id <= ${value('bigint', newest - maxEvents)})`;
  const statement = sql`DELETE FROM _events WHERE ${isOldest} AND id < ${value('bigint', newest)}
AND ${isOld} AND ${isPassedByOutbox(database, isQueued)} RETURNING id`;
  const rows = await database.writeOne(bindFixed(database.dialect, statement), []);
  return rows.length === batchSize;
}
