/** Templates of messages, in addition to the generated actions. */
import { jsonBody, jsonReply } from './operation.ts';
import { hasGrants, type OperationDefinition } from './operation-definition.ts';
import * as schema from './schema-parts.ts';

/** The operations. */
export const mailTemplateOperations: readonly OperationDefinition[] = [
  {
    action: 'mailTemplates:fill',
    summary: 'Fill a template for one message',
    description:
      'Changes nothing. Variables are recipientName, recipientFirstName, recipientAddress, conversationSubject, accountName, accountAddress, userName and userEmail. A variable without a value stays in the text and is listed in "missing".',
    may: hasGrants(['mailTemplates', 'get']),
    parameters: [
      {
        name: 'filterByTk',
        in: 'query',
        description: 'The id of the template. The member "id" of the body can be used instead.',
        schema: schema.integer,
      },
    ],
    body: jsonBody(
      schema.object({
        id: schema.integer,
        recipient: {
          description: 'The first recipient, as in a message.',
          oneOf: [schema.string, schema.object({ name: schema.stringOrNull, address: schema.string }, ['address'])],
        },
        conversation: { ...schema.integer, description: 'The conversation that the message belongs to.' },
      }),
    ),
    success: jsonReply(
      'The filled template.',
      schema.complete({
        subject: schema.string,
        text: schema.stringOrNull,
        html: schema.stringOrNull,
        missing: schema.array(schema.string),
      }),
    ),
  },
];
