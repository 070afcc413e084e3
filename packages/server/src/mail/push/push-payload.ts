/** What a Web Push message says, as its user may see it at that moment. */
import type { DuePushMessage } from '../../database/mail/push-rows.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import { getRecord } from '../../records/read/read-records.ts';
import type { RecordContext } from '../../records/record-context.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Characters of a subject or name: the payload of a message has at most about 4,000 bytes. */
const maxText = 150;

/** The payload of a message. */
interface PushPayload {
  readonly application: string;
  readonly kind: string;
  readonly conversation: number;
  readonly subject: string;
  /** The sender of new mail; empty for other kinds. */
  readonly from: string;
}

/**
 * @returns JSON text; null if the user has read the e-mail or notification meanwhile, or the e-mail is no longer in the
 * inbox.
 * @throws ApiError if the user may not see it.
 */
export async function buildPushPayload(
  context: RecordContext,
  application: string,
  { notificationId, emailId }: DuePushMessage,
): Promise<string | null> {
  const payload =
    notificationId !== null
      ? await readNotification(context, application, notificationId)
      : await readNewMail(context, application, emailId ?? 0);
  return payload && JSON.stringify(payload);
}

async function readNotification(context: RecordContext, application: string, key: number): Promise<PushPayload | null> {
  const notification = await readRecord(context, 'mailNotifications', {
    filterByTk: key,
    fields: ['kind', 'read', 'conversationId'],
  });
  if (notification['read'] === true) return null;
  const conversation = notification['conversationId'] as number;
  const { subject } = await readRecord(context, 'conversations', { filterByTk: conversation, fields: ['subject'] });
  return { application, kind: String(notification['kind']), conversation, subject: cut(subject), from: '' };
}

async function readNewMail(context: RecordContext, application: string, key: number): Promise<PushPayload | null> {
  const fields = ['from', 'subject', 'read', 'folder', 'conversationId'];
  const email = await readRecord(context, 'emails', { filterByTk: key, fields });
  if (email['read'] === true || email['folder'] !== 'inbox') return null;
  const [sender] = (email['from'] ?? []) as readonly { readonly name: string; readonly address: string }[];
  const conversation = email['conversationId'] as number;
  const from = cut(sender?.name || sender?.address);
  return { application, kind: 'newMail', conversation, subject: cut(email['subject']), from };
}

async function readRecord(context: RecordContext, collection: string, parameters: Fields): Promise<Fields> {
  const request = normaliseRequest('get', parameters, false);
  return JSON.parse((await getRecord(context, context.registry.get(collection), request)).data) as Fields;
}

function cut(text: unknown): string {
  return typeof text === 'string' ? [...text].slice(0, maxText).join('') : '';
}
