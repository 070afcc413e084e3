/** Operations for writing mail: drafts, sending, replying and forwarding. */
import { mailLimits } from '../protocol/mail-limits.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { jsonBody, jsonReply } from './operation.ts';
import { etagHeader, hasGrants, type OperationDefinition } from './operation-definition.ts';
import { type Parameter, parameterRef } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import * as schema from './schema-parts.ts';

const emailParameter: Parameter = {
  name: 'filterByTk',
  in: 'query',
  description: 'The id of the e-mail. The member "id" of the body can be used instead.',
  schema: schema.integer,
};
const dryRun = parameterRef('dryRun');
const ifMatchParameter = parameterRef('If-Match');
const addressSchema: JsonSchema = {
  anyOf: [schema.string, schema.object({ name: schema.string, address: schema.string }, ['address'])],
  description: 'An address, with or without a name: ann@example.com, or Ann <ann@example.com>.',
};
const addressesSchema: JsonSchema = { anyOf: [addressSchema, schema.array(addressSchema)] };
const fileSchema: JsonSchema = {
  anyOf: [
    schema.object(
      {
        filename: schema.stringOrNull,
        contentType: schema.string,
        contentId: schema.stringOrNull,
        content: schema.string,
      },
      ['content'],
    ),
    schema.complete({ id: schema.integer }),
  ],
  description: 'A new file with its bytes in base64, or the id of an existing attachment.',
};
const messageProperties: Readonly<Record<string, JsonSchema>> = {
  from: {
    anyOf: [...(addressSchema['anyOf'] as JsonSchema[]), { type: 'null' }],
    description: 'The address of the account, or one of its verified aliases. Default: the address of the account.',
  },
  to: addressesSchema,
  cc: addressesSchema,
  bcc: addressesSchema,
  subject: { type: ['string', 'null'], maxLength: mailLimits.subjectLength },
  text: schema.stringOrNull,
  html: schema.stringOrNull,
  attachments: { ...schema.array(fileSchema), maxItems: mailLimits.files },
  signature: {
    ...schema.boolean,
    description: 'True: the signature of the sender is added below the text, unless the text has one.',
  },
};
const accountSchema: JsonSchema = {
  type: ['string', 'integer'],
  description: 'The id or address of the account; only for a new message.',
};
const sendAtSchema: JsonSchema = {
  type: ['string', 'null'],
  description:
    'When to send the message (ISO 8601). Default: at the end of the 10 seconds in which it can be cancelled.',
};
const followUpSchema: JsonSchema = {
  type: ['string', 'null'],
  description:
    'When to remind the caller of the conversation if no reply has arrived (ISO 8601), see "followUpAt" of conversations. Needs the permission to update conversations.',
};
/** The draft as a get shows it. A caller without a grant to get it only receives the key. */
const draftReply = jsonReply('The draft.', { type: 'object', required: ['id'] }, schemaRef('WriteMeta'), etagHeader);
const queuedReply = jsonReply(
  'The message in the outbox; with "draft", the saved draft.',
  { type: 'object', required: ['id'], anyOf: [schemaRef('QueuedMail'), { not: { required: ['status'] } }] },
  schemaRef('WriteMeta'),
  etagHeader,
);
const decisionReply = jsonReply(
  'The e-mail.',
  { type: 'object', required: ['id'] },
  schemaRef('WriteMeta'),
  etagHeader,
);
const queuedDescription =
  'The message is stored and waits in the outbox for at least 10 seconds, in which emails:cancelSend turns it back into a draft. Then it is sent by SMTP; the field "delivery" of the e-mail shows the outcome for each recipient.';

const makeReplyOperation = (
  action: string,
  summary: string,
  more: Readonly<Record<string, JsonSchema>> = {},
): OperationDefinition => ({
  action,
  summary,
  description: `${queuedDescription} With "draft", a draft is saved instead. Recipients, subject and other fields are derived from the original message; members of the body replace them. The original text is quoted, unless "quote" is false.`,
  may: hasGrants(['emails', 'create'], ['emails', 'get']),
  parameters: [emailParameter, dryRun],
  body: jsonBody(
    schema.object({
      id: schema.integer,
      ...messageProperties,
      draft: schema.boolean,
      quote: schema.boolean,
      sendAt: sendAtSchema,
      followUpAt: followUpSchema,
      ...more,
    }),
  ),
  success: queuedReply,
});

