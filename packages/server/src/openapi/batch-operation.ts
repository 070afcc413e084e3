import { limits } from '../protocol/limits.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { jsonBody, jsonReply, type Operation } from './operation.ts';
import { parameterRef } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';

const text: JsonSchema = { type: 'string' };
const operation: JsonSchema = {
  type: 'object',
  properties: {
    op: { type: 'string', enum: ['get', 'list', 'create', 'update', 'destroy', 'restore', 'add', 'set', 'remove'] },
    resource: { ...text, description: 'A collection.' },
    relation: {
      ...text,
      description: 'A relation of the collection, together with "of". Required for add, set and remove.',
    },
    of: { type: ['string', 'integer'], description: 'The key of the parent record.' },
    as: {
      type: 'string',
      pattern: '^[A-Za-z][A-Za-z0-9_]{0,59}$',
      description: 'A name. Later operations refer to the result by values such as "$name.id".',
    },
    filterByTk: { description: 'A key, or a list of keys.' },
    filter: { type: 'object' },
    values: { description: 'The body of the operation.' },
    ifMatch: { ...text, description: 'The ETag of a get, for update and destroy.' },
  },
  required: ['op', 'resource'],
  additionalProperties: false,
};

/** `POST /api/batch`, for callers with a credential. Its path has no action. */
export const batchOperation: Operation = {
  method: 'post',
  path: '/api/batch',
  id: 'batch',
  tag: 'batch',
  summary: 'Run several operations in one transaction',
  parameters: [parameterRef('dryRun')],
  body: jsonBody({
    type: 'object',
    properties: { operations: { type: 'array', items: operation, minItems: 1, maxItems: limits.batchOperations } },
    required: ['operations'],
    additionalProperties: false,
    examples: [
      {
        operations: [
          { op: 'create', resource: 'orders', as: 'order', values: { number: 7 } },
          { op: 'create', resource: 'items', values: { orderId: '$order.id' } },
        ],
      },
    ],
  }),
  success: jsonReply('The results, in the order of the operations.', { type: 'array' }, schemaRef('WriteMeta')),
  errors: 'match',
};
