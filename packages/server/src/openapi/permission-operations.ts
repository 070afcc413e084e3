/** What is asked of permissions beside the generated actions. */
import { grantableActions } from '../protocol/actions.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { withNull } from './field-schema.ts';
import { reply } from './operation.ts';
import type { Parameter } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import { object, text, truth } from './schema-parts.ts';
import type { WrittenOperation } from './written-operation.ts';

const asked = (name: string, description: string, schema: JsonSchema, example: unknown): Parameter => ({
  name,
  in: 'query',
  description,
  schema,
  example,
});
const needed = (...given: Parameters<typeof asked>): Parameter => ({ ...asked(...given), required: true });

export const permissionOperations: readonly WrittenOperation[] = [
  {
    action: 'permissions:explain',
    method: 'get',
    summary: 'Why a role may do something, or not',
    may: ({ configures }) => configures,
    parameters: [
      needed('role', 'The name of the role.', text, 'editor'),
      needed('resource', 'The collection, or the resource of the system.', text, 'posts'),
      needed('action', 'What it would do.', { type: 'string', enum: grantableActions }, 'update'),
      asked('filterByTk', 'The key of a record: whether with that one.', { type: ['string', 'integer'] }, 5),
      asked('user', 'The id of a user, for whom $user stands in row filters.', { type: 'integer', minimum: 1 }, 2),
    ],
    success: reply('The answer, and the permission that decides.', schemaRef('Explanation')),
  },
];

const explanation = {
  allowed: truth,
  permission: { ...withNull(schemaRef('permissions.record')), description: 'Null where no permission decides.' },
  reason: text,
};

/** Schemas for those who may configure. */
export const explanationSchemas: Readonly<Record<string, JsonSchema>> = {
  Explanation: object(explanation, Object.keys(explanation)),
};
