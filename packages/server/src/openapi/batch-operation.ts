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
    relation: { ...text, description: 'A relation of it, with of; add, set and remove need one.' },
    of: { type: ['string', 'integer'], description: 'The key of the record whose relation it is.' },
    as: {
      type: 'string',
      pattern: '^[A-Za-z][A-Za-z0-9_]{0,59}$',
      description: 'A name: later operations refer to the result by whole texts such as "$name.id".',
    },
    filterByTk: { description: 'A key, or a list of keys.' },
    filter: { type: 'object' },
    values: { description: 'What a request of its own would have as its body.' },
    ifMatch: { ...text, description: 'The ETag of a get, for update and destroy.' },
  },
  required: ['op', 'resource'],
  additionalProperties: false,
};

/** `POST /api/batch`, for those who have a credential, which has no action in its path. */
export const batchOperation: Operation = {
  method: 'post',
  path: '/api/batch',
  id: 'batch',
  tag: 'batch',
  summary: 'Several operations in one transaction, all or nothing',
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
