/**
 * The event log as an engine stores it. Engines differ in when an event may be read and in what orders events: one process numbers its
 * events in the order of its commits; in a cluster events are ordered by transaction, and an event can be read once every
 * older transaction has ended.
 */
import type { HealthReporter } from '../base/server-health.ts';
import type { EventHead } from '../protocol/event.ts';
import { parseExactJson } from '../protocol/exact-json.ts';
import type { Row, Transaction } from './database.ts';
import type { PublishedPayload } from './delivery-rows.ts';

export interface LoggedEvent extends EventHead {
  /** Its position in the log; see event-position.ts. */
  readonly position: string;
  /** Names of the changed fields; empty for a published event. */
  readonly changed: readonly string[];
  /** The payload of a published event; undefined for other events. */
  readonly payload: unknown;
}

export interface PruneOptions {
  /** ISO 8601 time: older events are deleted. */
  readonly before: string;
  /** Events with at least this many newer ones are deleted. */
  readonly maxEvents: number;
  /** Events that one call deletes at most. */
  readonly batchSize: number;
}

export interface EventLogStore {
  /**
   * Takes over the log of an earlier run: all of it is durable. Call once before the first read.
   *
   * A log that was moved to a PostgreSQL cluster with lower transaction numbers gets a new epoch, and its events become
   * the oldest ones: cursors of the former cluster are no longer valid, webhooks continue where they were.
   */
  adopt(): Promise<void>;
  /** The newest event that may be read; null for an empty log. */
  head(): Promise<LoggedEvent | null>;
  /** Durable events after a position, oldest first, at most `limit`. */
  readAfter(position: string, limit: number): Promise<LoggedEvent[]>;
  /** The event at a position, or null. */
  find(position: string): Promise<LoggedEvent | null>;
  /** Whether one of the newest `limits.eventsScanned` events is of the resource. No index serves this. */
  hasRecent(resource: string): Promise<boolean>;
  /**
   * Deletes a batch of old events that webhooks have been queued for. The newest event always stays, so that its cursor remains valid.
   *
   * @returns whether there may be more to delete.
   */
  prune(options: PruneOptions): Promise<boolean>;
  /** Events up to this id are durable. Engines that recognise durable events by themselves ignore it. */
  markDurable(id: number): void;

  /**
   * Starts deliveries to a webhook, for events that commit from now on. If it is the only enabled webhook, the outbox
   * starts here too.
   */
  startDelivery(transaction: Transaction, webhookId: unknown): Promise<void>;
  /** Whether an event comes after the point at which deliveries to a webhook started. */
  isAfterStart(position: string, startsAfter: string): boolean;
  /** The position up to which deliveries were queued; null before the first webhook. */
  outboxPosition(): Promise<string | null>;

  /** Reports if something outside of this server prevents events from being read. Stop it with `close`. */
  watchDelays(report: HealthReporter): { close(): void };
}

/** Columns: transaction, id, time, name, resource, key, actor, request id, changed. */
export function toLoggedEvent(row: Row): LoggedEvent {
  const [transaction, id, at, name, resource, tk, actor, requestId, changed] = row as EventRow;
  const storedChange = parseExactJson(changed) as readonly string[] | PublishedPayload;
  return {
    position: `${transaction}.${id}`,
    at,
    name,
    resource,
    tk,
    actor,
    requestId,
    changed: 'payload' in storedChange ? [] : storedChange,
    payload: 'payload' in storedChange ? storedChange.payload : undefined,
  };
}

type EventRow = readonly [
  transaction: string | number,
  id: string | number,
  time: string,
  name: string,
  resource: string,
  key: string | null,
  actor: string | null,
  requestId: string | null,
  changed: string,
];
