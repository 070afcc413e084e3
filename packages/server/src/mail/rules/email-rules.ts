import { EmailRows } from '../../database/mail/email-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { Body, PreparedBody, RecordRules } from '../../records/record-rules.ts';
import type { Collection } from '../../schema/registry.ts';
import { queueRemoval, trackFlags } from '../store/local-changes.ts';
import { refuseQueued, updateConversations } from '../store/mail-changes.ts';
import { findEmailLocks, findMemberLocks } from '../store/mail-transaction.ts';
import { MailboxCounts } from '../store/mailbox-counts.ts';
import { prepareRemoval } from '../store/remove-emails.ts';
import { parseLabels } from './email-labels.ts';

/** Fields that can be changed, and that the mail server of the account gets. */
const synchronisedFields = ['read', 'starred', 'labels'];

/** E-mails do not change: only flags, labels and added fields can be written. Moving and destroying are actions of their own. */
export const emailRules: RecordRules = {
  changesAccess: false,
  isUnaudited: true,

  async prepare(body, key, context): Promise<PreparedBody> {
    const prepared = await restrictToFields(body, key, context, {
      resource: 'emails',
      writable: synchronisedFields,
      createCure: 'E-mails are created by emails:import and emails:saveDraft.',
      updateCure:
        'Only "read", "starred" and "labels" can be changed; use emails:move and emails:destroy for the rest.',
    });
    if (!isObject(prepared.body) || prepared.body['labels'] === undefined) return prepared;
    return { ...prepared, body: { ...prepared.body, labels: parseLabels(prepared.body['labels']) } };
  },

  findLockKeys({ database, variables }, keys) {
    if (keys === null) return findMemberLocks(database, Number(variables()['$user.id'] ?? 0));
    const ids = keys.map(Number).filter(Number.isSafeInteger);
    return findEmailLocks(database, ids);
  },

  async guard({ transaction, action, keys, body, context }) {
    const rows = new EmailRows(context.database, transaction);
    if (action === 'destroy') {
      await refuseQueued(context.database, transaction, keys);
      await queueRemoval(context, transaction, await rows.readPlacements(keys));
      return prepareRemoval(context, transaction, keys);
    }
    const placements = await rows.readPlacements(keys);
    const counts = new MailboxCounts();
    const isRead = body?.['read'];
    if (typeof isRead === 'boolean')
      for (const placement of placements.filter((each) => each.read !== isRead))
        for (const mailbox of placement.mailboxIds) counts.add(mailbox, 0, isRead ? -1 : 1);
    const isSynchronised = synchronisedFields.some((name) => body && name in body);
    const queueFlags = await trackFlags(context, transaction, isSynchronised ? placements : []);
    return async () => {
      await rows.count(counts.changes);
      await queueFlags();
      await updateConversations(context, transaction, placements);
    };
  },
};

/** Conversations are created from their e-mails; callers can set the state and the assignee. */
export const conversationRules = createPartRules({
  resource: 'conversations',
  writable: ['state', 'assigneeId', 'assignee'],
  createCure: 'Conversations are created by the server, from the e-mails in them.',
  updateCure: 'Only "state" and "assigneeId" can be changed; the rest comes from the e-mails.',
  destroyCure: 'A conversation is deleted with its e-mails. Destroy those instead.',
});

/** Attachments are created and deleted with their e-mails. */
export const attachmentRules = createPartRules({
  resource: 'attachments',
  writable: [],
  createCure: 'Attachments are created with their e-mails.',
  updateCure: 'Only fields that were added to attachments can be changed.',
  destroyCure: 'An attachment is deleted with its e-mail. Destroy that instead.',
});

/** Which fields of a collection a body can write, and what its refusals advise. */
interface WritableFields {
  readonly resource: string;
  /** Core fields that can be changed. Added fields always can. */
  readonly writable: readonly string[];
  readonly createCure: string;
  readonly updateCure: string;
}

/** The rules of records that the server creates and deletes with e-mails. */
function createPartRules({ destroyCure, ...fields }: WritableFields & { readonly destroyCure: string }): RecordRules {
  return {
    changesAccess: false,
    isUnaudited: true,
    prepare: (body, key, context) => restrictToFields(body, key, context, fields),
    async guard({ action }): Promise<void> {
      if (action === 'destroy') throw new ApiError('SYSTEM_PROTECTED', destroyCure);
    },
  };
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
