/** Statements about webhooks. */
import type { Database, Transaction } from './database.ts';
import { parseJsonColumn } from './json-column.ts';
import { createReader, createRunner, createTxRunner, requireRow, runInTransaction } from './run-statement.ts';
import { listValue, type Sql, sql, value } from './sql.ts';

/** A stored webhook. */
export interface StoredWebhook {
  readonly id: number;
  readonly url: string;
  readonly events: readonly string[];
  readonly filter: unknown;
  readonly role: string;
  readonly enabled: boolean;
  /** The encrypted signing secret; null if none is stored. */
  readonly secret: string | null;
  /** Position in the event log; only later events are sent. */
  readonly startsAfter: string;
}

const columns = sql`id,url,events,filter,role,enabled,secret,"startsAfter"`;

/** The enabled webhooks. */
export async function readEnabledWebhooks(database: Database): Promise<StoredWebhook[]> {
  const rows = await createReader(database)<WebhookRow>(
    sql`SELECT ${columns} FROM webhooks WHERE ${isEnabled(database)} ORDER BY id`,
  );
  return rows.map(toStoredWebhook);
}

/** All webhooks. @param transaction null: reads the committed webhooks. */
export async function readWebhooks(database: Database, transaction: Transaction | null): Promise<StoredWebhook[]> {
  const rows = await createRunner(database, transaction)<WebhookRow>(sql`SELECT ${columns} FROM webhooks ORDER BY id`);
  return rows.map(toStoredWebhook);
}

/** Replaces the patterns of events of a webhook, after a collection was renamed. */
export async function updateWebhookEvents(
  database: Database,
  transaction: Transaction,
  { id, events }: Pick<StoredWebhook, 'id' | 'events'>,
): Promise<void> {
  transaction.touch('webhooks');
  const update = sql`UPDATE webhooks SET events=${value('json', events)} WHERE id=${value('integer', id)}`;
  await runInTransaction(database, transaction, update);
}

/** Deletes the deliveries of a webhook. */
export async function deleteDeliveries(database: Database, transaction: Transaction, id: number): Promise<void> {
  transaction.touch('webhookDeliveries');
  const remove = sql`DELETE FROM "webhookDeliveries" WHERE "webhookId"=${value('integer', id)}`;
  await runInTransaction(database, transaction, remove);
}

/** The webhook of an id, or null. */
export async function findWebhook(database: Database, id: number): Promise<StoredWebhook | null> {
  const [row] = await createReader(database)<WebhookRow>(
    sql`SELECT ${columns} FROM webhooks WHERE id=${value('integer', id)}`,
  );
  return row ? toStoredWebhook(row) : null;
}

/** A webhook that the transaction has just written. */
export async function readWebhookInTx(
  database: Database,
  transaction: Transaction,
  id: unknown,
): Promise<StoredWebhook> {
  const select = sql`SELECT ${columns} FROM webhooks WHERE id=${value('integer', id)}`;
  const rows = await runInTransaction<WebhookRow>(database, transaction, select);
  return toStoredWebhook(requireRow(rows));
}

/** All webhooks with a filter, as the transaction sees them. */
export async function readFilteredWebhooks(database: Database, transaction: Transaction): Promise<StoredWebhook[]> {
  const select = sql`SELECT ${columns} FROM webhooks WHERE filter IS NOT NULL ORDER BY id`;
  const rows = await runInTransaction<WebhookRow>(database, transaction, select);
  return rows.map(toStoredWebhook);
}

/** The distinct roles of webhooks. */
export async function readWebhookRoles(
  database: Database,
  transaction: Transaction,
  ids: readonly unknown[],
): Promise<string[]> {
  const wanted = database.dialect.isIn(sql`id`, listValue('integer', ids));
  const select = sql`SELECT DISTINCT role FROM webhooks WHERE ${wanted}`;
  const rows = await runInTransaction<[role: string]>(database, transaction, select);
  return rows.map(([role]) => role);
}

/** Stores the encrypted signing secret of a webhook. */
export async function setWebhookSecret(
  database: Database,
  transaction: Transaction,
  id: unknown,
  secret: string,
): Promise<void> {
  transaction.touch('webhooks');
  const update = sql`UPDATE webhooks SET secret=${value('text', secret)} WHERE id=${value('integer', id)}`;
  await runInTransaction(database, transaction, update);
}

/** Why and when a webhook is paused. */
export interface WebhookPause {
  readonly now: string;
  /** Pause the webhook only if it has failed since this time or longer; null: in any case. */
  readonly failingSince: string | null;
  /** A sentence for people. */
  readonly reason: string;
}

/** Pauses an enabled webhook. @returns whether it was paused. */
export async function pauseWebhook(
  database: Database,
  transaction: Transaction,
  id: number,
  { now, failingSince, reason }: WebhookPause,
): Promise<boolean> {
  const isFailingLongEnough =
    failingSince === null ? sql`` : sql` AND "failingSince"<=${value('datetime', failingSince)}`;
  transaction.touch('webhooks');
  const time = value('datetime', now);
  const pause = sql`enabled=${value('boolean', false)},"pausedAt"=${time},"pausedFor"=${value('text', reason)}`;
  const isPausable = sql`id=${value('integer', id)} AND ${isEnabled(database)}${isFailingLongEnough}`;
  const run = createTxRunner(database, transaction);
  const rows = await run(sql`UPDATE webhooks SET ${pause},"updatedAt"=${time} WHERE ${isPausable} RETURNING id`);
  return rows.length > 0;
}

/** The condition that a row of webhooks is enabled. @param alias the alias of the table with a dot, or nothing. */
export function isEnabled({ dialect }: Database, alias = ''): Sql {
  return dialect.isTrue(sql`${alias}enabled`);
}

type WebhookRow = [
  id: number,
  url: string,
  events: unknown,
  filter: unknown,
  role: string,
  enabled: unknown,
  secret: string | null,
  startsAfter: string | null,
];

function toStoredWebhook(row: WebhookRow): StoredWebhook {
  const [id, url, events, filter, role, enabled, secret, startsAfter] = row;
  return {
    id: Number(id),
    url,
    events: parseJsonColumn(events) as string[],
    filter: parseJsonColumn(filter),
    role,
    enabled: Boolean(enabled),
    secret,
    startsAfter: startsAfter ?? '0.0',
  };
}
