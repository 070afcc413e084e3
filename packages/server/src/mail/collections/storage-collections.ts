/** Internal collections of mail: placements, the outbox, and the keys by which conversations are found. */
import type { IndexedSystemCollection } from '../../collections/system-indexes.ts';
import { migratePlacements } from '../../database/mail/placement-rows.ts';
import { accountField, defineCount, defineReference, keyField } from './mail-fields.ts';

/** In which mailbox an e-mail is, and its number there. */
export const mailPlacements: IndexedSystemCollection = {
  name: 'mailPlacements',
  title: 'In which mailbox an e-mail lies, under which number',
  indexMigration: { after: migratePlacements },
  internal: true,
  timestamps: false,
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
    { name: 'uid', type: 'bigInt' },
  ],
};

/** Messages that wait to be sent. */
export const mailOutbox: IndexedSystemCollection = {
  name: 'mailOutbox',
  title: 'Messages on their way out',
  internal: true,
  timestamps: false,
  // The delivery worker takes due messages, by status and time.
  indexes: [{ fields: ['status', 'sendAt'] }],
  fields: [
    keyField,
    accountField,
    { ...defineReference('email', 'emails', { onDelete: 'cascade' }), unique: true },
    { name: 'status', type: 'string', maxLength: 20, pattern: '^(queued|sending|sent|failed|unknown)$' },
    { name: 'sendAt', type: 'datetime' },
    { name: 'sender', type: 'string', maxLength: 320 },
    { name: 'recipients', type: 'json' },
    // The worker that delivers the message, and the end of its lease.
    { name: 'leasedBy', type: 'string', maxLength: 100 },
    { name: 'leasedUntil', type: 'datetime' },
    defineCount('attempts'),
    { name: 'lastError', type: 'text' },
  ],
};

/** Keys of messages, by which later messages find their conversation. */
export const mailThreadKeys: IndexedSystemCollection = {
  name: 'mailThreadKeys',
  title: 'By which messages belong to a conversation',
  internal: true,
  timestamps: false,
  indexes: [{ fields: ['accountId', 'key'], unique: true }],
  fields: [
    { ...keyField, type: 'bigInt' },
    accountField,
    { name: 'key', type: 'string', maxLength: 40 },
    defineReference('conversation', 'conversations', { onDelete: 'cascade' }),
  ],
};

/** Subjects and correspondents, by which replies without references find what they answer. */
export const mailSubjectParties: IndexedSystemCollection = {
  name: 'mailSubjectParties',
  title: 'By which answers without references find what they answer',
  internal: true,
  timestamps: false,
  indexes: [{ fields: ['accountId', 'key', 'kind', 'emailId'], unique: true }],
  fields: [
    { ...keyField, type: 'bigInt' },
    accountField,
    { name: 'key', type: 'string', maxLength: 40 },
    // 1: a reply without references; 2: the correspondent alone suffices, whatever the other message is.
    { name: 'kind', type: 'integer' },
    defineReference('email', 'emails', { onDelete: 'cascade' }),
  ],
};
