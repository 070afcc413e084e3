/**
 * Mail in every application: accounts, their mailboxes, e-mails, conversations, and attachments. Only the owner and the
 * members of an account see its mail; the definitions say so (`visibility`), and every grant carries it.
 */
import type { IndexedSystemCollection } from '../../collections/system-indexes.ts';
import type { SystemField, SystemRelation } from '../../schema/system-collections.ts';
import { accountMembers, accounts, mailboxes } from './account-collections.ts';
import { mailChecks, mailCorrespondents } from './authenticity-collections.ts';
import { mailArrivals, mailAutoReplies, mailRules } from './automation-collections.ts';
import { mailCampaignMessages, mailCampaigns, mailSuppressions, mailTemplates } from './campaign-collections.ts';
import { contactGroupMembers, contactGroups, contactRemovals, contacts } from './contact-collections.ts';
import { attachments, conversations, emails, mailContents } from './email-collections.ts';
import {
  conversationNotes,
  mailNotifications,
  mailPushKeys,
  mailPushMessages,
  mailPushSubscriptions,
} from './note-collections.ts';
import { mailLostPlacements, mailOperations, mailTombstones } from './operation-collections.ts';
import { mailProblems, mailWorkers } from './problem-collections.ts';
import { mailSavedSearches } from './saved-search-collections.ts';
import {
  mailMissingBodies,
  mailOutbox,
  mailPlacements,
  mailSubjectParties,
  mailThreadKeys,
} from './storage-collections.ts';

/** In the order in which they are created: a collection comes after those that it refers to. */
export const mailCollections: readonly IndexedSystemCollection[] = [
  accounts,
  accountMembers,
  mailboxes,
  conversations,
  mailContents,
  emails,
  attachments,
  mailPlacements,
  mailMissingBodies,
  mailOutbox,
  mailThreadKeys,
  mailSubjectParties,
  mailLostPlacements,
  mailOperations,
  mailTombstones,
  mailProblems,
  mailWorkers,
  mailChecks,
  mailCorrespondents,
  mailRules,
  mailArrivals,
  mailAutoReplies,
  mailCampaigns,
  mailCampaignMessages,
  mailSuppressions,
  mailTemplates,
  conversationNotes,
  mailNotifications,
  mailSavedSearches,
  contacts,
  contactGroups,
  contactGroupMembers,
  contactRemovals,
  mailPushSubscriptions,
  mailPushMessages,
  mailPushKeys,
];

/** The members of the account that a record belongs to. Only row filters use it. */
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

/** Groups and their contacts, in both directions. */
const defineGroupRelations = (): SystemRelation[] => {
  const [through, type] = ['contactGroupMembers', 'belongsToMany'] as const;
  const [groupKey, contactKey] = ['groupId', 'contactId'];
  return [
    {
      collection: 'contactGroups',
      field: { name: 'members', type, target: 'contacts', through, foreignKey: groupKey, otherKey: contactKey },
    },
    {
      collection: 'contacts',
      field: { name: 'groups', type, target: 'contactGroups', through, foreignKey: contactKey, otherKey: groupKey },
    },
  ];
};

/** Relations between the collections of mail, added when both sides exist. */
export const mailRelations: readonly SystemRelation[] = [
  { collection: 'accounts', field: defineMembersRelation('id') },
  ...[
    'mailboxes',
    'conversations',
    'emails',
    'attachments',
    'mailProblems',
    'mailRules',
    'mailCampaigns',
    'mailCampaignMessages',
    'mailSuppressions',
    'mailTemplates',
    'conversationNotes',
    'contacts',
    'contactGroups',
  ].map((collection) => ({
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
  ...defineGroupRelations(),
  { collection: 'accounts', field: defineHasMany('mailboxes', 'accountId') },
  { collection: 'conversations', field: defineHasMany('emails', 'conversationId') },
  { collection: 'conversations', field: defineHasMany('conversationNotes', 'conversationId') },
  { collection: 'emails', field: defineHasMany('attachments', 'emailId') },
];
