/** Campaigns, in addition to the generated actions. */
import { campaignLimits } from '../mail/campaigns/campaign-limits.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { jsonBody, jsonReply } from './operation.ts';
import { etagHeader, hasGrants, type OperationDefinition } from './operation-definition.ts';
import { type Parameter, parameterRef } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import * as schema from './schema-parts.ts';

const campaignParameter: Parameter = {
  name: 'filterByTk',
  in: 'query',
  description: 'The id of the campaign. The member "id" of the body can be used instead.',
  schema: schema.integer,
};
const audienceSchema: JsonSchema = schema.object(
  {
    collection: { ...schema.string, description: 'The collection of the recipients.' },
    filter: { type: ['object', 'null'], description: 'A filter as in a list; null: all records.' },
    field: { ...schema.string, description: 'The field that contains the address.' },
  },
  ['collection', 'field'],
);
const idBody = (more: Readonly<Record<string, JsonSchema>> = {}, required: readonly string[] = []): JsonSchema => ({
  required: required.length > 0,
  content: { 'application/json': { schema: schema.object({ id: schema.integer, ...more }, required) } },
});
const stepReply = jsonReply('The campaign.', schemaRef('MailCampaignStep'), schemaRef('WriteMeta'), etagHeader);
const may = hasGrants(['mailCampaigns', 'update']);
const maySend = hasGrants(['mailCampaigns', 'update'], ['emails', 'create']);

const step = (
  name: string,
  summary: string,
  description: string,
  grants: OperationDefinition['may'],
): OperationDefinition => ({
  action: `mailCampaigns:${name}`,
  summary,
  description,
  may: grants,
  parameters: [campaignParameter, parameterRef('dryRun')],
  body: idBody(),
  success: stepReply,
});

/** The operations. */
export const mailCampaignOperations: readonly OperationDefinition[] = [
  {
    action: 'mailCampaigns:preview',
    summary: 'Show who would get a campaign',
    description: `Changes nothing. Takes a stored campaign by "id", or an unsaved one as "account" and "campaign". Examines at most ${campaignLimits.previewRecords} records, under the caller's permission to list the audience.`,
    may: hasGrants(['mailCampaigns', 'get']),
    parameters: [campaignParameter],
    body: jsonBody(
      schema.object({
        id: schema.integer,
        account: { type: ['string', 'integer'], description: 'Id or address of the account of an unsaved campaign.' },
        campaign: schema.object(
          {
            name: schema.string,
            audience: audienceSchema,
            subject: schema.string,
            text: schema.stringOrNull,
            html: schema.stringOrNull,
          },
          ['audience'],
        ),
      }),
    ),
    success: jsonReply('Recipients, records that are left out, and the first messages.', schemaRef('CampaignPreview')),
  },
  {
    action: 'mailCampaigns:test',
    summary: 'Send a test message of a campaign',
    description:
      'Sends the message of the first recipient to the address of the account, or to the address of the user as "to".',
    may: maySend,
    parameters: [campaignParameter, parameterRef('dryRun')],
    body: idBody({ to: schema.string }),
    success: jsonReply('The message in the outbox.', schemaRef('CampaignTest'), schemaRef('WriteMeta')),
  },
  step(
    'start',
    'Start a campaign',
    'From then on, the campaign reads its audience and sends as the caller, with the permissions that the caller has at each moment.',
    maySend,
  ),
  {
    action: 'mailCampaigns:schedule',
    summary: 'Start a campaign at a time',
    may: maySend,
    parameters: [campaignParameter, parameterRef('dryRun')],
    body: idBody({ at: schema.dateTime }, ['at']),
    success: stepReply,
  },
  step('pause', 'Pause a campaign', 'Messages that are in the outbox already are sent.', may),
  step('resume', 'Resume a campaign', 'It goes on as the caller.', maySend),
  step(
    'cancel',
    'Cancel a campaign',
    'Recipients to whom nothing was sent get nothing, also by later attempts. It cannot be resumed.',
    may,
  ),
];

const contentProperties = { subject: schema.string, text: schema.stringOrNull, html: schema.stringOrNull };

/** Schemas of the replies. */
export const mailCampaignSchemas: Readonly<Record<string, JsonSchema>> = {
  MailCampaignStep: {
    type: 'object',
    properties: { id: schema.integer },
    required: ['id'],
    description: 'The campaign as a get shows it; only its id without the permission to get it.',
  },
  CampaignTest: schema.complete({
    id: schema.integer,
    accountId: schema.integer,
    status: { const: 'queued' },
    sendAt: schema.dateTime,
  }),
  CampaignPreview: schema.complete({
    recipients: schema.integer,
    records: { ...schema.integer, description: 'The number of records that were examined.' },
    complete: { ...schema.boolean, description: 'False: the audience has more records.' },
    leftOut: schema.array(
      schema.complete({
        reason: { enum: ['noAddress', 'duplicate', 'suppressed'] },
        count: schema.integer,
        examples: schema.array(schema.complete({ key: schema.string, address: schema.stringOrNull })),
      }),
    ),
    messages: schema.array(schema.complete({ key: schema.string, address: schema.string, ...contentProperties })),
  }),
};
