/** The actions of permissions, in addition to the record actions. */
import { grantableActions } from '../protocol/actions.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { withNull } from './field-schema.ts';
import { jsonReply } from './operation.ts';
import type { OperationDefinition } from './operation-definition.ts';
import type { Parameter } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import * as schema from './schema-parts.ts';

const queryParameter = (name: string, description: string, schema: JsonSchema, example: unknown): Parameter => ({
  name,
  in: 'query',
  description,
  schema,
  example,
});
const requiredParameter = (...args: Parameters<typeof queryParameter>): Parameter => ({
  ...queryParameter(...args),
  required: true,
});

export const permissionOperations: readonly OperationDefinition[] = [
  {
    action: 'permissions:explain',
    method: 'get',
    summary: 'Explain why a role may perform an action, or not',
    may: ({ mayConfigure }) => mayConfigure,
    parameters: [
      requiredParameter('role', 'The name of the role.', schema.string, 'editor'),
      requiredParameter('resource', 'The collection or system resource.', schema.string, 'posts'),
      requiredParameter('action', 'The action to explain.', { type: 'string', enum: grantableActions }, 'update'),
      queryParameter(
        'filterByTk',
        'The key of a record, to explain the action for that record.',
        { type: ['string', 'integer'] },
        5,
      ),
      queryParameter(
        'user',
        'The id of the user that $user refers to in row filters.',
        { type: 'integer', minimum: 1 },
        2,
      ),
    ],
    success: jsonReply('The result, and the permission that decides.', schemaRef('Explanation')),
  },
];

const explanationProperties = {
  allowed: schema.boolean,
  permission: { ...withNull(schemaRef('permissions.record')), description: 'Null if no permission decides.' },
  reason: schema.string,
};

/** Schemas for roles that may configure. */
export const explanationSchemas: Readonly<Record<string, JsonSchema>> = {
  Explanation: schema.object(explanationProperties, Object.keys(explanationProperties)),
};
