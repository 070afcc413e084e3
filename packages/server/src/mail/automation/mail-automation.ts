/** Background work that applies rules and vacation replies to e-mails soon after they have arrived. */
import { BackgroundWorker } from '../../base/background-worker.ts';
import { type Clock, isoTime } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Transaction } from '../../database/database.ts';
import type { AccountPresence } from '../../database/mail/account-presence.ts';
import {
  type Arrival,
  addArrivals,
  delayArrival,
  readAccountsWithArrivals,
  readDueArrivals,
  takeArrivals,
} from '../../database/mail/arrival-rows.ts';
import { pruneAutoReplies } from '../../database/mail/auto-reply-rows.ts';
import { type RuleMessageRow, readRuleMessages } from '../../database/mail/rule-message-rows.ts';
import { type AccountAutomation, getComparedTextLength, readAccountAutomation } from './account-automation.ts';
import type { ApplyRulesParts, ArrivedMail } from './apply-rules.ts';
import { automationLimits } from './automation-limits.ts';
import { listMatchingRules } from './match-rule.ts';

/** What the automation of an application works with. */
export interface MailAutomationParts extends ApplyRulesParts {
  readonly presence: AccountPresence;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** E-mails that are read at once. */
const batchSize = 20;
/** How often the store is checked for what a stopped server left, and for failed attempts that are due again. */
const scanIntervalMilliseconds = 30_000;
/** Another server works on the account: its last batch may have been read before the newest arrival. */
const busyPauseMilliseconds = 1000;
/** Attempts with an e-mail; the pause doubles from 30 seconds, so the last one is about four hours after the first. */
const maxAttempts = 10;
const firstPauseMilliseconds = 30_000;

/**
 * The rules and vacation replies of one application.
 *
 *     await automation.enqueue(transaction, account.id, newEmails); // in the transaction that stores them
 */
export class MailAutomation {
  readonly #parts: MailAutomationParts;
  readonly #worker: BackgroundWorker;

  constructor(parts: MailAutomationParts) {
    this.#parts = parts;
    this.#worker = new BackgroundWorker({
      run: () => parts.presence.runIfAny(() => this.#work()),
      onError: (error) => this.#warn(error, 'the rules of mail accounts could not be applied; the server tries again'),
      intervalMilliseconds: scanIntervalMilliseconds,
    });
  }

  /** Whether rules are being applied. */
  get isRunning(): boolean {
    return this.#worker.isRunning;
  }

  /** Continues what an earlier run left, and applies rules from now on. */
  begin(): void {
    this.#worker.start();
    this.#worker.wake();
  }

  /** Resolves when no e-mail that is due waits for its rules. */
  wake(): Promise<void> {
    this.#parts.presence.recheck();
    return this.#worker.runNow();
  }

  /** Stops after the e-mail under way. */
  end(): Promise<void> {
    return this.#worker.stop();
  }

  /**
   * Stores, in the transaction that stores new e-mails, that rules and the vacation reply apply to them. It costs one
   * statement; nothing is stored for an account that has neither. Do not call it for imports, nor for old mail of a
   * first synchronisation.
   *
   * @param emails keys of e-mails that have just arrived in the inbox.
   */
  async enqueue(transaction: Transaction, account: number, emails: readonly number[]): Promise<void> {
    if (emails.length === 0) return;
    if (await addArrivals(this.#parts.database, transaction, account, emails))
      transaction.afterDurable(() => {
        this.#parts.presence.recheck();
        this.#worker.wake();
      });
  }

  /** Forgets automatic replies that are older than a week. @param now milliseconds since the Unix epoch. */
  prune(now: number): Promise<void> {
    return pruneAutoReplies(this.#parts.database, isoTime(now - automationLimits.replyPauseMilliseconds));
  }

  async #work(): Promise<void> {
    const { database } = this.#parts;
    for (const account of await readAccountsWithArrivals(database, this.#now())) {
      if (this.#worker.isStopped) return;
      const done = await database.tryWithLock(`mail automation ${account}`, async () => {
        await this.#processAccount(account);
        return true;
      });
      if (done === null) this.#worker.wake(busyPauseMilliseconds);
    }
  }

  async #processAccount(account: number): Promise<void> {
    const { database } = this.#parts;
    while (!this.#worker.isStopped) {
      const arrivals = await readDueArrivals(database, account, this.#now(), batchSize);
      if (arrivals.length === 0) return;
      const automation = await readAccountAutomation(database, account);
      const ids = arrivals.map(({ emailId }) => emailId);
      const messages = automation
        ? await readRuleMessages(database, ids, getComparedTextLength(automation.rules))
        : new Map<number, RuleMessageRow>();
      const finished: number[] = [];
      for (const arrival of arrivals) {
        if (this.#worker.isStopped) break;
        const message = messages.get(arrival.emailId);
        if (automation && message && hasEffect(automation, message))
          await this.#apply({ arrival, message, automation });
        else finished.push(arrival.id);
      }
      if (finished.length > 0)
        await database.write((transaction) => takeArrivals(database, transaction, finished).then(() => {}));
    }
  }

  /** An e-mail whose rules cannot be applied now waits, and does not stop the others. */
  async #apply(arrived: ArrivedMail): Promise<void> {
    try {
      const { applyRules } = await import('./apply-rules.ts');
      await applyRules(this.#parts, arrived);
    } catch (error) {
      if (this.#worker.isStopped) throw error;
      await this.#delay(arrived.arrival, error);
    }
  }

  async #delay({ id, emailId, attempts }: Arrival, error: unknown): Promise<void> {
    const { database, clock } = this.#parts;
    if (attempts + 1 >= maxAttempts) {
      this.#warn(error, `the rules could not be applied to e-mail ${emailId}; it stays in the inbox`);
      await database.write((transaction) => takeArrivals(database, transaction, [id]).then(() => {}));
      return;
    }
    this.#warn(error, `the rules could not be applied to e-mail ${emailId}; the server tries again`);
    await delayArrival(database, id, isoTime(clock.now() + firstPauseMilliseconds * 2 ** attempts));
  }

  #now(): string {
    return isoTime(this.#parts.clock.now());
  }

  #warn(error: unknown, message: string): void {
    if (!this.#worker.isStopped) this.#parts.logger.warn({ err: error }, message);
  }
}

/** Whether anything may follow from an e-mail. */
function hasEffect({ rules, vacation }: AccountAutomation, message: RuleMessageRow): boolean {
  return vacation?.enabled === true || listMatchingRules(rules, message).length > 0;
}
