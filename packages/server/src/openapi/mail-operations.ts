/** Mail, beside the generated actions. */
import { rasterTypes } from '../mail/remote-images.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { composeOperations, composeSchemas } from './mail-compose-operations.ts';
import { jsonBody, jsonReply } from './operation.ts';
import { etagHeader, hasGrants, idParameter, type OperationDefinition } from './operation-definition.ts';
import { type Parameter, parameterRef } from './parameters.ts';
import { parametersFor } from './record-operations.ts';
import { schemaRef } from './record-schemas.ts';
import {
  arraySchema,
  booleanSchema,
  integerSchema,
  objectSchema,
  stringOrNullSchema,
  stringSchema,
} from './schema-parts.ts';
import type { Subject } from './subject.ts';

const accountParameter: Parameter = {
  name: 'account',
  in: 'query',
  required: true,
  description: 'The account, by its id or its address. You must be its owner or a member.',
  schema: stringSchema,
  example: 'shop@example.com',
};
const mailboxParameter: Parameter = {
  name: 'mailbox',
  in: 'query',
  description: 'Path or role of one mailbox.',
  schema: stringSchema,
};
const importMailbox: Parameter = {
  name: 'mailbox',
  in: 'query',
  description:
    'Path or role of the mailbox, which is created if it does not exist. Default: messages of an mbox file go to the folders in their X-Gmail-Labels, all others to INBOX.',
  schema: { type: 'string', maxLength: 1000 },
};
const importFlags: Parameter = {
  name: 'flags',
  in: 'query',
  description:
    'Flags for all messages (read, starred, answered, draft), separated by commas. They replace the flags in the headers.',
  schema: stringSchema,
  example: 'read,starred',
};
const importReceivedAt: Parameter = {
  name: 'receivedAt',
  in: 'query',
  description:
    'Time of arrival for messages whose file does not contain one. Default: the Date header, otherwise the newest Received header.',
  schema: { type: 'string', format: 'date-time' },
};
const binary: JsonSchema = { type: 'string', format: 'binary' };
const dryRun = parameterRef('dryRun');
const emailKeysParameter: Parameter = {
  name: 'filterByTk',
  in: 'query',
  description: 'The e-mails, at most 1000; or "ids" in the body.',
  schema: { type: ['integer', 'array'], items: integerSchema },
};
const idsSchema: JsonSchema = { ...arraySchema(integerSchema), minItems: 1, maxItems: 1000 };
/** A record with what a get brings along; which fields those are, follows from what the role may read. */
const anyRecordSchema: JsonSchema = { type: 'object', required: ['id'] };
const getParameters =
  (resource: string) =>
  (subject: Subject): readonly Parameter[] =>
    parametersFor(subject, subject.registry.get(resource), 'get');
const binaryContent = Object.fromEntries(
  [
    'application/octet-stream',
    'application/pdf',
    'image/png',
    'image/jpeg',
    'image/gif',
    'image/webp',
    'text/plain',
  ].map((type) => [type, { schema: binary }]),
);
const imageContent = Object.fromEntries(rasterTypes.map((type) => [type, { schema: binary }]));
const rawMessageReply = (description: string): JsonSchema => ({
  description,
  headers: etagHeader,
  content: { 'message/rfc822': { schema: binary } },
});
const emailsOrCount: JsonSchema = { anyOf: [{ type: 'array', items: anyRecordSchema }, integerSchema] };

