/** Statements about what is to be sent to webhooks, and what became of it. */
import type { Database, Row, Transaction } from './database.ts';
import { reading, writing } from './identity-store.ts';
import { parsedJson } from './json-column.ts';
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
  readonly changed: readonly string[] | Published;
}

/** What somebody published along with an event, where its changed fields stand else. */
export interface Published {
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
    const run = writing(database, transaction);
    const moved = await run(
      sql`UPDATE _outbox SET position=${value('text', to)} WHERE position=${value('text', from)} RETURNING id`,
    );
    if (moved.length === 0) return false;
    if (deliveries.length > 0) transaction.touch('webhookDeliveries');
    for (let start = 0; start < deliveries.length; start += rowsPerInsert) {
      const rows = deliveries.slice(start, start + rowsPerInsert).map((each) => sql`(${rowOf(each, times)})`);
      await run(
        sql`INSERT INTO "webhookDeliveries" ("webhookId","messageId",event,resource,tk,at,actor,changed,status,attempts,"nextAt","giveUpAt") VALUES ${join(rows, ',')}`,
      );
    }
    return true;
  });
}

const rowsPerInsert = 200;

function rowOf(delivery: NewDelivery, { now, giveUp }: { readonly now: string; readonly giveUp: string }): Sql {
  const { webhookId, messageId, event, resource, tk, at, actor, changed } = delivery;
  return sql`${value('integer', webhookId)},${value('text', messageId)},${value('text', event)},${value('text', resource)},${value('text', tk)},${value('datetime', at)},${value('text', actor)},${value('json', changed)},'pending',0,${value('datetime', now)},${value('datetime', giveUp)}`;
}

/**
 * Takes on what is due of some webhooks, the oldest first. Until `lease` nobody else takes it; then it is due again, so
 * that what a process that was killed had taken on is sent by another.
 *
 * @param most how many of each webhook.
 */
export function claimDeliveries(
  database: Database,
  most: ReadonlyMap<number, number>,
  now: string,
  lease: string,
): Promise<StoredDelivery[]> {
  const claim = async (transaction: Transaction): Promise<StoredDelivery[]> => {
    const claimed: StoredDelivery[] = [];
    for (const [webhookId, count] of most) {
      const due = sql`SELECT id FROM "webhookDeliveries" WHERE "webhookId"=${value('integer', webhookId)} AND "nextAt"<=${value('datetime', now)} ORDER BY "nextAt",id LIMIT ${count}`;
      const rows = await writing(
        database,
        transaction,
      )(
        sql`UPDATE "webhookDeliveries" SET "nextAt"=${value('datetime', lease)},attempts=attempts+1,"lastStatus"=NULL,"lastError"=NULL WHERE id IN (${due}) RETURNING id,"webhookId","messageId",event,resource,tk,${moment(database, 'at')},actor,changed,attempts,${moment(database, 'giveUpAt')}`,
      );
      claimed.push(...rows.map(deliveryOf));
    }
    if (claimed.length > 0) transaction.touch('webhookDeliveries');
    return claimed.sort((one, other) => (BigInt(one.id) < BigInt(other.id) ? -1 : 1));
  };
  return database.write(claim, { turn: 'webhooks' });
}

/** Ids of enabled webhooks that have something due. */
export async function webhooksWithDue(database: Database, now: string): Promise<number[]> {
  const rows = await reading(database)(
    sql`SELECT id FROM webhooks w WHERE ${isEnabled(database)} AND EXISTS (SELECT 1 FROM "webhookDeliveries" d WHERE d."webhookId"=w.id AND d."nextAt"<=${value('datetime', now)}) ORDER BY id`,
  );
  return rows.map(([id]) => Number(id));
}

/** Whether more deliveries of a webhook wait than so many. */
export async function hasMoreWaiting(database: Database, webhookId: number, most: number): Promise<boolean> {
  const rows = await reading(database)(
    sql`SELECT id FROM "webhookDeliveries" WHERE "webhookId"=${value('integer', webhookId)} AND "nextAt" IS NOT NULL LIMIT 1 OFFSET ${most}`,
  );
  return rows.length > 0;
}

/**
 * When the next delivery of an enabled webhook is due; null: none waits.
 *
 * @param besides webhooks that are not looked at.
 */
