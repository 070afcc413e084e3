/** What is asked of permissions beside the generated actions. */
import { grantableActions } from '../protocol/actions.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { withNull } from './field-schema.ts';
import { jsonReply } from './operation.ts';
import type { OperationDefinition } from './operation-definition.ts';
import type { Parameter } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import { booleanSchema, objectSchema, stringSchema } from './schema-parts.ts';

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
    summary: 'Why a role may do something, or not',
    may: ({ mayConfigure }) => mayConfigure,
    parameters: [
      requiredParameter('role', 'The name of the role.', stringSchema, 'editor'),
      requiredParameter('resource', 'The collection, or the resource of the system.', stringSchema, 'posts'),
      requiredParameter('action', 'What it would do.', { type: 'string', enum: grantableActions }, 'update'),
      queryParameter('filterByTk', 'The key of a record: whether with that one.', { type: ['string', 'integer'] }, 5),
      queryParameter(
        'user',
        'The id of a user, for whom $user stands in row filters.',
        { type: 'integer', minimum: 1 },
        2,
      ),
    ],
    success: jsonReply('The answer, and the permission that decides.', schemaRef('Explanation')),
  },
];

const explanationProperties = {
  allowed: booleanSchema,
  permission: { ...withNull(schemaRef('permissions.record')), description: 'Null where no permission decides.' },
  reason: stringSchema,
};

/** Schemas for those who may configure. */
export const explanationSchemas: Readonly<Record<string, JsonSchema>> = {
  Explanation: objectSchema(explanationProperties, Object.keys(explanationProperties)),
};
