import { EmailRows } from '../../database/mail/email-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import type { Collection } from '../../schema/registry.ts';
import { conversationsChanged, conversationsLeft, MailboxCounts, refuseQueued } from '../mail-changes.ts';
import type { RecordContext } from '../record-context.ts';
import type { Body, RecordRules, RuledBody } from '../record-rules.ts';

/** E-mails: what came is what came. Flags may be set, and fields that were added; moving and destroying are actions of their own. */
export const emailRules: RecordRules = {
  access: false,
  everyday: true,

  prepare: (body, key, context) =>
    only(['read', 'starred'], 'emails', body, key, context, {
      create: 'E-mails come in by emails:import; what you write begins as emails:saveDraft.',
      update: 'read and starred may be changed; emails:move and emails:destroy do the rest.',
    }),

  async guard(transaction, action, keys, body, context) {
    const rows = new EmailRows(context.database, transaction);
    const places = await rows.places(keys);
    const counts = new MailboxCounts();
    if (action === 'destroy') {
      await refuseQueued({ ...context, inside: transaction }, keys);
      const remove = await rows.forget(keys);
      for (const place of places) for (const mailbox of place.mailboxIds) counts.addEmail(mailbox, place, -1);
      return async () => {
        await remove();
        await rows.count(counts.changes);
        await conversationsLeft(context, transaction, places);
      };
    }
    const read = body?.['read'];
    if (typeof read === 'boolean')
      for (const place of places.filter((each) => each.read !== read))
        for (const mailbox of place.mailboxIds) counts.add(mailbox, 0, read ? -1 : 1);
    return async () => {
      await rows.count(counts.changes);
      await conversationsChanged(context, transaction, places);
    };
  },
};

/** Conversations are made by the messages in them; people say how they stand, and who looks after them. */
export const conversationRules: RecordRules = {
  access: false,
  everyday: true,

  prepare: (body, key, context) =>
    only(['state', 'assigneeId', 'assignee'], 'conversations', body, key, context, {
      create: 'Conversations are made by the e-mails in them.',
      update: 'state and assigneeId may be changed; the rest comes from its e-mails.',
    }),

  async guard(_transaction, action): Promise<void> {
    if (action === 'destroy')
      throw new ApiError('SYSTEM_PROTECTED', 'A conversation goes with its e-mails; destroy those.');
  },
};

export const attachmentRules: RecordRules = {
  access: false,
  everyday: true,

  prepare: (body, key, context) =>
    only([], 'attachments', body, key, context, {
      create: 'Attachments come with e-mails.',
      update: 'Only fields that were added to attachments may be changed.',
    }),

  async guard(_transaction, action): Promise<void> {
    if (action === 'destroy')
      throw new ApiError('SYSTEM_PROTECTED', 'An attachment goes with its e-mail; destroy that.');
  },
};

/** A body of some core fields, and of those that were added. */
async function only(
  open: readonly string[],
  resource: string,
  body: unknown,
  key: unknown,
  { registry }: RecordContext,
  cures: { readonly create: string; readonly update: string },
): Promise<RuledBody> {
  if (key === null) throw new ApiError('SYSTEM_PROTECTED', cures.create);
  if (!isObject(body)) return { body: body as Body };
  const collection: Collection = registry.get(resource);
  for (const name of Object.keys(body)) {
    const field = collection.byName.get(name);
    if (field?.core && !field.hidden && !open.includes(name))
      throw new ApiError('SYSTEM_PROTECTED', `"${name}" of ${resource} is not changed by hand. ${cures.update}`);
  }
  return { body };
}
