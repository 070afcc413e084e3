/** Internal notes on conversations, and what the server reports to single users. */
import type { IndexedSystemCollection } from '../../collections/system-indexes.ts';
import { notificationRules } from '../team/notification-rules.ts';
import {
  accountField,
  commonTraits,
  defineFlag,
  defineReference,
  keyField,
  loadRulesLater,
  userIdVariable,
} from './mail-fields.ts';

/** Whoever may get the conversation may see what belongs to it, and nobody else. */
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
