/** Writing mail: drafts, sending, answering, passing on. */
import { mailLimits } from '../protocol/mail-limits.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { jsonBody, jsonReply } from './operation.ts';
import { etagHeader, hasGrants, type OperationDefinition } from './operation-definition.ts';
import { type Parameter, parameterRef } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import {
  arraySchema,
  booleanSchema,
  dateTimeSchema,
  integerSchema,
  objectSchema,
  stringOrNullSchema,
  stringSchema,
} from './schema-parts.ts';

const emailParameter: Parameter = {
  name: 'filterByTk',
  in: 'query',
  description: 'The e-mail; or "id" in the body.',
  schema: integerSchema,
};
const dryRun = parameterRef('dryRun');
const ifMatchParameter = parameterRef('If-Match');
const addressSchema: JsonSchema = {
  anyOf: [stringSchema, objectSchema({ name: stringSchema, address: stringSchema }, ['address'])],
  description: 'One address such as ann@example.com, or with a name.',
};
const addressesSchema: JsonSchema = { anyOf: [addressSchema, arraySchema(addressSchema)] };
const fileSchema: JsonSchema = {
  anyOf: [
    objectSchema(
      { filename: stringOrNullSchema, contentType: stringSchema, contentId: stringOrNullSchema, content: stringSchema },
      ['content'],
    ),
    objectSchema({ id: integerSchema }, ['id']),
  ],
  description: 'A file with its bytes as base64; or an attachment that is there, by its id.',
};
const messageProperties: Readonly<Record<string, JsonSchema>> = {
  to: addressesSchema,
  cc: addressesSchema,
  bcc: addressesSchema,
  subject: { type: ['string', 'null'], maxLength: mailLimits.subjectLength },
  text: stringOrNullSchema,
  html: stringOrNullSchema,
  attachments: { ...arraySchema(fileSchema), maxItems: mailLimits.files },
};
const accountSchema: JsonSchema = {
  type: ['string', 'integer'],
  description: 'Id or address, of a message that is new.',
};
const sendAtSchema: JsonSchema = {
  type: ['string', 'null'],
  description: 'ISO 8601; else as soon as it cannot be called back.',
};
/** As a get shows it; without such a grant the key alone. */
const draftReply = jsonReply('The draft.', { type: 'object', required: ['id'] }, schemaRef('WriteMeta'), etagHeader);
const queuedReply = jsonReply(
  'It waits in the outbox; as a draft, the draft.',
  { type: 'object', required: ['id'], anyOf: [schemaRef('QueuedMail'), { not: { required: ['status'] } }] },
  schemaRef('WriteMeta'),
  etagHeader,
);
const queuedDescription =
  'It is stored, and waits in the outbox: this version delivers nothing yet. emails:cancelSend makes a draft of it again.';

const makeReplyOperation = (action: string, summary: string): OperationDefinition => ({
  action,
  summary,
  description: `${queuedDescription} With "draft" a draft is saved instead. What is given takes the place of what follows from the message; what was said before is quoted, unless "quote" is false.`,
  may: hasGrants(['emails', 'create'], ['emails', 'get']),
  parameters: [emailParameter, dryRun],
  body: jsonBody(
    objectSchema({
      id: integerSchema,
      ...messageProperties,
      draft: booleanSchema,
      quote: booleanSchema,
      sendAt: sendAtSchema,
    }),
  ),
  success: queuedReply,
});

export const composeOperations: readonly OperationDefinition[] = [
  {
    action: 'emails:saveDraft',
    summary: 'Save a draft, or what is new of it',
    description: 'Members that are not named stay. In plain style: POST /api/emails.',
    may: hasGrants(['emails', 'create']),
    parameters: [
      { ...emailParameter, description: 'The draft to go on from; or "id" in the body.' },
      dryRun,
      ifMatchParameter,
    ],
    matches: true,
    body: jsonBody(objectSchema({ id: integerSchema, account: accountSchema, ...messageProperties })),
    success: draftReply,
  },
  {
    action: 'emails:attach',
    summary: 'Add a file to a draft, its bytes as they are',
    may: hasGrants(['emails', 'update']),
    parameters: [
      { ...emailParameter, required: true, description: 'The draft.' },
      { name: 'filename', in: 'query', schema: { type: 'string', maxLength: 255 } },
      { name: 'contentType', in: 'query', schema: { type: 'string', default: 'application/octet-stream' } },
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
    parameters: [{ ...emailParameter, description: 'The draft; or "id" in the body.' }, dryRun, ifMatchParameter],
    matches: true,
    body: jsonBody(
      objectSchema({ id: integerSchema, account: accountSchema, ...messageProperties, sendAt: sendAtSchema }),
    ),
    success: queuedReply,
  },
  makeReplyOperation('emails:reply', 'Answer an e-mail'),
  makeReplyOperation('emails:replyAll', 'Answer an e-mail, to all who take part'),
  makeReplyOperation('emails:forward', 'Pass an e-mail on, with its attachments'),
  {
    action: 'emails:cancelSend',
    summary: 'Call a message back that waits to be sent: it is a draft again',
    may: hasGrants(['emails', 'update']),
    parameters: [emailParameter, dryRun],
    body: jsonBody(objectSchema({ id: integerSchema }), false),
    success: draftReply,
  },
];

export const composeSchemas: Readonly<Record<string, JsonSchema>> = {
  QueuedMail: objectSchema(
    { id: integerSchema, accountId: integerSchema, status: { const: 'queued' }, sendAt: dateTimeSchema },
    ['id', 'accountId', 'status', 'sendAt'],
  ),
};
