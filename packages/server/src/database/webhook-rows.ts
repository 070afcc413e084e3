/** Statements about webhooks themselves. */
import type { Database, Row, Transaction } from './database.ts';
import { createReader, createTxRunner } from './identity-store.ts';
import { parseJsonColumn } from './json-column.ts';
import { listValue, type Sql, sql, value } from './sql.ts';

/** A webhook as it is sent to. */
export interface StoredWebhook {
  readonly id: number;
  readonly url: string;
  readonly events: readonly string[];
  readonly filter: unknown;
  readonly role: string;
  readonly enabled: boolean;
  /** Sealed; null where none was kept. */
  readonly secret: string | null;
  /** Cursor of the log: it is told of later events only. */
  readonly startsAfter: string;
}

const columns = sql`id,url,events,filter,role,enabled,secret,"startsAfter"`;

export async function readEnabledWebhooks(database: Database): Promise<StoredWebhook[]> {
  const rows = await createReader(database)(
    sql`SELECT ${columns} FROM webhooks WHERE ${isEnabled(database)} ORDER BY id`,
  );
  return rows.map(toStoredWebhook);
}

export async function findWebhook(database: Database, id: number): Promise<StoredWebhook | null> {
  const [row] = await createReader(database)(sql`SELECT ${columns} FROM webhooks WHERE id=${value('integer', id)}`);
  return row ? toStoredWebhook(row) : null;
}

/** One that was just written, as the transaction sees it. */
export async function readWebhookInTx(
  database: Database,
  transaction: Transaction,
  id: unknown,
): Promise<StoredWebhook> {
  const [row] = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT ${columns} FROM webhooks WHERE id=${value('integer', id)}`);
  return toStoredWebhook(row!);
}

/** Every webhook that has a filter, as the transaction sees it. */
export async function readFilteredWebhooks(database: Database, transaction: Transaction): Promise<StoredWebhook[]> {
  const rows = await createTxRunner(
    database,
    transaction,
  )(sql`SELECT ${columns} FROM webhooks WHERE filter IS NOT NULL ORDER BY id`);
  return rows.map(toStoredWebhook);
}

/** The roles that webhooks act as. */
export async function readWebhookRoles(
  database: Database,
  transaction: Transaction,
  ids: readonly unknown[],
): Promise<string[]> {
  const wanted = database.dialect.isIn(sql`id`, listValue('integer', ids));
  const rows = await createTxRunner(database, transaction)(sql`SELECT DISTINCT role FROM webhooks WHERE ${wanted}`);
  return rows.map(([role]) => role as string);
}

/** Keeps the sealed secret of a webhook. */
export async function setWebhookSecret(
  database: Database,
  transaction: Transaction,
  id: unknown,
  secret: string,
): Promise<void> {
  transaction.touch('webhooks');
  await createTxRunner(
    database,
    transaction,
  )(sql`UPDATE webhooks SET secret=${value('text', secret)} WHERE id=${value('integer', id)}`);
}

/**
 * Pauses a webhook that has failed ever since a moment, or at once.
 *
 * @param reason what is told of it, a sentence.
 * @returns whether it was enabled, and has failed for so long.
 */
export async function pauseWebhook(
  database: Database,
  transaction: Transaction,
  id: number,
  now: string,
  failingSince: string | null,
  reason: string,
): Promise<boolean> {
  const isFailingLongEnough =
    failingSince === null ? sql`` : sql` AND "failingSince"<=${value('datetime', failingSince)}`;
  transaction.touch('webhooks');
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE webhooks SET enabled=${value('boolean', false)},"pausedAt"=${value('datetime', now)},"pausedFor"=${value('text', reason)},"updatedAt"=${value('datetime', now)} WHERE id=${value('integer', id)} AND ${isEnabled(database)}${isFailingLongEnough} RETURNING id`,
  );
  return rows.length > 0;
}

/** Whether a row of webhooks is one that is sent to. */
export function isEnabled({ dialect }: Database, alias = ''): Sql {
  return dialect.isTrue(sql`${alias}enabled`);
}

function toStoredWebhook(row: Row): StoredWebhook {
  const [id, url, events, filter, role, enabled, secret, startsAfter] = row;
  return {
    id: Number(id),
    url: url as string,
    events: parseJsonColumn(events) as string[],
    filter: parseJsonColumn(filter),
    role: role as string,
    enabled: Boolean(enabled),
    secret: secret as string | null,
    startsAfter: (startsAfter as string | null) ?? '0.0',
  };
}
