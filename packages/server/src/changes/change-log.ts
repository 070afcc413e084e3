/**
 * The event log of an application. Rows enter in the transaction of the change they tell of, and are read only as far
 * as they are durable: nothing is told to anyone that a crash could take back.
 */
import { bindFixed, type Database, type Transaction } from '../database/database.ts';
import type { PublishedPayload } from '../database/delivery-rows.ts';
import { type EventParams, insertEvents } from '../database/event-insert.ts';
import { buildPositionUpdates, isPassedByOutbox } from '../database/outbox-position.ts';
import { listValue, type Sql, sql, value } from '../database/sql.ts';
import type { Caller } from '../identity/caller.ts';
import type { EventHead } from '../protocol/event.ts';
import { parseExactJson } from '../protocol/exact-json.ts';
import { limits } from '../protocol/limits.ts';
import { recordAdminAction, toAdminAction } from './admin-actions.ts';
import { decodeEventCursor, encodeEventCursor, hashEvent, startPosition } from './cursor.ts';

/** What happened to records or definitions, about to be logged. */
export interface NewEvents {
  /** `<resource>.created|updated|destroyed|restored`, or a name that somebody made. */
  readonly name: string;
  readonly resource: string;
  /** Null where the event is about no record. */
  readonly keys: readonly (string | null)[];
  readonly actor: string | null;
  readonly requestId: string | null;
  /** Names of fields; or what was published along with a made name. */
  readonly changed: readonly string[] | PublishedPayload;
  /** Who did it, where it is an administrative act: then it enters the audit journal too. Null for records of users. */
  readonly by: Caller | null;
}

export interface LoggedEvent extends EventHead {
  /** Its place in the log; see cursor.ts. */
  readonly position: string;
  readonly changed: readonly string[];
  /** Of a published event; else undefined. */
  readonly payload: unknown;
}

export class ChangeLog {
  readonly #database: Database;
  readonly #onAdminAction: () => void;
  readonly #listeners = new Set<() => void>();
  readonly #onEvents: ((events: NewEvents, time: string) => void) | null;
  /** Number of the last durable event of this process; only where one process writes. */
  #durable = 0;
  #epoch = '';

  /**
   * @param onAdminAction is called when administrative acts are durable and wait for the audit journal.
   * @param onEvents is called with events that this process has made durable; null where nobody asks.
   */
  constructor(
    database: Database,
    onAdminAction: () => void,
    onEvents: ((events: NewEvents, time: string) => void) | null = null,
  ) {
    this.#onEvents = onEvents;
    this.#database = database;
    this.#onAdminAction = onAdminAction;
  }

  /** Everything that an earlier run left is durable once the database is open. */
  async open(): Promise<void> {
    await this.#adoptMovedStore();
    const [rows] = await this.#database.read([{ text: 'SELECT epoch FROM _meta', values: [] }]);
    this.#epoch = rows![0]![0] as string;
    const head = await this.#edge('DESC', null);
    this.#durable = head === null ? 0 : Number(head.position.split('.')[1]);
  }

