/**
 * The webhooks of one application. Events are copied from the event log into the outbox, and sent from there with
 * retries for up to a day. A message may arrive twice (both have the same `webhook-id`), and retries arrive out of order.
 *
 * Several processes may share one store. Each delivery is then claimed by one of them for a limited time.
 */
import { BackgroundWorker } from '../base/background-worker.ts';
import { dayMilliseconds, isoTime } from '../base/clock.ts';
import {
  claimDeliveries,
  deleteFinishedDeliveries,
  readNextDeliveryTime,
  type StoredDelivery,
  webhooksWithDue,
} from '../database/delivery-rows.ts';
import { findWebhook, readEnabledWebhooks, type StoredWebhook } from '../database/webhook-rows.ts';
import { type DeliveryParts, DeliverySender, readHost } from './delivery-sender.ts';
import { buildTestMessage } from './message.ts';
import { maxWaitingDeliveries, Outbox } from './outbox.ts';
import { pauseAndReport } from './pause-webhook.ts';
import { sendMessage } from './send-message.ts';
import { makeMessageId } from './signature.ts';

/** Whether a test message arrived. */
export interface TestResult {
  readonly delivered: boolean;
  readonly status: number | null;
  readonly error: string | null;
}

/** Events within this time are processed together. */
const debounceMilliseconds = 20;
const retryAfterErrorMilliseconds = 1000;
/** An attempt takes at most ten seconds; the rest is for storing its outcome. */
const leaseMilliseconds = 60_000;
const maxConcurrentPerHost = 4;
/** Deliveries claimed for each slot: as many as can be tried one after another before the lease ends. */
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

/** Queues, sends and retries the messages of an application's webhooks. */
export class Webhooks {
  readonly #parts: DeliveryParts;
  readonly #schedule: ScanSchedule;
  readonly #outbox: Outbox;
  readonly #sender: DeliverySender;
  readonly #worker: BackgroundWorker;
  #unsubscribe: (() => void) | null = null;
  /** Whether enabled webhooks exist; without any, events cost nothing here. Null: not known. */
  #listening: boolean | null = null;
  #rescanUntil = 0;

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
    this.#schedule = parts.database.multiNode ? multiNodeSchedule : singleNodeSchedule;
    this.#worker = new BackgroundWorker({
      run: () => this.#work(),
      onError: (error) => {
        parts.logger.warn({ err: error }, 'Webhooks could not be processed. They are processed again in a second.');
        this.#worker.wake(retryAfterErrorMilliseconds);
      },
      debounceMilliseconds,
      // Another process may leave work behind.
      intervalMilliseconds: this.#schedule.watchesOthers ? maxWaitMilliseconds : undefined,
    });
    this.#sender = new DeliverySender(parts, () => this.#worker.wake(0));
    const text = `More than ${maxWaitingDeliveries} messages are waiting; the receiver is too slow.`;
    this.#outbox = new Outbox(parts, (id) => pauseAndReport(parts, id, { text }));
  }

  /** Whether enabled webhooks exist. */
  get listening(): boolean {
    return this.#listening === true;
  }

  /** Why messages cannot be sent to an address; null if they can. */
  findUrlProblem(url: unknown): string | null {
    return this.#parts.outbound.client.findUrlProblem(url);
  }

  encryptSecret(secret: string): string {
    return this.#parts.secretCipher.encrypt(secret);
  }

  /** Continues what an earlier run left, and processes events from now on. The tables must exist. */
  begin(): void {
    if (!this.#parts.outbound.isDeliveryEnabled) return;
    this.#worker.start();
    this.#unsubscribe = this.#parts.changes.subscribe(() => {
      if (this.#listening === false) return;
      this.#rescanUntil = performance.now() + this.#schedule.rescanWindowMilliseconds;
      this.wake();
    });
    this.wake();
  }

  /** Reads the webhooks again: some may have been created, changed or destroyed. */
  reload(): void {
    this.#listening = null;
    this.#sender.clearBackOffs();
    this.wake();
  }

  /** Processes events and deliveries soon. */
  wake(milliseconds?: number): void {
    this.#worker.wake(milliseconds);
  }

  /** Aborts attempts that are under way; their deliveries are due again immediately. */
  async close(): Promise<void> {
    this.#unsubscribe?.();
    const closing = this.#sender.close();
    await this.#worker.stop();
    await closing;
    // The last run may have begun more attempts.
    await this.#sender.close();
  }

  /** When the next delivery is due, in milliseconds since the epoch; null if none waits. */
  async nextDue(): Promise<number | null> {
    const { database, clock, outbound } = this.#parts;
    if (this.#listening === false || !outbound.isDeliveryEnabled) return null;
    const backOffs = this.#sender.listBackOffs(clock.now());
    const next = await readNextDeliveryTime(database, [...backOffs.keys()]);
    const times = [...backOffs.values(), ...(next === null ? [] : [Date.parse(next)])];
    return times.length === 0 ? null : Math.min(...times);
  }

  /** Deletes deliveries that were finished a week ago. */
  async prune(): Promise<void> {
    const { database, clock } = this.#parts;
    if (this.#listening !== false)
      await deleteFinishedDeliveries(database, isoTime(clock.now() - retentionMilliseconds));
  }

  /** Sends a test message now; it is neither stored nor retried. @returns null if the webhook does not exist. */
  async test(id: number): Promise<TestResult | null> {
    const { database, application, clock } = this.#parts;
    const webhook = await findWebhook(database, id);
    if (!webhook) return null;
    const message = { id: makeMessageId(), body: buildTestMessage(application, isoTime(clock.now())) };
    const { status, error } = await sendMessage(this.#parts, webhook, message, this.#sender.stopSignal);
    return { delivered: error === null, status, error };
  }

  async #work(): Promise<void> {
    const before = this.#listening;
    const webhooks = await readEnabledWebhooks(this.#parts.database);
    // A change that came during the read is read by the next run.
    if (this.#listening === before) this.#listening = webhooks.length > 0;
    if (webhooks.length === 0) return;
    await this.#outbox.fill();
    const hasMore = await this.#deliverDue(webhooks);
    await this.#waitForNext(hasMore);
  }

  /** Claims due deliveries as far as slots are free. @returns whether a webhook got no slot. */
  async #deliverDue(webhooks: readonly StoredWebhook[]): Promise<boolean> {
    const { database, clock, outbound } = this.#parts;
    const now = clock.now();
    const due = new Set(await webhooksWithDue(database, isoTime(now)));
    const backOffs = this.#sender.listBackOffs(now);
    const slots = new Map<StoredWebhook, number>();
    const waiting = webhooks.filter(({ id }) => due.has(id) && !backOffs.has(id));
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
      for (const [webhook, granted] of slots) this.#sender.send(webhook, byWebhook.get(webhook.id) ?? [], granted);
    }
    return slots.size < waiting.length;
  }

  async #waitForNext(hasMore: boolean): Promise<void> {
    const { clock } = this.#parts;
    const { maxWaitMilliseconds: maxWait } = this.#schedule;
    const next = await this.nextDue();
    const until = next === null ? maxWait : next - clock.now();
    const minWait = hasMore ? 1000 : debounceMilliseconds;
    this.#worker.wake(Math.min(maxWait, Math.max(minWait, until)));
    if (performance.now() < this.#rescanUntil) this.#worker.wake(rescanMilliseconds);
  }
}
