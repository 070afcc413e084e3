/** Accounts, their members, and their mailboxes. */
import type { IndexedSystemCollection } from '../../collections/system-indexes.ts';
import { deletingStatus } from '../../database/mail/account-status.ts';
import { accountRules } from '../rules/account-rules.ts';
import { mailboxRules } from '../rules/mailbox-rules.ts';
import { accountSecrets } from './account-secrets.ts';
import {
  accountField,
  commonTraits,
  defineCount,
  defineReference,
  keyField,
  memberFilter,
  userIdVariable,
} from './mail-fields.ts';
import { mailboxRoles } from './mailbox-roles.ts';

/** Mail accounts. Administrators see the accounts themselves, so that somebody can manage them, but nothing inside them. */
export const accounts: IndexedSystemCollection = {
  name: 'accounts',
  title: 'Mail accounts',
  ...commonTraits,
  visibility: {
    // The owner can create an account before anyone is stored as its member.
    filter: { $or: [{ ownerId: userIdVariable }, memberFilter] },
    bindsAdministrators: false,
  },
  hiddenWhile: { field: 'status', value: deletingStatus },
  reservedNames: accountSecrets,
  rules: accountRules,
  timestamps: true,
  fields: [
    keyField,
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
    // Other addresses at which the account receives and sends mail.
    { name: 'aliases', type: 'json' },
    { name: 'secrets', type: 'json', hidden: true },
    // Version of the rules that built the conversations; null until those of an earlier server version are rebuilt.
    { name: 'threadsVersion', type: 'integer', hidden: true },
  ],
};

/** Who sees the mail of an account: one record for each member. */
export const accountMembers: IndexedSystemCollection = {
  name: 'accountMembers',
  title: 'Who sees the mail of an account',
  internal: true,
  timestamps: false,
  indexes: [{ fields: ['userId', 'accountId'], unique: true }],
  fields: [keyField, accountField, defineReference('user', 'users', { onDelete: 'cascade' })],
};

/** The mailboxes of accounts. */
export const mailboxes: IndexedSystemCollection = {
  name: 'mailboxes',
  title: 'Mailboxes',
  ...commonTraits,
  rules: mailboxRules,
  timestamps: false,
  indexes: [{ fields: ['accountId', 'path'], unique: true }],
  fields: [
    keyField,
    accountField,
    { name: 'path', type: 'string', required: true, allowNull: false, maxLength: 1000 },
    { name: 'role', type: 'string', pattern: `^(${mailboxRoles.join('|')})$` },
    defineCount('messages'),
    defineCount('unread'),
    { name: 'uidvalidity', type: 'string', maxLength: 20 },
    { name: 'uidnext', type: 'string', maxLength: 20 },
    { name: 'highestmodseq', type: 'string', maxLength: 20 },
  ],
};
