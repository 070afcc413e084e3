/** Operations of mail, in addition to the generated actions. */
import { rasterTypes } from '../mail/remote-images.ts';
import { mailLimits } from '../protocol/mail-limits.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { emailSchema } from './email-schema.ts';
import { shownFileSchema } from './field-schema.ts';
import { mailCampaignOperations, mailCampaignSchemas } from './mail-campaign-operations.ts';
import { composeOperations, composeSchemas } from './mail-compose-operations.ts';
import { mailConnectOperations } from './mail-connect-operations.ts';
import { mailContactOperations } from './mail-contact-operations.ts';
import { changesAccount } from './mail-parameters.ts';
import { mailPushOperations } from './mail-push-operations.ts';
import { mailRuleOperations, mailRuleSchemas } from './mail-rule-operations.ts';
import { mailTemplateOperations } from './mail-template-operations.ts';
import { jsonBody, jsonReply, parametersBody } from './operation.ts';
import { etagHeader, hasGrants, idParameter, type OperationDefinition } from './operation-definition.ts';
import { type Parameter, parameterRef } from './parameters.ts';
import { parametersFor } from './record-operations.ts';
import { schemaRef } from './record-schemas.ts';
import * as schema from './schema-parts.ts';
import type { Subject } from './subject.ts';

const accountParameter: Parameter = {
  name: 'account',
  in: 'query',
  required: true,
  description: 'The id or address of the account. You must be its owner or a member.',
  schema: schema.string,
  example: 'shop@example.com',
};
const mailboxParameter: Parameter = {
  name: 'mailbox',
  in: 'query',
  description: 'Path or role of one mailbox.',
  schema: schema.string,
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
  schema: schema.string,
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
  description: 'The ids of at most 1000 e-mails. The member "ids" of the body can be used instead.',
  schema: { type: ['integer', 'array'], items: schema.integer },
};
const idsSchema: JsonSchema = { ...schema.array(schema.integer), minItems: 1, maxItems: 1000 };
const undoSchema = schema.array(
  schema.complete({ ids: schema.array(schema.integer), mailbox: schema.array(schema.integer) }),
);
const moveMeta = schema.object({ undo: undoSchema, dryRun: { const: true } });
/** A record as a get shows it. Its fields depend on the permissions of the role. */
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
/** Labels of an e-mail, as users give them. */
const labelsSchema = {
  type: ['array', 'null'],
  items: { type: 'string', minLength: 1, maxLength: mailLimits.labelLength },
  maxItems: mailLimits.labels,
  description:
    'All labels of the e-mails; null or an empty list removes them. The mail server of the account gets them as keywords (Gmail: as labels).',
} as const;

/** The further replies to a request with a range of bytes. */
const rangeReplies = (describe: (description: string) => JsonSchema): Readonly<Record<number, JsonSchema>> => ({
  206: describe('The bytes of a range.'),
  416: describe('The range is beyond the end of the file.'),
});
const emailsOrCount: JsonSchema = { anyOf: [{ type: 'array', items: anyRecordSchema }, schema.integer] };

