/** Rules for arriving mail, the e-mails that wait for them, and the automatic replies that were sent. */

import type { IndexedSystemCollection } from '../../collections/system-indexes.ts';
import type { RecordRules } from '../../records/record-rules.ts';
import {
  accountField,
  commonTraits,
  defineInternalCollection,
  defineReference,
  keyField,
  waitingEmailFields,
} from './mail-fields.ts';

/** The rules of mail rules, which are only loaded when one is saved. */
const loadedRules: RecordRules = {
  changesAccess: false,
  prepare: async (body, key, context) =>
    (await import('../automation/mail-rule-rules.ts')).prepareMailRule(body, key, context),
};

/** Rules for arriving mail. A rule acts as the user who last changed it, in the role of that change. */
export const mailRules: IndexedSystemCollection = {
  name: 'mailRules',
  title: 'Rules for arriving mail',
  ...commonTraits,
  rules: loadedRules,
  timestamps: true,
  indexes: [{ fields: ['accountId', 'position'] }],
  fields: [
    keyField,
    accountField,
    { name: 'name', type: 'string', required: true, allowNull: false, maxLength: 255 },
    { name: 'position', type: 'sort', scopeKey: 'accountId' },
    { name: 'enabled', type: 'boolean', defaultValue: true, allowNull: false },
    { name: 'matches', type: 'string', defaultValue: 'all', allowNull: false, pattern: '^(all|any)$' },
    { name: 'conditions', type: 'json', required: true, allowNull: false },
    { name: 'actions', type: 'json', required: true, allowNull: false },
    // No further rule is tried for a message that this one matches.
    { name: 'stop', type: 'boolean', defaultValue: false, allowNull: false },
    defineReference('owner', 'users'),
    { name: 'role', type: 'string', maxLength: 60 },
    // Why the rule could not be applied the last time; null: it could.
    { name: 'problem', type: 'text' },
  ],
};

/** E-mails that have arrived and wait for the rules and the vacation reply of their account. */
export const mailArrivals = defineInternalCollection('mailArrivals', 'E-mails that wait for rules', {
  indexes: [{ fields: ['accountId', 'id'] }],
  fields: waitingEmailFields,
});

/** To whom rules and vacation replies have answered, and when the last time. */
export const mailAutoReplies = defineInternalCollection('mailAutoReplies', 'Automatic replies that were sent', {
  indexes: [{ fields: ['accountId', 'source', 'address'], unique: true }, { fields: ['accountId', 'at'] }],
  fields: [
    { ...keyField, type: 'bigInt' },
    accountField,
    // `vacation`, or `rule <id>`.
    { name: 'source', type: 'string', maxLength: 40 },
    { name: 'address', type: 'string', maxLength: 320 },
    { name: 'at', type: 'datetime' },
  ],
});
