/** `collections:` and `fields:`. */
import type { JsonSchema } from '../schema/field-type.ts';
import { body, reply } from './operation.ts';
import { type Parameter, parameterRef } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import { listOf } from './schema-parts.ts';
import { granted, named, one, tag, type WrittenOperation } from './written-operation.ts';

const tried = parameterRef('dryRun');
const orTrial = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, schemaRef('DefinitionTrial')] });
const collection = reply('The collection, with its fields.', orTrial(schemaRef('Collection')));
const field = reply('The field.', orTrial(schemaRef('Field')));
const gone = reply('1, or what would be.', orTrial(one));

const collectionOperations: readonly WrittenOperation[] = [
  {
    action: 'collections:list',
    method: 'get',
    summary: 'All collections with their fields',
    may: granted(['collections', 'list']),
    success: reply('The collections.', listOf(schemaRef('Collection')), undefined, tag),
    notModified: true,
  },
  {
    action: 'collections:get',
    method: 'get',
    summary: 'One collection',
    may: granted(['collections', 'get']),
    parameters: [
      named('collection', 'posts'),
      {
        name: 'appends',
        in: 'query',
        description: 'fields: with its fields.',
        schema: { type: 'string', enum: ['fields'] },
      },
    ],
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
    summary: 'Change title, description and indexes',
    may: granted(['collections', 'update']),
    parameters: [named('collection', 'posts'), tried],
    body: body(schemaRef('CollectionChange')),
    success: collection,
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
    parameters: [named('collection', 'posts'), parameterRef('cascade'), tried],
    success: gone,
  },
];

const fieldOperations: readonly WrittenOperation[] = [
  ...fieldWrites('fields', []),
  {
    action: 'collections/fields:list',
    method: 'get',
    summary: 'The fields of a collection',
    may: granted(['fields', 'list']),
    success: reply('The fields.', listOf(schemaRef('Field')), undefined, tag),
    notModified: true,
  },
  {
    action: 'collections/fields:get',
    method: 'get',
    summary: 'One field of a collection',
    may: granted(['fields', 'get']),
    parameters: [named('field', 'title')],
    success: reply('The field.', schemaRef('Field'), undefined, tag),
    notModified: true,
  },
  ...fieldWrites('collections/fields', [{ ...named('field', 'title'), required: false }]),
];

/** The writes of fields, which have two paths: the collection stands in the body, or before the field. */
function fieldWrites(resource: string, target: readonly Parameter[]): readonly WrittenOperation[] {
  const nested = resource !== 'fields';
  const change = body(schemaRef('FieldChange'), !nested);
  const definition = nested ? schemaRef('FieldDefinition') : schemaRef('FieldChange');
  return [
    {
      action: `${resource}:create`,
      summary: 'Add a field',
      may: granted(['fields', 'create']),
      parameters: [tried],
      body: body(definition),
      success: field,
    },
    {
      action: `${resource}:update`,
      summary: 'Change or rename a field',
      may: granted(['fields', 'update']),
      parameters: [...target, tried],
      body: body(schemaRef('FieldChange')),
      success: field,
    },
    {
      action: `${resource}:destroy`,
      summary: 'Drop a field with its values',
      may: granted(['fields', 'destroy']),
      parameters: [...target, tried],
      body: change,
      success: gone,
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
