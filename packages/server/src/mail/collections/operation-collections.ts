/** Internal collections of mail about the mail server: changes that it must still get, and what must not come back from it. */
import { accountField, defineCount, defineInternalCollection, defineReference, keyField } from './mail-fields.ts';

/**
 * Changes of an account that its mail server does not have yet, in the order in which they are made there. They name e-mails and
 * mailboxes without foreign keys: a deletion is sent after the e-mail has been deleted here.
 */
export const mailOperations = defineInternalCollection(
  'mailOperations',
  'Changes that the mail server does not have yet',
  {
    indexes: [{ fields: ['mailboxId', 'uid'] }],
    fields: [
      { ...keyField, type: 'bigInt' },
      accountField,
      {
        name: 'kind',
        type: 'string',
        maxLength: 20,
        pattern: '^(flags|move|delete|append|createMailbox|renameMailbox|deleteMailbox)$',
      },
      { name: 'emailId', type: 'bigInt', index: true },
      // Where the message is on the mail server. A null UID waits until it is known.
      { name: 'mailboxId', type: 'integer' },
      { name: 'uidvalidity', type: 'string', maxLength: 20 },
      { name: 'uid', type: 'bigInt' },
      // The mailbox that a move goes to.
      { name: 'targetId', type: 'integer' },
      // {add, remove}: flags and keywords.
      { name: 'flags', type: 'json' },
      { name: 'payload', type: 'json' },
      { name: 'status', type: 'string', maxLength: 20, pattern: '^(queued|running)$' },
      defineCount('attempts'),
      { name: 'notBefore', type: 'datetime' },
      { name: 'lastError', type: 'text' },
      { name: 'createdAt', type: 'datetime' },
    ],
  },
);

/** E-mails that were permanently deleted here, so that the mail server does not bring them back. */
export const mailTombstones = defineInternalCollection('mailTombstones', 'Permanently deleted e-mails', {
  indexes: [{ fields: ['accountId', 'identity'], unique: true }, { fields: ['accountId', 'providerId'] }],
  fields: [
    { ...keyField, type: 'bigInt' },
    accountField,
    { name: 'identity', type: 'string', maxLength: 200 },
    { name: 'providerId', type: 'string', maxLength: 255 },
    // The key that the e-mail had. Its deletion is confirmed when no operation names it any more.
    { name: 'emailId', type: 'bigInt' },
    { name: 'at', type: 'datetime', index: true },
  ],
});

/** Placements that the mail server no longer shows, until it is known whether the message was moved or deleted there. */
export const mailLostPlacements = defineInternalCollection(
  'mailLostPlacements',
  'Placements that the mail server no longer shows',
  {
    fields: [
      { ...keyField, type: 'bigInt' },
      accountField,
      { ...defineReference('placement', 'mailPlacements', { onDelete: 'cascade' }), unique: true },
      { name: 'at', type: 'datetime' },
    ],
  },
);
