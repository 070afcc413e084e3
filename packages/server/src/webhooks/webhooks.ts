/**
 * The webhooks of one application: what the event log tells is noted in the outbox and sent from there, again and again
 * for a day where need be. A message may come twice (its `webhook-id` tells), and retries come out of order.
 *
 * Several processes on one store share the work: each delivery is taken on by one of them, for as long as a try may last.
 */
import { type Clock, isoTime } from '../base/clock.ts';
import type { Lanes } from '../base/lanes.ts';
import type { Logger } from '../base/logger.ts';
import { type OutboundClient, OutboundFailure, type OutboundReply } from '../base/outbound.ts';
import type { Sealer } from '../base/seal.ts';
import type { ChangeLog } from '../changes/change-log.ts';
import type { Database } from '../database/database.ts';
import {
  claimDeliveries,
  deleteFinished,
  nextDelivery,
  type Outcome,
  releaseDelivery,
  type StoredDelivery,
  webhooksWithDue,
} from '../database/delivery-rows.ts';
import { enabledWebhooks, findWebhook, pauseWebhook, type StoredWebhook } from '../database/webhook-rows.ts';
import type { RecordContext } from '../records/record-context.ts';
import { messageOf, testMessage } from './message.ts';
import { mostWaiting, Outbox } from './outbox.ts';
import { askedWait, day, waitAfter } from './retry.ts';
import { Settling } from './settling.ts';
import { makeMessageId, signedHeaders } from './signature.ts';

/** What all applications of a server send through. */
export interface Outbound {
  readonly client: OutboundClient;
  /** By host: a slow one holds up its own messages alone. */
  readonly lanes: Lanes;
  /** False: no message is sent or queued. */
  readonly delivers: boolean;
}

export interface WebhooksParts {
  readonly application: string;
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sealer: Sealer;
  readonly outbound: Outbound;
  /** Runs work as nobody who has a role, under the current snapshot. */
  as<T>(role: string, work: (context: RecordContext) => Promise<T>): Promise<T>;
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
const atOnce = 4;
/** Taken on for each of them: as many as can be tried, one after the other, before the lease ends. */
const perLane = 5;
const longestWaitMilliseconds = 30_000;
/** How soon, and for how long, a log is looked at again whose newest events may not be readable yet. */
const againMilliseconds = 200;
const restlessMilliseconds = 5000;
/** A shared log is looked at this often besides: a transaction of anybody may hold its newest events back for long. */
const sharedWaitMilliseconds = 2000;
const keptMilliseconds = 7 * day;
const errorLength = 500;
const gone = 410;
const tooMany = 429;
const unavailable = 503;

/** What became of one try; `error` is null exactly if the receiver said that it has the message. */
interface Sent {
  readonly status: number | null;
  readonly error: string | null;
  readonly retryAfter: string | null;
}

export class Webhooks {
  readonly #parts: WebhooksParts;
  readonly #outbox: Outbox;
  readonly #settling: Settling;
  readonly #ending = new AbortController();
  readonly #sending = new Set<Promise<void>>();
  #unsubscribe: (() => void) | null = null;
  /** False where nobody is to be told of anything: then events cost nothing here. Null: not known. */
  #listening: boolean | null = null;
  #timer: NodeJS.Timeout | null = null;
  #timerAt = 0;
  #watch: NodeJS.Timeout | null = null;
  #running: Promise<void> | null = null;
  #again = false;
  #restlessUntil = 0;
  /** Until when receivers have asked to be left alone, by webhook; what asks again after a restart is told again. */
  readonly #held = new Map<number, number>();

  constructor(parts: WebhooksParts) {
    this.#parts = parts;
    this.#settling = new Settling(parts.database, parts.clock);
    const overfull = (id: number): Promise<void> =>
      this.#pause(id, null, `More than ${mostWaiting} messages waited; the receiver is too slow.`);
    this.#outbox = new Outbox(parts.database, parts.changes, parts.clock, overfull);
  }

