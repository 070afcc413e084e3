/** E-mails and what is shown with them: content, attachments, conversations. */
import type { IndexedSystemCollection } from '../../collections/system-indexes.ts';
import { shortenMessageIds } from '../../database/mail/email-rows.ts';
import type { SystemField } from '../../schema/system-collections.ts';
import { attachmentRules, emailRules } from '../rules/email-rules.ts';
import { conversationRules } from '../team/conversation-rules.ts';
import { mirroredFields } from './header-fields.ts';
import {
  accountField,
  commonTraits,
  defineCount,
  defineFlag,
  defineInternalCollection,
  defineReference,
  keyField,
} from './mail-fields.ts';

/** The states of a conversation. `snoozed` ends at a time; a received e-mail opens any of the others. */
export const conversationStates = ['open', 'closed', 'snoozed', 'archived'] as const;

/**
 * The collection that holds what is stored next to the row of an e-mail. Lists do not read it. Callers who may get the
 * e-mail may get its content.
 */
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
  // Who assigned, closed or snoozed it, and when.
  logging: true,
  indexes: [
    { fields: ['accountId', 'lastEmailId'] },
    // Lists of a rare label only test what has labels.
    { fields: ['accountId', 'lastEmailId'], present: 'labels' },
    { fields: ['accountId', 'mergedInto'] },
    { fields: ['state', 'snoozedUntil'] },
    { fields: ['accountId', 'firstReceivedAt'] },
  ],
  fields: [
    keyField,
    accountField,
    { name: 'subject', type: 'text' },
    { name: 'participants', type: 'json' },
    defineCount('messages'),
    defineCount('unread'),
    defineCount('starred'),
    defineCount('attachments'),
    // The labels of its e-mails, each once; null if they have none.
    { name: 'labels', type: 'array' },
    { name: 'lastAt', type: 'datetime' },
    // The order of lists; 0 where no e-mail is left, because an index gives the order only without nulls.
    { name: 'lastEmailId', type: 'bigInt', notNull: true },
    { name: 'snippet', type: 'text' },
    {
      name: 'state',
      type: 'string',
      defaultValue: 'open',
      allowNull: false,
      pattern: `^(${conversationStates.join('|')})$`,
    },
    defineReference('assignee', 'users'),
    { name: 'mergedInto', type: 'integer' },
    // When a snoozed conversation is opened again, and who snoozed it; null in any other state.
    { name: 'snoozedUntil', type: 'datetime' },
    defineReference('snoozedBy', 'users'),
    // When the server opens the conversation and reminds a user if no reply has arrived, and which user; null: no reminder.
    { name: 'followUpAt', type: 'datetime', index: true },
    defineReference('followUpBy', 'users'),
    // New mail does not open it.
    defineFlag('muted'),
    // Internal notes, see note-collections.ts.
    defineCount('notes'),
    // For reports: when the first message arrived, when it was answered, and when the conversation was closed; seconds since the first.
    { name: 'firstReceivedAt', type: 'datetime' },
    { name: 'respondedAt', type: 'datetime' },
    { name: 'responseSeconds', type: 'integer' },
    { name: 'closedAt', type: 'datetime' },
    { name: 'resolutionSeconds', type: 'integer' },
  ],
};

/** Texts and headers of e-mails. */
export const mailContents = defineInternalCollection(contentCollection, 'Texts and headers of e-mails', {
  readableWith: 'emails',
  deniedWith: { headers: mirroredFields },
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
    // Of a message that was sent here: the outcome for each recipient.
    { name: 'delivery', type: 'json' },
    // What the user wrote, for a message that was written here: editing a draft continues from it.
    { name: 'source', type: 'json', hidden: true },
  ],
});

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
  // The payload names the rule and the account, and nothing of the e-mail.
  notices: ['ruleMatched'],
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
    { fields: ['accountId', 'providerId'] },
    { fields: ['accountId', 'id'], present: 'labels' },
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
    defineFlag('forwarded'),
    defineFlag('draft'),
    // Marked on the mail server to be deleted there.
    defineFlag('deleted'),
    defineFlag('outgoing'),
    defineFlag('hasAttachments'),
    // Keywords of the mail server that users set (Gmail: its labels), and those that programs set, such as "$Junk".
    { name: 'labels', type: 'array' },
    { name: 'keywords', type: 'json' },
    // The mail server's own ids of the message and of its conversation: EMAILID and THREADID, or those of Gmail.
    { name: 'providerId', type: 'string', maxLength: 255 },
    { name: 'providerThreadId', type: 'string', maxLength: 255 },
    { name: 'warnings', type: 'json' },
    // `partial`: only headers and structure are stored, the body is still on the mail server.
    { name: 'bodyState', type: 'string', maxLength: 20 },
    // Of a message that was sent here: queued, retrying, sent, partlySent, failed, unknown or cancelled; null for other messages.
    { name: 'deliveryStatus', type: 'string', maxLength: 20 },
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
    // Number of the part in the message, as IMAP counts: "2.1"; null where the whole message is stored.
    { name: 'partId', type: 'string', maxLength: 60 },
    // `remote`: the bytes are still on the mail server, and sha256 is null.
    {
      name: 'state',
      type: 'string',
      maxLength: 20,
      defaultValue: 'stored',
      allowNull: false,
      pattern: '^(stored|remote)$',
    },
  ],
};
