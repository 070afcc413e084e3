/** Internal notes on conversations, and what the server reports to single users. */
import type { IndexedSystemCollection } from '../../collections/system-indexes.ts';
import { notificationRules } from '../team/notification-rules.ts';
import {
  accountField,
  commonTraits,
  defineCount,
  defineFlag,
  defineInternalCollection,
  defineReference,
  keyField,
  loadRulesLater,
  userIdVariable,
} from './mail-fields.ts';

/** What belongs to a conversation is visible to exactly those who may get the conversation. */
const visibleWith = { relation: 'conversation', collection: 'conversations' } as const;
const conversationField = defineReference('conversation', 'conversations', { onDelete: 'cascade' });

/** What members of an account write to each other about a conversation. No mail contains it. */
export const conversationNotes: IndexedSystemCollection = {
  name: 'conversationNotes',
  title: 'Internal notes on conversations',
  ...commonTraits,
  visibleWith,
  rules: loadRulesLater(async () => (await import('../team/note-rules.ts')).noteRules),
  timestamps: true,
  indexes: [{ fields: ['conversationId', 'id'] }],
  fields: [
    keyField,
    accountField,
    conversationField,
    defineReference('author', 'users'),
    { name: 'text', type: 'text', required: true, allowNull: false },
    // Ids of the users whom the text mentions.
    { name: 'mentions', type: 'json' },
  ],
};

const ownActions = ['list', 'get', 'update', 'destroy'];

/** What the server reports to one user: a note mentions the user, or a conversation was assigned to the user. */
export const mailNotifications: IndexedSystemCollection = {
  name: 'mailNotifications',
  title: 'Notifications about conversations',
  visibility: { filter: { userId: userIdVariable }, bindsAdministrators: true },
  visibleWith,
  hasUnauditedCascades: true,
  builtInPermissions: { developer: ownActions, editor: ownActions, viewer: ownActions },
  importedOnly: true,
  rules: notificationRules,
  timestamps: false,
  indexes: [{ fields: ['userId', 'read', 'id'] }, { fields: ['noteId', 'userId'], unique: true }],
  fields: [
    keyField,
    accountField,
    defineReference('user', 'users', { onDelete: 'cascade' }),
    { name: 'kind', type: 'string', maxLength: 20, pattern: '^(mention|assignment|returned|followUp)$' },
    conversationField,
    // The note of a mention; it is deleted with the note.
    defineReference('note', 'conversationNotes', { onDelete: 'cascade' }),
    // Who caused it; null: the server.
    defineReference('actor', 'users'),
    { name: 'at', type: 'datetime', index: true },
    defineFlag('read'),
  ],
};

/** Browsers to which the server sends Web Push messages. What the push service needs is never shown. */
export const mailPushSubscriptions: IndexedSystemCollection = {
  name: 'mailPushSubscriptions',
  title: 'Browsers that get push messages',
  visibility: { filter: { userId: userIdVariable }, bindsAdministrators: true },
  hasUnauditedCascades: true,
  builtInPermissions: Object.fromEntries(
    ['developer', 'editor', 'viewer'].map((role) => [role, ['list', 'get', 'create', 'update', 'destroy']]),
  ),
  importedOnly: true,
  rules: loadRulesLater(async () => (await import('../push/subscription-rules.ts')).pushSubscriptionRules),
  timestamps: false,
  indexes: [{ fields: ['userId'] }],
  fields: [
    keyField,
    defineReference('user', 'users', { onDelete: 'cascade' }),
    { name: 'name', type: 'string', maxLength: 120 },
    // Whether new mail is reported, in addition to notifications.
    defineFlag('newMail'),
    { name: 'at', type: 'datetime' },
    { name: 'endpointHash', type: 'string', maxLength: 64, unique: true, hidden: true },
    // Endpoint and keys, encrypted.
    { name: 'secret', type: 'text', hidden: true },
    // The login with which the browser has subscribed, and its role.
    { name: 'loginId', type: 'integer', hidden: true },
    { name: 'role', type: 'string', maxLength: 60, hidden: true },
  ],
};

/** Push messages that wait: about a notification, or about an e-mail that has arrived. */
export const mailPushMessages = defineInternalCollection('mailPushMessages', 'Push messages that wait', {
  indexes: [{ fields: ['notBefore'] }, { fields: ['subscriptionId'] }],
  fields: [
    { ...keyField, type: 'bigInt' },
    defineReference('subscription', 'mailPushSubscriptions', { onDelete: 'cascade' }),
    { name: 'notificationId', type: 'integer' },
    { name: 'emailId', type: 'bigInt' },
    // Counted before each attempt, so that a message at which the server fails is not processed again endlessly.
    defineCount('attempts'),
    { name: 'at', type: 'datetime' },
    { name: 'notBefore', type: 'datetime' },
  ],
});

/** The key pair by which push services recognise the application: one row. */
export const mailPushKeys = defineInternalCollection('mailPushKeys', 'The key of push messages', {
  fields: [keyField, { name: 'publicKey', type: 'string', maxLength: 100 }, { name: 'secret', type: 'text' }],
});
