/** Statements about deliveries to webhooks. */
import type { Database, Transaction } from './database.ts';
import { parseJsonColumn } from './json-column.ts';
import { createReader, createTxRunner, runInTransaction } from './run-statement.ts';
import { join, listValue, type Sql, sql, value } from './sql.ts';
import { isEnabled } from './webhook-rows.ts';

export interface NewDelivery {
  readonly webhookId: number;
  readonly messageId: string;
  readonly event: string;
  readonly resource: string;
  readonly tk: string | null;
  readonly at: string;
  readonly actor: string | null;
  readonly changed: readonly string[] | PublishedPayload;
}

/** The payload of a published event, in the place of the changed fields of a record event. */
export interface PublishedPayload {
  readonly payload: unknown;
}

/** A delivery that this process has claimed. */
export interface StoredDelivery extends NewDelivery {
  readonly id: string;
  /** The number of attempts, this one included. */
  readonly attempts: number;
  /** A failure after this time is final. */
  readonly giveUpAt: string;
}

/** The status of a delivery. Pending ones are tried again; dead ones have failed permanently. */
export type DeliveryStatus = 'pending' | 'delivered' | 'skipped' | 'dead';

/**
 * Queues deliveries and moves the position in the event log, in one transaction.
 *
 * @returns false, with nothing stored, if another process has moved the position from `from`.
 */
export function queueDeliveries(
  database: Database,
  { from, to }: { readonly from: string; readonly to: string },
  deliveries: readonly NewDelivery[],
  times: DeliveryTimes,
): Promise<boolean> {
  return database.write(async (transaction) => {
    const run = createTxRunner(database, transaction);
    const moved = await run(
      sql`UPDATE _outbox SET position=${value('text', to)} WHERE position=${value('text', from)} RETURNING id`,
    );
    if (moved.length === 0) return false;
    if (deliveries.length > 0) transaction.touch('webhookDeliveries');
    for (let start = 0; start < deliveries.length; start += rowsPerInsert) {
      const rows = deliveries.slice(start, start + rowsPerInsert).map((each) => sql`(${toInsertValues(each, times)})`);
      await run(
        sql`INSERT INTO "webhookDeliveries" ("webhookId","messageId",event,resource,tk,at,actor,changed,status,
attempts,"nextAt","giveUpAt") VALUES ${join(rows, ',')}`,
      );
    }
    return true;
  });
}

const rowsPerInsert = 200;

/** When queued deliveries are due, and when a failure becomes final. */
export interface DeliveryTimes {
  readonly now: string;
  readonly giveUp: string;
}

function toInsertValues(delivery: NewDelivery, { now, giveUp }: DeliveryTimes): Sql {
  const { webhookId, messageId, event, resource, tk, at, actor, changed } = delivery;
  const message = sql`${value('integer', webhookId)},${value('text', messageId)},${value('text', event)}`;
  const subject = sql`${value('text', resource)},${value('text', tk)},${value('datetime', at)}`;
  const content = sql`${value('text', actor)},${value('json', changed)}`;
  return sql`${message},${subject},${content},'pending',0,${value('datetime', now)},${value('datetime', giveUp)}`;
}

/**
 * Claims due deliveries of webhooks, the oldest first. No other process claims them before `lease`. After that they are
 * due again, so that the deliveries of a killed process are sent by another one.
 *
 * @param claimLimits the maximum number for each webhook, by its id.
 */
export function claimDeliveries(
  database: Database,
  claimLimits: ReadonlyMap<number, number>,
  now: string,
  lease: string,
): Promise<StoredDelivery[]> {
  const claim = async (transaction: Transaction): Promise<StoredDelivery[]> => {
    const claimed: StoredDelivery[] = [];
    for (const [webhookId, count] of claimLimits) {
      const isDue = sql`"webhookId"=${value('integer', webhookId)} AND "nextAt"<=${value('datetime', now)}`;
      const due = sql`SELECT id FROM "webhookDeliveries" WHERE ${isDue} ORDER BY "nextAt",id LIMIT ${count}`;
      const set = sql`"nextAt"=${value('datetime', lease)},attempts=attempts+1,"lastStatus"=NULL,"lastError"=NULL`;
      const update = sql`UPDATE "webhookDeliveries" SET ${set} WHERE id IN (${due})
RETURNING ${selectDelivery(database)}`;
      const rows = await runInTransaction<DeliveryRow>(database, transaction, update);
      claimed.push(...rows.map(toStoredDelivery));
    }
    if (claimed.length > 0) transaction.touch('webhookDeliveries');
    return claimed.sort((one, second) => (BigInt(one.id) < BigInt(second.id) ? -1 : 1));
  };
  return database.write(claim, { lockKey: 'webhooks' });
}

