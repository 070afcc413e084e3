/** Views of the inbox that a user has saved under a name. */
import type { IndexedSystemCollection } from '../../collections/system-indexes.ts';
import type { RecordRules } from '../../records/record-rules.ts';
import { defineReference, keyField, userIdVariable } from './mail-fields.ts';

/** The rules are only loaded when a search is saved. */
const rules: RecordRules = {
  changesAccess: false,
  isUnaudited: true,
  prepare: async (body, key, context) =>
    (await import('../rules/saved-search-rules.ts')).prepareSavedSearch(body, key, context),
};

const ownActions = ['list', 'get', 'create', 'update', 'destroy'];

/** Searches and filtered lists of one user. Only that user sees them. */
export const mailSavedSearches: IndexedSystemCollection = {
  name: 'mailSavedSearches',
  title: 'Saved searches in mail',
  visibility: { filter: { userId: userIdVariable }, bindsAdministrators: true },
  builtInPermissions: { developer: ownActions, editor: ownActions, viewer: ownActions },
  rules,
  timestamps: false,
  indexes: [{ fields: ['userId', 'name'], unique: true }],
  fields: [
    keyField,
    defineReference('user', 'users', { onDelete: 'cascade' }),
    { name: 'name', type: 'string', maxLength: 120, required: true, allowNull: false },
    // What the list shows: search words, folder, account, label and filters, as the URL of the inbox names them.
    { name: 'view', type: 'json', required: true, allowNull: false },
  ],
};
