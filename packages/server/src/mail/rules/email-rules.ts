import { EmailRows } from '../../database/mail/email-rows.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { PreparedBody, RecordRules } from '../../records/record-rules.ts';
import { queueRemoval, trackFlags } from '../store/local-changes.ts';
import { refuseQueued, updateConversations } from '../store/mail-changes.ts';
import { findEmailLocks, findMemberLocks } from '../store/mail-transaction.ts';
import { MailboxCounts } from '../store/mailbox-counts.ts';
import { prepareRemoval } from '../store/remove-emails.ts';
import { createPartRules, restrictToFields } from './part-rules.ts';

/** Fields that can be changed, and whose changes are sent to the mail server of the account. */
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
    const { parseLabels } = await import('./email-labels.ts');
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

/** Attachments are created and deleted with their e-mails. */
export const attachmentRules = createPartRules({
  resource: 'attachments',
  writable: [],
  createCure: 'Attachments are created with their e-mails.',
  updateCure: 'Only fields that were added to attachments can be changed.',
  destroyCure: 'An attachment is deleted with its e-mail. Destroy that instead.',
});
