/** People with whom an account writes, and groups of them. */
import type { IndexedSystemCollection } from '../../collections/system-indexes.ts';
import type { RecordRules } from '../../records/record-rules.ts';
import {
  accountField,
  commonTraits,
  defineFlag,
  defineInternalCollection,
  defineReference,
  keyField,
  loadRulesLater,
} from './mail-fields.ts';

const groupRules: RecordRules = {
  ...loadRulesLater(async () => (await import('../contacts/group-rules.ts')).groupRules),
  readLinks: async (transaction, key, { database }) =>
    (await import('../../database/mail/contact-rows.ts')).readGroupMembers(database, transaction, key as number),
};

const writeActions = [...commonTraits.builtInPermissions.editor, 'import'];
const traits = {
  ...commonTraits,
  builtInPermissions: { developer: writeActions, editor: writeActions, viewer: ['list', 'get'] },
};

/** Contacts belong to an account: exactly its members see them. */
export const contacts: IndexedSystemCollection = {
  name: 'contacts',
  title: 'Contacts',
  ...traits,
  rules: loadRulesLater(async () => (await import('../contacts/contact-rules.ts')).contactRules),
  timestamps: true,
  indexes: [{ fields: ['accountId', 'address'], unique: true }, { fields: ['accountId', 'name'] }],
  fields: [
    keyField,
    accountField,
    // In lower case.
    { name: 'address', type: 'string', required: true, allowNull: false, maxLength: 320 },
    { name: 'name', type: 'string', defaultValue: '', allowNull: false, maxLength: 200 },
    { name: 'company', type: 'string', maxLength: 255 },
    { name: 'phone', type: 'string', maxLength: 100 },
    { name: 'notes', type: 'text' },
    // Whether the contact was created from mail, and no user has changed it since.
    defineFlag('automatic'),
    // Those of contacts that were merged into it, in lower case; null if there are none.
    { name: 'otherAddresses', type: 'array' },
  ],
};

/** Named lists of contacts of one account. */
export const contactGroups: IndexedSystemCollection = {
  name: 'contactGroups',
  title: 'Groups of contacts',
  ...traits,
  rules: groupRules,
  timestamps: true,
  indexes: [{ fields: ['accountId', 'name'], unique: true }],
  fields: [keyField, accountField, { name: 'name', type: 'string', required: true, allowNull: false, maxLength: 120 }],
};

/** Which contacts a group contains. */
export const contactGroupMembers = defineInternalCollection('contactGroupMembers', 'Members of groups of contacts', {
  indexes: [{ fields: ['groupId', 'contactId'], unique: true }, { fields: ['contactId'] }],
  fields: [
    keyField,
    defineReference('group', 'contactGroups', { onDelete: 'cascade' }),
    defineReference('contact', 'contacts', { onDelete: 'cascade' }),
  ],
});

/**
 * Addresses whose contacts were destroyed: only later mail creates a contact again. If they were merged into another contact, no mail
 * does.
 */
export const contactRemovals = defineInternalCollection('contactRemovals', 'Addresses of destroyed contacts', {
  indexes: [{ fields: ['accountId', 'address'], unique: true }],
  fields: [
    keyField,
    accountField,
    // In lower case.
    { name: 'address', type: 'string', maxLength: 320 },
    { name: 'at', type: 'datetime' },
    // The contact into which that of the address was merged.
    defineReference('contact', 'contacts', { onDelete: 'setNull' }),
  ],
});
