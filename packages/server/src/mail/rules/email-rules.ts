import { EmailRows } from '../../database/mail/email-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { Body, PreparedBody, RecordRules } from '../../records/record-rules.ts';
import type { Collection } from '../../schema/registry.ts';
import { MailboxCounts, refuseQueued, removeEmptyConversations, updateConversations } from '../store/mail-changes.ts';

/** E-mails: what came is what came. Flags may be set, and fields that were added; moving and destroying are actions of their own. */
export const emailRules: RecordRules = {
  changesAccess: false,
  isUnaudited: true,

  prepare: (body, key, context) =>
    restrictToFields(['read', 'starred'], 'emails', body, key, context, {
      create: 'E-mails come in by emails:import; what you write begins as emails:saveDraft.',
      update: 'read and starred may be changed; emails:move and emails:destroy do the rest.',
    }),

  async guard(transaction, action, keys, body, context) {
    const rows = new EmailRows(context.database, transaction);
    const placements = await rows.readPlacements(keys);
    const counts = new MailboxCounts();
    if (action === 'destroy') {
      await refuseQueued(context.database, transaction, keys);
      const remove = await rows.deleteDependents(keys);
      for (const placement of placements)
        for (const mailbox of placement.mailboxIds) counts.addEmail(mailbox, placement, -1);
      return async () => {
        await remove();
        await rows.count(counts.changes);
        await removeEmptyConversations(context, transaction, placements);
      };
    }
    const isRead = body?.['read'];
    if (typeof isRead === 'boolean')
      for (const placement of placements.filter((each) => each.read !== isRead))
        for (const mailbox of placement.mailboxIds) counts.add(mailbox, 0, isRead ? -1 : 1);
    return async () => {
      await rows.count(counts.changes);
      await updateConversations(context, transaction, placements);
    };
  },
};

/** Conversations are made by the messages in them; people say how they stand, and who looks after them. */
export const conversationRules: RecordRules = {
  changesAccess: false,
  isUnaudited: true,

  prepare: (body, key, context) =>
    restrictToFields(['state', 'assigneeId', 'assignee'], 'conversations', body, key, context, {
      create: 'Conversations are made by the e-mails in them.',
      update: 'state and assigneeId may be changed; the rest comes from its e-mails.',
    }),

  async guard(_transaction, action): Promise<void> {
    if (action === 'destroy')
      throw new ApiError('SYSTEM_PROTECTED', 'A conversation goes with its e-mails; destroy those.');
  },
};

export const attachmentRules: RecordRules = {
  changesAccess: false,
  isUnaudited: true,

  prepare: (body, key, context) =>
    restrictToFields([], 'attachments', body, key, context, {
      create: 'Attachments come with e-mails.',
      update: 'Only fields that were added to attachments may be changed.',
    }),

  async guard(_transaction, action): Promise<void> {
    if (action === 'destroy')
      throw new ApiError('SYSTEM_PROTECTED', 'An attachment goes with its e-mail; destroy that.');
  },
};

/** A body of some core fields, and of those that were added. */
async function restrictToFields(
  writable: readonly string[],
  resource: string,
  body: unknown,
  key: unknown,
  { registry }: RecordContext,
  cures: { readonly create: string; readonly update: string },
): Promise<PreparedBody> {
  if (key === null) throw new ApiError('SYSTEM_PROTECTED', cures.create);
  if (!isObject(body)) return { body: body as Body };
  const collection: Collection = registry.get(resource);
  for (const name of Object.keys(body)) {
    const field = collection.byName.get(name);
    if (field?.core && !field.hidden && !writable.includes(name))
      throw new ApiError('SYSTEM_PROTECTED', `"${name}" of ${resource} is not changed by hand. ${cures.update}`);
  }
  return { body };
}
