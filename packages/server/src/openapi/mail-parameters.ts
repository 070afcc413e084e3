import type { Parameter } from './parameters.ts';
import { text, truth, whole } from './schema-parts.ts';

const own = (name: string, schema: Parameter['schema'], description: string): Parameter => ({
  name,
  in: 'query',
  description,
  schema,
});

/** Parameters of lists of e-mails and conversations, beside those of every list. */
export const mailListParameters: readonly Parameter[] = [
  own('unread', truth, 'What is not read, or what is.'),
  own('starred', truth, 'What is starred, or what is not.'),
  own('folder', text, 'Role or path of the mailbox. Without it, what lies in trash and junk is left out.'),
  own('accountId', whole, 'One account.'),
  own('conversationId', whole, 'One conversation.'),
  own('hasAttachment', truth, 'What has attachments, or what has none.'),
  own('from', text, 'Words of the sender.'),
  own('to', text, 'Words of those it went to.'),
  own('before', text, 'Received before a day, or a moment. `after` takes one too, in place of a cursor.'),
];
