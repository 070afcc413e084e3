/** Statements about the outbox of webhooks that engines have in common: how far the event log was queued, and where each webhook starts. */
import type { Database, Transaction } from './database.ts';
import { createReader, createTxRunner } from './run-statement.ts';
import { type Sql, sql, value } from './sql.ts';
import { isEnabled } from './webhook-rows.ts';

/** SQL expressions for the present end of the event log. */
export interface LogEnd {
  /** A position before everything that commits from now on. */
  readonly position: Sql;
  /** The same for one webhook, as exactly as the engine can tell. */
  readonly startsAfter: Sql;
}

/** Starts deliveries to a webhook; see `EventLogStore.startDelivery`. */
export async function startDelivery(
  database: Database,
  transaction: Transaction,
  webhookId: unknown,
  { position, startsAfter }: LogEnd,
): Promise<void> {
  const run = createTxRunner(database, transaction);
  const key = value('integer', webhookId);
  const enabled = isEnabled(database);
  transaction.touch('webhooks');
  await run(
    sql`UPDATE webhooks SET "startsAfter"=${startsAfter},"failingSince"=NULL,"pausedAt"=NULL,"pausedFor"=NULL
WHERE id=${key} AND ${enabled}`,
  );
  await run(
    sql`UPDATE _outbox SET position=${position}
WHERE NOT EXISTS (SELECT 1 FROM webhooks WHERE ${enabled} AND id<>${key})`,
  );
  await run(sql`INSERT INTO _outbox (id,position) SELECT 1,${position} WHERE true ON CONFLICT (id) DO NOTHING`);
}

/**
 * Whether all webhooks have been queued for an event, so that it may be deleted.
 *
 * @param isQueued whether the event is not after the outbox's `position`.
 */
export function isPassedByOutbox(database: Database, isQueued: Sql): Sql {
  const hasNoWebhook = sql`NOT EXISTS (SELECT 1 FROM webhooks WHERE ${isEnabled(database)})`;
  return sql`(${hasNoWebhook} OR EXISTS (SELECT 1 FROM _outbox WHERE ${isQueued}))`;
}

/** The position up to which deliveries were queued; null before the first webhook. */
export async function readOutboxPosition(database: Database): Promise<string | null> {
  const [row] = await createReader(database)(sql`SELECT position FROM _outbox`);
  return row ? (row[0] as string) : null;
}
