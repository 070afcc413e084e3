import { limits } from '../../protocol/limits.ts';
import type { Database, Row, Transaction } from '../database.ts';
import { containsResource, pruneEvents } from '../event-log-statements.ts';
import { type EventLogStore, type LoggedEvent, type PruneOptions, toLoggedEvent } from '../event-log-store.ts';
import { isAfter, splitPosition } from '../event-position.ts';
import { readOutboxPosition, startDelivery } from '../outbox-statements.ts';
import { readRows } from '../run-statement.ts';
import { type Sql, sql, value } from '../sql.ts';

const logEnd = sql`(SELECT concat('0.',ifnull(max(id),0)) FROM _events)`;

/**
 * The event log of the one process that writes the file. Ids follow the order of the commits. A commit is visible before it is on the
 * disk, so events are read only up to the last durable id.
 */
export class SqliteEventLog implements EventLogStore {
  readonly #database: Database;
  #durableId = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  async adopt(): Promise<void> {
    const [newest] = await this.#select(sql`1=1`, 'DESC', 1);
    this.#durableId = newest ? Number(splitPosition(newest.position)[1]) : 0;
  }

  markDurable(id: number): void {
    this.#durableId = Math.max(this.#durableId, id);
  }

  async head(): Promise<LoggedEvent | null> {
    const [newest] = await this.#select(this.#isEmitted(), 'DESC', 1);
    return newest ?? null;
  }

  readAfter(position: string, limit: number): Promise<LoggedEvent[]> {
    const [, id] = splitPosition(position);
    return this.#select(sql`id > ${value('bigint', id)} AND ${this.#isEmitted()}`, 'ASC', limit);
  }

  async find(position: string): Promise<LoggedEvent | null> {
    const [, id] = splitPosition(position);
    const [event] = await this.#select(sql`id = ${value('bigint', id)}`, 'ASC', 1);
    return event ?? null;
  }

  hasRecent(resource: string): Promise<boolean> {
    const newest = sql`SELECT resource FROM _events ORDER BY id DESC LIMIT ${limits.eventsScanned}`;
    return containsResource(this.#database, newest, resource);
  }

  async prune(options: PruneOptions): Promise<boolean> {
    const isOldest = sql`id IN (SELECT id FROM _events ORDER BY id LIMIT ${options.batchSize})`;
    const isQueued = sql`_events.id <= CAST(substr(position,3) AS INTEGER)`;
    return pruneEvents(this.#database, await this.head(), options, { isOldest, isQueued });
  }

  startDelivery(transaction: Transaction, webhookId: unknown): Promise<void> {
    return startDelivery(this.#database, transaction, webhookId, { position: logEnd, startsAfter: logEnd });
  }

  isAfterStart(position: string, startsAfter: string): boolean {
    return isAfter(position, startsAfter);
  }

  outboxPosition(): Promise<string | null> {
    return readOutboxPosition(this.#database);
  }

  /** Nothing else writes the file. */
  watchDelays(): { close(): void } {
    return { close: () => {} };
  }

  /** Whether a visible event may be read. */
  #isEmitted(): Sql {
    return sql`id <= ${value('bigint', this.#durableId)}`;
  }

  async #select(condition: Sql, order: 'ASC' | 'DESC', limit: number): Promise<LoggedEvent[]> {
    const rows = await this.#read(
      sql`SELECT 0, id, at, name, resource, tk, actor, request_id, changed
FROM _events WHERE ${condition} ORDER BY id ${order} LIMIT ${limit}`,
    );
    return rows.map(toLoggedEvent);
  }

  #read(statement: Sql): Promise<Row[]> {
    return readRows(this.#database, statement);
  }
}
