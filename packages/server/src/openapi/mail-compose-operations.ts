/** Writing mail: drafts, sending, answering, passing on. */
import { mailLimits } from '../protocol/mail-limits.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { body, reply } from './operation.ts';
import { type Parameter, parameterRef } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import { listOf, moment, object, text, textOrNull, truth, whole } from './schema-parts.ts';
import { granted, tag, type WrittenOperation } from './written-operation.ts';

const one: Parameter = {
  name: 'filterByTk',
  in: 'query',
  description: 'The e-mail; or "id" in the body.',
  schema: whole,
};
const dryRun = parameterRef('dryRun');
const match = parameterRef('If-Match');
const address: JsonSchema = {
  anyOf: [text, object({ name: text, address: text }, ['address'])],
  description: 'One address such as ann@example.com, or with a name.',
};
const addresses: JsonSchema = { anyOf: [address, listOf(address)] };
const file: JsonSchema = {
  anyOf: [
    object({ filename: textOrNull, contentType: text, contentId: textOrNull, content: text }, ['content']),
    object({ id: whole }, ['id']),
  ],
  description: 'A file with its bytes as base64; or an attachment that is there, by its id.',
};
const written: Readonly<Record<string, JsonSchema>> = {
  to: addresses,
  cc: addresses,
  bcc: addresses,
  subject: { type: ['string', 'null'], maxLength: mailLimits.subjectLength },
  text: textOrNull,
  html: textOrNull,
  attachments: { ...listOf(file), maxItems: mailLimits.files },
};
const account: JsonSchema = { type: ['string', 'integer'], description: 'Id or address, of a message that is new.' };
const sendAt: JsonSchema = {
  type: ['string', 'null'],
  description: 'ISO 8601; else as soon as it cannot be called back.',
};
/** As a get shows it; without such a grant the key alone. */
const shown = reply('The draft.', { type: 'object', required: ['id'] }, schemaRef('WriteMeta'), tag);
const queued = reply(
  'It waits in the outbox; as a draft, the draft.',
  { type: 'object', required: ['id'], anyOf: [schemaRef('QueuedMail'), { not: { required: ['status'] } }] },
  schemaRef('WriteMeta'),
  tag,
);
const nothingLeaves =
  'It is stored, and waits in the outbox: this version delivers nothing yet. emails:cancelSend makes a draft of it again.';

const answer = (action: string, summary: string): WrittenOperation => ({
  action,
  summary,
  description: `${nothingLeaves} With "draft" a draft is saved instead. What is given takes the place of what follows from the message; what was said before is quoted, unless "quote" is false.`,
  may: granted(['emails', 'create'], ['emails', 'get']),
  parameters: [one, dryRun],
  body: body(object({ id: whole, ...written, draft: truth, quote: truth, sendAt })),
  success: queued,
});

export const composeOperations: readonly WrittenOperation[] = [
  {
    action: 'emails:saveDraft',
    summary: 'Save a draft, or what is new of it',
    description: 'Members that are not named stay. In plain style: POST /api/emails.',
    may: granted(['emails', 'create']),
    parameters: [{ ...one, description: 'The draft to go on from; or "id" in the body.' }, dryRun, match],
    matches: true,
    body: body(object({ id: whole, account, ...written })),
    success: shown,
  },
  {
    action: 'emails:attach',
    summary: 'Add a file to a draft, its bytes as they are',
    may: granted(['emails', 'update']),
    parameters: [
      { ...one, required: true, description: 'The draft.' },
      { name: 'filename', in: 'query', schema: { type: 'string', maxLength: 255 } },
      { name: 'contentType', in: 'query', schema: { type: 'string', default: 'application/octet-stream' } },
      match,
    ],
    matches: true,
    body: {
      required: true,
      content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
    },
    success: shown,
  },
  {
    action: 'emails:send',
    summary: 'Send a message, or a draft',
    description: nothingLeaves,
    may: granted(['emails', 'create']),
    parameters: [{ ...one, description: 'The draft; or "id" in the body.' }, dryRun, match],
    matches: true,
    body: body(object({ id: whole, account, ...written, sendAt })),
    success: queued,
  },
  answer('emails:reply', 'Answer an e-mail'),
  answer('emails:replyAll', 'Answer an e-mail, to all who take part'),
  answer('emails:forward', 'Pass an e-mail on, with its attachments'),
  {
    action: 'emails:cancelSend',
    summary: 'Call a message back that waits to be sent: it is a draft again',
    may: granted(['emails', 'update']),
    parameters: [one, dryRun],
    body: body(object({ id: whole }), false),
    success: shown,
  },
];

export const composeSchemas: Readonly<Record<string, JsonSchema>> = {
  QueuedMail: object({ id: whole, accountId: whole, status: { const: 'queued' }, sendAt: moment }, [
    'id',
    'accountId',
    'status',
    'sendAt',
  ]),
};
