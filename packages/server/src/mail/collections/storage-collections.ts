/** Internal collections of mail: placements, the outbox, and the keys by which conversations are found. */
import { migrateOutbox } from '../../database/mail/outbox-rows.ts';
import { migratePlacements } from '../../database/mail/placement-rows.ts';
import {
  accountField,
  defineCount,
  defineInternalCollection,
  defineReference,
  keyField,
  waitingEmailFields,
} from './mail-fields.ts';

/** In which mailbox an e-mail is, and its number there. */
export const mailPlacements = defineInternalCollection('mailPlacements', 'Placements of e-mails in mailboxes', {
  indexMigration: { after: migratePlacements },
  indexes: [
    { fields: ['mailboxId', 'uidvalidity', 'uid'], unique: true },
    // A mailbox in the order of lists: the key of an e-mail begins with the second in which it was received.
    { fields: ['mailboxId', 'emailId'] },
    { fields: ['emailId', 'mailboxId'] },
  ],
  fields: [
    { ...keyField, type: 'bigInt' },
    defineReference('email', 'emails', { onDelete: 'cascade' }),
    defineReference('mailbox', 'mailboxes', { onDelete: 'cascade' }),
    { name: 'uidvalidity', type: 'string', maxLength: 20 },
    // Null where the mail server does not have the e-mail in this mailbox yet, or not any more.
    { name: 'uid', type: 'bigInt' },
    { name: 'modseq', type: 'string', maxLength: 20 },
    // Flags and keywords that the mail server confirmed last.
    { name: 'flags', type: 'json' },
  ],
});

/** E-mails whose headers are stored, and whose bodies are to be downloaded. */
export const mailMissingBodies = defineInternalCollection(
  'mailMissingBodies',
  'E-mails whose body is still on the mail server',
  // The newest e-mails of an account come first, and the key of an e-mail begins with the second in which it was received.
  { indexes: [{ fields: ['accountId', 'emailId'] }], fields: waitingEmailFields },
);

/** Messages that wait to be sent. */
export const mailOutbox = defineInternalCollection('mailOutbox', 'Outbox', {
  indexMigration: { after: migrateOutbox },
  // The delivery worker takes due messages, by status and time.
  indexes: [{ fields: ['status', 'nextAt'] }],
  fields: [
    keyField,
    accountField,
    { ...defineReference('email', 'emails', { onDelete: 'cascade' }), unique: true },
    { name: 'status', type: 'string', maxLength: 20, pattern: '^(queued|sending|sent|failed|unknown)$' },
    { name: 'sendAt', type: 'datetime' },
    // When the next attempt is due; null where no attempt follows.
    { name: 'nextAt', type: 'datetime' },
    { name: 'sender', type: 'string', maxLength: 320 },
    { name: 'recipients', type: 'json' },
    // The worker that delivers the message, and the end of its lease.
    { name: 'leasedBy', type: 'string', maxLength: 100 },
    { name: 'leasedUntil', type: 'datetime' },
    // Recipients to whom the message is being transmitted now: if the worker dies, their outcome is unknown.
    { name: 'transmitting', type: 'json' },
    defineCount('attempts'),
    { name: 'lastError', type: 'text' },
    // The reminder that was set with the message; null: none was.
    { name: 'followUpAt', type: 'datetime' },
    { name: 'followUpById', type: 'integer' },
  ],
});

/** Keys of messages, by which later messages find their conversation. */
export const mailThreadKeys = defineInternalCollection('mailThreadKeys', 'Keys of conversations', {
  indexes: [{ fields: ['accountId', 'key'], unique: true }],
  fields: [
    { ...keyField, type: 'bigInt' },
    accountField,
    { name: 'key', type: 'string', maxLength: 40 },
    defineReference('conversation', 'conversations', { onDelete: 'cascade' }),
  ],
});

/** Subjects and correspondents, by which replies without references find what they answer. */
export const mailSubjectParties = defineInternalCollection(
  'mailSubjectParties',
  'Subjects and correspondents, by which replies without references are matched',
  {
    indexes: [{ fields: ['accountId', 'key', 'kind', 'emailId'], unique: true }],
    fields: [
      { ...keyField, type: 'bigInt' },
      accountField,
      { name: 'key', type: 'string', maxLength: 40 },
      // 1: a reply without references; 2: the correspondent is sufficient, whatever the other message is.
      { name: 'kind', type: 'integer' },
      defineReference('email', 'emails', { onDelete: 'cascade' }),
    ],
  },
);
