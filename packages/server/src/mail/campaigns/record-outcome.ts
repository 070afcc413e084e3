/**
 * Records the outcomes of the messages of campaigns: what the SMTP server and later reports say, replies, and
 * recipients who unsubscribe. Everything runs in the transaction of its cause, which holds the lock of the account's
 * mail.
 */
import { isoTime } from '../../base/clock.ts';
import type { Database, Transaction } from '../../database/database.ts';
import {
  type CampaignMessage,
  CampaignMessageRows,
  findByMessageIds,
  readCampaignMessage,
} from '../../database/mail/campaign-message-rows.ts';
import { changeCampaign, hasStartedCampaign } from '../../database/mail/campaign-rows.ts';
import { addSuppression } from '../../database/mail/suppression-rows.ts';
import { isAutomaticMail } from '../automation/automatic-mail.ts';
import {
  type DeliveryState,
  isReached,
  isUnknown,
  isWaiting,
  type RecipientState,
  readCampaignRefusal,
} from '../delivery/delivery-state.ts';
import { appendMailEvent, type MailEventSource } from '../store/mail-events.ts';
import type { ParsedIncomingMail } from '../store/new-email.ts';
import { appendCampaignActivity } from './campaign-events.ts';
import { applyOutcome, countChange, describeActivity, type MessageOutcome } from './message-state.ts';

/** The transaction, and to whom its events are attributed. */
export interface OutcomeTransaction extends MailEventSource {
  readonly database: Database;
  readonly transaction: Transaction;
}

/** Notes an outcome of a message, with the counters and the events. @returns whether anything changed. */
export async function recordOutcome(
  tx: OutcomeTransaction,
  message: CampaignMessage,
  outcome: MessageOutcome,
): Promise<boolean> {
  const { database, transaction } = tx;
  const after = applyOutcome(message, outcome);
  if (!after) return false;
  await new CampaignMessageRows(database, transaction).change(message.id, after);
  const { campaignId: campaign } = message;
  await changeCampaign(database, transaction, campaign, { counts: countChange(message, after) });
  const activity = describeActivity(message, after);
  if (activity !== null) await appendCampaignActivity(transaction, tx, { campaign, activity, messages: [message.id] });
  return true;
}

/** Notes what is known of the delivery of an e-mail, if it is a message of a campaign. */
export async function recordDelivery(tx: OutcomeTransaction, email: number, state: DeliveryState): Promise<void> {
  const [recipient] = state.recipients;
  const message = recipient && (await readCampaignMessage(tx.database, tx.transaction, { email }));
  if (!message) return;
  const outcome = toOutcome(state, recipient, isoTime(tx.clock.now()));
  await recordOutcome(tx, message, outcome);
  if (outcome.type === 'failed' && isUnknownAddress(recipient)) await suppress(tx, message, 'bounced');
}

function toOutcome({ problem }: DeliveryState, recipient: RecipientState, at: string): MessageOutcome {
  if (isReached(recipient)) return { type: 'sent', at };
  if (isWaiting(recipient)) return { type: 'sending', at };
  if (isUnknown(recipient)) return { type: 'unknown', at };
  const { reply: reason, status } = recipient;
  const refusal = readCampaignRefusal(problem);
  if (refusal === 'suppressed') return { type: 'skipped', at, reason };
  return { type: refusal === 'cancelled' || status === 'cancelled' ? 'cancelled' : 'failed', at, reason };
}

/** Whether a server says that the address does not exist. A full mailbox or a refused text says nothing about the address. */
function isUnknownAddress({ code, reply }: RecipientState): boolean {
  const status = /\b5\.(\d{1,3})\.\d{1,3}\b/.exec(reply ?? '');
  return status ? status[1] === '1' : code === 550 || code === 551 || code === 553;
}

/** Notes replies to messages of campaigns. Automatic answers, such as those of absent people, do not count. */
export async function recordReplies(
  tx: OutcomeTransaction,
  account: number,
  arrivals: readonly ParsedIncomingMail[],
): Promise<void> {
  const replies = arrivals.filter(({ mail, incoming }) => {
    const mayAnswer = mail.inReplyTo.length > 0 || mail.references.length > 0;
    const isOwn = incoming.flags.draft || ['sent', 'drafts', 'outbox'].includes(incoming.mailbox.folder);
    return mayAnswer && !isOwn && !mail.deliveryReport && !isAutomaticMail(mail.headers);
  });
  if (replies.length === 0 || !(await hasStartedCampaign(tx.database, tx.transaction, account))) return;
  const ids = new Set(replies.flatMap(({ mail }) => [...mail.inReplyTo, ...mail.references]));
  const found = await findByMessageIds(tx.database, tx.transaction, account, [...ids]);
  const at = isoTime(tx.clock.now());
  for (const message of found) await recordOutcome(tx, message, { type: 'replied', at });
}

/** A recipient wants no more campaigns of the account. @returns whether that is new. */
export async function recordUnsubscribe(tx: OutcomeTransaction, message: CampaignMessage): Promise<boolean> {
  await suppress(tx, message, 'unsubscribed');
  return recordOutcome(tx, message, { type: 'unsubscribed', at: isoTime(tx.clock.now()) });
}

async function suppress(
  tx: OutcomeTransaction,
  { accountId: account, campaignId: campaign, address }: CampaignMessage,
  reason: 'bounced' | 'unsubscribed',
): Promise<void> {
  const { database, transaction, clock } = tx;
  const now = isoTime(clock.now());
  const id = await addSuppression(database, transaction, { account, address, reason, campaign, now });
  if (id !== null) await appendMailEvent(transaction, tx, { name: 'mailSuppressions.created', keys: [id] });
}
