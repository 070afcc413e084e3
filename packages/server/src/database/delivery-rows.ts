/** Statements about what is to be sent to webhooks, and what became of it. */
import type { Database, Row, Transaction } from './database.ts';
import { createReader, createTxRunner } from './identity-store.ts';
import { parseJsonColumn } from './json-column.ts';
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

/** What somebody published along with an event, where its changed fields stand else. */
export interface PublishedPayload {
  readonly payload: unknown;
}

/** A delivery that this process has taken on. */
export interface StoredDelivery extends NewDelivery {
  readonly id: string;
  /** This try counted. */
  readonly attempts: number;
  /** After this moment a failure is the last one. */
  readonly giveUpAt: string;
}

/** What became of a delivery; `pending` ones are tried again. */
export type DeliveryStatus = 'pending' | 'delivered' | 'skipped' | 'dead';

/**
 * Notes what is to be sent, together with how far the log has been looked through.
 *
 * @returns false, with nothing noted, where another process has looked through it meanwhile.
 */
export function queueDeliveries(
  database: Database,
  from: string,
  to: string,
  deliveries: readonly NewDelivery[],
  times: { readonly now: string; readonly giveUp: string },
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
        sql`INSERT INTO "webhookDeliveries" ("webhookId","messageId",event,resource,tk,at,actor,changed,status,attempts,"nextAt","giveUpAt") VALUES ${join(rows, ',')}`,
      );
    }
    return true;
  });
}

const rowsPerInsert = 200;

function toInsertValues(
  delivery: NewDelivery,
  { now, giveUp }: { readonly now: string; readonly giveUp: string },
): Sql {
  const { webhookId, messageId, event, resource, tk, at, actor, changed } = delivery;
  return sql`${value('integer', webhookId)},${value('text', messageId)},${value('text', event)},${value('text', resource)},${value('text', tk)},${value('datetime', at)},${value('text', actor)},${value('json', changed)},'pending',0,${value('datetime', now)},${value('datetime', giveUp)}`;
}

/**
 * Takes on what is due of some webhooks, the oldest first. Until `lease` nobody else takes it; then it is due again, so
 * that what a process that was killed had taken on is sent by another.
 *
 * @param claimLimits how many of each webhook.
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
      const due = sql`SELECT id FROM "webhookDeliveries" WHERE "webhookId"=${value('integer', webhookId)} AND "nextAt"<=${value('datetime', now)} ORDER BY "nextAt",id LIMIT ${count}`;
      const rows = await createTxRunner(
        database,
        transaction,
      )(
        sql`UPDATE "webhookDeliveries" SET "nextAt"=${value('datetime', lease)},attempts=attempts+1,"lastStatus"=NULL,"lastError"=NULL WHERE id IN (${due}) RETURNING id,"webhookId","messageId",event,resource,tk,${selectDatetime(database, 'at')},actor,changed,attempts,${selectDatetime(database, 'giveUpAt')}`,
      );
      claimed.push(...rows.map(toStoredDelivery));
    }
    if (claimed.length > 0) transaction.touch('webhookDeliveries');
    return claimed.sort((one, second) => (BigInt(one.id) < BigInt(second.id) ? -1 : 1));
  };
  return database.write(claim, { lockKey: 'webhooks' });
}

/** Ids of enabled webhooks that have something due. */
export async function webhooksWithDue(database: Database, now: string): Promise<number[]> {
  const rows = await createReader(database)(
    sql`SELECT id FROM webhooks w WHERE ${isEnabled(database)} AND EXISTS (SELECT 1 FROM "webhookDeliveries" d WHERE d."webhookId"=w.id AND d."nextAt"<=${value('datetime', now)}) ORDER BY id`,
  );
  return rows.map(([id]) => Number(id));
}

/** Whether more deliveries of a webhook wait than so many. */
export async function hasMoreWaiting(database: Database, webhookId: number, limit: number): Promise<boolean> {
  const rows = await createReader(database)(
    sql`SELECT id FROM "webhookDeliveries" WHERE "webhookId"=${value('integer', webhookId)} AND "nextAt" IS NOT NULL LIMIT 1 OFFSET ${limit}`,
  );
  return rows.length > 0;
}

/**
 * When the next delivery of an enabled webhook is due; null: none waits.
 *
 * @param excludedWebhooks webhooks that are not looked at.
 */
export async function readNextDeliveryTime(
  database: Database,
  excludedWebhooks: readonly number[] = [],
): Promise<string | null> {
  const isOther =
    excludedWebhooks.length === 0
      ? sql``
      : sql` AND NOT ${database.dialect.isIn(sql`w.id`, listValue('integer', excludedWebhooks))}`;
  const next = sql`SELECT min(d."nextAt") AS at FROM "webhookDeliveries" d JOIN webhooks w ON w.id=d."webhookId" WHERE d."nextAt" IS NOT NULL AND ${isEnabled(database, 'w.')}${isOther}`;
  const [row] = await createReader(database)(
    sql`SELECT ${database.dialect.scalar('datetime', sql`at`)} FROM (${next}) t`,
  );
  return (row?.[0] ?? null) as string | null;
}

export interface DeliveryOutcome {
  readonly status: DeliveryStatus;
  /** When to try again; null unless it is pending. */
  readonly nextAt: string | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
}

/** How a try ended. */
export interface SettledDelivery {
  readonly delivery: Pick<StoredDelivery, 'id' | 'webhookId'>;
  readonly outcome: DeliveryOutcome;
}

