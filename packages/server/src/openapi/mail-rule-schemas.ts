/** Schemas of the fields of rules and vacation replies, which their type `json` does not describe. */
import { automationLimits } from '../mail/automation/automation-limits.ts';
import { actionTypes, targetRoles } from '../mail/automation/rule-actions.ts';
import { operatorsByField } from '../mail/automation/rule-conditions.ts';
import { mailLimits } from '../protocol/mail-limits.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import * as schema from './schema-parts.ts';

const conditionSchemas: readonly JsonSchema[] = Object.entries(operatorsByField).map(([field, operators]) => {
  const isText = operators.includes('contains');
  const value: JsonSchema = isText
    ? { type: 'string', minLength: 1, maxLength: automationLimits.valueLength }
    : field === 'size'
      ? { ...schema.integer, minimum: 0, description: 'Bytes.' }
      : schema.boolean;
  const header: JsonSchema = { type: 'string', maxLength: automationLimits.headerNameLength };
  const properties = { field: { const: field }, operator: { enum: [...operators] }, value, negate: schema.boolean };
  return field === 'header'
    ? schema.object({ ...properties, header }, ['field', 'operator', 'value', 'header'])
    : schema.object(properties, ['field', 'operator', 'value']);
});

const templateProperties: Readonly<Record<string, JsonSchema>> = {
  subject: { type: ['string', 'null'], maxLength: mailLimits.subjectLength },
  text: { type: 'string', minLength: 1, maxLength: automationLimits.replyTextLength },
  html: { type: ['string', 'null'], maxLength: automationLimits.replyHtmlLength },
};

const actionProperties: Readonly<Record<string, Readonly<Record<string, JsonSchema>>>> = {
  move: { mailbox: { anyOf: [schema.integer, { enum: [...targetRoles] }] } },
  addLabel: { label: { type: 'string', maxLength: mailLimits.labelLength } },
  removeLabel: { label: { type: 'string', maxLength: mailLimits.labelLength } },
  assign: { userId: schema.integer },
  reply: templateProperties,
};

const actionSchemas: readonly JsonSchema[] = actionTypes.map((type) => {
  const properties = actionProperties[type] ?? {};
  const required = type === 'reply' ? ['text'] : Object.keys(properties);
  return schema.object({ type: { const: type }, ...properties }, ['type', ...required]);
});

/** The conditions of a rule. */
export const ruleConditionsSchema: JsonSchema = {
  ...schema.array({ anyOf: [...conditionSchemas] }),
  minItems: 1,
  maxItems: automationLimits.conditions,
  description:
    'Text is compared without case. An address matches by itself; only "contains" also looks at the name. "matchesDomain" includes subdomains. A condition on "body" contains words that follow each other in the text.',
};

/** The actions of a rule. */
export const ruleActionsSchema: JsonSchema = {
  ...schema.array({ anyOf: [...actionSchemas] }),
  minItems: 1,
  maxItems: automationLimits.actions,
  description:
    '"reply" answers each sender once in a week, and never answers programs and mailing lists; {{name}}, {{address}} and {{subject}} stand for those of the message. "webhook" emits emails.ruleMatched.',
};

const timeSchema: JsonSchema = { type: ['string', 'null'], description: 'ISO 8601.' };

/** The vacation reply of an account. */
export const vacationSchema: JsonSchema = {
  ...schema.object(
    {
      enabled: schema.boolean,
      from: timeSchema,
      until: timeSchema,
      ...templateProperties,
      knownSendersOnly: { ...schema.boolean, description: 'Only senders to whom the account has written before.' },
    },
    ['text'],
  ),
  type: ['object', 'null'],
  description:
    'The automatic reply (RFC 3834) to messages that name the account in To or Cc: once for each sender and week, never to programs and mailing lists.',
};

/** Fields of collections of mail whose values are more specific than their type; null: only the server sets them. */
export const mailNarrowedFields = {
  accounts: { vacation: { shown: vacationSchema, given: vacationSchema } },
  mailRules: {
    matches: { shown: { enum: ['all', 'any'] }, given: { enum: ['all', 'any'], default: 'all' } },
    conditions: { shown: ruleConditionsSchema, given: ruleConditionsSchema },
    actions: { shown: ruleActionsSchema, given: ruleActionsSchema },
    ownerId: { given: null },
    owner: { given: null },
    role: { given: null },
    problem: { given: null },
  },
} as const;
