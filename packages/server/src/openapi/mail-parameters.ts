import { hasGrants, idParameter } from './operation-definition.ts';
import type { Parameter } from './parameters.ts';
import * as schema from './schema-parts.ts';

const queryParameter = (name: string, valueSchema: Parameter['schema'], description: string): Parameter => ({
  name,
  in: 'query',
  description,
  schema: valueSchema,
});

/** Parameters of lists of e-mails and conversations, in addition to those of every list. */
export const mailListParameters: readonly Parameter[] = [
  queryParameter('unread', schema.boolean, 'true: only unread; false: only read.'),
  queryParameter('starred', schema.boolean, 'true: only starred; false: only those without a star.'),
  queryParameter('folder', schema.string, 'Role or path of a mailbox. Default: all mailboxes except trash and junk.'),
  queryParameter('accountId', schema.integer, 'The id of an account.'),
  queryParameter('conversationId', schema.integer, 'The id of a conversation.'),
  queryParameter('hasAttachment', schema.boolean, 'true: only with attachments; false: only without.'),
  queryParameter('from', schema.string, 'Words in the name or address of the sender.'),
  queryParameter('to', schema.string, 'Words in the name or address of a recipient.'),
  queryParameter(
    'before',
    schema.string,
    'Received before this date or time. The parameter `after` accepts a date or time too, instead of a cursor.',
  ),
  queryParameter('label', schema.string, 'Only e-mails with this label, or conversations with such an e-mail.'),
  queryParameter(
    'state',
    schema.string,
    'States of the conversation, separated by commas: open, closed, snoozed, archived.',
  ),
  queryParameter('assigneeId', schema.string, 'The id of the user to whom the conversation is assigned; none: nobody.'),
  queryParameter('muted', schema.boolean, 'true: only muted conversations; false: only others.'),
];

/** The permission for changes of one account, and the parameter that names the account. */
export const changesAccount = { may: hasGrants(['accounts', 'update']), parameters: [idParameter('account', 1)] };

/** Parameters that only the plain path of an operation takes, by the id of the operation. */
export const plainParameters: Readonly<Record<string, Parameter>> = {
  'attachments.get': {
    name: 'meta',
    in: 'query',
    description: '1: the metadata instead of the bytes.',
    schema: { enum: ['1'] },
  },
  'emails.get': { name: 'raw', in: 'query', description: '1: the raw bytes of the message.', schema: { enum: ['1'] } },
};
