/** Sends claimed deliveries of webhooks and stores their outcomes. Knows which receivers asked to wait. */
import { dayMilliseconds, isoTime } from '../base/clock.ts';
import { type DeliveryOutcome, releaseDelivery, type StoredDelivery } from '../database/delivery-rows.ts';
import { findWebhook, type StoredWebhook } from '../database/webhook-rows.ts';
import type { RecordContext } from '../records/record-context.ts';
import { DeliveryOutcomes } from './delivery-outcomes.ts';
import { buildWebhookMessage } from './message.ts';
import { type PauseParts, pauseAndReport } from './pause-webhook.ts';
import { computeRetryWait, parseRetryAfter } from './retry.ts';
import { type SendParts, type SendResult, sendMessage } from './send-message.ts';

export interface DeliveryParts extends SendParts, PauseParts {
  readonly application: string;
  /** Runs work with a role but without a user, under the current snapshot. */
  runAs<T>(role: string, work: (context: RecordContext) => Promise<T>): Promise<T>;
}

const statusGone = 410;
const statusTooManyRequests = 429;
const statusServiceUnavailable = 503;

/** Sends claimed deliveries, and keeps track of attempts that are under way. */
export class DeliverySender {
  readonly #parts: DeliveryParts;
  readonly #onProgress: () => void;
  readonly #outcomes: DeliveryOutcomes;
  readonly #stopped = new AbortController();
  readonly #sending = new Set<Promise<void>>();
  /** Until when a receiver asked not to be called, by webhook. Lost on restart: the receiver then asks again. */
  readonly #retryAfterUntil = new Map<number, number>();

  /** @param onProgress is called after each stored outcome and each released slot. */
  constructor(parts: DeliveryParts, onProgress: () => void) {
    this.#parts = parts;
    this.#onProgress = onProgress;
    this.#outcomes = new DeliveryOutcomes(parts.database, parts.clock);
  }

  /** Aborted by {@link close}. */
  get stopSignal(): AbortSignal {
    return this.#stopped.signal;
  }

