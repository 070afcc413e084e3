/** Campaigns: one message to each record of a collection, the message of each recipient, and addresses that get none. Templates. */

import type { IndexedSystemCollection } from '../../collections/system-indexes.ts';
import { campaignCounters } from '../../database/mail/campaign-rows.ts';
import type { RecordRules } from '../../records/record-rules.ts';
import { campaignLimits } from '../campaigns/campaign-limits.ts';
import { campaignMessageRules, suppressionRules } from '../campaigns/recipient-rules.ts';
import {
  accountField,
  commonTraits,
  defineCount,
  defineFlag,
  defineReference,
  keyField,
  loadRulesLater,
  memberFilter,
  userIdVariable,
} from './mail-fields.ts';

const readActions = ['list', 'get', 'export'];

/** A campaign reads its audience and sends as the user who started it, in the role of that request. */
export const mailCampaigns: IndexedSystemCollection = {
  name: 'mailCampaigns',
  title: 'Campaigns',
  ...commonTraits,
  eventPrefix: 'campaign',
  rules: loadRulesLater(async () => (await import('../campaigns/campaign-rules.ts')).campaignRules),
  timestamps: true,
  // The worker looks for campaigns by status.
  indexes: [{ fields: ['status', 'scheduledAt'] }, { fields: ['accountId', 'id'] }],
  fields: [
    keyField,
    accountField,
    { name: 'name', type: 'string', required: true, allowNull: false, maxLength: campaignLimits.nameLength },
    { name: 'audience', type: 'json', required: true, allowNull: false },
    { name: 'subject', type: 'string', defaultValue: '', allowNull: false, maxLength: 500 },
    { name: 'text', type: 'text' },
    { name: 'html', type: 'text' },
    { name: 'ratePerMinute', type: 'integer', defaultValue: campaignLimits.defaultRate, allowNull: false },
    { name: 'domainRatePerMinute', type: 'integer' },
    // Whether opened messages and followed links are counted.
    ...['trackOpens', 'trackClicks'].map(defineFlag),
    {
      name: 'status',
      type: 'string',
      defaultValue: 'draft',
      allowNull: false,
      maxLength: 20,
      pattern: '^(draft|scheduled|sending|paused|done|cancelled)$',
    },
    { name: 'scheduledAt', type: 'datetime' },
    { name: 'startedAt', type: 'datetime' },
    { name: 'finishedAt', type: 'datetime' },
    // Why the server has paused it; null: it did not.
    { name: 'problem', type: 'text' },
    defineReference('owner', 'users'),
    { name: 'role', type: 'string', maxLength: 60 },
    ...campaignCounters.map((name) => defineCount(name)),
    // Whether all recipients are stored, and the cursor behind the last one.
    defineFlag('recipientsComplete'),
    { name: 'audienceCursor', type: 'text', hidden: true },
    // Before this time, no further message is put into the outbox.
    { name: 'nextAt', type: 'datetime', hidden: true },
  ],
};

/** One recipient of a campaign. */
export const mailCampaignMessages: IndexedSystemCollection = {
  name: 'mailCampaignMessages',
  title: 'Messages of campaigns',
  ...commonTraits,
  builtInPermissions: { developer: readActions, editor: readActions, viewer: ['list', 'get'] },
  rules: campaignMessageRules,
  timestamps: false,
  indexes: [
    { fields: ['campaignId', 'address'], unique: true },
    { fields: ['campaignId', 'status', 'id'] },
    { fields: ['campaignId', 'queuedAt'] },
    { fields: ['accountId', 'messageId'] },
    { fields: ['emailId'] },
  ],
  fields: [
    keyField,
    accountField,
    defineReference('campaign', 'mailCampaigns', { onDelete: 'cascade' }),
    // The key of the record of the audience, as text.
    { name: 'recordKey', type: 'string', maxLength: 255 },
    // In lower case.
    { name: 'address', type: 'string', maxLength: 320 },
    { name: 'domain', type: 'string', maxLength: 255 },
    { name: 'status', type: 'string', maxLength: 20 },
    // Why it was skipped or failed; null: it was not.
    { name: 'reason', type: 'text' },
    defineReference('email', 'emails', { onDelete: 'setNull' }),
    { name: 'messageId', type: 'string', maxLength: 255, hidden: true },
    ...['queuedAt', 'sentAt', 'bouncedAt', 'repliedAt', 'unsubscribedAt', 'openedAt', 'clickedAt'].map((name) => ({
      name,
      type: 'datetime' as const,
    })),
  ],
};

/** Addresses to which no campaign of an account is sent. */
export const mailSuppressions: IndexedSystemCollection = {
  name: 'mailSuppressions',
  title: 'Addresses that get no campaigns',
  ...commonTraits,
  builtInPermissions: {
    developer: ['list', 'get', 'create', 'destroy', 'export'],
    editor: ['list', 'get', 'create', 'destroy', 'export'],
    viewer: ['list', 'get'],
  },
  rules: suppressionRules,
  timestamps: true,
  indexes: [{ fields: ['accountId', 'address'], unique: true }],
  fields: [
    keyField,
    accountField,
    { name: 'address', type: 'string', required: true, allowNull: false, maxLength: 320 },
    {
      name: 'reason',
      type: 'string',
      defaultValue: 'manual',
      allowNull: false,
      maxLength: 20,
      pattern: '^(manual|unsubscribed|bounced)$',
    },
    defineReference('campaign', 'mailCampaigns', { onDelete: 'setNull' }),
  ],
};

/** Loaded with the first write of a template. */
const templateRules: RecordRules = {
  changesAccess: false,
  isUnaudited: true,
  prepare: async (...write) => (await import('../compose/template-rules.ts')).prepareTemplate(...write),
  guard: async (write) => (await import('../compose/template-rules.ts')).guardTemplates(write),
};

/** A template is shared by the members of its account, or only its author sees it. */
export const mailTemplates: IndexedSystemCollection = {
  name: 'mailTemplates',
  title: 'Templates of messages',
  ...commonTraits,
  visibility: {
    filter: { $and: [memberFilter, { $or: [{ shared: true }, { authorId: userIdVariable }] }] },
    bindsAdministrators: true,
  },
  rules: templateRules,
  timestamps: true,
  indexes: [{ fields: ['accountId', 'name'] }],
  fields: [
    keyField,
    accountField,
    { name: 'name', type: 'string', required: true, allowNull: false, maxLength: campaignLimits.nameLength },
    { name: 'subject', type: 'string', defaultValue: '', allowNull: false, maxLength: 500 },
    { name: 'text', type: 'text' },
    { name: 'html', type: 'text' },
    { name: 'shared', type: 'boolean', defaultValue: true, allowNull: false },
    defineReference('author', 'users'),
  ],
};
