import { EmailRows } from '../../database/mail/email-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { Body, PreparedBody, RecordRules } from '../../records/record-rules.ts';
import type { Collection } from '../../schema/registry.ts';
import { MailboxCounts, refuseQueued, removeEmptyConversations, updateConversations } from '../store/mail-changes.ts';

/** E-mails do not change: only flags and added fields can be written. Moving and destroying are actions of their own. */
export const emailRules: RecordRules = {
  changesAccess: false,
  isUnaudited: true,

  prepare: (body, key, context) =>
    restrictToFields(body, key, context, {
      resource: 'emails',
      writable: ['read', 'starred'],
      createCure: 'E-mails are created by emails:import and emails:saveDraft.',
      updateCure: 'Only "read" and "starred" can be changed; use emails:move and emails:destroy for the rest.',
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

/** Conversations are created from their e-mails; callers can set the state and the assignee. */
export const conversationRules: RecordRules = {
  changesAccess: false,
  isUnaudited: true,

  prepare: (body, key, context) =>
    restrictToFields(body, key, context, {
      resource: 'conversations',
      writable: ['state', 'assigneeId', 'assignee'],
      createCure: 'Conversations are created by the server, from the e-mails in them.',
      updateCure: 'Only "state" and "assigneeId" can be changed; the rest comes from the e-mails.',
    }),

  async guard(_transaction, action): Promise<void> {
    if (action === 'destroy')
      throw new ApiError('SYSTEM_PROTECTED', 'A conversation is deleted with its e-mails. Destroy those instead.');
  },
};

/** Attachments are created and deleted with their e-mails. */
export const attachmentRules: RecordRules = {
  changesAccess: false,
  isUnaudited: true,

  prepare: (body, key, context) =>
    restrictToFields(body, key, context, {
      resource: 'attachments',
      writable: [],
      createCure: 'Attachments are created with their e-mails.',
      updateCure: 'Only fields that were added to attachments can be changed.',
    }),

  async guard(_transaction, action): Promise<void> {
    if (action === 'destroy')
      throw new ApiError('SYSTEM_PROTECTED', 'An attachment is deleted with its e-mail. Destroy that instead.');
  },
};

/** Which fields of a collection a body can write, and what its refusals advise. */
interface WritableFields {
  readonly resource: string;
  /** Core fields that can be changed. Added fields always can. */
  readonly writable: readonly string[];
  readonly createCure: string;
  readonly updateCure: string;
}

/** @throws ApiError `SYSTEM_PROTECTED` for a create, and for a core field that cannot be changed. */
async function restrictToFields(
  body: unknown,
  key: unknown,
  { registry }: RecordContext,
  { resource, writable, createCure, updateCure }: WritableFields,
): Promise<PreparedBody> {
  if (key === null) throw new ApiError('SYSTEM_PROTECTED', createCure);
  if (!isObject(body)) return { body: body as Body };
  const collection: Collection = registry.get(resource);
  for (const name of Object.keys(body)) {
    const field = collection.byName.get(name);
    if (field?.core && !field.hidden && !writable.includes(name))
      throw new ApiError('SYSTEM_PROTECTED', `"${name}" of ${resource} cannot be changed by an update. ${updateCure}`);
  }
  return { body };
}
