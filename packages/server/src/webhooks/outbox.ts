/** Copies events from the log to the outbox: a stored delivery for each webhook that wants the event. */
import { type Clock, dayMilliseconds, isoTime } from '../base/clock.ts';
import type { ChangeLog, LoggedEvent } from '../changes/change-log.ts';
import { matchesEvent } from '../changes/event-pattern.ts';
import type { Database } from '../database/database.ts';
import { hasMoreWaiting, type NewDelivery, queueDeliveries } from '../database/delivery-rows.ts';
import type { EventLogStore } from '../database/event-log-store.ts';
import { readEnabledWebhooks, type StoredWebhook } from '../database/webhook-rows.ts';
import { makeMessageId } from './signature.ts';

export interface OutboxParts {
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly clock: Clock;
}

/** Maximum number of waiting deliveries of one webhook. Above it, the webhook is paused. */
export const maxWaitingDeliveries = 100_000;
/** Queued deliveries between two counts of the waiting ones. */
const deliveriesPerCount = 1000;
const eventsPerRead = 500;
/** After this many events without a delivery, the position is stored. */
const maxUnstoredEvents = 5000;
/** It is also stored this long after the last time. */
const maxUnstoredMilliseconds = 600_000;

/** Copies events into the delivery rows of the webhooks that want them. */
export class Outbox {
  readonly #parts: OutboxParts;
  readonly #onOverflow: (webhookId: number) => Promise<void>;
  /** Queued deliveries by webhook since the waiting ones were last counted. */
  readonly #queuedSinceCount = new Map<number, number>();
  /** The stored position, and the position up to which this process has read events without deliveries. */
  #stored: string | null = null;
  #scanned: string | null = null;
  #unstoredEvents = 0;
  #storedAt = 0;

  /** @param onOverflow is called for a webhook with more than {@link maxWaitingDeliveries} waiting deliveries. */
  constructor(parts: OutboxParts, onOverflow: (webhookId: number) => Promise<void>) {
    this.#parts = parts;
    this.#onOverflow = onOverflow;
  }

  /** Processes new events. @returns the number of queued deliveries. */
  async fill(): Promise<number> {
    await this.#loadPosition();
    let queued = 0;
    for (;;) {
      if (this.#scanned === null) return queued;
      const events = await this.#parts.changes.read(this.#scanned, eventsPerRead);
      if (events.length === 0) break;
      // Read after the events, so that every webhook that existed before one of them is found.
      const deliveries = createDeliveries(
        events,
        await readEnabledWebhooks(this.#parts.database),
        this.#parts.database.eventLog,
      );
      queued += await this.#queueEvents(events, deliveries);
    }
    await this.#storePosition();
    return queued;
  }

  /** The retention keeps events after the stored position, so it must advance even without deliveries. */
  async #storePosition(): Promise<void> {
    if (
      this.#scanned !== null &&
      this.#unstoredEvents > 0 &&
      this.#parts.clock.now() - this.#storedAt >= maxUnstoredMilliseconds
    )
      await this.#move(this.#scanned, []);
  }

  /** Another process may have advanced the position. */
  async #loadPosition(): Promise<void> {
    const stored = await this.#parts.database.eventLog.outboxPosition();
    if (stored === this.#stored) return;
    this.#stored = stored;
    this.#scanned = stored;
    this.#unstoredEvents = 0;
  }

  async #queueEvents(events: readonly LoggedEvent[], deliveries: readonly NewDelivery[]): Promise<number> {
    const last = events.at(-1);
    if (!last) return 0;
    const to = last.position;
    this.#unstoredEvents += events.length;
    if (deliveries.length === 0 && this.#unstoredEvents < maxUnstoredEvents) {
      this.#scanned = to;
      return 0;
    }
    if (!(await this.#move(to, deliveries))) return 0;
    await this.#count(deliveries);
    return deliveries.length;
  }

  /** Counts waiting deliveries only occasionally, because it reads all of them. */
  async #count(deliveries: readonly NewDelivery[]): Promise<void> {
    for (const [id, { length }] of Map.groupBy(deliveries, (each) => each.webhookId)) {
      const queued = (this.#queuedSinceCount.get(id) ?? deliveriesPerCount) + length;
      this.#queuedSinceCount.set(id, queued < deliveriesPerCount ? queued : 0);
      if (queued >= deliveriesPerCount && (await hasMoreWaiting(this.#parts.database, id, maxWaitingDeliveries)))
        await this.#onOverflow(id);
    }
  }

  /** @returns false if another process has processed the events meanwhile. */
  async #move(to: string, deliveries: readonly NewDelivery[]): Promise<boolean> {
    const now = this.#parts.clock.now();
    const times = { now: isoTime(now), giveUp: isoTime(now + dayMilliseconds) };
    if (
      this.#stored === null ||
      !(await queueDeliveries(this.#parts.database, { from: this.#stored, to }, deliveries, times))
    ) {
      await this.#loadPosition();
      return false;
    }
    this.#stored = to;
    this.#scanned = to;
    this.#unstoredEvents = 0;
    this.#storedAt = now;
    return true;
  }
}

function createDeliveries(
  events: readonly LoggedEvent[],
  webhooks: readonly StoredWebhook[],
  eventLog: EventLogStore,
): NewDelivery[] {
  return events.flatMap((event) =>
    webhooks
      .filter(
        (webhook) =>
          matchesEvent(webhook.events, event.name) && eventLog.isAfterStart(event.position, webhook.startsAfter),
      )
      .map((webhook) => createDelivery(event, webhook)),
  );
}

function createDelivery(event: LoggedEvent, webhook: StoredWebhook): NewDelivery {
  const { name, resource, tk, at, actor, payload } = event;
  const changed = payload === undefined ? event.changed : { payload };
  return { webhookId: webhook.id, messageId: makeMessageId(), event: name, resource, tk, at, actor, changed };
}
