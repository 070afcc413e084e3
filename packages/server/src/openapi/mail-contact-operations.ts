/** Contacts, in addition to the generated actions. */
import { mailLimits } from '../protocol/mail-limits.ts';
import { jsonBody, jsonReply } from './operation.ts';
import { hasGrants, type OperationDefinition } from './operation-definition.ts';
import { parameterRef } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import * as schema from './schema-parts.ts';

/** The operations. */
export const mailContactOperations: readonly OperationDefinition[] = [
  {
    action: 'contacts:merge',
    summary: 'Merge contacts',
    description:
      'The contact "id" stays, the contacts "others" are destroyed. Their addresses become "otherAddresses" of the contact, which joins their groups. Empty texts are taken from the others in their order, unless "values" gives them, and the notes of all are joined. It cannot be undone.',
    may: hasGrants(['contacts', 'list'], ['contacts', 'update'], ['contacts', 'destroy']),
    parameters: [parameterRef('dryRun')],
    body: jsonBody(
      schema.object(
        {
          id: schema.integer,
          others: { ...schema.array(schema.integer), minItems: 1, maxItems: mailLimits.mergedContacts },
          values: schema.object({
            name: schema.string,
            company: schema.stringOrNull,
            phone: schema.stringOrNull,
            notes: schema.stringOrNull,
          }),
        },
        ['id', 'others'],
      ),
    ),
    success: jsonReply('The merged contact.', { type: 'object', required: ['id'] }, schemaRef('WriteMeta')),
  },
];
