/** Reports something to single users: a notification, and an event that only its user receives. */
import { isoTime } from '../../base/clock.ts';
import { addNotifications, type NewNotification } from '../../database/mail/note-rows.ts';
import { queueNotifications } from '../../database/mail/push-rows.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { appendMailEvent } from '../store/mail-events.ts';
import type { MailTransaction } from '../store/mail-transaction.ts';

/** Stores notifications in the transaction of what they report. */
export async function notifyUsers(mail: MailTransaction, notifications: readonly NewNotification[]): Promise<void> {
  if (notifications.length === 0) return;
  const { database, transaction, clock } = mail;
  const keys = await addNotifications(database, transaction, notifications, isoTime(clock.now()));
  if (keys.length === 0) return;
  await appendMailEvent(transaction, mail, { name: 'mailNotifications.created', keys });
  if (await queueNotifications(database, transaction, keys, isoTime(clock.now())))
    transaction.afterDurable(() => mail.wakePush?.());
}

/** The user of a request; null if its credential belongs to none. */
export function getUserId({ caller }: RecordContext): number | null {
  const id = caller.user?.['id'];
  return typeof id === 'number' ? id : null;
}
