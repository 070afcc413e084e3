/** What users decide about messages in the outbox: to cancel sending, or to send again. */
import { getFirst } from '../../base/aligned-lists.ts';
import { isoTime } from '../../base/clock.ts';
import { DraftRows } from '../../database/mail/draft-rows.ts';
import { EmailRows } from '../../database/mail/email-rows.ts';
import {
  changeOutboxEntry,
  lockOutboxEntry,
  type OutboxEntry,
  removeFromOutbox,
  setDelivery,
} from '../../database/mail/outbox-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import type { TransactionContext } from '../../records/record-context.ts';
import { recordDelivery } from '../campaigns/record-outcome.ts';
import { unmarkOriginal } from '../compose/mark-original.ts';
import { emitMailEvent } from '../store/mail-events.ts';
import { toMailTransaction } from '../store/mail-transaction.ts';
import { moveToMailbox, requireEmailAccess } from '../store/move-mail.ts';
import { resolveRoleMailbox } from '../store/resolve-mailbox.ts';
import {
  changeRecipients,
  type DeliveryState,
  isReached,
  isUnknown,
  isWaiting,
  type RecipientState,
  readDeliveryState,
  summariseDelivery,
  toOutboxStatus,
} from './delivery-state.ts';

/**
 * Cancels sending. A message that nobody has received becomes a draft again. If servers have taken it for some recipients, the
 * attempts for the others end.
 *
 * @throws ApiError `MAIL_NOT_QUEUED` where it is being delivered, or nothing is left to cancel.
 */
export async function cancelSending(tx: TransactionContext, id: number): Promise<void> {
  const { entry, state } = await lockForDecision(tx, id, 'so sending cannot be cancelled');
  const change = { status: 'cancelled' as const, at: isoTime(tx.clock.now()) };
  const cancelled = changeRecipients(state, (each) => isWaiting(each) || isUnknown(each), change);
  if (!state.recipients.some(isReached)) {
    if (cancelled) await recordDelivery(toMailTransaction(tx, tx.tx), id, cancelled);
    return makeDraft(tx, id, entry);
  }
  if (!cancelled) throw notQueued('The e-mail was sent, so sending cannot be cancelled.');
  await storeDecision(tx, id, cancelled);
}

/**
 * Sends a message again now, to the recipients for whom it failed, was cancelled, or has an unknown outcome. The two
 * days of attempts start again.
 *
 * @throws ApiError `MAIL_NOT_QUEUED` if it is being delivered, or if there is no such recipient.
 */
export async function retrySending(tx: TransactionContext, id: number): Promise<void> {
  const { state } = await lockForDecision(tx, id, 'so it cannot be sent again');
  const now = isoTime(tx.clock.now());
  const change = { status: 'queued' as const, at: null, code: null, reply: null };
  const isOver = ({ status }: RecipientState): boolean =>
    ['failed', 'unknown', 'cancelled', 'deferred'].includes(status);
  const changed = changeRecipients(state, isOver, change);
  if (!changed) throw notQueued('The e-mail failed for no recipient, so there is nothing to send again.');
  await storeDecision(tx, id, {
    ...changed,
    // A message that is sent again later than planned is not overdue.
    sendAt: now,
    attempts: 0,
    firstAttemptAt: null,
    nextAttemptAt: now,
    problem: null,
  });
}

async function lockForDecision(
  tx: TransactionContext,
  id: number,
  consequence: string,
): Promise<{ readonly entry: OutboxEntry; readonly state: DeliveryState }> {
  await requireEmailAccess(tx, [id], 'update');
  const entry = await lockOutboxEntry(tx.database, tx.tx, id);
  if (!entry) throw notQueued(`The e-mail does not wait to be sent, ${consequence}.`);
  if (entry.status === 'sending') throw notQueued(`The e-mail is being delivered, ${consequence}.`);
  return { entry, state: readDeliveryState(entry.delivery, entry.sendAt, entry.recipients) };
}

async function makeDraft(tx: TransactionContext, id: number, { account }: OutboxEntry): Promise<void> {
  const transaction = tx.tx;
  await removeFromOutbox(tx.database, transaction, id);
  await setDelivery(tx.database, transaction, id, { state: null, status: null });
  const placement = getFirst(await new EmailRows(tx.database, transaction).readPlacements([id]));
  const drafts = await resolveRoleMailbox(tx, account, 'drafts', 'Drafts');
  await new DraftRows(tx.database, transaction).setDraft(id, true);
  await unmarkOriginal(tx, account, id);
  await moveToMailbox(tx, [placement], drafts, { changed: ['draft', 'deliveryStatus', 'content'] });
}

async function storeDecision(tx: TransactionContext, id: number, state: DeliveryState): Promise<void> {
  await setDelivery(tx.database, tx.tx, id, { state, status: summariseDelivery(state) });
  await recordDelivery(toMailTransaction(tx, tx.tx), id, state);
  const change = { status: toOutboxStatus(state), nextAt: state.nextAttemptAt, lastError: null };
  await changeOutboxEntry(tx.database, tx.tx, id, change);
  await emitMailEvent(tx, tx.tx, { name: 'emails.updated', keys: [id], changed: ['deliveryStatus', 'content'] });
}

function notQueued(message: string): ApiError {
  return new ApiError('MAIL_NOT_QUEUED', message);
}
