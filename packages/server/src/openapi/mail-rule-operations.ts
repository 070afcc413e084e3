/** Rules for arriving mail, in addition to the generated actions. */
import { automationLimits } from '../mail/automation/automation-limits.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { ruleActionsSchema, ruleConditionsSchema } from './mail-rule-schemas.ts';
import { jsonBody, jsonReply } from './operation.ts';
import { hasGrants, type OperationDefinition } from './operation-definition.ts';
import { parameterRef } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import * as schema from './schema-parts.ts';

const ruleSchema = schema.object(
  {
    name: schema.string,
    matches: { enum: ['all', 'any'] },
    conditions: ruleConditionsSchema,
    actions: ruleActionsSchema,
  },
  ['conditions', 'actions'],
);

const scanProperties: Readonly<Record<string, JsonSchema>> = {
  folder: {
    type: ['string', 'null'],
    default: 'inbox',
    description: 'Role or path of a mailbox; null for all mailboxes except trash, junk, drafts and outbox.',
  },
  limit: {
    ...schema.integer,
    minimum: 1,
    maximum: automationLimits.scannedEmails,
    default: automationLimits.defaultScannedEmails,
    description: 'The number of e-mails to examine, newest first.',
  },
  cursor: { type: ['integer', 'null'], description: '"nextCursor" of the previous reply.' },
};
const pageProperties: Readonly<Record<string, JsonSchema>> = {
  scanned: { ...schema.integer, description: 'The number of e-mails that were examined.' },
  nextCursor: { type: ['integer', 'null'], description: 'Null after the oldest e-mail.' },
};

/** The operations. */
export const mailRuleOperations: readonly OperationDefinition[] = [
  {
    action: 'mailRules:try',
    summary: 'Show what a rule would do to existing e-mails',
    description:
      'Changes nothing. Takes a stored rule by "id", or an unsaved one as "account" and "rule". Each matching e-mail is listed with the effects of the actions; effects that would change nothing are left out.',
    may: hasGrants(['mailRules', 'get'], ['emails', 'get'], ['emails', 'list']),
    body: jsonBody(
      schema.object({
        id: schema.integer,
        account: { type: ['string', 'integer'], description: 'Id or address of the account of an unsaved rule.' },
        rule: ruleSchema,
        ...scanProperties,
      }),
    ),
    success: jsonReply('The matching e-mails of the page.', schemaRef('MailRuleMatches')),
  },
  {
    action: 'mailRules:apply',
    summary: 'Apply a rule to existing e-mails',
    description:
      'Carries out all actions except automatic replies, with the permissions of the caller. Repeat it with "cursor" until "nextCursor" is null.',
    may: hasGrants(['mailRules', 'get'], ['emails', 'get'], ['emails', 'list']),
    parameters: [parameterRef('dryRun')],
    body: jsonBody(schema.object({ id: schema.integer, ...scanProperties }, ['id'])),
    success: jsonReply('The e-mails that the rule matched.', schemaRef('MailRuleRun'), schemaRef('WriteMeta')),
  },
];

/** Schemas of the replies. */
export const mailRuleSchemas: Readonly<Record<string, JsonSchema>> = {
  MailRuleMatches: schema.object(
    {
      emails: schema.array({
        type: 'object',
        properties: { id: schema.integer, effects: schema.array({ type: 'object', required: ['type'] }) },
        required: ['id', 'effects'],
      }),
      ...pageProperties,
    },
    ['emails', 'scanned', 'nextCursor'],
  ),
  MailRuleRun: schema.object({ ids: schema.array(schema.integer), ...pageProperties }, [
    'ids',
    'scanned',
    'nextCursor',
  ]),
};
