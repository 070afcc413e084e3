/** Stores the outcome of an attempt in one transaction: results, the move to Sent, the report about failures, and the events. */
import type { BlobStore } from '../../base/blob-store.ts';
import { type Clock, isoTime } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { processCounters } from '../../base/metrics.ts';
import type { Database } from '../../database/database.ts';
import { EmailRows } from '../../database/mail/email-rows.ts';
import type { LeasedMail, OutboxLeases } from '../../database/mail/outbox-lease-rows.ts';
import { changeOutboxEntry, lockOutboxEntry, setDelivery } from '../../database/mail/outbox-rows.ts';
import { isCampaignEmail } from '../../database/mail/suppression-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { inTransaction, type RecordContext, type TransactionContext } from '../../records/record-context.ts';
import type { MailAccount } from '../store/incoming-mail.ts';
import type { MailIngest } from '../store/ingest.ts';
import { queueNewMessage } from '../store/local-changes.ts';
import { emitMailEvent } from '../store/mail-events.ts';
import { toMailTransaction } from '../store/mail-transaction.ts';
import { moveToMailbox } from '../store/move-mail.ts';
import type { ParsedIncomingMail } from '../store/new-email.ts';
import { OperationQueue } from '../store/operation-queue.ts';
import { findOrCreateMailbox, resolveRoleMailbox } from '../store/resolve-mailbox.ts';
import {
  type Attempt,
  applyAttempt,
  changeRecipients,
  type DeliveryState,
  isReached,
  isUnknown,
  type RecipientOutcome,
  readDeliveryState,
  summariseDelivery,
  toOutboxStatus,
} from './delivery-state.ts';
import { readSendingAccount, type SendingAccount } from './sending-account.ts';
import { computeNextLookup } from './unknown-outcome.ts';

/** What storing outcomes works with. */
export interface SettleParts {
  readonly database: Database;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ingest: Pick<MailIngest, 'prepare' | 'storeInTransaction'>;
  /** Runs work as the server itself, under the current definitions. */
  readonly asServer: <T>(work: (context: RecordContext) => Promise<T>) => Promise<T>;
}

/** An attempt whose outcome is known. */
export interface FinishedAttempt {
  readonly mail: LeasedMail;
  readonly account: SendingAccount;
  readonly holder: string;
  readonly raw: Uint8Array;
  readonly state: DeliveryState;
  readonly envelopeId: string;
  readonly attempt: Attempt;
}

const deliveryFields = ['deliveryStatus', 'content'];

/** Stores the outcomes of attempts. */
export class DeliverySettlement {
  readonly #parts: SettleParts;
  readonly #leases: OutboxLeases;

  constructor(parts: SettleParts, leases: OutboxLeases) {
    this.#parts = parts;
    this.#leases = leases;
  }

