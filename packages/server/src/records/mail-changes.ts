/** What a change of e-mails brings along: counts of mailboxes and conversations, and the events that tell of them. */
import { isoTime } from '../base/clock.ts';
import type { Transaction } from '../database/database.ts';
import { type EmailPlacement, EmailRows } from '../database/mail/email-rows.ts';
import { isAnyQueued } from '../database/mail/outbox-rows.ts';
import { formatActor } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import { requestByKeys } from '../protocol/request-normaliser.ts';
import type { Grant } from '../query/grant.ts';
import type { RecordContext } from './record-context.ts';
import { withGrants } from './with-grants.ts';
import { destroyRecords } from './write/write-records.ts';

/** How the counts of mailboxes change, by mailbox. */
export class MailboxCounts {
  readonly changes = new Map<number, { messages: number; unread: number }>();

  /** An e-mail is added to a mailbox, or taken from it. */
  addEmail(mailbox: number, { read }: Pick<EmailPlacement, 'read'>, messages: 1 | -1): void {
    this.add(mailbox, messages, read ? 0 : messages);
  }

  add(mailbox: number, messages: number, unread: number): void {
    const before = this.changes.get(mailbox) ?? { messages: 0, unread: 0 };
    this.changes.set(mailbox, { messages: before.messages + messages, unread: before.unread + unread });
  }
}

/** Counts the conversations of e-mails anew, and tells that they have changed. */
export async function updateConversations(
  context: RecordContext,
  transaction: Transaction,
  placements: readonly Pick<EmailPlacement, 'conversationId'>[],
): Promise<void> {
  const ids = [
    ...new Set(placements.flatMap(({ conversationId }) => (conversationId === null ? [] : [conversationId]))),
  ];
  if (ids.length === 0) return;
  await new EmailRows(context.database, transaction).recount(ids);
  await emitMailEvent(context, transaction, 'conversations.updated', 'conversations', ids);
}

/**
 * After e-mails were destroyed: conversations that none is left in go with them, since what they say was said in those. The
 * others are counted anew.
 */
export async function removeEmptyConversations(
  context: RecordContext,
  transaction: Transaction,
  placements: readonly Pick<EmailPlacement, 'conversationId'>[],
): Promise<void> {
  const ids = placements.flatMap(({ conversationId }) => (conversationId === null ? [] : [conversationId]));
  const empty = await new EmailRows(context.database, transaction).findEmptied([...new Set(ids)]);
  await updateConversations(
    context,
    transaction,
    placements.filter(({ conversationId }) => !empty.includes(conversationId!)),
  );
  if (empty.length === 0) return;
  const override = { resource: 'conversations', action: 'destroy', grant: anyConversationGrant };
  const tx = withGrants({ ...context, tx: transaction }, override);
  const request = requestByKeys('destroy', empty);
  const rules = { changesAccess: false, isUnaudited: true };
  await destroyRecords(tx, context.registry.get('conversations'), request, { rules });
}

/** Nobody is asked about a conversation whose e-mails they may destroy. */
const anyConversationGrant: Grant = { identity: 'emptied', rows: null, may: (field) => !field.hidden };

/** @throws ApiError 409 where one of some e-mails waits to be sent: it stays where it is until it is called back. */
export async function refuseQueued({ database, tx }: RecordContext, keys: readonly unknown[]): Promise<void> {
  if (!(await isAnyQueued(database, tx!, keys))) return;
  throw new ApiError('MAIL_QUEUED', 'The e-mail waits to be sent; call it back by emails:cancelSend first.');
}

/** Events about mail: everyday work, which the audit journal does not hold. */
export async function emitMailEvent(
  { changes, caller, clock, requestId }: RecordContext,
  transaction: Transaction,
  name: string,
  resource: string,
  keys: readonly number[],
  changed: readonly string[] = [],
): Promise<void> {
  const events = { name, resource, keys: keys.map(String), actor: formatActor(caller), requestId, changed, by: null };
  await changes.append(transaction, events, isoTime(clock.now()));
}