  /**
   * The webhooks whose receivers have requested a pause that has not ended, with its end in milliseconds since the
   * epoch.
   */
  listBackOffs(now: number): ReadonlyMap<number, number> {
    for (const [id, until] of this.#retryAfterUntil) if (until <= now) this.#retryAfterUntil.delete(id);
    return this.#retryAfterUntil;
  }

  clearBackOffs(): void {
    this.#retryAfterUntil.clear();
  }

  /** Sends deliveries of one webhook in their order. Each acquired slot is released when nothing is left for it. */
  send(webhook: StoredWebhook, deliveries: StoredDelivery[], slots: number): void {
    for (let slot = 0; slot < slots; slot += 1) {
      if (deliveries.length === 0) this.#parts.outbound.concurrencyLimiter.release(readHost(webhook));
      else this.#track(this.#sendAll(webhook, deliveries));
    }
  }

  /** Aborts attempts that are under way; their deliveries are due again immediately. */
  async close(): Promise<void> {
    this.#stopped.abort();
    // An attempt that ends adds the storing of its outcome to the set.
    while (this.#sending.size > 0) await Promise.allSettled(this.#sending);
  }

  async #sendAll(webhook: StoredWebhook, deliveries: StoredDelivery[]): Promise<void> {
    try {
      for (let next = deliveries.shift(); next; next = deliveries.shift()) {
        const outcome = await this.#attemptCurrent(webhook, next).catch(this.#logUnstored(webhook));
        if (outcome) this.#track(this.#storeOutcome(webhook, next, outcome).catch(this.#logUnstored(webhook)));
      }
    } finally {
      this.#parts.outbound.concurrencyLimiter.release(readHost(webhook));
      this.#onProgress();
    }
  }

  /** {@link close} waits for the work. */
  #track(work: Promise<void>): void {
    const sending = work.finally(() => this.#sending.delete(sending));
    this.#sending.add(sending);
  }

  readonly #logUnstored =
    ({ id }: StoredWebhook) =>
    (error: unknown): undefined => {
      this.#parts.logger.warn({ err: error, webhook: id }, 'The outcome of a webhook delivery could not be stored.');
    };

  /** Uses the present definition of the webhook: it may have changed after the delivery was claimed. */
  async #attemptCurrent(claimed: StoredWebhook, delivery: StoredDelivery): Promise<DeliveryOutcome | null> {
    const webhook = await findWebhook(this.#parts.database, claimed.id);
    const isSame = webhook?.enabled && readHost(webhook) === readHost(claimed);
    return isSame ? this.#attempt(webhook, delivery) : this.#release(delivery);
  }

  async #release({ id }: StoredDelivery): Promise<null> {
    await releaseDelivery(this.#parts.database, id, isoTime(this.#parts.clock.now()));
    return null;
  }

  /** @returns the outcome; null if the delivery was released to be tried later. */
  async #attempt(webhook: StoredWebhook, delivery: StoredDelivery): Promise<DeliveryOutcome | null> {
    const { application, clock } = this.#parts;
    const { signal } = this.#stopped;
    const isBackingOff = (this.#retryAfterUntil.get(webhook.id) ?? 0) > clock.now();
    if (isBackingOff || signal.aborted) return this.#release(delivery);
    const message = await this.#parts.runAs(webhook.role, (context) =>
      buildWebhookMessage(context, application, webhook, delivery),
    );
    if ('skipped' in message) return { status: 'skipped', nextAt: null, lastStatus: null, lastError: message.skipped };
    const result = await sendMessage(this.#parts, webhook, { id: delivery.messageId, body: message.body }, signal);
    if (result.error === null) return { status: 'delivered', nextAt: null, lastStatus: result.status, lastError: null };
    if (result.status === null && signal.aborted) return this.#release(delivery);
    return this.#toFailedOutcome(webhook, delivery, { ...result, error: result.error });
  }

  #toFailedOutcome(
    { id }: StoredWebhook,
    { attempts, giveUpAt }: StoredDelivery,
    { status, error, retryAfter }: SendResult & { readonly error: string },
  ): DeliveryOutcome {
    const now = this.#parts.clock.now();
    const maySayWhen = status === statusTooManyRequests || status === statusServiceUnavailable;
    const retryAfterWait = maySayWhen ? parseRetryAfter(retryAfter, now) : null;
    if (retryAfterWait !== null)
      this.#retryAfterUntil.set(id, Math.max(this.#retryAfterUntil.get(id) ?? 0, now + retryAfterWait));
    const next = now + Math.max(computeRetryWait(attempts), retryAfterWait ?? 0);
    const isLast = status === statusGone || next > Date.parse(giveUpAt);
    return {
      status: isLast ? 'dead' : 'pending',
      nextAt: isLast ? null : isoTime(next),
      lastStatus: status,
      lastError: error,
    };
  }

  async #storeOutcome(webhook: StoredWebhook, delivery: StoredDelivery, outcome: DeliveryOutcome): Promise<void> {
    await this.#outcomes.write(delivery, outcome);
    if (outcome.lastError !== null && outcome.status !== 'skipped')
      await this.#pauseFailing(webhook, outcome.lastStatus);
    this.#onProgress();
  }

  /** Pauses a webhook whose receiver no longer exists or has failed for a day. */
  #pauseFailing({ id }: StoredWebhook, status: number | null): Promise<void> {
    if (status === statusGone)
      return pauseAndReport(this.#parts, id, { text: 'The receiver answered 410: it no longer exists.' });
    const failingSince = isoTime(this.#parts.clock.now() - dayMilliseconds);
    return pauseAndReport(this.#parts, id, { text: 'The receiver has failed for a day.', failingSince });
  }
}

/** The host and port of a webhook's address; the key of its concurrency limit. */
export function readHost({ url }: StoredWebhook): string {
  return new URL(url).host;
}