  /** Stores what is certain after a transaction that another one follows, so that a crash does not repeat it. */
  async storeProgress(mail: LeasedMail, holder: string, outcomes: readonly RecipientOutcome[]): Promise<void> {
    const certain = outcomes.filter(({ outcome }) => outcome === 'accepted' || outcome === 'unknown');
    const byAddress = new Map(certain.map((each) => [each.address, each]));
    await this.#inAccount(mail.account, async (tx) => {
      if (!(await this.#leases.isHeld(tx.tx, mail.id, holder))) return;
      let state = await this.#readState(tx, mail);
      const at = isoTime(this.#parts.clock.now());
      for (const [address, { outcome, code, reply }] of byAddress)
        state =
          changeRecipients(state, (each) => each.address === address, { status: outcome, at, code, reply }) ?? state;
      await setDelivery(tx.database, tx.tx, mail.email, { state, status: summariseDelivery(state) });
      await this.#leases.clearTransmission(tx.tx, mail.id);
    });
  }

  /** Stores the outcome of an attempt. @returns the state that is stored; null where the message was deleted meanwhile. */
  async settle(finished: FinishedAttempt): Promise<DeliveryState | null> {
    const { mail, account, holder, attempt } = finished;
    for (const { outcome } of attempt.outcomes) processCounters.mailRecipients[outcome] += 1;
    const now = this.#parts.clock.now();
    const bounce = await this.#prepareBounce(finished, now);
    return this.#inAccount(mail.account, async (tx) => {
      const isHeld = await this.#leases.isHeld(tx.tx, mail.id, holder);
      const before = await this.#readState(tx, mail);
      // Another worker took the message over when the lease ended, and noted that its outcome is unknown.
      const known = isHeld ? attempt : { ...attempt, outcomes: selectUnknown(before, attempt.outcomes) };
      if (!isHeld && known.outcomes.length === 0) return null;
      const { state } = applyAttempt(before, known, now);
      await this.#store(tx, mail, account, state);
      if (isHeld && bounce) await this.#storeBounce(tx, account, bounce);
      return state;
    });
  }

  /** Notes that a worker died while it was transmitting a message. */
  async storeInterruption(mail: LeasedMail, account: SendingAccount, state: DeliveryState): Promise<void> {
    await this.#inAccount(mail.account, (tx) => this.#store(tx, mail, account, state));
  }

  /**
   * Notes that a message with an unknown outcome was taken.
   *
   * @param options `isFiled`: the mail server has it among the sent messages.
   */
  async resolveUnknown(
    mail: Pick<LeasedMail, 'account' | 'email' | 'sendAt' | 'recipients'>,
    reply: string,
    { isFiled }: { readonly isFiled: boolean },
  ): Promise<void> {
    const account = await readSendingAccount(this.#parts.database, mail.account);
    if (!account) return;
    await this.#inAccount(mail.account, async (tx) => {
      const at = isoTime(this.#parts.clock.now());
      const change = { status: 'accepted' as const, at, code: null, reply };
      const state = changeRecipients(await this.#readState(tx, mail), isUnknown, change);
      const filing = { ...account, savesSent: account.savesSent || isFiled };
      if (state) await this.#store(tx, mail, filing, { ...state, problem: null });
    });
  }

  /** Moves a message to Sent after a message that arrived has revealed its outcome. */
  async refile(mail: Pick<LeasedMail, 'account' | 'email' | 'sendAt' | 'recipients'>): Promise<void> {
    const account = await readSendingAccount(this.#parts.database, mail.account);
    if (!account) return;
    await this.#inAccount(mail.account, async (tx) => this.#store(tx, mail, account, await this.#readState(tx, mail)));
  }

  async #store(
    tx: TransactionContext,
    { email }: Pick<LeasedMail, 'email'>,
    account: SendingAccount,
    state: DeliveryState,
  ): Promise<void> {
    const status = toOutboxStatus(state);
    const now = this.#parts.clock.now();
    const nextAt = status === 'unknown' ? computeNextLookup(state, now) : state.nextAttemptAt;
    await setDelivery(tx.database, tx.tx, email, { state, status: summariseDelivery(state) });
    const { recordDelivery } = await import('../campaigns/record-outcome.ts');
    await recordDelivery(toMailTransaction(tx, tx.tx), email, state);
    const lastError = state.problem?.message ?? null;
    await changeOutboxEntry(tx.database, tx.tx, email, { status, nextAt, lastError });
    const isMoved = state.recipients.some(isReached) && (await moveToSent(tx, email, account));
    if (!isMoved) await emitMailEvent(tx, tx.tx, { name: 'emails.updated', keys: [email], changed: deliveryFields });
  }

  async #readState(
    tx: TransactionContext,
    mail: Pick<LeasedMail, 'email' | 'sendAt' | 'recipients'>,
  ): Promise<DeliveryState> {
    const entry = await lockOutboxEntry(tx.database, tx.tx, mail.email);
    return readDeliveryState(entry?.delivery ?? null, mail.sendAt, mail.recipients);
  }

  async #prepareBounce(finished: FinishedAttempt, now: number): Promise<ParsedIncomingMail | null> {
    const { mail, account, state, attempt, envelopeId, raw } = finished;
    const { failed } = applyAttempt(state, attempt, now);
    // An automatic reply has no envelope sender, so nobody is notified that it was not delivered.
    if (failed.length === 0 || mail.sender === '') return null;
    // A campaign shows the outcome for each recipient itself.
    if (await isCampaignEmail(this.#parts.database, mail.email)) return null;
    const { subject, messageId } = mail;
    const message = { account: account.address, subject, messageId, envelopeId, failed, raw };
    const { composeBounce } = await import('./bounce-message.ts');
    const bounce = await composeBounce(message, now);
    const flags = { read: false, starred: false, answered: false, draft: false };
    return this.#parts.ingest.prepare(account, {
      raw: bounce,
      mailbox: { id: 0, folder: '' },
      receivedAt: isoTime(now),
      flags,
    });
  }

  async #storeBounce(tx: TransactionContext, account: MailAccount, bounce: ParsedIncomingMail): Promise<void> {
    const mailbox = await findOrCreateMailbox(tx, account.id, 'INBOX');
    const placed = { ...bounce, incoming: { ...bounce.incoming, mailbox } };
    const actor = { actor: null, requestId: null };
    const id = await this.#parts.ingest.storeInTransaction(tx.tx, account, placed, actor);
    const [placement] = await new EmailRows(tx.database, tx.tx).readPlacements([id]);
    if (placement) await queueNewMessage(tx, tx.tx, placement);
  }

  #inAccount<T>(account: number, work: (tx: TransactionContext) => Promise<T>): Promise<T> {
    return this.#parts.asServer((context) => inTransaction(context, work, { lockKey: `mail ${account}` }));
  }
}

function selectUnknown(state: DeliveryState, outcomes: readonly RecipientOutcome[]): readonly RecipientOutcome[] {
  const unknown = new Set(state.recipients.filter(isUnknown).map(({ address }) => address));
  return outcomes.filter(({ address, outcome }) => outcome !== 'deferred' && unknown.has(address));
}

/**
 * Moves a message that has reached at least one recipient from the outbox to Sent, and has it stored there on the mail
 * server too. A message that the user has moved elsewhere stays where it is.
 *
 * @returns whether it was moved, which emits the event.
 */
async function moveToSent(tx: TransactionContext, email: number, account: SendingAccount): Promise<boolean> {
  const [placement] = await new EmailRows(tx.database, tx.tx).readPlacements([email]);
  if (placement?.folder !== 'outbox') return false;
  const sent = await resolveRoleMailbox(tx, account.id, 'sent', 'Sent').catch((error: unknown) => {
    if (error instanceof ApiError) return null; // the mailbox "Sent" has another role
    throw error;
  });
  if (sent === null) return false;
  // The move also has the message stored on the mail server, which would be a second copy where the provider has filed it.
  await moveToMailbox(tx, [placement], sent, { changed: deliveryFields });
  if (account.savesSent) await removeAppends(tx, email, account);
  return true;
}

async function removeAppends(tx: TransactionContext, email: number, account: SendingAccount): Promise<void> {
  const queue = await OperationQueue.ofEmails(toMailTransaction(tx, tx.tx), account.id, [email]);
  for (const each of queue.all) if (each.kind === 'append' && each.status === 'queued') queue.remove(each);
  await queue.flush();
}
