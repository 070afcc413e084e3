/** From the event log into the outbox: who is to be told of what, noted before anybody is called. */
import { type Clock, isoTime } from '../base/clock.ts';
import type { ChangeLog, LoggedEvent } from '../changes/change-log.ts';
import { matchesEvent } from '../changes/event-pattern.ts';
import type { Database } from '../database/database.ts';
import { hasMoreWaiting, type NewDelivery, queueDeliveries } from '../database/delivery-rows.ts';
import type { EventLogStore } from '../database/event-log-store.ts';
import { readEnabledWebhooks, type StoredWebhook } from '../database/webhook-rows.ts';
import { dayMilliseconds } from './retry.ts';
import { makeMessageId } from './signature.ts';

/** What may wait of one webhook. A receiver that falls further behind gets no more: its webhook is paused. */
export const maxWaitingDeliveries = 100_000;
/** So many are noted between two looks at how many wait. */
const deliveriesPerCount = 1000;
const eventsPerRead = 500;
/** Events that nobody wants move the stored position on this seldom. */
const maxUnstoredEvents = 5000;
/** Or this long after the last time, in milliseconds. */
const maxUnstoredMilliseconds = 600_000;

export class Outbox {
  readonly #database: Database;
  readonly #changes: ChangeLog;
  readonly #clock: Clock;
  readonly #onOverflow: (webhookId: number) => Promise<void>;
  /** Deliveries noted by webhook since it was last counted how many wait. */
  readonly #queuedSinceCount = new Map<number, number>();
  /** The stored position, and how far this process has looked beyond it without finding anything to note. */
  #stored: string | null = null;
  #scanned: string | null = null;
  #unstoredEvents = 0;
  #storedAt = 0;

  /** @param onOverflow is called where more than {@link maxWaitingDeliveries} deliveries of a webhook wait. */
  constructor(database: Database, changes: ChangeLog, clock: Clock, onOverflow: (webhookId: number) => Promise<void>) {
    this.#onOverflow = onOverflow;
    this.#database = database;
    this.#changes = changes;
    this.#clock = clock;
  }

  /** Looks through what is new in the log; returns how many deliveries were noted. */
  async fill(): Promise<number> {
    await this.#loadPosition();
    let queued = 0;
    for (;;) {
      if (this.#scanned === null) return queued;
      const events = await this.#changes.read(this.#scanned, eventsPerRead);
      if (events.length === 0) break;
      // Read after the events: a webhook that was there before one of them is found.
      const deliveries = createDeliveries(events, await readEnabledWebhooks(this.#database), this.#database.eventLog);
      queued += await this.#queueEvents(events, deliveries);
    }
    await this.#storePosition();
    return queued;
  }

  /** Events are kept until they are noted as looked through, wanted or not. */
  async #storePosition(): Promise<void> {
    if (this.#unstoredEvents > 0 && this.#clock.now() - this.#storedAt >= maxUnstoredMilliseconds)
      await this.#move(this.#scanned!, []);
  }

  /** Another process may have gone on meanwhile, or the log is looked through from a new place. */
  async #loadPosition(): Promise<void> {
    const stored = await this.#database.eventLog.outboxPosition();
    if (stored === this.#stored) return;
    this.#stored = stored;
    this.#scanned = stored;
    this.#unstoredEvents = 0;
  }

  async #queueEvents(events: readonly LoggedEvent[], deliveries: readonly NewDelivery[]): Promise<number> {
    const to = events.at(-1)!.position;
    this.#unstoredEvents += events.length;
    if (deliveries.length === 0 && this.#unstoredEvents < maxUnstoredEvents) {
      this.#scanned = to;
      return 0;
    }
    if (!(await this.#move(to, deliveries))) return 0;
    await this.#count(deliveries);
    return deliveries.length;
  }

  /** Now and then: counting what waits is a look at all of it. */
  async #count(deliveries: readonly NewDelivery[]): Promise<void> {
    for (const [id, { length }] of Map.groupBy(deliveries, (each) => each.webhookId)) {
      const queued = (this.#queuedSinceCount.get(id) ?? deliveriesPerCount) + length;
      this.#queuedSinceCount.set(id, queued < deliveriesPerCount ? queued : 0);
      if (queued >= deliveriesPerCount && (await hasMoreWaiting(this.#database, id, maxWaitingDeliveries)))
        await this.#onOverflow(id);
    }
  }

  /** @returns false where another process has looked through it meanwhile. */
  async #move(to: string, deliveries: readonly NewDelivery[]): Promise<boolean> {
    const now = this.#clock.now();
    const times = { now: isoTime(now), giveUp: isoTime(now + dayMilliseconds) };
    if (!(await queueDeliveries(this.#database, this.#stored!, to, deliveries, times))) {
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