  /** Logs inside the transaction; readers see it when the transaction is durable. */
  async append(transaction: Transaction, events: NewEvents, time: string): Promise<void> {
    if (events.keys.length === 0) return;
    const { dialect } = this.#database;
    const rows = await transaction.run(
      bindFixed(
        dialect,
        insertEvents(events, dialect.listAsRows(listValue('text', events.keys)), toParams(events, time)),
      ),
    );
    const position = rows.at(-1)![0] as number;
    transaction.afterDurable(() => this.advance(position));
    if (this.#onEvents) transaction.afterDurable(() => this.#onEvents!(events, time));
    if (events.by === null) return;
    const keys = events.keys.filter((key) => key !== null);
    await recordAdminAction(this.#database, transaction, toAdminAction({ ...events, keys }, events.by, time));
    transaction.afterDurable(this.#onAdminAction);
  }

  /** Tells listeners that there is more to read. @param position number of the last durable event, where it is known. */
  advance(position = 0): void {
    this.#durable = Math.max(this.#durable, position);
    for (const listener of this.#listeners) listener();
  }

  /** Calls `listener` after more events have become durable; returns what ends that. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Durable events after a position, oldest first.
   *
   * @param since null for the oldest kept event.
   */
  async read(since: string | null, limit: number): Promise<LoggedEvent[]> {
    const [first = '0', second = '0'] = (since ?? startPosition).split('.');
    const after = this.#database.dialect.shared
      ? sql`(xid, id) > (${value('text', first)}::xid8, ${value('bigint', second)})`
      : sql`id > ${value('bigint', second)}`;
    return this.#select(sql`${after} AND ${this.#readableCondition()}`, 'ASC', limit);
  }

  /** Whether the newest events hold one of the resource. How far back it looks is bounded: no index serves this. */
  async hasRecent(resource: string): Promise<boolean> {
    const { dialect } = this.#database;
    const order = dialect.shared ? 'xid DESC, id DESC' : 'id DESC';
    const newest = sql`SELECT resource FROM _events ORDER BY ${order} LIMIT ${limits.eventsScanned}`;
    const statement = sql`SELECT 1 FROM (${newest}) newest WHERE resource = ${value('text', resource)} LIMIT 1`;
    const [rows] = await this.#database.read([bindFixed(dialect, statement)]);
    return rows!.length > 0;
  }

  /** The position of the last event that may be told; before every event where there is none. */
  async head(): Promise<string> {
    return (await this.#edge('DESC', this.#readableCondition()))?.position ?? startPosition;
  }

  /** A cursor from which everything comes that is not told yet. */
  async headCursor(): Promise<string> {
    return encodeEventCursor(this.#epoch, await this.#edge('DESC', this.#readableCondition()));
  }

  /** The cursor of an event. */
  encodeEventPosition(event: LoggedEvent): string {
    return encodeEventCursor(this.#epoch, event);
  }

  /** The cursor of a log in which nothing has been read. */
  get firstCursor(): string {
    return encodeEventCursor(this.#epoch, null);
  }

  /**
   * The position that a cursor stands for; null where this log cannot go on from it: it is of another log, of events that
   * a restored copy has lost, or of one that is no longer kept.
   *
   * @throws ApiError `CURSOR_INVALID`.
   */
  async resume(cursor: string): Promise<string | null> {
    const { epoch, position, eventHash } = decodeEventCursor(cursor);
    if (epoch !== this.#epoch.slice(0, 8)) return null;
    if (position === startPosition) return position;
    const [first, second] = position.split('.') as [string, string];
    if (second.length > 18 || first.length > 19) return null;
    const condition = this.#database.dialect.shared
      ? sql`xid = ${value('text', first)}::xid8 AND id = ${value('bigint', second)}`
      : sql`id = ${value('bigint', second)}`;
    const [event] = await this.#select(condition, 'ASC', 1);
    return event && hashEvent(event) === eventHash ? position : null;
  }

  /**
   * Forgets a slice of what is older than `before` or further back than `most` events; the last event stays, so that a
   * cursor of it holds, and so does what webhooks have not been told of.
   *
   * @returns whether there may be more.
   */
  async prune(before: string, maxEvents: number, batchSize: number): Promise<boolean> {
    const { dialect } = this.#database;
    const head = await this.#edge('DESC', this.#readableCondition());
    if (head === null) return false;
    const newest = Number(head.position.split('.')[1]);
    const [key, order] = dialect.shared ? ['(xid,id)', '_events.xid,id'] : ['id', 'id'];
    const columns = dialect.shared ? 'xid,id' : 'id';
    const oldest = sql`SELECT ${columns} FROM _events ORDER BY ${order} LIMIT ${batchSize}`;
    const over = sql`(at < ${value('datetime', before)} OR id <= ${value('bigint', newest - maxEvents)})`;
    const statement = sql`DELETE FROM _events WHERE ${key} IN (${oldest}) AND id < ${value('bigint', newest)} AND ${over} AND ${isPassedByOutbox(this.#database)} RETURNING id`;
    const rows = await this.#database.writeOne(bindFixed(dialect, statement), []);
    return rows.length === batchSize;
  }

  /** What is visible to readers and durable. */
  #readableCondition(): Sql {
    return this.#database.dialect.shared
      ? sql`xid < pg_snapshot_xmin(pg_current_snapshot())`
      : sql`id <= ${value('bigint', this.#durable)}`;
  }

  async #edge(order: 'ASC' | 'DESC', condition: Sql | null): Promise<LoggedEvent | null> {
    return (await this.#select(condition ?? sql`1=1`, order, 1))[0] ?? null;
  }

  async #select(condition: Sql, order: 'ASC' | 'DESC', limit: number): Promise<LoggedEvent[]> {
    const { dialect } = this.#database;
    const statement = dialect.shared
      ? sql`SELECT xid::text, id, to_char(at AT TIME ZONE 'UTC','YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), name, resource, tk, actor, request_id, changed
FROM _events WHERE ${condition} ORDER BY _events.xid ${order}, id ${order} LIMIT ${limit}`
      : sql`SELECT 0, id, at, name, resource, tk, actor, request_id, changed FROM _events WHERE ${condition} ORDER BY id ${order} LIMIT ${limit}`;
    const [rows] = await this.#database.read([bindFixed(dialect, statement)]);
    return rows!.map(toLoggedEvent);
  }

  /**
   * A store that was moved to another PostgreSQL cluster holds transaction numbers that are yet to come there: its events
   * become the oldest ones, and cursors of the former place hold no longer.
   */
  async #adoptMovedStore(): Promise<void> {
    if (!this.#database.dialect.shared) return;
    const ahead = 'SELECT 1 FROM _events WHERE xid >= pg_snapshot_xmax(pg_current_snapshot()) LIMIT 1';
    const [rows] = await this.#database.read([{ text: ahead, values: [] }]);
    if (rows!.length === 0) return;
    await this.#database.write(async (transaction) => {
      for (const each of buildPositionUpdates(lowestXid))
        await transaction.run(bindFixed(this.#database.dialect, each));
      await transaction.run({ text: `UPDATE _events SET xid='${lowestXid}'`, values: [] });
      await transaction.run({ text: 'UPDATE _meta SET epoch=gen_random_uuid()::text', values: [] });
    });
  }
}

/** PostgreSQL gives it to no transaction of its own: lower than all of them. */
const lowestXid = 3;

function toParams({ actor, requestId, changed }: NewEvents, time: string): EventParams {
  return {
    at: value('datetime', time),
    actor: value('text', actor),
    requestId: value('text', requestId),
    changed: value('json', changed),
  };
}

function toLoggedEvent(row: readonly unknown[]): LoggedEvent {
  const [first, second, time, name, resource, key, actor, requestId, changed] = row as readonly (string | null)[];
  const storedChange = parseExactJson(changed!) as readonly string[] | PublishedPayload;
  return {
    position: `${first}.${second}`,
    at: time!,
    name: name!,
    resource: resource!,
    tk: key!,
    actor: actor!,
    requestId: requestId!,
    changed: 'payload' in storedChange ? [] : storedChange,
    payload: 'payload' in storedChange ? storedChange.payload : undefined,
  };
}
