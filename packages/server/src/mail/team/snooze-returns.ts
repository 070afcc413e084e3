/**
 * Opens conversations again: those whose snooze has ended, those whose reminder is due, and those that receive an answer. These times
 * are in the store, so they survive restarts, and one of several servers opens each conversation.
 */
import { BackgroundWorker } from '../../base/background-worker.ts';
import { type Clock, isoTime } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { ChangeLog } from '../../changes/change-log.ts';
import type { Database, Transaction } from '../../database/database.ts';
import type { AccountPresence } from '../../database/mail/account-presence.ts';
import {
  type ConversationStateRow,
  endSnoozes,
  readNextReturn,
  reopenAnswered,
} from '../../database/mail/conversation-state-rows.ts';
import { appendMailEvent } from '../store/mail-events.ts';
import type { MailTransaction } from '../store/mail-transaction.ts';
import { notifyUsers } from './notifications.ts';

/** What the return of conversations works with. */
export interface SnoozeReturnParts {
  readonly presence: AccountPresence;
  readonly database: Database;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly wakePush: () => void;
}

const conversationsPerTransaction = 50;
/** How often snoozes that another server has stored, or left behind, are looked for. */
const scanMilliseconds = 30_000;

/** The conversations of one application that the server opens again. */
export class SnoozeReturns {
  readonly #parts: SnoozeReturnParts;
  readonly #worker: BackgroundWorker;

  constructor(parts: SnoozeReturnParts) {
    this.#parts = parts;
    this.#worker = new BackgroundWorker({
      run: () => parts.presence.runIfAny(() => this.#work()),
      onError: (error) => parts.logger.warn({ err: error }, 'Snoozed conversations could not be opened.'),
      intervalMilliseconds: scanMilliseconds,
    });
  }

  /** Starts with the snoozes that ended while no server was running. */
  begin(): void {
    this.#worker.start();
    this.wake();
  }

  /** A conversation was snoozed: its end may be the next one. */
  wake(): void {
    this.#parts.presence.recheck();
    this.#worker.wake();
  }

  /** When the next snooze ends or reminder is due, in milliseconds since the Unix epoch; null if there is none. */
  nextDue(): Promise<number | null> {
    return readNextReturn(this.#parts.database);
  }

  /** Resolves when every conversation whose snooze has ended is open. */
  runNow(): Promise<void> {
    return this.#worker.runNow();
  }

  end(): Promise<void> {
    return this.#worker.stop();
  }

  /** Opens the conversations of e-mails that have just arrived, in the transaction that stores them. Muted ones stay as they are. */
  async reopenAnswered(transaction: Transaction, emails: readonly number[]): Promise<void> {
    const mail = this.#toMailTransaction(transaction);
    const { endAnsweredFollowUps } = await import('./follow-ups.ts');
    await endAnsweredFollowUps(mail, emails);
    const stamp = { time: isoTime(this.#parts.clock.now()), actor: null, requestId: null };
    await report(mail, await reopenAnswered(mail.database, transaction, stamp, emails));
  }

  async #work(): Promise<void> {
    const { database, clock } = this.#parts;
    let count = conversationsPerTransaction;
    while (count === conversationsPerTransaction && !this.#worker.isStopped) {
      const time = isoTime(clock.now());
      const due = await readNextReturn(database);
      if (due === null) return;
      if (due > clock.now()) return this.#worker.wake(Math.min(due - clock.now(), scanMilliseconds));
      const { endDueFollowUps } = await import('./follow-ups.ts');
      count = await database.write(async (transaction) => {
        const mail = this.#toMailTransaction(transaction);
        const stamp = { time, actor: null, requestId: null };
        const opened = await endSnoozes(database, transaction, stamp, conversationsPerTransaction);
        await report(mail, opened);
        return Math.max(opened.length, await endDueFollowUps(mail, conversationsPerTransaction));
      });
    }
    this.#worker.wake(0);
  }

  #toMailTransaction(transaction: Transaction): MailTransaction {
    return { ...this.#parts, transaction, actor: null, requestId: null, wakeOperations: () => {} };
  }
}

/** Emits the event about opened conversations, and notifies the users who had snoozed them. */
async function report(mail: MailTransaction, opened: readonly ConversationStateRow[]): Promise<void> {
  if (opened.length === 0) return;
  const keys = opened.map(({ id }) => id);
  const changed = ['state', 'snoozedUntil', 'snoozedById'];
  await appendMailEvent(mail.transaction, mail, { name: 'conversations.updated', keys, changed });
  await notifyUsers(
    mail,
    opened.flatMap(({ id, accountId, snoozedById: userId }) =>
      userId === null
        ? []
        : [{ accountId, userId, kind: 'returned' as const, conversationId: id, noteId: null, actorId: null }],
    ),
  );
}
