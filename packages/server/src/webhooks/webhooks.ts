/**
 * The webhooks of one application: what the event log tells is noted in the outbox and sent from there, again and again
 * for a day where need be. A message may come twice (its `webhook-id` tells), and retries come out of order.
 *
 * Several processes on one store share the work: each delivery is taken on by one of them, for as long as a try may last.
 */
import { type Clock, isoTime } from '../base/clock.ts';
import type { ConcurrencyLimiter } from '../base/concurrency-limiter.ts';
import type { Logger } from '../base/logger.ts';
import { type OutboundClient, OutboundFailure, type OutboundReply } from '../base/outbound.ts';
import type { SecretCipher } from '../base/secret-cipher.ts';
import type { ChangeLog } from '../changes/change-log.ts';
import type { Database } from '../database/database.ts';
import {
  claimDeliveries,
  type DeliveryOutcome,
  deleteFinishedDeliveries,
  readNextDeliveryTime,
  releaseDelivery,
  type StoredDelivery,
  webhooksWithDue,
} from '../database/delivery-rows.ts';
import { findWebhook, pauseWebhook, readEnabledWebhooks, type StoredWebhook } from '../database/webhook-rows.ts';
import type { RecordContext } from '../records/record-context.ts';
import { DeliveryOutcomes } from './delivery-outcomes.ts';
import { buildTestMessage, buildWebhookMessage } from './message.ts';
import { maxWaitingDeliveries, Outbox } from './outbox.ts';
import { computeRetryWait, dayMilliseconds, parseRetryAfter } from './retry.ts';
import { makeMessageId, signHeaders } from './signature.ts';

/** What all applications of a server send through. */
export interface Outbound {
  readonly client: OutboundClient;
  /** By host: a slow one holds up its own messages alone. */
  readonly concurrencyLimiter: ConcurrencyLimiter;
  /** False: no message is sent or queued. */
  readonly isDeliveryEnabled: boolean;
}

export interface WebhooksParts {
  readonly application: string;
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly secretCipher: SecretCipher;
  readonly outbound: Outbound;
  /** Runs work as nobody who has a role, under the current snapshot. */
  runAs<T>(role: string, work: (context: RecordContext) => Promise<T>): Promise<T>;
}

/** Whether a message arrived. */
export interface TestResult {
  readonly delivered: boolean;
  readonly status: number | null;
  readonly error: string | null;
}

/** Events that come close behind each other are looked at together. */
const gatherMilliseconds = 20;
/** A try lasts ten seconds at most; then there is time to note how it ended. */
const leaseMilliseconds = 60_000;
const maxConcurrentPerHost = 4;
/** Taken on for each of them: as many as can be tried, one after the other, before the lease ends. */
const deliveriesPerSlot = 5;
const maxWaitMilliseconds = 30_000;
const rescanMilliseconds = 200;

/** How often the event log is read without being notified of new events. */
interface ScanSchedule {
  readonly maxWaitMilliseconds: number;
  /** For how long after an event the log is read every {@link rescanMilliseconds}: its newest events may not be readable yet. */
  readonly rescanWindowMilliseconds: number;
  /** Whether work of other processes is looked for. */
  readonly watchesOthers: boolean;
}

const singleNodeSchedule: ScanSchedule = { maxWaitMilliseconds, rescanWindowMilliseconds: 0, watchesOthers: false };
/** Any open transaction in the cluster may delay the newest events for long. */
const multiNodeSchedule: ScanSchedule = {
  maxWaitMilliseconds: 2000,
  rescanWindowMilliseconds: 5000,
  watchesOthers: true,
};
const retentionMilliseconds = 7 * dayMilliseconds;
const maxErrorLength = 500;
const statusGone = 410;
const statusTooManyRequests = 429;
const statusServiceUnavailable = 503;

/** What became of one try; `error` is null exactly if the receiver said that it has the message. */
interface SendResult {
  readonly status: number | null;
  readonly error: string | null;
  readonly retryAfter: string | null;
}

export class Webhooks {
  readonly #dependencies: WebhooksParts;
  readonly #schedule: ScanSchedule;
  readonly #outbox: Outbox;
  readonly #deliveryOutcomes: DeliveryOutcomes;
  readonly #ending = new AbortController();
  readonly #sending = new Set<Promise<void>>();
  #unsubscribe: (() => void) | null = null;
  /** False where nobody is to be told of anything: then events cost nothing here. Null: not known. */
  #listening: boolean | null = null;
  #timer: NodeJS.Timeout | null = null;
  #timerAt = 0;
  #watch: NodeJS.Timeout | null = null;
  #running: Promise<void> | null = null;
  #rerun = false;
  #rescanUntil = 0;
  /** Until when receivers have asked to be left alone, by webhook; what asks again after a restart is told again. */
  readonly #retryAfterUntil = new Map<number, number>();

