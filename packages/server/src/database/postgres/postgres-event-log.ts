import type { HealthReporter } from '../../base/server-health.ts';
import { limits } from '../../protocol/limits.ts';
import { bindFixed, type Database, type Row, type Transaction } from '../database.ts';
import { containsResource, pruneEvents } from '../event-log-statements.ts';
import { type EventLogStore, type LoggedEvent, type PruneOptions, toLoggedEvent } from '../event-log-store.ts';
import { isAfter, splitPosition } from '../event-position.ts';
import { readOutboxPosition, startDelivery } from '../outbox-statements.ts';
import { readRows } from '../run-statement.ts';
import { type Sql, sql, value } from '../sql.ts';
import { EventHorizonWatch } from './event-horizon.ts';

/** PostgreSQL gives it to no transaction of its own: it is lower than all of them. */
export const lowestTransaction = '3';

/** Every older transaction has ended, so no event can appear before this one any more. A committed event is durable. */
const isEmitted = sql`xid < pg_snapshot_xmin(pg_current_snapshot())`;

const logEnd = {
  position: sql`(SELECT concat(pg_snapshot_xmin(pg_current_snapshot())::text,'.0'))`,
  // Transactions that are open now are not before it, whatever their number.
  startsAfter: sql`pg_current_snapshot()::text`,
};

/** The event log of a store that several processes may write. Events are ordered by transaction, then by id. */
export class PostgresEventLog implements EventLogStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** A store that came from another cluster may hold transaction numbers that this cluster has not given yet. */
  async adopt(): Promise<void> {
    const isAhead = sql`xid >= pg_snapshot_xmax(pg_current_snapshot())`;
    if ((await this.#read(sql`SELECT 1 FROM _events WHERE ${isAhead} LIMIT 1`)).length === 0) return;
    await this.#database.write(async (transaction) => {
      for (const each of buildAdoption()) await transaction.run(bindFixed(this.#database.dialect, each));
    });
  }

  /** A commit's reply is the promise of durability, so what can be seen is durable. */
  markDurable(): void {}

  async head(): Promise<LoggedEvent | null> {
    const [newest] = await this.#select(isEmitted, 'DESC', 1);
    return newest ?? null;
  }

  readAfter(position: string, limit: number): Promise<LoggedEvent[]> {
    const [transaction, id] = splitPosition(position);
    const isLater = sql`(xid, id) > (${value('text', transaction)}::xid8, ${value('bigint', id)})`;
    return this.#select(sql`${isLater} AND ${isEmitted}`, 'ASC', limit);
  }

  async find(position: string): Promise<LoggedEvent | null> {
    const [transaction, id] = splitPosition(position);
    const isSame = sql`xid = ${value('text', transaction)}::xid8 AND id = ${value('bigint', id)}`;
    const [event] = await this.#select(isSame, 'ASC', 1);
    return event ?? null;
  }

  hasRecent(resource: string): Promise<boolean> {
    const newest = sql`SELECT resource FROM _events ORDER BY xid DESC, id DESC LIMIT ${limits.eventsScanned}`;
    return containsResource(this.#database, newest, resource);
  }

  async prune(options: PruneOptions): Promise<boolean> {
    const isOldest = sql`(xid,id) IN (SELECT xid,id FROM _events ORDER BY _events.xid,id LIMIT ${options.batchSize})`;
    const isQueued = sql`(_events.xid,_events.id) <= ${parsePosition(sql`position`)}`;
    return pruneEvents(this.#database, await this.head(), options, { isOldest, isQueued });
  }

  startDelivery(transaction: Transaction, webhookId: unknown): Promise<void> {
    return startDelivery(this.#database, transaction, webhookId, logEnd);
  }

  /** @param startsAfter a snapshot, `<xmin>:<xmax>:<open transactions>`; a position in a store that was adopted. */
  isAfterStart(position: string, startsAfter: string): boolean {
    if (!startsAfter.includes(':')) return isAfter(position, startsAfter);
    const [transaction] = splitPosition(position);
    const [, xmax = '', open = ''] = startsAfter.split(':');
    return BigInt(transaction) >= BigInt(xmax) || open.split(',').includes(transaction);
  }

  outboxPosition(): Promise<string | null> {
    return readOutboxPosition(this.#database);
  }

  watchDelays(report: HealthReporter): { close(): void } {
    return new EventHorizonWatch({ database: this.#database, report });
  }

  async #select(condition: Sql, order: 'ASC' | 'DESC', limit: number): Promise<LoggedEvent[]> {
    const rows = await this.#read(
      sql`SELECT xid::text, id, to_char(at AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
name, resource, tk, actor, request_id, changed
FROM _events WHERE ${condition} ORDER BY _events.xid ${order}, id ${order} LIMIT ${limit}`,
    );
    return rows.map(toLoggedEvent);
  }

  #read(statement: Sql): Promise<Row[]> {
    return readRows(this.#database, statement);
  }
}

/** A position just before the first event that satisfies the condition, where all events have the lowest transaction number. */
const newPosition = (isLater: Sql): Sql =>
  sql`concat(${`'${lowestTransaction}.'`},coalesce((SELECT min(id)-1 FROM _events WHERE ${isLater}),
(SELECT max(id) FROM _events),0))`;
const isBehind = (column: Sql): Sql => sql`(xid,id) > ${parsePosition(column)}`;
const start = sql`"startsAfter"`;
const isUnseen = sql`NOT pg_visible_in_snapshot(xid,${start}::pg_snapshot)`;
const isLaterThanStart = sql`CASE WHEN strpos(${start},':')>0 THEN ${isUnseen} ELSE ${isBehind(start)} END`;
const outboxPosition = newPosition(isBehind(sql`position`));
const webhookStart = newPosition(isLaterThanStart);

/**
 * The statements that give all events one transaction number, the lowest. Positions of the outbox and of webhooks move to just before the
 * first event that came after them.
 */
function buildAdoption(): readonly Sql[] {
  return [
    sql`UPDATE _outbox SET position=${outboxPosition}`,
    sql`UPDATE webhooks SET "startsAfter"=${webhookStart} WHERE "startsAfter" IS NOT NULL`,
    sql`UPDATE _events SET xid='${lowestTransaction}'`,
    newEpoch,
  ];
}

/** Clients with earlier cursors must load their data again. */
export const newEpoch = sql`UPDATE _meta SET epoch=gen_random_uuid()::text`;

/** The positions after an adoption, by the ids of their rows, for a copy of the store whose events were adopted already. */
export const adoptedPositions = {
  _outbox: sql`SELECT id,${outboxPosition} AS position FROM _outbox`,
  webhooks: sql`SELECT id,${webhookStart} AS position FROM webhooks WHERE "startsAfter" IS NOT NULL`,
} as const;

/** A position as a row value that compares like `(xid,id)`. */
function parsePosition(position: Sql): Sql {
  return sql`(split_part(${position},'.',1)::xid8,split_part(${position},'.',2)::bigint)`;
}
