/** The log of problems with mail servers, and the servers that synchronise accounts. */
import type { IndexedSystemCollection } from '../../collections/system-indexes.ts';
import { accountField, commonTraits, defineInternalCollection, keyField, memberFilter } from './mail-fields.ts';

/**
 * Problems that the server had with the mail servers of accounts, with their cures: at most the last 100 of each account. Members
 * see those of their accounts. Administrators see all of them, as they see the accounts themselves.
 */
export const mailProblems: IndexedSystemCollection = {
  name: 'mailProblems',
  title: 'Problems with mail servers',
  ...commonTraits,
  visibility: { filter: memberFilter, bindsAdministrators: false },
  builtInPermissions: { developer: ['list', 'get'], editor: ['list', 'get'], viewer: ['list', 'get'] },
  importedOnly: true,
  timestamps: false,
  indexes: [{ fields: ['accountId', 'at'] }],
  fields: [
    keyField,
    accountField,
    { name: 'at', type: 'datetime' },
    // Which part of the server had the problem: connect, sync, operation, delivery.
    { name: 'source', type: 'string', maxLength: 20 },
    { name: 'code', type: 'string', maxLength: 40 },
    { name: 'message', type: 'text' },
    // What a person can do about it.
    { name: 'cure', type: 'text' },
    // How often the same problem occurred in succession.
    { name: 'count', type: 'integer', defaultValue: 1, allowNull: false },
  ],
};

/** Servers that synchronise accounts of the application, so that each one takes its share of them. */
export const mailWorkers = defineInternalCollection('mailWorkers', 'Servers that synchronise mail accounts', {
  fields: [
    keyField,
    { name: 'name', type: 'string', maxLength: 100, unique: true, required: true },
    { name: 'seenAt', type: 'datetime' },
  ],
});