  constructor(parts: WebhooksParts) {
    this.#dependencies = parts;
    this.#schedule = parts.database.multiNode ? multiNodeSchedule : singleNodeSchedule;
    this.#deliveryOutcomes = new DeliveryOutcomes(parts.database, parts.clock);
    const onOverflow = (id: number): Promise<void> =>
      this.#pause(id, null, `More than ${maxWaitingDeliveries} messages waited; the receiver is too slow.`);
    this.#outbox = new Outbox(parts.database, parts.changes, parts.clock, onOverflow);
  }

  /** Whether there are webhooks to be told of events. */
  get listening(): boolean {
    return this.#listening === true;
  }

  /** What is wrong with the address of a webhook; null: nothing. */
  findUrlProblem(url: unknown): string | null {
    return this.#dependencies.outbound.client.findUrlProblem(url);
  }

  encryptSecret(secret: string): string {
    return this.#dependencies.secretCipher.encrypt(secret);
  }

  /** Goes on with what an earlier run left, and listens from now on; the tables must be there. */
  begin(): void {
    if (!this.#dependencies.outbound.isDeliveryEnabled) return;
    this.#unsubscribe = this.#dependencies.changes.subscribe(() => {
      if (this.#listening === false) return;
      this.#rescanUntil = performance.now() + this.#schedule.rescanWindowMilliseconds;
      this.wake();
    });
    // Another process may leave work behind.
    if (this.#schedule.watchesOthers) this.#watch = setInterval(() => this.wake(), maxWaitMilliseconds).unref();
    this.wake();
  }

  /** Webhooks may have come or gone, or somebody wants them looked at anew. */
  reload(): void {
    this.#listening = null;
    this.#retryAfterUntil.clear();
    this.wake();
  }

  /** Looks for something to do soon. */
  wake(milliseconds = gatherMilliseconds): void {
    if (this.#unsubscribe === null || this.#ending.signal.aborted) return;
    const wakeTime = performance.now() + milliseconds;
    if (this.#timer !== null && this.#timerAt <= wakeTime) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timerAt = wakeTime;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#begin();
    }, milliseconds).unref();
  }

  /** Ends tries under way; they are due again at once. */
  async close(): Promise<void> {
    this.#unsubscribe?.();
    this.#ending.abort();
    if (this.#timer) clearTimeout(this.#timer);
    if (this.#watch) clearInterval(this.#watch);
    await this.#running;
    // What was sent is noted yet: that joins the set meanwhile.
    while (this.#sending.size > 0) await Promise.allSettled(this.#sending);
  }

  /** When the next delivery is due, in milliseconds since the epoch; null: none waits. */
  async nextDue(): Promise<number | null> {
    if (this.#listening === false || !this.#dependencies.outbound.isDeliveryEnabled) return null;
    const now = this.#dependencies.clock.now();
    for (const [id, until] of this.#retryAfterUntil) if (until <= now) this.#retryAfterUntil.delete(id);
    const next = await readNextDeliveryTime(this.#dependencies.database, [...this.#retryAfterUntil.keys()]);
    const times = [...this.#retryAfterUntil.values(), ...(next === null ? [] : [Date.parse(next)])];
    return times.length === 0 ? null : Math.min(...times);
  }

  /** Forgets what was finished long ago. */
  async prune(): Promise<void> {
    const { database, clock } = this.#dependencies;
    if (this.#listening !== false)
      await deleteFinishedDeliveries(database, isoTime(clock.now() - retentionMilliseconds));
  }

  /** Sends a message that says nothing, now; it is neither kept nor sent again. */
  async test(id: number): Promise<TestResult | null> {
    const { database, application, clock } = this.#dependencies;
    const webhook = await findWebhook(database, id);
    if (!webhook) return null;
    const body = buildTestMessage(application, isoTime(clock.now()));
    const { status, error } = await this.#send(webhook, makeMessageId(), body);
    return { delivered: error === null, status, error };
  }

  #begin(): void {
    if (this.#running) {
      this.#rerun = true;
      return;
    }
    this.#running = this.#work()
      .catch((error: unknown) => {
        if (this.#ending.signal.aborted) return;
        this.#dependencies.logger.warn({ err: error }, 'webhooks could not be looked after');
        this.wake(1000);
      })
      .finally(() => {
        this.#running = null;
        if (!this.#rerun) return;
        this.#rerun = false;
        this.wake(0);
      });
  }

  async #work(): Promise<void> {
    const { database } = this.#dependencies;
    const before = this.#listening;
    const webhooks = await readEnabledWebhooks(database);
    // What was changed while this was read is read again.
    if (this.#listening === before) this.#listening = webhooks.length > 0;
    if (webhooks.length === 0) return;
    await this.#outbox.fill();
    const hasMore = await this.#deliverDue(webhooks);
    await this.#waitForNext(hasMore);
  }

  /** Takes on what is due, as far as there are lanes; returns whether some had to be left. */
  async #deliverDue(webhooks: readonly StoredWebhook[]): Promise<boolean> {
    const { database, clock, outbound } = this.#dependencies;
    const now = clock.now();
    const due = new Set(await webhooksWithDue(database, isoTime(now)));
    const slots = new Map<StoredWebhook, number>();
    const waiting = webhooks.filter(({ id }) => due.has(id) && (this.#retryAfterUntil.get(id) ?? 0) <= now);
    for (const webhook of waiting) {
      const granted = outbound.concurrencyLimiter.acquire(readHost(webhook), maxConcurrentPerHost);
      if (granted > 0) slots.set(webhook, granted);
    }
    if (slots.size === 0) return waiting.length > 0;
    let claimed: StoredDelivery[] = [];
    try {
      const maxClaims = new Map([...slots].map(([{ id }, granted]) => [id, granted * deliveriesPerSlot]));
      claimed = await claimDeliveries(database, maxClaims, isoTime(now), isoTime(now + leaseMilliseconds));
    } finally {
      const byWebhook = Map.groupBy(claimed, ({ webhookId }) => webhookId);
      for (const [webhook, granted] of slots) this.#deliver(webhook, byWebhook.get(webhook.id) ?? [], granted);
    }
    return slots.size < waiting.length;
  }

  /** Sends what was taken on, in its order, on so many lanes; each is given back when nothing is left for it. */
  #deliver(webhook: StoredWebhook, deliveries: StoredDelivery[], slots: number): void {
    for (let slot = 0; slot < slots; slot += 1) {
      if (deliveries.length === 0) this.#dependencies.outbound.concurrencyLimiter.release(readHost(webhook));
      else this.#trackSending(this.#sendAll(webhook, deliveries));
    }
  }

  async #sendAll(webhook: StoredWebhook, deliveries: StoredDelivery[]): Promise<void> {
    try {
      for (let next = deliveries.shift(); next; next = deliveries.shift()) {
        const outcome = await this.#attemptCurrent(webhook, next).catch(this.#logUnstored(webhook));
        if (outcome) this.#trackSending(this.#storeOutcome(webhook, next, outcome).catch(this.#logUnstored(webhook)));
      }
    } finally {
      this.#dependencies.outbound.concurrencyLimiter.release(readHost(webhook));
      this.wake(0);
    }
  }

  /** Waited for by {@link Webhooks.close}. */
  #trackSending(work: Promise<void>): void {
    const sending = work.finally(() => this.#sending.delete(sending));
    this.#sending.add(sending);
  }

  readonly #logUnstored =
    ({ id }: StoredWebhook) =>
    (error: unknown): undefined => {
      this.#dependencies.logger.warn({ err: error, webhook: id }, 'a delivery could not be noted');
    };

  async #waitForNext(hasMore: boolean): Promise<void> {
    const next = await this.nextDue();
    const { maxWaitMilliseconds: maxWait } = this.#schedule;
    const until = next === null ? maxWait : next - this.#dependencies.clock.now();
    const minWait = hasMore ? 1000 : gatherMilliseconds;
    this.wake(Math.min(maxWait, Math.max(minWait, until)));
    if (performance.now() < this.#rescanUntil) this.wake(rescanMilliseconds);
  }

  /** As the webhook is now: since the delivery was taken on it may have been changed. */
  async #attemptCurrent(claimed: StoredWebhook, delivery: StoredDelivery): Promise<DeliveryOutcome | null> {
    const webhook = await findWebhook(this.#dependencies.database, claimed.id);
    const isSame = webhook?.enabled && readHost(webhook) === readHost(claimed);
    return isSame ? this.#attempt(webhook, delivery) : this.#release(delivery);
  }

  async #release({ id }: StoredDelivery): Promise<null> {
    await releaseDelivery(this.#dependencies.database, id, isoTime(this.#dependencies.clock.now()));
    return null;
  }

  /** @returns what became of it; null where it was given back, to be tried later. */
  async #attempt(webhook: StoredWebhook, delivery: StoredDelivery): Promise<DeliveryOutcome | null> {
    const { application, clock } = this.#dependencies;
    const isBackingOff = (this.#retryAfterUntil.get(webhook.id) ?? 0) > clock.now();
    if (isBackingOff || this.#ending.signal.aborted) return this.#release(delivery);
    const message = await this.#dependencies.runAs(webhook.role, (context) =>
      buildWebhookMessage(context, application, webhook, delivery),
    );
    if ('skipped' in message) return { status: 'skipped', nextAt: null, lastStatus: null, lastError: message.skipped };
    const { status, error, retryAfter } = await this.#send(webhook, delivery.messageId, message.body);
    if (error === null) return { status: 'delivered', nextAt: null, lastStatus: status, lastError: null };
    if (status === null && this.#ending.signal.aborted) return this.#release(delivery);
    const retryAfterWait =
      status === statusTooManyRequests || status === statusServiceUnavailable
        ? parseRetryAfter(retryAfter, clock.now())
        : null;
    if (retryAfterWait !== null)
      this.#retryAfterUntil.set(
        webhook.id,
        Math.max(this.#retryAfterUntil.get(webhook.id) ?? 0, clock.now() + retryAfterWait),
      );
    return toFailedOutcome(delivery, status, error, retryAfterWait ?? 0, clock.now());
  }

  async #storeOutcome(webhook: StoredWebhook, delivery: StoredDelivery, outcome: DeliveryOutcome): Promise<void> {
    await this.#deliveryOutcomes.write(delivery, outcome);
    if (outcome.lastError !== null && outcome.status !== 'skipped')
      await this.#pauseFailing(webhook, outcome.lastStatus);
    this.wake(0);
  }

  /** One try. */
  async #send(webhook: StoredWebhook, messageId: string, body: string): Promise<SendResult> {
    const { secretCipher, outbound, clock } = this.#dependencies;
    if (!outbound.isDeliveryEnabled)
      return { status: null, retryAfter: null, error: 'This server sends no webhooks: WEBHOOKS is off.' };
    const secret = webhook.secret === null ? null : secretCipher.decrypt(webhook.secret);
    if (secret === null)
      return {
        status: null,
        retryAfter: null,
        error: 'The secret cannot be read since APP_KEY has changed: give the webhook a new one.',
      };
    const headers = {
      ...signHeaders(messageId, clock.now(), secret, body),
      'content-type': 'application/json; charset=utf-8',
      'user-agent': 'Tablinum-Webhooks/1',
    };
    try {
      const reply = await outbound.client.post(webhook.url, headers, body, this.#ending.signal);
      return { status: reply.status, error: describeReplyProblem(reply), retryAfter: reply.retryAfter };
    } catch (error) {
      if (error instanceof OutboundFailure) return { status: null, error: error.message, retryAfter: null };
      throw error;
    }
  }

  /** A receiver that is gone, or has failed for a day, is not called any more until somebody enables it again. */
  async #pauseFailing(webhook: StoredWebhook, status: number | null): Promise<void> {
    if (status === statusGone) return this.#pause(webhook.id, null, 'The receiver answered 410: it is gone.');
    const failingSince = isoTime(this.#dependencies.clock.now() - dayMilliseconds);
    return this.#pause(webhook.id, failingSince, 'The receiver has failed for a day.');
  }

  /** Pauses a webhook and tells of it, if it is enabled and, where a moment is given, has failed ever since. */
  async #pause(id: number, failingSince: string | null, reason: string): Promise<void> {
    const { database, changes, clock } = this.#dependencies;
    const time = isoTime(clock.now());
    const paused = await database.write(async (transaction) => {
      if (!(await pauseWebhook(database, transaction, id, time, failingSince, reason))) return false;
      const event = {
        name: 'webhooks.updated',
        resource: 'webhooks',
        keys: [String(id)],
        actor: null,
        requestId: null,
        changed: ['enabled', 'pausedAt', 'pausedFor'],
        by: null,
      };
      await changes.append(transaction, event, time);
      return true;
    });
    if (paused) this.#dependencies.logger.warn({ webhook: id, reason }, 'a webhook was paused');
  }
}

/** @param retryAfterWait for how long the receiver wants to be left alone, in milliseconds. */
function toFailedOutcome(
  { attempts, giveUpAt }: StoredDelivery,
  status: number | null,
  error: string,
  retryAfterWait: number,
  now: number,
): DeliveryOutcome {
  const next = now + Math.max(computeRetryWait(attempts), retryAfterWait);
  const isLast = status === statusGone || next > Date.parse(giveUpAt);
  return {
    status: isLast ? 'dead' : 'pending',
    nextAt: isLast ? null : isoTime(next),
    lastStatus: status,
    lastError: error,
  };
}

function describeReplyProblem({ status, text }: OutboundReply): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400)
    return `The receiver redirects (${status}); nothing is sent elsewhere. Give its final address.`;
  const replyText = text
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, maxErrorLength);
  return replyText === '' ? `The receiver answered ${status}.` : `The receiver answered ${status}: ${replyText}`;
}

function readHost({ url }: StoredWebhook): string {
  return new URL(url).host;
}
