/** E-mails and what is shown with them: content, attachments, conversations. */
import type { IndexedSystemCollection } from '../../collections/system-indexes.ts';
import { shortenMessageIds } from '../../database/mail/email-rows.ts';
import type { SystemField } from '../../schema/system-collections.ts';
import { attachmentRules, conversationRules, emailRules } from '../rules/email-rules.ts';
import { accountField, commonTraits, defineCount, defineFlag, defineReference, keyField } from './mail-fields.ts';

/** The collection that holds what is stored next to the row of an e-mail. Lists do not read it; whoever may get the e-mail may get it. */
const contentCollection = 'mailContents';

/** Conversations: the e-mails that answer each other. */
export const conversations: IndexedSystemCollection = {
  name: 'conversations',
  title: 'Conversations',
  ...commonTraits,
  importedOnly: true,
  fullText: { through: 'emails' },
  rules: conversationRules,
  timestamps: false,
  indexes: [{ fields: ['accountId', 'lastEmailId'] }],
  fields: [
    keyField,
    accountField,
    { name: 'subject', type: 'text' },
    { name: 'participants', type: 'json' },
    defineCount('messages'),
    defineCount('unread'),
    defineCount('starred'),
    defineCount('attachments'),
    { name: 'lastAt', type: 'datetime' },
    // The order of lists; 0 where no e-mail is left, because an index gives the order only without nulls.
    { name: 'lastEmailId', type: 'bigInt', notNull: true },
    { name: 'snippet', type: 'text' },
    { name: 'state', type: 'string', defaultValue: 'open', allowNull: false, pattern: '^(open|closed|archived)$' },
    defineReference('assignee', 'users'),
    { name: 'mergedInto', type: 'integer' },
  ],
};

/** Texts and headers of e-mails. */
export const mailContents: IndexedSystemCollection = {
  name: contentCollection,
  title: 'Texts and headers of e-mails',
  readableWith: 'emails',
  internal: true,
  timestamps: false,
  // Read by the blob sweep, and to find the e-mail of given message bytes.
  indexes: [{ fields: ['accountId', 'rawSha256'] }],
  fields: [
    { ...keyField, type: 'bigInt' },
    accountField,
    { name: 'text', type: 'text' },
    { name: 'html', type: 'text' },
    { name: 'headers', type: 'json' },
    { name: 'inReplyTo', type: 'json' },
    { name: 'references', type: 'json' },
    { name: 'bcc', type: 'json' },
    { name: 'replyTo', type: 'json' },
    { name: 'authentication', type: 'json' },
    { name: 'rawSha256', type: 'string', maxLength: 64 },
    // What the user wrote, for a message that was written here: editing a draft continues from it.
    { name: 'source', type: 'json', hidden: true },
  ],
};

/** Fields of the content that a get of an e-mail shows as its own. */
const exposedContentFields: ReadonlySet<string> = new Set(
  mailContents.fields.filter(isExposed).map(({ name }) => name),
);

function isExposed({ name, hidden, primaryKey, target }: SystemField): boolean {
  return !hidden && !primaryKey && !target && name !== 'rawSha256';
}

/** E-mails. Their list order and the rows of the full-text index follow the key. */
export const emails: IndexedSystemCollection = {
  name: 'emails',
  title: 'E-mails',
  ...commonTraits,
  importedOnly: true,
  reservedNames: exposedContentFields,
  fullText: { through: null },
  rules: emailRules,
  indexMigration: { before: shortenMessageIds },
  timestamps: false,
  logging: true,
  indexes: [
    { fields: ['accountId', 'identity'], unique: true },
    { fields: ['accountId', 'folder'] },
    { fields: ['accountId', 'read'] },
    { fields: ['accountId', 'starred'] },
    { fields: ['accountId', 'hasAttachments'] },
    { fields: ['accountId', 'subjectKey'] },
    { fields: ['accountId', 'messageId'] },
  ],
  fields: [
    // Seconds since the epoch × 2^20 + a unique number: the order of lists, and the row id in the full-text index.
    { name: 'id', type: 'bigInt', primaryKey: true },
    accountField,
    defineReference('conversation', 'conversations'),
    defineReference('mailbox', 'mailboxes'),
    // The role of its mailbox; the path of a mailbox without a role.
    { name: 'folder', type: 'string', maxLength: 1000 },
    defineReference('content', contentCollection),
    { name: 'contentId', type: 'bigInt', hidden: true },
    { name: 'identity', type: 'string', maxLength: 200, hidden: true },
    // Hash of the subject without reply prefixes; null where the subject says too little to group by.
    { name: 'subjectKey', type: 'string', maxLength: 40, hidden: true },
    { name: 'orphan', type: 'boolean', hidden: true },
    // Addresses of the account that the e-mail reveals; null where an earlier server version stored the e-mail.
    { name: 'ownAddresses', type: 'json', hidden: true },
    { name: 'messageId', type: 'text' },
    { name: 'subject', type: 'text' },
    { name: 'from', type: 'json' },
    { name: 'to', type: 'json' },
    { name: 'cc', type: 'json' },
    { name: 'sentAt', type: 'datetime' },
    { name: 'receivedAt', type: 'datetime' },
    { name: 'snippet', type: 'text' },
    { name: 'size', type: 'integer' },
    defineFlag('read'),
    defineFlag('starred'),
    defineFlag('answered'),
    defineFlag('draft'),
    defineFlag('outgoing'),
    defineFlag('hasAttachments'),
    { name: 'labels', type: 'json' },
    { name: 'warnings', type: 'json' },
    { name: 'bodyState', type: 'string', maxLength: 20 },
  ],
};

/** Attachments of e-mails; the bytes are blobs named by their hash. */
export const attachments: IndexedSystemCollection = {
  name: 'attachments',
  title: 'Attachments',
  ...commonTraits,
  importedOnly: true,
  rules: attachmentRules,
  timestamps: false,
  fields: [
    keyField,
    accountField,
    defineReference('email', 'emails', { onDelete: 'cascade' }),
    { name: 'filename', type: 'string', maxLength: 255 },
    { name: 'contentType', type: 'string', maxLength: 255 },
    { name: 'sniffedType', type: 'string', maxLength: 255 },
    { name: 'size', type: 'integer' },
    { name: 'disposition', type: 'string', maxLength: 20 },
    { name: 'contentId', type: 'text' },
    { name: 'sha256', type: 'string', maxLength: 64, index: true },
  ],
};
