/** `collections:` and `fields:`. */
import { parametersOf } from '../protocol/request-normaliser.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { body, listReply, reply } from './operation.ts';
import { keyParameter, type Parameter, parameterRef, sharedParameters } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import { listOf } from './schema-parts.ts';
import { granted, named, one, tag, type WrittenOperation } from './written-operation.ts';

/** Definitions have no write counters and no trash. */
const unusable = new Set(['filterByTk', 'versions', 'withDeleted', 'onlyDeleted']);
const refsOf = (action: 'list' | 'get'): readonly Parameter[] =>
  [...parametersOf[action]].filter((each) => !unusable.has(each)).map(parameterRef);
const listParameters: readonly Parameter[] = [
  keyParameter({ type: 'string' }, true, false),
  ...refsOf('list'),
  parameterRef('If-None-Match'),
];
const getParameters: readonly Parameter[] = [
  ...refsOf('get').filter(({ $ref }) => !String($ref).includes('/page')),
  parameterRef('If-None-Match'),
];
const whole =
  'The list is complete unless page, pageSize or after is given. Without sort, it is in the order of definition.';
const collectionName: Parameter = {
  name: 'collectionName',
  in: 'query',
  description: 'The collection whose fields are listed.',
  schema: { type: 'string' },
  example: 'posts',
};
const tried = parameterRef('dryRun');
const match = parameterRef('If-Match');
const orTrial = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, schemaRef('DefinitionTrial')] });
const collection = reply('The collection, with its fields.', orTrial(schemaRef('Collection')));
const field = reply('The field.', orTrial(schemaRef('Field')));
const gone = reply('1, or what would be.', orTrial(one));

const collectionOperations: readonly WrittenOperation[] = [
  {
    action: 'collections:list',
    method: 'get',
    summary: 'Collections with their fields',
    description: whole,
    may: granted(['collections', 'list']),
    parameters: listParameters,
    success: listReply('The collections.', schemaRef('Collection'), tag),
    notModified: true,
  },
  {
    action: 'collections:get',
    method: 'get',
    summary: 'One collection',
    may: granted(['collections', 'get']),
    parameters: [{ ...named('collection', 'posts'), required: false }, ...getParameters],
    success: reply('The collection.', schemaRef('Collection'), undefined, tag),
    notModified: true,
  },
  {
    action: 'collections:create',
    summary: 'Define a collection',
    may: granted(['collections', 'create']),
    parameters: [tried],
    body: body(schemaRef('CollectionDefinition')),
    success: collection,
  },
  {
    action: 'collections:update',
    summary: 'Change title, description, indexes and options',
    may: granted(['collections', 'update']),
    parameters: [
      named('collection', 'posts'),
      { ...sharedParameters['force'], description: 'Accept that switching an option off deletes its data.' },
      tried,
      match,
    ],
    body: body(schemaRef('CollectionChange')),
    success: collection,
    matches: true,
  },
  {
    action: 'collections:apply',
    summary: 'Make what is missing of a set of collections, and change what differs',
    may: granted(['collections', 'create'], ['collections', 'update'], ['fields', 'create'], ['fields', 'update']),
    parameters: [tried],
    body: body(listOf(schemaRef('CollectionDefinition'))),
    success: reply('The collections, in the order of the set.', orTrial(listOf(schemaRef('Collection'))), {
      type: 'object',
      properties: { changes: listOf(schemaRef('DefinitionEvent')) },
      required: ['changes'],
      additionalProperties: false,
    }),
  },
  {
    action: 'collections:destroy',
    summary: 'Drop a collection with its records',
    may: granted(['collections', 'destroy']),
    parameters: [named('collection', 'posts'), parameterRef('cascade'), tried, match],
    success: gone,
    matches: true,
  },
];

const fieldOperations: readonly WrittenOperation[] = [
  ...fieldWrites('fields', []),
  fieldList('fields', [{ ...collectionName, required: true }]),
  fieldList('collections/fields', [collectionName]),
  {
    action: 'collections/fields:get',
    method: 'get',
    summary: 'One field of a collection',
    may: granted(['fields', 'get']),
    parameters: [{ ...named('field', 'title'), required: false }, ...getParameters],
    success: reply('The field.', schemaRef('Field'), undefined, tag),
    notModified: true,
  },
  ...fieldWrites('collections/fields', [{ ...named('field', 'title'), required: false }]),
];

function fieldList(resource: string, more: readonly Parameter[]): WrittenOperation {
  return {
    action: `${resource}:list`,
    method: 'get',
    summary: 'The fields of a collection',
    description: whole,
    may: granted(['fields', 'list']),
    parameters: [...more, ...listParameters],
    success: listReply('The fields.', schemaRef('Field'), tag),
    notModified: true,
  };
}

/** The writes of fields, which have two paths: the collection stands in the body, or before the field. */
function fieldWrites(resource: string, target: readonly Parameter[]): readonly WrittenOperation[] {
  const nested = resource !== 'fields';
  const inQuery = { ...collectionName, description: 'The collection of the field, in the place of the body.' };
  const change = body(schemaRef('FieldChange'), !nested);
  const definition = nested ? schemaRef('FieldDefinition') : schemaRef('FieldChange');
  return [
    {
      action: `${resource}:create`,
      summary: 'Add a field',
      may: granted(['fields', 'create']),
      parameters: [inQuery, tried],
      body: body(definition),
      success: field,
    },
    {
      action: `${resource}:update`,
      summary: 'Change or rename a field',
      may: granted(['fields', 'update']),
      parameters: [...target, inQuery, tried, match],
      body: body(schemaRef('FieldChange')),
      success: field,
      matches: true,
    },
    {
      action: `${resource}:destroy`,
      summary: 'Drop a field with its values',
      may: granted(['fields', 'destroy']),
      parameters: [...target, inQuery, tried, match],
      body: change,
      success: gone,
      matches: true,
    },
  ];
}

export const definitionOperations: readonly WrittenOperation[] = [...collectionOperations, ...fieldOperations];

/** The collection of `/api/collections/{collection}/fields:…`. */
export const collectionInPath: Parameter = {
  name: 'collection',
  in: 'path',
  required: true,
  description: 'The name of the collection.',
  schema: { type: 'string' },
  example: 'posts',
};
