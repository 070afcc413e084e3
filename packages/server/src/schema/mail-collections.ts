/**
 * Mail in every application: accounts, the mailboxes of each, e-mails, the conversations that they belong to, and what is
 * attached to them. Who sees a record is decided by its account (access/mail-visibility.ts).
 */
import type { FieldDefinition } from '../protocol/definition.ts';
import { mailboxRoles } from './mailbox-roles.ts';
import type { SystemCollection, SystemField, SystemRelation } from './system-collections.ts';

/** The collections that requests may name. */
export const mailResources = ['accounts', 'mailboxes', 'emails', 'conversations', 'attachments'] as const;
export type MailResource = (typeof mailResources)[number];

const mailNames: ReadonlySet<string> = new Set(mailResources);

/** Whether a resource is a collection of mail. */
export function isMailResource(name: string): name is MailResource {
  return mailNames.has(name);
}

/** The `status` of an account that was destroyed, until all that was in it is gone: to everybody it is not there. */
export const deletingStatus = 'destroying';

/** What the conversations of an account are made by; those made by a lower version are rebuilt when its application is opened. */
export const threadsVersion = 1;

/** What of an e-mail lies beside its row: lists do not read it, and who may get the e-mail may get it. */
export const contentCollection = 'mailContents';

const key: SystemField = { name: 'id', type: 'integer', primaryKey: true, autoIncrement: true };
const account: SystemField = {
  name: 'account',
  type: 'belongsTo',
  target: 'accounts',
  foreignKey: 'accountId',
  onDelete: 'cascade',
};
const defineFlag = (name: string): SystemField => ({ name, type: 'boolean', defaultValue: false, allowNull: false });
const defineCount = (name: string): SystemField => ({ name, type: 'integer', defaultValue: 0, allowNull: false });
const defineReference = (name: string, target: string, more: Partial<FieldDefinition> = {}): SystemField => ({
  name,
  type: 'belongsTo',
  target,
  foreignKey: `${name}Id`,
  ...more,
});

