/** Mail, beside the generated actions. */
import { rasterTypes } from '../mail/remote-images.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { composeOperations, composeSchemas } from './mail-compose-operations.ts';
import { body, reply } from './operation.ts';
import { type Parameter, parameterRef } from './parameters.ts';
import { parametersFor } from './record-operations.ts';
import { schemaRef } from './record-schemas.ts';
import { listOf, object, text, textOrNull, truth, whole } from './schema-parts.ts';
import type { Subject } from './subject.ts';
import { granted, numbered, tag, type WrittenOperation } from './written-operation.ts';

const accountParameter: Parameter = {
  name: 'account',
  in: 'query',
  required: true,
  description: 'The account, by its id or its address. You must be its owner or a member.',
  schema: text,
  example: 'shop@example.com',
};
const mailboxParameter: Parameter = {
  name: 'mailbox',
  in: 'query',
  description: 'Path or role of one mailbox.',
  schema: text,
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
  schema: text,
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
const keys: Parameter = {
  name: 'filterByTk',
  in: 'query',
  description: 'The e-mails, at most 1000; or "ids" in the body.',
  schema: { type: ['integer', 'array'], items: whole },
};
const ids: JsonSchema = { ...listOf(whole), minItems: 1, maxItems: 1000 };
/** A record with what a get brings along; which fields those are, follows from what the role may read. */
const whatever: JsonSchema = { type: 'object', required: ['id'] };
const getParameters =
  (resource: string) =>
  (subject: Subject): readonly Parameter[] =>
    parametersFor(subject, subject.registry.get(resource), 'get');
const bytes = Object.fromEntries(
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
const images = Object.fromEntries(rasterTypes.map((type) => [type, { schema: binary }]));
const rawMessage = (description: string): JsonSchema => ({
  description,
  headers: tag,
  content: { 'message/rfc822': { schema: binary } },
});
const many: JsonSchema = { anyOf: [{ type: 'array', items: whatever }, whole] };

export const mailOperations: readonly WrittenOperation[] = [
  {
    action: 'emails:get',
    method: 'get',
    summary: 'One e-mail, with text, safe HTML, headers and attachments',
    may: granted(['emails', 'get']),
    parameters: getParameters('emails'),
    success: reply('The e-mail.', whatever, undefined, tag),
    notModified: true,
  },
  {
    action: 'emails:raw',
    method: 'get',
    summary: 'One e-mail as it came, byte by byte',
    description: 'Also GET /api/emails/<id>?raw=1. For roles that may read all of e-mails and their attachments.',
    may: granted(['emails', 'get'], ['attachments', 'get']),
    parameters: [{ ...numbered('e-mail', 1), required: false }, parameterRef('If-None-Match')],
    success: rawMessage('The message.'),
    notModified: true,
    also: {
      206: rawMessage('The bytes of a range.'),
      416: rawMessage('The range is beyond the bytes.'),
    },
  },
  {
    action: 'emails:image',
    method: 'get',
    summary: 'An image of another place that an e-mail shows',
    description:
      'Fetched by the server, so that the sender learns neither address nor browser of the reader; asked for when the reader wants to see images. The e-mail names it by `data-src`.',
    may: granted(['emails', 'get']),
    parameters: [
      numbered('e-mail', 1),
      { name: 'url', in: 'query', required: true, description: 'As `data-src` has it.', schema: text },
    ],
    success: { description: 'The image.', headers: tag, content: images },
    notModified: true,
    also: {
      206: { description: 'The bytes of a range.', content: images },
      416: { description: 'The range is beyond the bytes.', content: images },
    },
  },
  {
    action: 'emails:export',
    method: 'get',
    summary: 'All e-mails of an account, or of a mailbox, as an mbox',
    description:
      'Flags are in the headers Status and X-Status. For roles that may read all of e-mails and their attachments.',
    may: granted(['emails', 'list'], ['emails', 'export'], ['attachments', 'get']),
    parameters: [accountParameter, mailboxParameter],
    success: { description: 'An mbox.', content: { 'application/mbox': { schema: binary } } },
  },
  {
    action: 'conversations:get',
    method: 'get',
    summary: 'One conversation, with its e-mails, the oldest first',
    may: granted(['conversations', 'get']),
    parameters: getParameters('conversations'),
    success: reply('The conversation.', whatever, undefined, tag),
    notModified: true,
  },
  {
    action: 'attachments:get',
    method: 'get',
    summary: 'What is known of an attachment; in plain style its bytes',
    description: 'GET /api/attachments/<id> answers the bytes, also of a range; with `meta=1` what is known of them.',
    may: granted(['attachments', 'get']),
    parameters: getParameters('attachments'),
    success: {
      ...reply('The attachment.', whatever, undefined, tag),
      content: { ...(reply('', whatever)['content'] as object), ...bytes },
    },
    notModified: true,
    also: {
      206: { description: 'The bytes of a range.', content: bytes },
      416: { description: 'The range is beyond the bytes.', content: bytes },
    },
  },
  {
    action: 'emails:move',
    summary: 'Move e-mails into a mailbox of their account',
    may: granted(['emails', 'update']),
    parameters: [keys, dryRun],
    body: body(
      object(
        {
          ids,
          mailbox: { type: ['string', 'integer'], description: 'Path, role or id.' },
          from: {
            type: ['string', 'integer', 'null'],
            description: 'The mailbox that they leave; without it, all in which they lie.',
          },
        },
        ['mailbox'],
      ),
    ),
    success: reply('How many.', whole, schemaRef('WriteMeta')),
  },
  {
    action: 'emails:destroy',
    summary: 'Put e-mails into the trash; those that are there already are gone for good',
    may: granted(['emails', 'destroy']),
    parameters: [keys, parameterRef('force'), dryRun],
    body: body(object({ ids }), false),
    success: reply('How many.', whole, schemaRef('WriteMeta')),
  },
  {
    action: 'emails:batchUpdate',
    summary: 'Change the flags of many e-mails',
    may: granted(['emails', 'update']),
    parameters: [keys, dryRun],
    body: body({ type: 'object', properties: { ids, read: truth, starred: truth } }),
    success: reply('The e-mails; beyond 1000 their number.', many, schemaRef('WriteMeta')),
  },
  {
    action: 'accounts:rethread',
    summary: 'Make the conversations of an account anew, from its e-mails',
    description:
      'Nothing but what is not as it should be is changed, piece by piece; it may be repeated. You must be the owner of the account or a member.',
    may: granted(['accounts', 'update']),
    parameters: [numbered('account', 1)],
    success: reply(
      'How many conversations have e-mails, and how many are not as they were.',
      object({ conversations: whole, changed: whole }, ['conversations', 'changed']),
    ),
  },
  {
    action: 'emails:import',
    summary: 'Store messages',
    description:
      'One raw message, or an mbox file of any common dialect (`application/mbox; format=mboxrd` declares that one). The import may be repeated: messages that the account already has are counted as duplicates.',
    may: granted(['emails', 'create']),
    parameters: [accountParameter, importMailbox, importFlags, importReceivedAt],
    body: {
      required: true,
      content: { 'message/rfc822': { schema: binary }, 'application/mbox': { schema: binary } },
    },
    success: reply('What became of them.', schemaRef('MailImport')),
  },
  ...composeOperations,
];

const counts = { stored: whole, duplicates: whole, unparsable: whole, failed: whole, skipped: whole };
const problem = object({ message: whole, outcome: text, reason: textOrNull }, ['message', 'outcome', 'reason']);

/** Schemas for those who work with mail. */
export const mailSchemas: Readonly<Record<string, JsonSchema>> = {
  MailImport: object({ ...counts, ids: { ...listOf(whole), maxItems: 1000 }, problems: listOf(problem) }, [
    ...Object.keys(counts),
    'ids',
    'problems',
  ]),
  ...composeSchemas,
};
