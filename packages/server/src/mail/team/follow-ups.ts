/**
 * Reminders of conversations that nobody answers. A reminder ends when an answer arrives, when it is due, or when its
 * message is not sent.
 */
import { isoTime } from '../../base/clock.ts';
import {
  areDue,
  type FollowUpEnd,
  ofEmails,
  readAnswerHeaders,
  readEmailConversation,
  readSentFollowUp,
  recordSentFollowUp,
  takeFollowUps,
  wasSetWith,
} from '../../database/mail/follow-up-rows.ts';
import { requestByKeys } from '../../protocol/request-normaliser.ts';
import type { TransactionContext } from '../../records/record-context.ts';
import { updateRecords } from '../../records/write/write-records.ts';
import { isAutomaticMail } from '../automation/automatic-mail.ts';
import { appendMailEvent } from '../store/mail-events.ts';
import { type MailTransaction, toMailTransaction } from '../store/mail-transaction.ts';
import { conversationRules } from './conversation-rules.ts';
import { notifyUsers } from './notifications.ts';

/** Reminders that one arrival ends; more conversations than e-mails can only be merged ones. */
const maxEnded = 1000;
const followUpFields = ['followUpAt', 'followUpById'];

/** Opens the conversations whose reminder is due, and notifies the users who set them. @returns their number, at most `limit`. */
export async function endDueFollowUps(mail: MailTransaction, limit: number): Promise<number> {
  const time = isoTime(mail.clock.now());
  const taken = await end(mail, { condition: areDue(time), opens: true, limit });
  await notifyUsers(
    mail,
    taken.flatMap(({ id: conversationId, accountId, followUpById: userId }) =>
      userId === null
        ? []
        : [
            {
              ...{ accountId, userId, kind: 'followUp' as const, conversationId },
              ...{ noteId: null, actorId: null },
            },
          ],
    ),
  );
  return taken.length;
}

/**
 * Removes the reminders of conversations in which e-mails have just arrived, in the transaction that stores them. Automatic replies,
 * reports of mail servers and mailing lists are no answers.
 */
export async function endAnsweredFollowUps(mail: MailTransaction, emails: readonly number[]): Promise<void> {
  const received = await readAnswerHeaders(mail.database, mail.transaction, emails);
  const answers = received.filter(({ headers }) => !isAutomaticMail(headers)).map(({ email }) => email);
  if (answers.length === 0) return;
  await end(mail, { condition: ofEmails(mail.database, answers), opens: false, limit: maxEnded });
}

/**
 * Removes the reminder that was set with a message, if the message becomes a draft by a decision and nobody has changed the reminder since.
 */
export async function cancelFollowUp(
  tx: TransactionContext,
  email: number,
  decision: () => Promise<void>,
): Promise<void> {
  const sent = await readSentFollowUp(tx.database, tx.tx, email);
  await decision();
  if (!sent) return;
  const mail = toMailTransaction(tx, tx.tx);
  await end(mail, { condition: wasSetWith(tx.database, email, sent), opens: false, limit: 1 });
}

/** Sets the reminder of the conversation of a message that is sent, as the caller. @param followUpAt ISO 8601. */
export async function setFollowUp(tx: TransactionContext, email: number, followUpAt: unknown): Promise<void> {
  const conversation = await readEmailConversation(tx.database, tx.tx, email);
  const conversations = tx.registry.get('conversations');
  const write = { body: { followUpAt }, rules: conversationRules };
  await updateRecords(tx, conversations, requestByKeys('update', conversation), write);
  await recordSentFollowUp(tx.database, tx.tx, email);
}

async function end(mail: MailTransaction, how: FollowUpEnd): ReturnType<typeof takeFollowUps> {
  const { database, transaction, clock, actor, requestId } = mail;
  const taken = await takeFollowUps(database, transaction, { time: isoTime(clock.now()), actor, requestId }, how);
  if (taken.length === 0) return taken;
  const keys = taken.map(({ id }) => id);
  const changed = [...followUpFields, ...(how.opens ? ['state', 'snoozedUntil', 'snoozedById'] : [])];
  await appendMailEvent(transaction, mail, { name: 'conversations.updated', keys, changed });
  return taken;
}