const makeDecisionOperation = (action: string, summary: string, description: string): OperationDefinition => ({
  action,
  summary,
  description,
  may: hasGrants(['emails', 'update'], ['emails', 'create']),
  parameters: [emailParameter, dryRun],
  body: jsonBody(schema.object({ id: schema.integer }), false),
  success: decisionReply,
});

export const composeOperations: readonly OperationDefinition[] = [
  {
    action: 'emails:saveDraft',
    summary: 'Save a new draft, or change an existing one',
    description: 'Fields that the body does not contain keep their values. Also POST /api/emails.',
    may: hasGrants(['emails', 'create']),
    parameters: [
      {
        ...emailParameter,
        description: 'The id of the draft to change. The member "id" of the body can be used instead.',
      },
      dryRun,
      ifMatchParameter,
    ],
    matches: true,
    body: jsonBody(schema.object({ id: schema.integer, account: accountSchema, ...messageProperties })),
    success: draftReply,
  },
  {
    action: 'emails:attach',
    summary: 'Add a file to a draft; the body is the bytes of the file',
    may: hasGrants(['emails', 'update']),
    parameters: [
      { ...emailParameter, required: true, description: 'The draft.' },
      { name: 'filename', in: 'query', schema: { type: 'string', maxLength: 255 } },
      { name: 'contentType', in: 'query', schema: { type: 'string', default: 'application/octet-stream' } },
      {
        name: 'contentId',
        in: 'query',
        description:
          'For a picture in the text: the name by which the HTML refers to it, as in <img src="cid:logo@shop">.',
        schema: { type: 'string', pattern: '^[\\w.@+-]{1,200}$' },
      },
      ifMatchParameter,
    ],
    matches: true,
    body: {
      required: true,
      content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
    },
    success: draftReply,
  },
  {
    action: 'emails:send',
    summary: 'Send a message, or a draft',
    description: queuedDescription,
    may: hasGrants(['emails', 'create']),
    parameters: [
      { ...emailParameter, description: 'The id of the draft. The member "id" of the body can be used instead.' },
      dryRun,
      ifMatchParameter,
    ],
    matches: true,
    body: jsonBody(
      schema.object({
        id: schema.integer,
        account: accountSchema,
        ...messageProperties,
        sendAt: sendAtSchema,
        followUpAt: followUpSchema,
      }),
    ),
    success: queuedReply,
  },
  makeReplyOperation('emails:reply', 'Reply to the sender of an e-mail'),
  makeReplyOperation('emails:replyAll', 'Reply to the sender and all recipients of an e-mail'),
  makeReplyOperation('emails:forward', 'Forward an e-mail with its attachments', {
    asAttachment: {
      ...schema.boolean,
      description: 'The whole message is attached unchanged (message/rfc822) instead of being quoted.',
    },
  }),
  makeDecisionOperation(
    'emails:cancelSend',
    'Cancel the sending of a message',
    'A message that is still waiting, or that failed for all recipients, becomes a draft again. If a mail server has accepted it for some recipients, the attempts for the others end.',
  ),
  makeDecisionOperation(
    'emails:retrySend',
    'Send a message again to the recipients that have not received it',
    'Applies to recipients whose delivery failed, was cancelled or is deferred. It also applies to those whose outcome is unknown; they may receive the message twice.',
  ),
];

export const composeSchemas: Readonly<Record<string, JsonSchema>> = {
  QueuedMail: schema.object(
    { id: schema.integer, accountId: schema.integer, status: { const: 'queued' }, sendAt: schema.dateTime },
    ['id', 'accountId', 'status', 'sendAt'],
  ),
};
