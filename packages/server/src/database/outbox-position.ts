/** Statements about how far the log has been looked through for webhooks, and from where each of them is told. */
import type { Database, Transaction } from './database.ts';
import { createReader, createTxRunner } from './run-statement.ts';
import { type Sql, sql, value } from './sql.ts';
import { isEnabled } from './webhook-rows.ts';

/**
 * Begins to tell a webhook of events: of those that commit from now on. Where it is the only one, the log is looked
 * through from here.
 */
export async function startWebhookDelivery(database: Database, transaction: Transaction, id: unknown): Promise<void> {
  const run = createTxRunner(database, transaction);
  const key = value('integer', id);
  const head = currentLogPosition(database);
  const present = database.dialect.shared ? sql`pg_current_snapshot()::text` : head;
  transaction.touch('webhooks');
  await run(
    sql`UPDATE webhooks SET "startsAfter"=${present},"failingSince"=NULL,"pausedAt"=NULL,"pausedFor"=NULL WHERE id=${key} AND ${isEnabled(database)}`,
  );
  await run(
    sql`UPDATE _outbox SET position=${head} WHERE NOT EXISTS (SELECT 1 FROM webhooks WHERE ${isEnabled(database)} AND id<>${key})`,
  );
  await run(sql`INSERT INTO _outbox (id,position) SELECT 1,${head} WHERE true ON CONFLICT (id) DO NOTHING`);
}

/** A cursor before everything that commits from now on. */
function currentLogPosition({ dialect }: Database): Sql {
  return dialect.shared
    ? sql`(SELECT concat(pg_snapshot_xmin(pg_current_snapshot())::text,'.0'))`
    : sql`(SELECT concat('0.',ifnull(max(id),0)) FROM _events)`;
}

/** Whether a row of the log is behind all that webhooks are still to be told of. */
export function isPassedByOutbox({ dialect }: Database): Sql {
  const nobody = sql`NOT EXISTS (SELECT 1 FROM webhooks WHERE ${dialect.isTrue(sql`enabled`)})`;
  const behind = dialect.shared
    ? sql`(_events.xid,_events.id) <= ${parseLogPosition(sql`position`)}`
    : sql`_events.id <= CAST(substr(position,3) AS INTEGER)`;
  return sql`(${nobody} OR EXISTS (SELECT 1 FROM _outbox WHERE ${behind}))`;
}

/**
 * Statements, for PostgreSQL, that take positions along when all events are about to get one transaction number: to before
 * the first event that came after them.
 */
export function buildPositionUpdates(xid: number): readonly Sql[] {
  const newPosition = (isAfter: Sql): Sql =>
    sql`concat(${`'${xid}.'`},coalesce((SELECT min(id)-1 FROM _events WHERE ${isAfter}),(SELECT max(id) FROM _events)))`;
  const isBehind = (column: Sql): Sql => sql`(xid,id) > ${parseLogPosition(column)}`;
  const start = sql`"startsAfter"`;
  const isUnseen = sql`NOT pg_visible_in_snapshot(xid,${start}::pg_snapshot)`;
  const isAfterStart = sql`CASE WHEN strpos(${start},':')>0 THEN ${isUnseen} ELSE ${isBehind(start)} END`;
  return [
    sql`UPDATE _outbox SET position=${newPosition(isBehind(sql`position`))}`,
    sql`UPDATE webhooks SET "startsAfter"=${newPosition(isAfterStart)} WHERE "startsAfter" IS NOT NULL`,
  ];
}

function parseLogPosition(position: Sql): Sql {
  return sql`(split_part(${position},'.',1)::xid8,split_part(${position},'.',2)::bigint)`;
}

/** How far the log has been looked through; null before the first webhook. */
export async function readOutboxPosition(database: Database): Promise<string | null> {
  const [row] = await createReader(database)(sql`SELECT position FROM _outbox`);
  return row ? (row[0] as string) : null;
}
