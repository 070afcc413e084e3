/**
 * Sends the messages in the outbox of one application over SMTP. Several servers may share a store: each message is leased by one of
 * them at a time.
 *
 * A message is sent at most once, except where SMTP itself cannot tell: the recipients are noted before the first byte is sent, so a
 * message whose worker died, or whose connection was lost before the server confirmed it, is `unknown` and is not sent again without
 * a decision.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { BackgroundWorker } from '../../base/background-worker.ts';
import { isoTime } from '../../base/clock.ts';
import type { AccountPresence } from '../../database/mail/account-presence.ts';
import { OutboxLeases } from '../../database/mail/outbox-lease-rows.ts';
import { OutboxLookups } from '../../database/mail/outbox-lookup-rows.ts';
import { AccountDelivery, type AccountDeliveryParts } from './account-delivery.ts';
import { DeliverySettlement, type FinishedAttempt, type SettleParts } from './settle-delivery.ts';
import { UnknownLookup, type UnknownLookupParts } from './unknown-lookup.ts';

/** What the delivery of an application works with. */
export interface MailDeliveryParts
  extends SettleParts,
    Omit<AccountDeliveryParts, 'leases' | 'settlement' | 'holder'>,
    Omit<UnknownLookupParts, 'lookups' | 'settlement'> {
  readonly presence: AccountPresence;
}

/** Accounts that are served at the same time. Each has one connection. */
const maxAccounts = 8;
const retryAfterErrorMilliseconds = 1000;
/** How often the outbox is read where other servers may have put messages into it. */
const sharedPollMilliseconds = 2000;
const maxWaitMilliseconds = 30_000;
/** How long a stop waits for transactions under way. */
const stopMilliseconds = 4000;

/** The delivery worker of one application. */
export class MailDelivery {
  readonly #parts: MailDeliveryParts;
  readonly #leases: OutboxLeases;
  /** Whether other servers may use the same store. */
  readonly isShared: boolean;
  readonly #worker: BackgroundWorker;
  readonly #settlement: DeliverySettlement;
  readonly #accounts: AccountDelivery;
  readonly #lookup: UnknownLookup;
  readonly #running = new Map<number, Promise<void>>();
  readonly #stopping = new AbortController();
  #looking: Promise<void> | null = null;
  /** Whether leases of an earlier process have been handled. */
  #hasRecovered = false;

  constructor(parts: MailDeliveryParts) {
    this.#parts = parts;
    this.isShared = parts.database.multiNode;
    this.#leases = new OutboxLeases(parts.database);
    const settlement = new DeliverySettlement(parts, this.#leases);
    this.#settlement = settlement;
    this.#accounts = new AccountDelivery({ ...parts, leases: this.#leases, settlement, holder: randomUUID() });
    this.#lookup = new UnknownLookup({ ...parts, lookups: new OutboxLookups(parts.database), settlement });
    this.#worker = new BackgroundWorker({
      run: () => this.#work(),
      onError: (error) => {
        parts.logger.warn(
          { err: error },
          'The outbox of mail could not be processed. It is processed again in a second.',
        );
        this.#worker.wake(retryAfterErrorMilliseconds);
      },
      intervalMilliseconds: this.isShared ? sharedPollMilliseconds : maxWaitMilliseconds,
    });
  }

  /** Starts with what an earlier run left. */
  begin(): void {
    this.#worker.start();
    this.wake();
  }

  /** Looks for due messages soon, or after some milliseconds. */
  wake(milliseconds?: number): void {
    this.#parts.presence.recheck();
    this.#worker.wake(milliseconds);
  }

  /** Stores the outcome of an attempt that was made before the application was moved and opened again. */
  async takeOver(finished: FinishedAttempt): Promise<void> {
    await this.#settlement.settle(finished);
  }

  /** Whether messages are being sent. */
  get isBusy(): boolean {
    return this.#worker.isRunning || this.#running.size > 0;
  }

  /** When the next message is due, in milliseconds since the Unix epoch; null if none waits. */
  nextDue(): Promise<number | null> {
    return this.#leases.readNextDue();
  }

  /** Begins no further transaction, and waits some seconds for those under way. */
  async end(): Promise<void> {
    this.#accounts.stop();
    await this.#worker.stop();
    const timer = setTimeout(() => this.#stopping.abort(), stopMilliseconds);
    await Promise.all([...this.#running.values(), this.#looking]);
    clearTimeout(timer);
  }

  async #work(): Promise<void> {
    if (this.isShared && !(await this.#parts.presence.mayHaveAny())) return;
    const now = this.#parts.clock.now();
    if (!this.#hasRecovered && !this.isShared) await this.#leases.endAll(isoTime(now));
    this.#hasRecovered = true;
    this.#looking ??= this.#lookUp(now);
    const free = maxAccounts - this.#running.size;
    const due = free > 0 ? await this.#leases.findDueAccounts(isoTime(now), [...this.#running.keys()], free) : [];
    for (const account of due) this.#start(account);
    await this.#waitForNext();
  }

  async #lookUp(now: number): Promise<void> {
    try {
      await this.#lookup.run(now, this.#stopping.signal);
    } catch (error) {
      this.#parts.logger.warn({ err: error }, 'Messages with an unknown outcome could not be looked for.');
    } finally {
      this.#looking = null;
    }
  }

  #start(account: number): void {
    const work = this.#accounts
      .run(account, this.#stopping.signal)
      .catch(async (error: unknown) => {
        this.#parts.logger.warn({ err: error, account }, 'Messages of a mail account could not be sent yet.');
        await pause(retryAfterErrorMilliseconds, undefined, { signal: this.#stopping.signal }).catch(() => {});
      })
      .finally(() => {
        this.#running.delete(account);
        this.wake();
      });
    this.#running.set(account, work);
  }

  async #waitForNext(): Promise<void> {
    const next = await this.#leases.readNextDue();
    if (next === null) return;
    const wait = next - this.#parts.clock.now();
    // A due message that is not being sent waits for a free place, or belongs to another server.
    this.wake(Math.min(maxWaitMilliseconds, Math.max(wait, this.#running.size > 0 ? 1000 : 20)));
  }
}