  /** Whether there are webhooks to be told of events. */
  get listening(): boolean {
    return this.#listening === true;
  }

  /** What is wrong with the address of a webhook; null: nothing. */
  problemOf(url: unknown): string | null {
    return this.#parts.outbound.client.problemOf(url);
  }

  seal(secret: string): string {
    return this.#parts.sealer.seal(secret);
  }

  /** Goes on with what an earlier run left, and listens from now on; the tables must be there. */
  begin(): void {
    if (!this.#parts.outbound.delivers) return;
    this.#unsubscribe = this.#parts.changes.subscribe(() => {
      if (this.#listening === false) return;
      this.#restlessUntil = performance.now() + restlessMilliseconds;
      this.wake();
    });
    // Another process may leave work behind.
    if (this.#parts.database.dialect.shared)
      this.#watch = setInterval(() => this.wake(), longestWaitMilliseconds).unref();
    this.wake();
  }

  /** Webhooks may have come or gone, or somebody wants them looked at anew. */
  reload(): void {
    this.#listening = null;
    this.#held.clear();
    this.wake();
  }

  /** Looks for something to do soon. */
  wake(milliseconds = gatherMilliseconds): void {
    if (this.#unsubscribe === null || this.#ending.signal.aborted) return;
    const at = performance.now() + milliseconds;
    if (this.#timer !== null && this.#timerAt <= at) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timerAt = at;
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
    if (this.#listening === false || !this.#parts.outbound.delivers) return null;
    const now = this.#parts.clock.now();
    for (const [id, until] of this.#held) if (until <= now) this.#held.delete(id);
    const next = await nextDelivery(this.#parts.database, [...this.#held.keys()]);
    const times = [...this.#held.values(), ...(next === null ? [] : [Date.parse(next)])];
    return times.length === 0 ? null : Math.min(...times);
  }

  /** Forgets what was finished long ago. */
  async prune(): Promise<void> {
    const { database, clock } = this.#parts;
    if (this.#listening !== false) await deleteFinished(database, isoTime(clock.now() - keptMilliseconds));
  }

  /** Sends a message that says nothing, now; it is neither kept nor sent again. */
  async test(id: number): Promise<TestResult | null> {
    const { database, application, clock } = this.#parts;
    const webhook = await findWebhook(database, id);
    if (!webhook) return null;
    const body = testMessage(application, isoTime(clock.now()));
    const { status, error } = await this.#send(webhook, makeMessageId(), body);
    return { delivered: error === null, status, error };
  }

  #begin(): void {
    if (this.#running) {
      this.#again = true;
      return;
    }
    this.#running = this.#work()
      .catch((error: unknown) => {
        if (this.#ending.signal.aborted) return;
        this.#parts.logger.warn({ err: error }, 'webhooks could not be looked after');
        this.wake(1000);
      })
      .finally(() => {
        this.#running = null;
        if (!this.#again) return;
        this.#again = false;
        this.wake(0);
      });
  }

  async #work(): Promise<void> {
    const { database } = this.#parts;
    const before = this.#listening;
    const webhooks = await enabledWebhooks(database);
    // What was changed while this was read is read again.
    if (this.#listening === before) this.#listening = webhooks.length > 0;
    if (webhooks.length === 0) return;
    await this.#outbox.fill();
    const full = await this.#deliverDue(webhooks);
    await this.#waitForNext(full);
  }

  /** Takes on what is due, as far as there are lanes; returns whether some had to be left. */
  async #deliverDue(webhooks: readonly StoredWebhook[]): Promise<boolean> {
    const { database, clock, outbound } = this.#parts;
    const now = clock.now();
    const due = new Set(await webhooksWithDue(database, isoTime(now)));
    const lanes = new Map<StoredWebhook, number>();
    const waiting = webhooks.filter(({ id }) => due.has(id) && (this.#held.get(id) ?? 0) <= now);
    for (const webhook of waiting) {
      const got = outbound.lanes.take(laneOf(webhook), atOnce);
      if (got > 0) lanes.set(webhook, got);
    }
    if (lanes.size === 0) return waiting.length > 0;
    let claimed: StoredDelivery[] = [];
    try {
      const most = new Map([...lanes].map(([{ id }, got]) => [id, got * perLane]));
      claimed = await claimDeliveries(database, most, isoTime(now), isoTime(now + leaseMilliseconds));
    } finally {
      const byWebhook = Map.groupBy(claimed, ({ webhookId }) => webhookId);
      for (const [webhook, got] of lanes) this.#deliver(webhook, byWebhook.get(webhook.id) ?? [], got);
    }
    return lanes.size < waiting.length;
  }

  /** Sends what was taken on, in its order, on so many lanes; each is given back when nothing is left for it. */
  #deliver(webhook: StoredWebhook, deliveries: StoredDelivery[], lanes: number): void {
    for (let lane = 0; lane < lanes; lane += 1) {
      if (deliveries.length === 0) this.#parts.outbound.lanes.release(laneOf(webhook));
      else this.#keep(this.#sendAll(webhook, deliveries));
    }
  }

  async #sendAll(webhook: StoredWebhook, deliveries: StoredDelivery[]): Promise<void> {
    try {
      for (let next = deliveries.shift(); next; next = deliveries.shift()) {
        const outcome = await this.#triedAs(webhook, next).catch(this.#unnoted(webhook));
        if (outcome) this.#keep(this.#note(webhook, next, outcome).catch(this.#unnoted(webhook)));
      }
    } finally {
      this.#parts.outbound.lanes.release(laneOf(webhook));
      this.wake(0);
    }
  }

  /** Waited for by {@link Webhooks.close}. */
  #keep(work: Promise<void>): void {
    const sending = work.finally(() => this.#sending.delete(sending));
    this.#sending.add(sending);
  }

  readonly #unnoted =
    ({ id }: StoredWebhook) =>
    (error: unknown): undefined => {
      this.#parts.logger.warn({ err: error, webhook: id }, 'a delivery could not be noted');
    };

  async #waitForNext(full: boolean): Promise<void> {
    const { database, clock } = this.#parts;
    const next = await this.nextDue();
    const longest = database.dialect.shared ? sharedWaitMilliseconds : longestWaitMilliseconds;
    const until = next === null ? longest : next - clock.now();
    const least = full ? 1000 : gatherMilliseconds;
    this.wake(Math.min(longest, Math.max(least, until)));
    if (database.dialect.shared && performance.now() < this.#restlessUntil) this.wake(againMilliseconds);
  }

  /** As the webhook is now: since the delivery was taken on it may have been changed. */
  async #triedAs(claimed: StoredWebhook, delivery: StoredDelivery): Promise<Outcome | null> {
    const webhook = await findWebhook(this.#parts.database, claimed.id);
    const isSame = webhook?.enabled && laneOf(webhook) === laneOf(claimed);
    return isSame ? this.#tried(webhook, delivery) : this.#giveBack(delivery);
  }

  async #giveBack({ id }: StoredDelivery): Promise<null> {
    await releaseDelivery(this.#parts.database, id, isoTime(this.#parts.clock.now()));
    return null;
  }

  /** @returns what became of it; null where it was given back, to be tried later. */
  async #tried(webhook: StoredWebhook, delivery: StoredDelivery): Promise<Outcome | null> {
    const { application, clock } = this.#parts;
    const isHeld = (this.#held.get(webhook.id) ?? 0) > clock.now();
    if (isHeld || this.#ending.signal.aborted) return this.#giveBack(delivery);
    const message = await this.#parts.as(webhook.role, (context) => messageOf(context, application, webhook, delivery));
    if ('skipped' in message) return { status: 'skipped', nextAt: null, lastStatus: null, lastError: message.skipped };
    const { status, error, retryAfter } = await this.#send(webhook, delivery.messageId, message.body);
    if (error === null) return { status: 'delivered', nextAt: null, lastStatus: status, lastError: null };
    if (status === null && this.#ending.signal.aborted) return this.#giveBack(delivery);
    const asked = status === tooMany || status === unavailable ? askedWait(retryAfter, clock.now()) : null;
    if (asked !== null) this.#held.set(webhook.id, Math.max(this.#held.get(webhook.id) ?? 0, clock.now() + asked));
    return failed(delivery, status, error, asked ?? 0, clock.now());
  }

  async #note(webhook: StoredWebhook, delivery: StoredDelivery, outcome: Outcome): Promise<void> {
    await this.#settling.note(delivery, outcome);
    if (outcome.lastError !== null && outcome.status !== 'skipped')
      await this.#pauseHopeless(webhook, outcome.lastStatus);
    this.wake(0);
  }

  /** One try. */
  async #send(webhook: StoredWebhook, messageId: string, body: string): Promise<Sent> {
    const { sealer, outbound, clock } = this.#parts;
    if (!outbound.delivers)
      return { status: null, retryAfter: null, error: 'This server sends no webhooks: WEBHOOKS is off.' };
    const secret = webhook.secret === null ? null : sealer.open(webhook.secret);
    if (secret === null)
      return {
        status: null,
        retryAfter: null,
        error: 'The secret cannot be read since APP_KEY has changed: give the webhook a new one.',
      };
    const headers = {
      ...signedHeaders(messageId, clock.now(), secret, body),
      'content-type': 'application/json; charset=utf-8',
      'user-agent': 'Tablinum-Webhooks/1',
    };
    try {
      const reply = await outbound.client.post(webhook.url, headers, body, this.#ending.signal);
      return { status: reply.status, error: problemOf(reply), retryAfter: reply.retryAfter };
    } catch (error) {
      if (error instanceof OutboundFailure) return { status: null, error: error.message, retryAfter: null };
      throw error;
    }
  }

  /** A receiver that is gone, or has failed for a day, is not called any more until somebody enables it again. */
  async #pauseHopeless(webhook: StoredWebhook, status: number | null): Promise<void> {
    if (status === gone) return this.#pause(webhook.id, null, 'The receiver answered 410: it is gone.');
    const failingSince = isoTime(this.#parts.clock.now() - day);
    return this.#pause(webhook.id, failingSince, 'The receiver has failed for a day.');
  }

  /** Pauses a webhook and tells of it, if it is enabled and, where a moment is given, has failed ever since. */
  async #pause(id: number, failingSince: string | null, reason: string): Promise<void> {
    const { database, changes, clock } = this.#parts;
    const at = isoTime(clock.now());
    const paused = await database.write(async (transaction) => {
      if (!(await pauseWebhook(database, transaction, id, at, failingSince, reason))) return false;
      const event = {
        name: 'webhooks.updated',
        resource: 'webhooks',
        tks: [String(id)],
        actor: null,
        requestId: null,
        changed: ['enabled', 'pausedAt', 'pausedFor'],
        by: null,
      };
      await changes.append(transaction, event, at);
      return true;
    });
    if (paused) this.#parts.logger.warn({ webhook: id, reason }, 'a webhook was paused');
  }
}

/** @param asked for how long the receiver wants to be left alone, in milliseconds. */
function failed(
  { attempts, giveUpAt }: StoredDelivery,
  status: number | null,
  error: string,
  asked: number,
  now: number,
): Outcome {
  const next = now + Math.max(waitAfter(attempts), asked);
  const isLast = status === gone || next > Date.parse(giveUpAt);
  return {
    status: isLast ? 'dead' : 'pending',
    nextAt: isLast ? null : isoTime(next),
    lastStatus: status,
    lastError: error,
  };
}

function problemOf({ status, text }: OutboundReply): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400)
    return `The receiver redirects (${status}); nothing is sent elsewhere. Give its final address.`;
  const said = text
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, errorLength);
  return said === '' ? `The receiver answered ${status}.` : `The receiver answered ${status}: ${said}`;
}

function laneOf({ url }: StoredWebhook): string {
  return new URL(url).host;
}