/** In the order in which they are made: what they refer to comes first. */
export const mailCollections: readonly SystemCollection[] = [
  {
    name: 'accounts',
    title: 'Mail accounts',
    timestamps: true,
    fields: [
      key,
      { name: 'name', type: 'string', maxLength: 255 },
      { name: 'address', type: 'string', required: true, allowNull: false, maxLength: 320, index: true },
      { name: 'imap', type: 'json' },
      { name: 'smtp', type: 'json' },
      { name: 'auth', type: 'string', defaultValue: 'password', allowNull: false, pattern: '^(password|oauth2)$' },
      defineReference('owner', 'users'),
      { name: 'status', type: 'string', maxLength: 20, defaultValue: 'disabled', allowNull: false },
      { name: 'statusReason', type: 'text' },
      defineCount('backfillDone'),
      defineCount('backfillTotal'),
      { name: 'lastSyncAt', type: 'datetime' },
      { name: 'signature', type: 'text' },
      { name: 'since', type: 'date' },
      // Further addresses under which it gets and sends mail.
      { name: 'aliases', type: 'json' },
      { name: 'secrets', type: 'json', hidden: true },
      // The version of the index of conversations; null where an earlier version of the server made it, until it is rebuilt.
      { name: 'threadsVersion', type: 'integer', hidden: true },
    ],
  },
  {
    name: 'accountMembers',
    title: 'Who sees the mail of an account',
    internal: true,
    timestamps: false,
    indexes: [{ fields: ['userId', 'accountId'], unique: true }],
    fields: [key, account, defineReference('user', 'users', { onDelete: 'cascade' })],
  },
  {
    name: 'mailboxes',
    title: 'Mailboxes',
    timestamps: false,
    indexes: [{ fields: ['accountId', 'path'], unique: true }],
    fields: [
      key,
      account,
      { name: 'path', type: 'string', required: true, allowNull: false, maxLength: 1000 },
      { name: 'role', type: 'string', pattern: `^(${mailboxRoles.join('|')})$` },
      defineCount('messages'),
      defineCount('unread'),
      { name: 'uidvalidity', type: 'string', maxLength: 20 },
      { name: 'uidnext', type: 'string', maxLength: 20 },
      { name: 'highestmodseq', type: 'string', maxLength: 20 },
    ],
  },
  {
    name: 'conversations',
    title: 'Conversations',
    timestamps: false,
    indexes: [{ fields: ['accountId', 'lastEmailId'] }],
    fields: [
      key,
      account,
      { name: 'subject', type: 'text' },
      { name: 'participants', type: 'json' },
      defineCount('messages'),
      defineCount('unread'),
      defineCount('starred'),
      defineCount('attachments'),
      { name: 'lastAt', type: 'datetime' },
      // 0 where no e-mail is left: the order of lists, which an index gives only where nothing is null.
      { name: 'lastEmailId', type: 'bigInt', notNull: true },
      { name: 'snippet', type: 'text' },
      { name: 'state', type: 'string', defaultValue: 'open', allowNull: false, pattern: '^(open|closed|archived)$' },
      defineReference('assignee', 'users'),
      { name: 'mergedInto', type: 'integer' },
    ],
  },
  {
    name: contentCollection,
    title: 'Texts and headers of e-mails',
    internal: true,
    timestamps: false,
    // Asked for by the sweep of blobs, and by whoever has a message's bytes.
    indexes: [{ fields: ['accountId', 'rawSha256'] }],
    fields: [
      { ...key, type: 'bigInt' },
      account,
      { name: 'text', type: 'text' },
      { name: 'html', type: 'text' },
      { name: 'headers', type: 'json' },
      { name: 'inReplyTo', type: 'json' },
      { name: 'references', type: 'json' },
      { name: 'bcc', type: 'json' },
      { name: 'replyTo', type: 'json' },
      { name: 'authentication', type: 'json' },
      { name: 'rawSha256', type: 'string', maxLength: 64 },
      // What was written, of a message that began here: a draft goes on from it.
      { name: 'source', type: 'json', hidden: true },
    ],
  },
  {
    name: 'emails',
    title: 'E-mails',
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
      // Seconds since the epoch × 2^20 + a number of its own: the order of lists, and the row of the full-text index.
      { name: 'id', type: 'bigInt', primaryKey: true },
      account,
      defineReference('conversation', 'conversations'),
      defineReference('mailbox', 'mailboxes'),
      // The role of its mailbox, else the mailbox's path.
      { name: 'folder', type: 'string', maxLength: 1000 },
      defineReference('content', contentCollection),
      { name: 'contentId', type: 'bigInt', hidden: true },
      { name: 'identity', type: 'string', maxLength: 200, hidden: true },
      // Tells subjects apart without what replies put before them; null where there is none to go by.
      { name: 'subjectKey', type: 'string', maxLength: 40, hidden: true },
      { name: 'orphan', type: 'boolean', hidden: true },
      // Addresses that it shows to be the account's; null where an earlier version of the server stored it.
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
  },
  {
    name: 'attachments',
    title: 'Attachments',
    timestamps: false,
    fields: [
      key,
      account,
      defineReference('email', 'emails', { onDelete: 'cascade' }),
      { name: 'filename', type: 'string', maxLength: 255 },
      { name: 'contentType', type: 'string', maxLength: 255 },
      { name: 'sniffedType', type: 'string', maxLength: 255 },
      { name: 'size', type: 'integer' },
      { name: 'disposition', type: 'string', maxLength: 20 },
      { name: 'contentId', type: 'text' },
      { name: 'sha256', type: 'string', maxLength: 64, index: true },
    ],
  },
  {
    name: 'mailPlacements',
    title: 'In which mailbox an e-mail lies, under which number',
    internal: true,
    timestamps: false,
    indexes: [
      { fields: ['mailboxId', 'uidvalidity', 'uid'], unique: true },
      // A mailbox in the order of lists: the key of an e-mail begins with the second in which it was received.
      { fields: ['mailboxId', 'emailId'] },
      { fields: ['emailId', 'mailboxId'] },
    ],
    fields: [
      { ...key, type: 'bigInt' },
      defineReference('email', 'emails', { onDelete: 'cascade' }),
      defineReference('mailbox', 'mailboxes', { onDelete: 'cascade' }),
      { name: 'uidvalidity', type: 'string', maxLength: 20 },
      { name: 'uid', type: 'bigInt' },
    ],
  },
  {
    name: 'mailOutbox',
    title: 'Messages on their way out',
    internal: true,
    timestamps: false,
    // Whoever delivers takes what is due, by status and time.
    indexes: [{ fields: ['status', 'sendAt'] }],
    fields: [
      key,
      account,
      { ...defineReference('email', 'emails', { onDelete: 'cascade' }), unique: true },
      { name: 'status', type: 'string', maxLength: 20, pattern: '^(queued|sending|sent|failed|unknown)$' },
      { name: 'sendAt', type: 'datetime' },
      { name: 'sender', type: 'string', maxLength: 320 },
      { name: 'recipients', type: 'json' },
      // Of whoever has taken it on, and until when.
      { name: 'leasedBy', type: 'string', maxLength: 100 },
      { name: 'leasedUntil', type: 'datetime' },
      defineCount('attempts'),
      { name: 'lastError', type: 'text' },
    ],
  },
  {
    name: 'mailThreadKeys',
    title: 'By which messages belong to a conversation',
    internal: true,
    timestamps: false,
    indexes: [{ fields: ['accountId', 'key'], unique: true }],
    fields: [
      { ...key, type: 'bigInt' },
      account,
      { name: 'key', type: 'string', maxLength: 40 },
      defineReference('conversation', 'conversations', { onDelete: 'cascade' }),
    ],
  },
  {
    name: 'mailSubjectParties',
    title: 'By which answers without references find what they answer',
    internal: true,
    timestamps: false,
    indexes: [{ fields: ['accountId', 'key', 'kind', 'emailId'], unique: true }],
    fields: [
      { ...key, type: 'bigInt' },
      account,
      { name: 'key', type: 'string', maxLength: 40 },
      // 1: an answer without references; 2: the party suffices, whatever it is in the other message.
      { name: 'kind', type: 'integer' },
      defineReference('email', 'emails', { onDelete: 'cascade' }),
    ],
  },
];

/** The members of the account that a record belongs to; for row filters alone. */
const defineMembersRelation = (sourceKey: string): SystemField => ({
  name: 'seenBy',
  type: 'hasMany',
  target: 'accountMembers',
  foreignKey: 'accountId',
  sourceKey,
  hidden: true,
});
const defineHasMany = (name: string, foreignKey: string): SystemField => ({
  name,
  type: 'hasMany',
  target: name,
  foreignKey,
  sourceKey: 'id',
});

export const mailRelations: readonly SystemRelation[] = [
  { collection: 'accounts', field: defineMembersRelation('id') },
  ...['mailboxes', 'conversations', 'emails', 'attachments'].map((collection) => ({
    collection,
    field: defineMembersRelation('accountId'),
  })),
  {
    collection: 'accounts',
    field: {
      name: 'members',
      type: 'belongsToMany',
      target: 'users',
      through: 'accountMembers',
      foreignKey: 'accountId',
      otherKey: 'userId',
    },
  },
  { collection: 'accounts', field: defineHasMany('mailboxes', 'accountId') },
  { collection: 'conversations', field: defineHasMany('emails', 'conversationId') },
  { collection: 'emails', field: defineHasMany('attachments', 'emailId') },
];