/** Notes how tries ended, and how their webhooks fare by it: one statement for all that ended alike. */
export function recordDeliveryOutcomes(
  database: Database,
  settled: readonly SettledDelivery[],
  now: string,
): Promise<void> {
  return database.write(async (transaction) => {
    const run = createTxRunner(database, transaction);
    transaction.touch('webhookDeliveries');
    for (const sameOutcome of groupByKey(settled, ({ outcome }) => JSON.stringify(outcome))) {
      const { status, nextAt, lastStatus, lastError } = sameOutcome[0]!.outcome;
      const finishedAt = nextAt === null ? now : null;
      const ids = listValue(
        'bigint',
        sameOutcome.map(({ delivery }) => delivery.id),
      );
      await run(
        sql`UPDATE "webhookDeliveries" SET status=${value('text', status)},"nextAt"=${value('datetime', nextAt)},"finishedAt"=${value('datetime', finishedAt)},"lastStatus"=${value('integer', lastStatus)},"lastError"=${value('text', lastError)} WHERE ${database.dialect.isIn(sql`id`, ids)}`,
      );
    }
    const attempted = settled.filter(({ outcome }) => outcome.status !== 'skipped');
    // What ended last says how a webhook fares.
    const last = new Map(attempted.map(({ delivery, outcome }) => [delivery.webhookId, outcome.status]));
    for (const [webhookId, status] of last) {
      transaction.touch('webhooks');
      const failing = status === 'delivered' ? null : now;
      const before = failing === null ? sql`IS NOT NULL` : sql`IS NULL`;
      await run(
        sql`UPDATE webhooks SET "failingSince"=${value('datetime', failing)} WHERE id=${value('integer', webhookId)} AND "failingSince" ${before}`,
      );
    }
  });
}

function groupByKey<T>(list: readonly T[], key: (each: T) => string): T[][] {
  return [...Map.groupBy(list, key).values()];
}

/** Gives back what was taken on and not tried. */
export function releaseDelivery(database: Database, id: string, now: string): Promise<void> {
  return database.write(async (transaction) => {
    await createTxRunner(
      database,
      transaction,
    )(
      sql`UPDATE "webhookDeliveries" SET "nextAt"=${value('datetime', now)},attempts=attempts-1 WHERE id=${value('bigint', id)} AND status='pending'`,
    );
  });
}

/** Whether a webhook has been told of a record before. */
export async function wasNotified(
  database: Database,
  webhookId: number,
  resource: string,
  key: string | null,
): Promise<boolean> {
  const [row] = await createReader(database)(
    sql`SELECT 1 FROM "webhookDeliveries" WHERE "webhookId"=${value('integer', webhookId)} AND resource=${value('text', resource)} AND tk=${value('text', key)} AND status='delivered' LIMIT 1`,
  );
  return row !== undefined;
}

/**
 * Makes finished deliveries of a webhook due again, under the message ids that they have.
 *
 * @param ids which ones; null: all that are dead.
 * @returns how many.
 */
export async function replayDeliveries(
  database: Database,
  transaction: Transaction,
  webhookId: number,
  ids: readonly unknown[] | null,
  times: { readonly now: string; readonly giveUp: string },
): Promise<number> {
  const which =
    ids === null
      ? sql`status='dead'`
      : sql`status<>'pending' AND ${database.dialect.isIn(sql`id`, listValue('bigint', ids))}`;
  transaction.touch('webhookDeliveries');
  const rows = await createTxRunner(
    database,
    transaction,
  )(
    sql`UPDATE "webhookDeliveries" SET status='pending',attempts=0,"nextAt"=${value('datetime', times.now)},"giveUpAt"=${value('datetime', times.giveUp)},"finishedAt"=NULL WHERE "webhookId"=${value('integer', webhookId)} AND ${which} RETURNING id`,
  );
  return rows.length;
}

/** Forgets deliveries that were finished before a moment. */
export async function deleteFinishedDeliveries(database: Database, before: string): Promise<void> {
  const over = sql`"finishedAt"<=${value('datetime', before)}`;
  if ((await createReader(database)(sql`SELECT id FROM "webhookDeliveries" WHERE ${over} LIMIT 1`)).length === 0)
    return;
  const some = sql`SELECT id FROM "webhookDeliveries" WHERE ${over} LIMIT ${deleteBatchSize}`;
  for (let deleted = deleteBatchSize; deleted === deleteBatchSize; ) {
    const rows = await database.write((transaction) => {
      transaction.touch('webhookDeliveries');
      return createTxRunner(
        database,
        transaction,
      )(sql`DELETE FROM "webhookDeliveries" WHERE id IN (${some}) RETURNING id`);
    });
    deleted = rows.length;
  }
}

const deleteBatchSize = 1000;

function selectDatetime({ dialect }: Database, column: string): Sql {
  return dialect.scalar('datetime', sql`${`"${column}"`}`);
}

function toStoredDelivery(row: Row): StoredDelivery {
  const [id, webhookId, messageId, event, resource, tk, at, actor, changed, attempts, giveUpAt] = row;
  return {
    id: String(id),
    webhookId: Number(webhookId),
    messageId: messageId as string,
    event: event as string,
    resource: resource as string,
    tk: tk as string | null,
    at: at as string,
    actor: actor as string | null,
    changed: parseJsonColumn(changed) as string[] | PublishedPayload,
    attempts: Number(attempts),
    giveUpAt: giveUpAt as string,
  };
}
