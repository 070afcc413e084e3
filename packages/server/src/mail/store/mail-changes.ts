/** What follows from a change of e-mails: counts of mailboxes and conversations, and the events about them. */
import type { Database, Transaction } from '../../database/database.ts';
import { type EmailPlacement, EmailRows } from '../../database/mail/email-rows.ts';
import { isAnyQueued } from '../../database/mail/outbox-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { requestByKeys } from '../../protocol/request-normaliser.ts';
import type { Grant } from '../../query/grant.ts';
import type { RecordContext } from '../../records/record-context.ts';
import { withGrants } from '../../records/with-grants.ts';
import { destroyRecords } from '../../records/write/write-records.ts';
import { emitMailEvent } from './mail-events.ts';

/** Recounts the conversations of e-mails, and emits an event about them. */
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
  await emitMailEvent(context, transaction, { name: 'conversations.updated', keys: ids });
}

/**
 * After e-mails were deleted: deletes the conversations that have no e-mail left, because all that a conversation shows comes
 * from its e-mails. The others are recounted.
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
    placements.filter(({ conversationId }) => conversationId !== null && !empty.includes(conversationId)),
  );
  if (empty.length === 0) return;
  const override = { resource: 'conversations', action: 'destroy', grant: anyConversationGrant };
  const tx = withGrants({ ...context, tx: transaction }, override);
  const request = requestByKeys('destroy', empty);
  const rules = { changesAccess: false, isUnaudited: true };
  await destroyRecords(tx, context.registry.get('conversations'), request, { rules });
}

/** Deleting the e-mails of a conversation needs no grant on the conversation. */
const anyConversationGrant: Grant = { identity: 'emptied', rows: null, may: (field) => !field.hidden };

/** @throws ApiError `MAIL_QUEUED` where one of some e-mails waits in the outbox, which it leaves only by `emails:cancelSend`. */
export async function refuseQueued(
  database: Database,
  transaction: Transaction,
  keys: readonly unknown[],
): Promise<void> {
  if (!(await isAnyQueued(database, transaction, keys))) return;
  throw new ApiError('MAIL_QUEUED', 'The e-mail waits to be sent. Cancel that with emails:cancelSend first.');
}
