/**
 * The event log of an application. An event is written in the transaction of the change that it describes. It can be read
 * once it is durable, so no reader ever sees an event that a crash could undo.
 */
import { LruMap } from '../base/lru-map.ts';
import { readEpoch } from '../database/catalogue.ts';
import {
  bind,
  bindFixed,
  createBindEnvironment,
  type Database,
  type ImmediateTransaction,
  type Transaction,
} from '../database/database.ts';
import type { PublishedPayload } from '../database/delivery-rows.ts';
import {
  compileEventInsert,
  type EventInsert,
  type EventName,
  type EventParams,
  insertEvents,
} from '../database/event-insert.ts';
import type { EventLogStore, LoggedEvent, PruneOptions } from '../database/event-log-store.ts';
import { splitPosition, startPosition } from '../database/event-position.ts';
import { type BindEnvironment, listValue, value } from '../database/sql.ts';
import type { Caller } from '../identity/caller.ts';
import { recordAdminAction, toAdminAction } from './admin-actions.ts';
import { decodeEventCursor, encodeEventCursor, hashEvent } from './cursor.ts';

export type { LoggedEvent } from '../database/event-log-store.ts';

/** Events of one kind that are about to be logged. */
export interface NewEvents {
  /** `<resource>.created|updated|destroyed|restored`, or the name of a published event. */
  readonly name: string;
  readonly resource: string;
  /** One event for each key. Null for an event without a record. */
  readonly keys: readonly (string | null)[];
  readonly actor: string | null;
  readonly requestId: string | null;
  /** Names of the changed fields, or the payload of a published event. */
  readonly changed: readonly string[] | PublishedPayload;
  /** The caller of an administrative action, which also enters the audit journal. Null for changes of users' records. */
  readonly by: Caller | null;
}

/** Transaction numbers and ids of a log never have more digits than these. */
const maxTransactionDigits = 19;
const maxIdDigits = 18;