export const mailOperations: readonly OperationDefinition[] = [
  {
    action: 'emails:get',
    method: 'get',
    summary: 'One e-mail, with text, safe HTML, headers and attachments',
    may: hasGrants(['emails', 'get']),
    parameters: getParameters('emails'),
    success: jsonReply('The e-mail.', anyRecordSchema, undefined, etagHeader),
    notModified: true,
  },
  {
    action: 'emails:raw',
    method: 'get',
    summary: 'One e-mail as it came, byte by byte',
    description: 'Also GET /api/emails/<id>?raw=1. For roles that may read all of e-mails and their attachments.',
    may: hasGrants(['emails', 'get'], ['attachments', 'get']),
    parameters: [{ ...idParameter('e-mail', 1), required: false }, parameterRef('If-None-Match')],
    success: rawMessageReply('The message.'),
    notModified: true,
    also: {
      206: rawMessageReply('The bytes of a range.'),
      416: rawMessageReply('The range is beyond the bytes.'),
    },
  },
  {
    action: 'emails:image',
    method: 'get',
    summary: 'An image of another place that an e-mail shows',
    description:
      'Fetched by the server, so that the sender learns neither address nor browser of the reader; asked for when the reader wants to see images. The e-mail names it by `data-src`.',
    may: hasGrants(['emails', 'get']),
    parameters: [
      idParameter('e-mail', 1),
      { name: 'url', in: 'query', required: true, description: 'As `data-src` has it.', schema: stringSchema },
    ],
    success: { description: 'The image.', headers: etagHeader, content: imageContent },
    notModified: true,
    also: {
      206: { description: 'The bytes of a range.', content: imageContent },
      416: { description: 'The range is beyond the bytes.', content: imageContent },
    },
  },
  {
    action: 'emails:export',
    method: 'get',
    summary: 'All e-mails of an account, or of a mailbox, as an mbox',
    description:
      'Flags are in the headers Status and X-Status. For roles that may read all of e-mails and their attachments.',
    may: hasGrants(['emails', 'list'], ['emails', 'export'], ['attachments', 'get']),
    parameters: [accountParameter, mailboxParameter],
    success: { description: 'An mbox.', content: { 'application/mbox': { schema: binary } } },
  },
  {
    action: 'conversations:get',
    method: 'get',
    summary: 'One conversation, with its e-mails, the oldest first',
    may: hasGrants(['conversations', 'get']),
    parameters: getParameters('conversations'),
    success: jsonReply('The conversation.', anyRecordSchema, undefined, etagHeader),
    notModified: true,
  },
  {
    action: 'attachments:get',
    method: 'get',
    summary: 'What is known of an attachment; in plain style its bytes',
    description: 'GET /api/attachments/<id> answers the bytes, also of a range; with `meta=1` what is known of them.',
    may: hasGrants(['attachments', 'get']),
    parameters: getParameters('attachments'),
    success: {
      ...jsonReply('The attachment.', anyRecordSchema, undefined, etagHeader),
      content: { ...(jsonReply('', anyRecordSchema)['content'] as object), ...binaryContent },
    },
    notModified: true,
    also: {
      206: { description: 'The bytes of a range.', content: binaryContent },
      416: { description: 'The range is beyond the bytes.', content: binaryContent },
    },
  },
  {
    action: 'emails:move',
    summary: 'Move e-mails into a mailbox of their account',
    may: hasGrants(['emails', 'update']),
    parameters: [emailKeysParameter, dryRun],
    body: jsonBody(
      objectSchema(
        {
          ids: idsSchema,
          mailbox: { type: ['string', 'integer'], description: 'Path, role or id.' },
          from: {
            type: ['string', 'integer', 'null'],
            description: 'The mailbox that they leave; without it, all in which they lie.',
          },
        },
        ['mailbox'],
      ),
    ),
    success: jsonReply('How many.', integerSchema, schemaRef('WriteMeta')),
  },
  {
    action: 'emails:destroy',
    summary: 'Put e-mails into the trash; those that are there already are gone for good',
    may: hasGrants(['emails', 'destroy']),
    parameters: [emailKeysParameter, parameterRef('force'), dryRun],
    body: jsonBody(objectSchema({ ids: idsSchema }), false),
    success: jsonReply('How many.', integerSchema, schemaRef('WriteMeta')),
  },
  {
    action: 'emails:batchUpdate',
    summary: 'Change the flags of many e-mails',
    may: hasGrants(['emails', 'update']),
    parameters: [emailKeysParameter, dryRun],
    body: jsonBody({ type: 'object', properties: { ids: idsSchema, read: booleanSchema, starred: booleanSchema } }),
    success: jsonReply('The e-mails; beyond 1000 their number.', emailsOrCount, schemaRef('WriteMeta')),
  },
  {
    action: 'accounts:rethread',
    summary: 'Make the conversations of an account anew, from its e-mails',
    description:
      'Nothing but what is not as it should be is changed, piece by piece; it may be repeated. You must be the owner of the account or a member.',
    may: hasGrants(['accounts', 'update']),
    parameters: [idParameter('account', 1)],
    success: jsonReply(
      'How many conversations have e-mails, and how many are not as they were.',
      objectSchema({ conversations: integerSchema, changed: integerSchema }, ['conversations', 'changed']),
    ),
  },
  {
    action: 'emails:import',
    summary: 'Store messages',
    description:
      'One raw message, or an mbox file of any common dialect (`application/mbox; format=mboxrd` declares that one). The import may be repeated: messages that the account already has are counted as duplicates.',
    may: hasGrants(['emails', 'create']),
    parameters: [accountParameter, importMailbox, importFlags, importReceivedAt],
    body: {
      required: true,
      content: { 'message/rfc822': { schema: binary }, 'application/mbox': { schema: binary } },
    },
    success: jsonReply('What became of them.', schemaRef('MailImport')),
  },
  ...composeOperations,
];

const countProperties = {
  stored: integerSchema,
  duplicates: integerSchema,
  unparsable: integerSchema,
  failed: integerSchema,
  skipped: integerSchema,
};
const problemSchema = objectSchema({ message: integerSchema, outcome: stringSchema, reason: stringOrNullSchema }, [
  'message',
  'outcome',
  'reason',
]);

/** The resource and the actions of which a role needs one to be shown {@link mailSchemas}. */
export const mailSchemaGrants = ['emails', ['list', 'get', 'create', 'update', 'destroy']] as const;

/** Schemas of the operations of mail. */
export const mailSchemas: Readonly<Record<string, JsonSchema>> = {
  MailImport: objectSchema(
    {
      ...countProperties,
      ids: { ...arraySchema(integerSchema), maxItems: 1000 },
      problems: arraySchema(problemSchema),
    },
    [...Object.keys(countProperties), 'ids', 'problems'],
  ),
  ...composeSchemas,
};