export const documentedMailActions: readonly OperationDefinition[] = [
  {
    action: 'emails:get',
    method: 'get',
    summary: 'One e-mail, with text, safe HTML, headers and attachments',
    description:
      'If only the headers of the e-mail are stored, the body is read from the mail server: 503 `MAIL_BODY_REMOTE` if that fails, 404 `MAIL_BODY_DELETED` if the message was deleted there.',
    may: hasGrants(['emails', 'get']),
    parameters: getParameters('emails'),
    success: jsonReply('The e-mail.', emailSchema, undefined, etagHeader),
    notModified: true,
  },
  {
    action: 'emails:raw',
    method: 'get',
    summary: 'One e-mail as it came, byte by byte',
    description:
      'Also GET /api/emails/<id>?raw=1. For roles that may read all of e-mails and their attachments. A body that is not stored is read from the mail server, as by `emails:get`.',
    may: hasGrants(['emails', 'get'], ['attachments', 'get']),
    parameters: [{ ...idParameter('e-mail', 1), required: false }, parameterRef('If-None-Match')],
    success: rawMessageReply('The raw message.'),
    notModified: true,
    also: rangeReplies(rawMessageReply),
  },
  {
    action: 'emails:image',
    method: 'get',
    summary: 'Get a remote image of an e-mail through this server',
    description:
      'The server fetches the image, so the sender does not learn the IP address and the browser of the reader. The HTML of the e-mail contains the URL in `data-src`; other URLs are 404.',
    may: hasGrants(['emails', 'get']),
    parameters: [
      idParameter('e-mail', 1),
      { name: 'url', in: 'query', required: true, description: 'The URL in `data-src`.', schema: schema.string },
    ],
    success: { description: 'The image.', headers: etagHeader, content: imageContent },
    notModified: true,
    also: rangeReplies((description) => ({ description, content: imageContent })),
  },
  {
    action: 'emails:unsubscribe',
    summary: 'Leave the mailing list of an e-mail with one click',
    description:
      'Sends the request of RFC 8058 to the https address in the header List-Unsubscribe, if the e-mail also has List-Unsubscribe-Post. The list only sees this server. 404 `UNSUBSCRIBE_FAILED` if the e-mail offers no such unsubscription, or if it fails.',
    may: hasGrants(['emails', 'update'], ['emails', 'get']),
    parameters: [idParameter('e-mail', 1)],
    success: jsonReply(
      'The list has accepted it.',
      schema.complete({ id: schema.integer, unsubscribed: schema.boolean }),
    ),
  },
  {
    action: 'emails:export',
    method: 'get',
    summary: 'Export all e-mails of an account or a mailbox as an mbox file',
    description:
      'The headers Status and X-Status contain the flags. Requires permission to read all fields of e-mails and their attachments.',
    may: hasGrants(['emails', 'list'], ['emails', 'export'], ['attachments', 'get']),
    parameters: [accountParameter, mailboxParameter],
    success: { description: 'An mbox file.', content: { 'application/mbox': { schema: binary } } },
  },
  {
    action: 'emails:storeExport',
    summary: 'Export all e-mails of an account or a mailbox into a stored mbox file',
    description:
      'As `emails:export`. The file is one of your uploads to which no record refers: it is deleted after a day unless a record refers to it.',
    may: hasGrants(['emails', 'list'], ['emails', 'export'], ['attachments', 'get'], ['files', 'create']),
    parameters: [{ ...accountParameter, required: false }, mailboxParameter],
    body: parametersBody,
    success: jsonReply('The file.', shownFileSchema),
  },
  {
    action: 'conversations:get',
    method: 'get',
    summary: 'Get one conversation with its e-mails, oldest first',
    may: hasGrants(['conversations', 'get']),
    parameters: getParameters('conversations'),
    success: jsonReply('The conversation.', anyRecordSchema, undefined, etagHeader),
    notModified: true,
  },
  {
    action: 'attachments:get',
    method: 'get',
    summary: 'The metadata of an attachment; in plain style its bytes',
    description:
      'GET /api/attachments/<id> returns the bytes, also of a range; with `meta=1`, it returns the metadata. Bytes that are not stored are read from the mail server, as by `emails:get`.',
    may: hasGrants(['attachments', 'get']),
    parameters: getParameters('attachments'),
    success: {
      ...jsonReply('The attachment.', anyRecordSchema, undefined, etagHeader),
      content: { ...(jsonReply('', anyRecordSchema)['content'] as object), ...binaryContent },
    },
    notModified: true,
    also: rangeReplies((description) => ({ description, content: binaryContent })),
  },
  {
    action: 'emails:move',
    summary: 'Move e-mails into a mailbox of their account',
    description:
      'With a list of mailboxes, the e-mails are in all of these afterwards, and in no other. `meta.undo` lists the bodies of `emails:move` requests that undo the move; it is absent in a dry run.',
    may: hasGrants(['emails', 'update']),
    parameters: [emailKeysParameter, dryRun],
    body: jsonBody(
      schema.object(
        {
          ids: idsSchema,
          mailbox: {
            type: ['string', 'integer', 'array'],
            description: 'Path, role or id of the target mailbox, or a list of 1 to 100 of them.',
            items: { type: ['string', 'integer'] },
          },
          from: {
            type: ['string', 'integer', 'null'],
            description:
              'The mailbox that the e-mails are moved out of, only with one target. Default: all mailboxes that contain them.',
          },
        },
        ['mailbox'],
      ),
    ),
    success: jsonReply('The number of e-mails.', schema.integer, moveMeta),
  },
  {
    action: 'emails:destroy',
    summary: 'Move e-mails to the trash; delete those that are already in the trash',
    description: '`meta.undo` is that of `emails:move`, without the e-mails that were deleted.',
    may: hasGrants(['emails', 'destroy']),
    parameters: [emailKeysParameter, parameterRef('force'), dryRun],
    body: jsonBody(schema.object({ ids: idsSchema }), false),
    success: jsonReply('The number of e-mails.', schema.integer, moveMeta),
  },
  {
    action: 'emails:batchUpdate',
    summary: 'Change the flags and labels of many e-mails',
    may: hasGrants(['emails', 'update']),
    parameters: [emailKeysParameter, dryRun],
    body: jsonBody({
      type: 'object',
      properties: { ids: idsSchema, read: schema.boolean, starred: schema.boolean, labels: labelsSchema },
    }),
    success: jsonReply(
      'The e-mails, or only their number if there are more than 1000.',
      emailsOrCount,
      schemaRef('WriteMeta'),
    ),
  },
  {
    action: 'accounts:members',
    method: 'get',
    summary: 'List the members of an account by name',
    description:
      'For members of the account, who can assign conversations to each other and mention each other in notes. It needs no permission on users.',
    may: hasGrants(['accounts', 'get']),
    parameters: [idParameter('account', 1)],
    success: jsonReply(
      'The members, sorted by name.',
      schema.array(schema.complete({ id: schema.integer, name: schema.string })),
    ),
  },
  {
    action: 'accounts:rethread',
    summary: 'Rebuild the conversations of an account from its e-mails',
    description:
      'Only conversations that are wrong are changed, in several transactions. It can be repeated safely. You must be the owner or a member of the account.',
    ...changesAccount,
    success: jsonReply(
      'The number of conversations that have e-mails, and the number that were changed.',
      schema.complete({ conversations: schema.integer, changed: schema.integer }),
    ),
  },
  {
    action: 'accounts:sync',
    summary: 'Synchronise an account with its mail server now',
    description:
      'An account that waits after a failure, or whose sign-in was refused, is tried again. The reply does not wait for the end of the synchronisation; the events `accounts.status` and `accounts.progress` report it. You must be the owner or a member of the account.',
    ...changesAccount,
    success: jsonReply(
      'The status of the account before the call, and the number of changes that have not been sent to its mail server yet.',
      schema.complete({ status: schema.string, waiting: schema.integer }),
    ),
  },
  {
    action: 'accounts:waiting',
    method: 'get',
    summary: 'Count what an account has not sent yet',
    description:
      'You must be the owner or a member of the account. Bodies that are still to be downloaded are counted by its `bodiesWaiting`.',
    may: hasGrants(['accounts', 'get']),
    parameters: [idParameter('account', 1)],
    success: jsonReply(
      'Changes for its mail server, of which some can have failed before, and messages of the outbox.',
      schema.complete({
        changes: schema.complete({
          count: schema.integer,
          failing: schema.integer,
          oldestAt: schema.dateTimeOrNull,
        }),
        messages: schema.complete({
          queued: schema.integer,
          sending: schema.integer,
          unknown: schema.integer,
          nextAt: schema.dateTimeOrNull,
        }),
      }),
    ),
  },
  {
    action: 'accounts:verifyAlias',
    summary: 'Send a code to an alias of an account',
    description:
      'Messages can be sent from the alias after accounts:confirmAlias was called with the code. The code is sent through SMTP_URL; it is valid once and for one day.',
    ...changesAccount,
    body: jsonBody(schema.complete({ address: schema.string })),
    success: jsonReply(
      'The address, and when the code expires.',
      schema.complete({ address: schema.string, expiresAt: schema.dateTime }),
    ),
  },
  {
    action: 'accounts:confirmAlias',
    summary: 'Allow an account to send from an alias',
    description: 'Takes the code that accounts:verifyAlias has sent. Administrators need no code.',
    ...changesAccount,
    body: jsonBody(schema.object({ address: schema.string, code: schema.string }, ['address'])),
    success: jsonReply(
      'The address, and when it was verified.',
      schema.complete({ address: schema.string, verifiedAt: schema.dateTime }),
    ),
  },
  {
    action: 'emails:import',
    summary: 'Import messages',
    description:
      'One raw message, or an mbox file of any common dialect (`application/mbox; format=mboxrd` declares that one). The import may be repeated: messages that the account already has are counted as duplicates.',
    may: hasGrants(['emails', 'create']),
    parameters: [accountParameter, importMailbox, importFlags, importReceivedAt],
    body: {
      required: true,
      content: { 'message/rfc822': { schema: binary }, 'application/mbox': { schema: binary } },
    },
    success: jsonReply('The number of messages by outcome, and the problems.', schemaRef('MailImport')),
  },
  ...composeOperations,
  ...mailConnectOperations,
  ...mailRuleOperations,
  ...mailCampaignOperations,
  ...mailTemplateOperations,
  ...mailContactOperations,
  ...mailPushOperations,
];

const countProperties = {
  stored: schema.integer,
  duplicates: schema.integer,
  unparsable: schema.integer,
  failed: schema.integer,
  skipped: schema.integer,
};
const problemSchema = schema.complete({ message: schema.integer, outcome: schema.string, reason: schema.stringOrNull });

/** The resource and its actions. A role with a grant for one of them sees {@link mailSchemas}. */
export const mailSchemaGrants = ['emails', ['list', 'get', 'create', 'update', 'destroy']] as const;

/** Schemas of the operations of mail. */
export const mailSchemas: Readonly<Record<string, JsonSchema>> = {
  MailImport: schema.object(
    {
      ...countProperties,
      ids: { ...schema.array(schema.integer), maxItems: 1000 },
      problems: schema.array(problemSchema),
    },
    [...Object.keys(countProperties), 'ids', 'problems'],
  ),
  ...composeSchemas,
  ...mailRuleSchemas,
  ...mailCampaignSchemas,
};
