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
  defineInternalCollection,
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
    // E-mails whose headers are stored, and whose bodies are still to be downloaded.
    defineCount('bodiesWaiting'),
    { name: 'lastSyncAt', type: 'datetime' },
    { name: 'signature', type: 'text' },
    { name: 'since', type: 'date' },
    // The automatic reply while its owner is away; null: none.
    { name: 'vacation', type: 'json' },
    // Other addresses at which the account receives and sends mail.
    { name: 'aliases', type: 'json' },
    // Why the account does not synchronise or send, and what helps: {code, message, cure, at}; null where nothing is wrong.
    { name: 'problem', type: 'json' },
    // When the server tries again after a problem.
    { name: 'retryAt', type: 'datetime' },
    // What the IMAP server can do, as it says itself: ["IDLE", "CONDSTORE"].
    { name: 'capabilities', type: 'json' },
    // Addresses that the account may send as: [{address, name, verifiedAt}].
    { name: 'identities', type: 'json' },
    // What proves that the account receives mail at its aliases, and codes that were sent to them.
    { name: 'aliasProofs', type: 'json', hidden: true },
    { ...defineCount('failures'), hidden: true },
    // The server that synchronises the account, and the end of its lease.
    { name: 'leasedBy', type: 'string', maxLength: 100, hidden: true },
    { name: 'leasedUntil', type: 'datetime', hidden: true },
    // How the account signs in by OAuth 2: {provider} or {issuer, clientId, scopes}.
    { name: 'oauth', type: 'json' },
    {
      name: 'authservIds',
      type: 'json',
      description:
        'Names under which the mail server of the account writes Authentication-Results headers, such as ["mx.example.com"]. Only these headers count. null: the server learns the names from received e-mails.',
    },
    // Version of the list of correspondents; null until that of an earlier server version is completed.
    { name: 'correspondentsVersion', type: 'integer', hidden: true },
    { name: 'secrets', type: 'json', hidden: true },
    // Version of the rules that built the conversations; null until those of an earlier server version are rebuilt.
    { name: 'threadsVersion', type: 'integer', hidden: true },
  ],
};

/** Who sees the mail of an account: one record for each member. */
export const accountMembers = defineInternalCollection('accountMembers', 'Who sees the mail of an account', {
  indexes: [{ fields: ['userId', 'accountId'], unique: true }],
  fields: [keyField, accountField, defineReference('user', 'users', { onDelete: 'cascade' })],
});

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
    { name: 'delimiter', type: 'string', maxLength: 10 },
    // The mail server's own name of the mailbox; null where only this server has it.
    { name: 'rawPath', type: 'text' },
    // False for a mailbox that only contains other mailboxes.
    { name: 'selectable', type: 'boolean', defaultValue: true, allowNull: false },
    // OBJECTID of the mailbox on the mail server, by which a rename is recognised.
    { name: 'objectId', type: 'string', maxLength: 255, hidden: true },
    // Every message with this UID or a higher one is stored; 1: all of them, null: none.
    { name: 'backfillUid', type: 'bigInt', hidden: true },
    { name: 'reconciledAt', type: 'datetime', hidden: true },
    // When the mail server no longer listed the mailbox. It is deleted when nothing is left in it.
    { name: 'lostAt', type: 'datetime', hidden: true },
  ],
};
