/** The action about indexes. */
import type { JsonSchema } from '../schema/field-type.ts';
import { jsonReply } from './operation.ts';
import { hasGrants, type OperationDefinition } from './operation-definition.ts';
import { schemaRef } from './record-schemas.ts';
import * as schema from './schema-parts.ts';

export const indexOperations: readonly OperationDefinition[] = [
  {
    action: 'indexes:advice',
    method: 'get',
    summary: 'Find missing and unneeded indexes',
    description:
      'Each server advises by the requests that it has answered itself since "since". Other roles than admin only see collections and fields that they may list without a row filter.',
    may: hasGrants(['collections', 'list'], ['collections', 'update']),
    parameters: [
      {
        name: 'collectionName',
        in: 'query',
        description: 'Only advice on this collection.',
        schema: { type: 'string' },
        example: 'posts',
      },
    ],
    success: jsonReply('The advice.', schemaRef('IndexAdvice')),
  },
];

const names = schema.array(schema.string);
const average = (what: string): JsonSchema => ({ type: 'number', description: `${what}, on average of the calls.` });
const costs = {
  calls: schema.integer,
  rowsVisited: average('Records that were looked at; on PostgreSQL by its statistics'),
  rowsReturned: average('Records that were returned'),
  milliseconds: average('Time of the statements'),
};

const requestProperties = {
  conditions: { ...names, description: 'Fields with operators, such as "views $gt". Values are not recorded.' },
  sort: names,
  ...costs,
};

const missingProperties = {
  type: {
    type: 'string',
    enum: ['index', 'search'],
    description: 'An index for options.indexes, or search indexes for options.search.',
  },
  collection: schema.string,
  fields: { ...names, description: 'For a member of options.indexes, or members of options.search.' },
  summary: schema.string,
  ...costs,
  expectedRows: {
    type: ['number', 'null'],
    description: 'Records that a call would look at with the index; null if that depends on the values.',
  },
  onlyWith: {
    ...schema.array(schema.array(schema.string)),
    description: 'The fields of further missing indexes, without which the requests do not use this one.',
  },
  requests: schema.array(schema.object(requestProperties, Object.keys(requestProperties))),
};

const unneededProperties = {
  collection: schema.string,
  fields: names,
  summary: schema.string,
  source: {
    type: 'string',
    enum: ['field', 'options'],
    description: 'Where it is defined: the property "index" of the field, or options.indexes.',
  },
  reason: { type: 'string', enum: ['covered', 'unused'] },
  coveredBy: { type: ['array', 'null'], items: schema.string, description: 'The fields of the index that covers it.' },
};

const adviceProperties = {
  since: { ...schema.dateTime, description: 'When the server began to record requests.' },
  server: { ...schema.string, description: 'The server whose requests the advice is about.' },
  missing: schema.array(schema.object(missingProperties, Object.keys(missingProperties))),
  unneeded: schema.array(schema.object(unneededProperties, Object.keys(unneededProperties))),
};

/** Schemas for roles that may change definitions. */
export const indexSchemas: Readonly<Record<string, JsonSchema>> = {
  IndexAdvice: schema.object(adviceProperties, Object.keys(adviceProperties)),
};
