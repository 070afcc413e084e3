import type { Parameter } from './parameters.ts';
import { booleanSchema, integerSchema, stringSchema } from './schema-parts.ts';

const queryParameter = (name: string, schema: Parameter['schema'], description: string): Parameter => ({
  name,
  in: 'query',
  description,
  schema,
});

/** Parameters of lists of e-mails and conversations, beside those of every list. */
export const mailListParameters: readonly Parameter[] = [
  queryParameter('unread', booleanSchema, 'What is not read, or what is.'),
  queryParameter('starred', booleanSchema, 'What is starred, or what is not.'),
  queryParameter(
    'folder',
    stringSchema,
    'Role or path of the mailbox. Without it, what lies in trash and junk is left out.',
  ),
  queryParameter('accountId', integerSchema, 'One account.'),
  queryParameter('conversationId', integerSchema, 'One conversation.'),
  queryParameter('hasAttachment', booleanSchema, 'What has attachments, or what has none.'),
  queryParameter('from', stringSchema, 'Words of the sender.'),
  queryParameter('to', stringSchema, 'Words of those it went to.'),
  queryParameter(
    'before',
    stringSchema,
    'Received before a day, or a moment. `after` takes one too, in place of a cursor.',
  ),
];

/** Parameters that only the plain path of an operation takes, by the id of the operation. */
export const plainParameters: Readonly<Record<string, Parameter>> = {
  'attachments.get': {
    name: 'meta',
    in: 'query',
    description: 'What is known of it, not its bytes.',
    schema: { enum: ['1'] },
  },
  'emails.get': { name: 'raw', in: 'query', description: 'The message as it came.', schema: { enum: ['1'] } },
};