/** The ids of enabled webhooks with due deliveries. */
export async function webhooksWithDue(database: Database, now: string): Promise<number[]> {
  const due = sql`SELECT 1 FROM "webhookDeliveries" d WHERE d."webhookId"=w.id
AND d."nextAt"<=${value('datetime', now)}`;
  const rows = await createReader(database)<[id: number]>(
    sql`SELECT id FROM webhooks w WHERE ${isEnabled(database)} AND EXISTS (${due}) ORDER BY id`,
  );
  return rows.map(([id]) => Number(id));
}

/** Whether more than `limit` deliveries of a webhook are waiting. */
export async function hasMoreWaiting(database: Database, webhookId: number, limit: number): Promise<boolean> {
  const isWaiting = sql`"webhookId"=${value('integer', webhookId)} AND "nextAt" IS NOT NULL`;
  const rows = await createReader(database)(
    sql`SELECT id FROM "webhookDeliveries" WHERE ${isWaiting} LIMIT 1 OFFSET ${limit}`,
  );
  return rows.length > 0;
}

/**
 * When the next delivery of an enabled webhook is due; null if none is waiting.
 *
 * @param excludedWebhooks ids of webhooks that do not count.
 */
export async function readNextDeliveryTime(
  database: Database,
  excludedWebhooks: readonly number[] = [],
): Promise<string | null> {
  const isOther =
    excludedWebhooks.length === 0
      ? sql``
      : sql` AND NOT ${database.dialect.isIn(sql`w.id`, listValue('integer', excludedWebhooks))}`;
  const isWaiting = sql`d."nextAt" IS NOT NULL AND ${isEnabled(database, 'w.')}${isOther}`;
  const waiting = sql`"webhookDeliveries" d JOIN webhooks w ON w.id=d."webhookId" WHERE ${isWaiting}`;
  const next = sql`SELECT min(d."nextAt") AS at FROM ${waiting}`;
  const [row] = await createReader(database)<[at: string | null]>(
    sql`SELECT ${database.dialect.scalar('datetime', sql`at`)} FROM (${next}) t`,
  );
  return row ? row[0] : null;
}

export interface DeliveryOutcome {
  readonly status: DeliveryStatus;
  /** When to try again; null unless it is pending. */
  readonly nextAt: string | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
}

/** An attempt with its outcome. */
export interface SettledDelivery {
  readonly delivery: Pick<StoredDelivery, 'id' | 'webhookId'>;
  readonly outcome: DeliveryOutcome;
}

/**
 * Stores the outcomes of attempts, and since when webhooks have been failing. Attempts with equal outcomes share a
 * statement.
 */
export function recordDeliveryOutcomes(
  database: Database,
  settled: readonly SettledDelivery[],
  now: string,
): Promise<void> {
  return database.write(async (transaction) => {
    const run = createTxRunner(database, transaction);
    transaction.touch('webhookDeliveries');
    for (const [{ outcome }, deliveryIds] of groupByOutcome(settled)) {
      const { status, nextAt, lastStatus, lastError } = outcome;
      const finishedAt = nextAt === null ? now : null;
      const times = sql`"nextAt"=${value('datetime', nextAt)},"finishedAt"=${value('datetime', finishedAt)}`;
      const last = sql`"lastStatus"=${value('integer', lastStatus)},"lastError"=${value('text', lastError)}`;
      const isSettled = database.dialect.isIn(sql`id`, listValue('bigint', deliveryIds));
      await run(
        sql`UPDATE "webhookDeliveries" SET status=${value('text', status)},${times},${last} WHERE ${isSettled}`,
      );
    }
    const attempted = settled.filter(({ outcome }) => outcome.status !== 'skipped');
    // The last outcome decides whether a webhook is failing.
    const last = new Map(attempted.map(({ delivery, outcome }) => [delivery.webhookId, outcome.status]));
    for (const [webhookId, status] of last) {
      transaction.touch('webhooks');
      const failing = status === 'delivered' ? null : now;
      const before = failing === null ? sql`IS NOT NULL` : sql`IS NULL`;
      const isOther = sql`id=${value('integer', webhookId)} AND "failingSince" ${before}`;
      await run(sql`UPDATE webhooks SET "failingSince"=${value('datetime', failing)} WHERE ${isOther}`);
    }
  });
}

