/**
 * Sends Web Push messages to the browsers of users: what a notification reports, and new mail. They wait in the store, so they survive
 * restarts, and one of several servers sends each.
 */
import { BackgroundWorker } from '../../base/background-worker.ts';
import { isoTime } from '../../base/clock.ts';
import type { Transaction } from '../../database/database.ts';
import type { AccountPresence } from '../../database/mail/account-presence.ts';
import { queueNewMail, readNextPush } from '../../database/mail/push-rows.ts';
import type { SendPushParts } from './send-push.ts';

/** How often messages that another server has queued, or left behind, are looked for. */
const scanMilliseconds = 30_000;

/** What the messages work with. */
export interface PushNotificationsParts extends SendPushParts {
  readonly presence: AccountPresence;
}

/** The messages of one application. */
export class PushNotifications {
  readonly #parts: PushNotificationsParts;
  readonly #worker: BackgroundWorker;
  #stopping = new AbortController();

  constructor(parts: PushNotificationsParts) {
    this.#parts = parts;
    this.#worker = new BackgroundWorker({
      run: () => parts.presence.runIfAny(() => this.#work()),
      onError: (error) => parts.logger.warn({ err: error }, 'Push messages could not be sent.'),
      intervalMilliseconds: scanMilliseconds,
    });
  }

  /** Whether messages are being sent. */
  get isRunning(): boolean {
    return this.#worker.isRunning;
  }

  begin(): void {
    this.#stopping = new AbortController();
    this.#worker.start();
    this.wake();
  }

  /** Messages were queued. */
  wake(): void {
    this.#parts.presence.recheck();
    this.#worker.wake();
  }

  /** Resolves when every message that is due was attempted. */
  runNow(): Promise<void> {
    return this.#worker.runNow();
  }

  /** Aborts running requests; their messages are sent again after the next start. */
  end(): Promise<void> {
    this.#stopping.abort();
    return this.#worker.stop();
  }

  /** When the next message is due, in milliseconds since the Unix epoch; null if none waits. */
  nextDue(): Promise<number | null> {
    return readNextPush(this.#parts.database);
  }

  /** Queues messages about e-mails that have just arrived, in the transaction that stores them. */
  async queueNewMail(transaction: Transaction, emails: readonly number[]): Promise<void> {
    const { database, clock } = this.#parts;
    if (await queueNewMail(database, transaction, emails, isoTime(clock.now())))
      transaction.afterDurable(() => this.wake());
  }

  async #work(): Promise<void> {
    const { database, clock } = this.#parts;
    const due = await this.nextDue();
    if (due === null) return;
    if (due <= clock.now()) {
      const { sendDueMessages } = await import('./send-push.ts');
      await database.tryWithLock('mail push', () => sendDueMessages(this.#parts, this.#stopping.signal));
    }
    const next = await this.nextDue();
    if (next !== null && !this.#worker.isStopped)
      this.#worker.wake(Math.min(Math.max(next - clock.now(), 1000), scanMilliseconds));
  }
}
