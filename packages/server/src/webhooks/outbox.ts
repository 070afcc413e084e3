/** From the event log into the outbox: who is to be told of what, noted before anybody is called. */
import { type Clock, isoTime } from '../base/clock.ts';
import type { ChangeEvent, ChangeLog } from '../changes/change-log.ts';
import { matchesEvent } from '../changes/event-pattern.ts';
import type { Database } from '../database/database.ts';
import {
  enabledWebhooks,
  type NewDelivery,
  outboxPosition,
  queueDeliveries,
  type StoredWebhook,
} from '../database/webhook-rows.ts';
import { day } from './retry.ts';
import { makeMessageId } from './signature.ts';

const eventsAtOnce = 500;
/** Events that nobody wants move the stored position on this seldom. */
const eventsUnnoted = 5000;

export class Outbox {
  readonly #database: Database;
  readonly #changes: ChangeLog;
  readonly #clock: Clock;
  /** The stored position, and how far this process has looked beyond it without finding anything to note. */
  #stored: string | null = null;
  #scanned: string | null = null;
  #unnoted = 0;

  constructor(database: Database, changes: ChangeLog, clock: Clock) {
    this.#database = database;
    this.#changes = changes;
    this.#clock = clock;
  }

  /** Looks through what is new in the log; returns how many deliveries were noted. */
  async fill(): Promise<number> {
    await this.#takeUpPosition();
    for (let noted = 0; ; ) {
      if (this.#scanned === null) return noted;
      const events = await this.#changes.read(this.#scanned, eventsAtOnce);
      if (events.length === 0) return noted;
      // Read after the events: a webhook that was there before one of them is found.
      const deliveries = deliveriesOf(events, await enabledWebhooks(this.#database));
      noted += await this.#note(events, deliveries);
    }
  }

  /** Another process may have gone on meanwhile, or the log is looked through from a new place. */
  async #takeUpPosition(): Promise<void> {
    const stored = await outboxPosition(this.#database);
    if (stored === this.#stored) return;
    this.#stored = stored;
    this.#scanned = stored;
    this.#unnoted = 0;
  }

  async #note(events: readonly ChangeEvent[], deliveries: readonly NewDelivery[]): Promise<number> {
    const to = events.at(-1)!.cursor;
    this.#unnoted += events.length;
    if (deliveries.length === 0 && this.#unnoted < eventsUnnoted) {
      this.#scanned = to;
      return 0;
    }
    const now = this.#clock.now();
    const times = { now: isoTime(now), giveUp: isoTime(now + day) };
    if (!(await queueDeliveries(this.#database, this.#stored!, to, deliveries, times))) {
      await this.#takeUpPosition();
      return 0;
    }
    this.#stored = to;
    this.#scanned = to;
    this.#unnoted = 0;
    return deliveries.length;
  }
}

function deliveriesOf(events: readonly ChangeEvent[], webhooks: readonly StoredWebhook[]): NewDelivery[] {
  return events.flatMap((event) =>
    webhooks
      .filter((webhook) => matchesEvent(webhook.events, event.name) && isAfter(event.cursor, webhook.startsAfter))
      .map((webhook) => deliveryOf(event, webhook)),
  );
}

function deliveryOf({ name, resource, tk, at, actor, changed }: ChangeEvent, webhook: StoredWebhook): NewDelivery {
  return { webhookId: webhook.id, messageId: makeMessageId(), event: name, resource, tk, at, actor, changed };
}

/** Whether one cursor of the log comes after another. */
function isAfter(one: string, other: string): boolean {
  const [first, second] = partsOf(one);
  const [otherFirst, otherSecond] = partsOf(other);
  return first === otherFirst ? second > otherSecond : first > otherFirst;
}

function partsOf(cursor: string): [bigint, bigint] {
  const [first = '0', second = '0'] = cursor.split('.');
  return [BigInt(first), BigInt(second)];
}