/** Writes events in the transactions of their changes, and reads them back by cursor. One for each application. */
export class ChangeLog {
  readonly #database: Database;
  readonly #store: EventLogStore;
  readonly #onAdminAction: () => void;
  readonly #eventInserts = new LruMap<EventInsert>({
    entries: 1000,
    bytes: 1024 * 1024,
    keyLength: 500,
    sizeOf: ({ plain }) => 2 * plain.text.length,
  });
  readonly #listeners = new Set<() => void>();
  readonly #onEvents: ((events: NewEvents, time: string) => void) | null;
  #epoch = '';

  /**
   * @param onAdminAction is called when administrative actions are durable and wait for the audit journal.
   * @param onEvents is called with events that this process has made durable; null: nobody listens.
   */
  constructor(
    database: Database,
    onAdminAction: () => void,
    onEvents: ((events: NewEvents, time: string) => void) | null = null,
  ) {
    this.#onEvents = onEvents;
    this.#database = database;
    this.#store = database.eventLog;
    this.#onAdminAction = onAdminAction;
  }

  /** Continues the log of an earlier run. Call once, before any other method. */
  async open(): Promise<void> {
    await this.#store.adopt();
    this.#epoch = await readEpoch(this.#database);
  }

  /** Logs events in a transaction. Readers see them when it is durable. */
  async append(transaction: Transaction, events: NewEvents, time: string): Promise<void> {
    if (events.keys.length === 0) return;
    const { dialect } = this.#database;
    const statement =
      events.keys.length === 1
        ? bind(dialect, this.#getEventInsert(events).returning, toEnvironment(events, time))
        : bindFixed(
            dialect,
            insertEvents(events, dialect.listAsRows(listValue('text', events.keys)), toParams(events, time)),
          );
    const rows = await transaction.run(statement);
    const id = rows.at(-1)?.[0] as number;
    transaction.afterDurable(() => this.#announce(id, events, time));
    if (events.by !== null) await this.#appendAdminAction(transaction, events, events.by, time);
  }

  /** The same as {@link ChangeLog.append} for one event that is no administrative action. */
  appendNow(transaction: ImmediateTransaction, event: NewEvents & { readonly by: null }, time: string): void {
    const { plain } = this.#getEventInsert(event);
    const id = transaction.insertNow(bind(this.#database.dialect, plain, toEnvironment(event, time)));
    transaction.afterDurable(() => this.#announce(id, event, time));
  }

  /** Tells the listeners that events are durable. @param id of the last one. */
  #announce(id: number, events: NewEvents, time: string): void {
    this.advance(id);
    this.#onEvents?.(events, time);
  }

  /** The statements for one event. Most writes log one, so they are compiled once. */
  #getEventInsert({ name, resource }: EventName): EventInsert {
    const key = `${resource} ${name}`;
    let insert = this.#eventInserts.get(key);
    if (!insert) {
      insert = compileEventInsert(this.#database.dialect, { name, resource });
      this.#eventInserts.set(key, insert);
    }
    return insert;
  }

  async #appendAdminAction(transaction: Transaction, events: NewEvents, caller: Caller, time: string): Promise<void> {
    const keys = events.keys.filter((key) => key !== null);
    await recordAdminAction(this.#database, transaction, toAdminAction({ ...events, keys }, caller, time));
    const tool = caller.origin?.tool;
    if (tool)
      transaction.afterDurable(() => {
        tool.isJournaled = true;
      });
    transaction.afterDurable(this.#onAdminAction);
  }

  /** Notifies listeners of durable events. @param id of the last durable event, where it is known. */
  advance(id = 0): void {
    this.#store.markDurable(id);
    for (const listener of this.#listeners) listener();
  }

  /** Calls `listener` whenever more events have become durable. Returns the function that ends the subscription. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Durable events after a position, oldest first.
   *
   * @param since null: from the oldest event that is stored.
   */
  read(since: string | null, limit: number): Promise<LoggedEvent[]> {
    return this.#store.readAfter(since ?? startPosition, limit);
  }

  /** Whether the newest events include one of the resource. Looks back over a bounded number of events. */
  hasRecent(resource: string): Promise<boolean> {
    return this.#store.hasRecent(resource);
  }

  /** The position of the newest event that may be read; before every event in an empty log. */
  async head(): Promise<string> {
    return (await this.#store.head())?.position ?? startPosition;
  }

  /** The cursor of the newest event that may be read. */
  async headCursor(): Promise<string> {
    return encodeEventCursor(this.#epoch, await this.#store.head());
  }

  /** The cursor of an event. */
  encodeEventPosition(event: LoggedEvent): string {
    return encodeEventCursor(this.#epoch, event);
  }

  /** The cursor before every event. */
  get firstCursor(): string {
    return encodeEventCursor(this.#epoch, null);
  }

  /**
   * The position that a cursor stands for. Null if the log cannot be continued from it: the cursor is of another log, of events that
   * were lost when a backup was restored, or of an event that was deleted.
   *
   * @throws ApiError `CURSOR_INVALID`.
   */
  async resume(cursor: string): Promise<string | null> {
    const { epoch, position, eventHash } = decodeEventCursor(cursor);
    if (epoch !== this.#epoch.slice(0, 8)) return null;
    if (position === startPosition) return position;
    const [transaction, id] = splitPosition(position);
    if (id.length > maxIdDigits || transaction.length > maxTransactionDigits) return null;
    const event = await this.#store.find(position);
    return event && hashEvent(event) === eventHash ? position : null;
  }

  /**
   * Deletes a batch of old events. The newest event stays, so that its cursor remains valid, and so do events that
   * webhooks have not been queued for.
   *
   * @returns whether there may be more to delete.
   */
  prune(options: PruneOptions): Promise<boolean> {
    return this.#store.prune(options);
  }
}

function toEnvironment({ keys, actor, requestId, changed }: NewEvents, time: string): BindEnvironment {
  return createBindEnvironment({ key: keys[0], event: { at: time, actor, requestId, changed } });
}

function toParams({ actor, requestId, changed }: NewEvents, time: string): EventParams {
  return {
    at: value('datetime', time),
    actor: value('text', actor),
    requestId: value('text', requestId),
    changed: value('json', changed),
  };
}