export async function nextDelivery(database: Database, besides: readonly number[] = []): Promise<string | null> {
  const others =
    besides.length === 0 ? sql`` : sql` AND NOT ${database.dialect.isIn(sql`w.id`, listValue('integer', besides))}`;
  const next = sql`SELECT min(d."nextAt") AS at FROM "webhookDeliveries" d JOIN webhooks w ON w.id=d."webhookId" WHERE d."nextAt" IS NOT NULL AND ${isEnabled(database, 'w.')}${others}`;
  const [row] = await reading(database)(sql`SELECT ${database.dialect.scalar('datetime', sql`at`)} FROM (${next}) t`);
  return (row?.[0] ?? null) as string | null;
}

export interface Outcome {
  readonly status: DeliveryStatus;
  /** When to try again; null unless it is pending. */
  readonly nextAt: string | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
}

/** How a try ended. */
export interface Settled {
  readonly delivery: Pick<StoredDelivery, 'id' | 'webhookId'>;
  readonly outcome: Outcome;
}

/** Notes how tries ended, and how their webhooks fare by it: one statement for all that ended alike. */
export function settleDeliveries(database: Database, settled: readonly Settled[], now: string): Promise<void> {
  return database.write(async (transaction) => {
    const run = writing(database, transaction);
    transaction.touch('webhookDeliveries');
    for (const alike of groupsOf(settled, ({ outcome }) => JSON.stringify(outcome))) {
      const { status, nextAt, lastStatus, lastError } = alike[0]!.outcome;
      const finishedAt = nextAt === null ? now : null;
      const ids = listValue(
        'bigint',
        alike.map(({ delivery }) => delivery.id),
      );
      await run(
        sql`UPDATE "webhookDeliveries" SET status=${value('text', status)},"nextAt"=${value('datetime', nextAt)},"finishedAt"=${value('datetime', finishedAt)},"lastStatus"=${value('integer', lastStatus)},"lastError"=${value('text', lastError)} WHERE ${database.dialect.isIn(sql`id`, ids)}`,
      );
    }
    const told = settled.filter(({ outcome }) => outcome.status !== 'skipped');
    // What ended last says how a webhook fares.
    const last = new Map(told.map(({ delivery, outcome }) => [delivery.webhookId, outcome.status]));
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

function groupsOf<T>(list: readonly T[], key: (each: T) => string): T[][] {
  return [...Map.groupBy(list, key).values()];
}

/** Gives back what was taken on and not tried. */
export function releaseDelivery(database: Database, id: string, now: string): Promise<void> {
  return database.write(async (transaction) => {
    await writing(
      database,
      transaction,
    )(
      sql`UPDATE "webhookDeliveries" SET "nextAt"=${value('datetime', now)},attempts=attempts-1 WHERE id=${value('bigint', id)} AND status='pending'`,
    );
  });
}

/** Whether a webhook has been told of a record before. */
export async function wasToldOf(
  database: Database,
  webhookId: number,
  resource: string,
  tk: string | null,
): Promise<boolean> {
  const [row] = await reading(database)(
    sql`SELECT 1 FROM "webhookDeliveries" WHERE "webhookId"=${value('integer', webhookId)} AND resource=${value('text', resource)} AND tk=${value('text', tk)} AND status='delivered' LIMIT 1`,
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
  const rows = await writing(
    database,
    transaction,
  )(
    sql`UPDATE "webhookDeliveries" SET status='pending',attempts=0,"nextAt"=${value('datetime', times.now)},"giveUpAt"=${value('datetime', times.giveUp)},"finishedAt"=NULL WHERE "webhookId"=${value('integer', webhookId)} AND ${which} RETURNING id`,
  );
  return rows.length;
}

/** Forgets deliveries that were finished before a moment. */
export async function deleteFinished(database: Database, before: string): Promise<void> {
  const over = sql`"finishedAt"<=${value('datetime', before)}`;
  if ((await reading(database)(sql`SELECT id FROM "webhookDeliveries" WHERE ${over} LIMIT 1`)).length === 0) return;
  const some = sql`SELECT id FROM "webhookDeliveries" WHERE ${over} LIMIT ${deletedAtOnce}`;
  for (let deleted = deletedAtOnce; deleted === deletedAtOnce; ) {
    const rows = await database.write((transaction) => {
      transaction.touch('webhookDeliveries');
      return writing(database, transaction)(sql`DELETE FROM "webhookDeliveries" WHERE id IN (${some}) RETURNING id`);
    });
    deleted = rows.length;
  }
}

const deletedAtOnce = 1000;

function moment({ dialect }: Database, column: string): Sql {
  return dialect.scalar('datetime', sql`${`"${column}"`}`);
}

function deliveryOf(row: Row): StoredDelivery {
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
    changed: parsedJson(changed) as string[] | Published,
    attempts: Number(attempts),
    giveUpAt: giveUpAt as string,
  };
}