/** One member of each group of equal outcomes, with the ids of all deliveries of the group. */
function groupByOutcome(settled: readonly SettledDelivery[]): Iterable<readonly [SettledDelivery, string[]]> {
  const groups = new Map<string, readonly [SettledDelivery, string[]]>();
  for (const each of settled) {
    const key = JSON.stringify(each.outcome);
    const group = groups.get(key);
    if (group) group[1].push(each.delivery.id);
    else groups.set(key, [each, [each.delivery.id]]);
  }
  return groups.values();
}

/** Releases a claimed delivery that was not attempted. */
export function releaseDelivery(database: Database, id: string, now: string): Promise<void> {
  return database.write(async (transaction) => {
    const set = sql`"nextAt"=${value('datetime', now)},attempts=attempts-1`;
    const run = createTxRunner(database, transaction);
    await run(sql`UPDATE "webhookDeliveries" SET ${set} WHERE id=${value('bigint', id)} AND status='pending'`);
  });
}

/** Whether an event of a record was delivered to a webhook before. */
export async function wasNotified(
  database: Database,
  webhookId: number,
  resource: string,
  key: string | null,
): Promise<boolean> {
  const isSubject = sql`resource=${value('text', resource)} AND tk=${value('text', key)}`;
  const [row] = await createReader(database)(
    sql`SELECT 1 FROM "webhookDeliveries" WHERE "webhookId"=${value('integer', webhookId)} AND ${isSubject}
AND status='delivered' LIMIT 1`,
  );
  return row !== undefined;
}

/**
 * Makes finished deliveries of a webhook due again. They keep their message ids.
 *
 * @param ids the deliveries; null: all dead ones.
 * @returns their number.
 */
export async function replayDeliveries(
  database: Database,
  transaction: Transaction,
  { webhookId, ids }: { readonly webhookId: number; readonly ids: readonly unknown[] | null },
  times: DeliveryTimes,
): Promise<number> {
  const isChosen =
    ids === null
      ? sql`status='dead'`
      : sql`status<>'pending' AND ${database.dialect.isIn(sql`id`, listValue('bigint', ids))}`;
  transaction.touch('webhookDeliveries');
  const due = sql`"nextAt"=${value('datetime', times.now)},"giveUpAt"=${value('datetime', times.giveUp)}`;
  const set = sql`status='pending',attempts=0,${due},"finishedAt"=NULL`;
  const run = createTxRunner(database, transaction);
  const rows = await run(
    sql`UPDATE "webhookDeliveries" SET ${set} WHERE "webhookId"=${value('integer', webhookId)} AND ${isChosen}
RETURNING id`,
  );
  return rows.length;
}

/** Deletes deliveries that finished before a time, in batches. */
export async function deleteFinishedDeliveries(database: Database, before: string): Promise<void> {
  const over = sql`"finishedAt"<=${value('datetime', before)}`;
  if ((await createReader(database)(sql`SELECT id FROM "webhookDeliveries" WHERE ${over} LIMIT 1`)).length === 0)
    return;
  const some = sql`SELECT id FROM "webhookDeliveries" WHERE ${over} LIMIT ${deleteBatchSize}`;
  for (let deleted = deleteBatchSize; deleted === deleteBatchSize; ) {
    const rows = await database.write((transaction) => {
      transaction.touch('webhookDeliveries');
      const remove = sql`DELETE FROM "webhookDeliveries" WHERE id IN (${some}) RETURNING id`;
      return runInTransaction(database, transaction, remove);
    });
    deleted = rows.length;
  }
}

const deleteBatchSize = 1000;

function selectDatetime({ dialect }: Database, column: string): Sql {
  return dialect.scalar('datetime', sql`${`"${column}"`}`);
}

type DeliveryRow = [
  id: number | string,
  webhookId: number,
  messageId: string,
  event: string,
  resource: string,
  tk: string | null,
  at: string,
  actor: string | null,
  changed: unknown,
  attempts: number,
  giveUpAt: string,
];

/** The columns of {@link DeliveryRow}. */
function selectDelivery(database: Database): Sql {
  const subject = sql`resource,tk,${selectDatetime(database, 'at')}`;
  const giveUpAt = selectDatetime(database, 'giveUpAt');
  return sql`id,"webhookId","messageId",event,${subject},actor,changed,attempts,${giveUpAt}`;
}

function toStoredDelivery(row: DeliveryRow): StoredDelivery {
  const [id, webhookId, messageId, event, resource, tk, at, actor, changed, attempts, giveUpAt] = row;
  return {
    id: String(id),
    webhookId: Number(webhookId),
    messageId,
    event,
    resource,
    tk,
    at,
    actor,
    changed: parseJsonColumn(changed) as string[] | PublishedPayload,
    attempts: Number(attempts),
    giveUpAt,
  };
}
