/** The `collections` and `fields` actions. */
import { actionParameters } from '../protocol/request-normaliser.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { jsonBody, jsonListReply, jsonReply } from './operation.ts';
import { etagHeader, hasGrants, nameParameter, type OperationDefinition, oneSchema } from './operation-definition.ts';
import { keyParameter, type Parameter, parameterRef, sharedParameters } from './parameters.ts';
import { schemaRef } from './record-schemas.ts';
import * as schema from './schema-parts.ts';

/** Definitions have no versions and no trash. */
const unsupportedParameters = new Set(['filterByTk', 'versions', 'withDeleted', 'onlyDeleted']);
const parameterRefs = (action: 'list' | 'get'): readonly Parameter[] =>
  [...actionParameters[action]].filter((each) => !unsupportedParameters.has(each)).map(parameterRef);
const listParameters: readonly Parameter[] = [
  keyParameter({ type: 'string' }, true, false),
  ...parameterRefs('list'),
  parameterRef('If-None-Match'),
];
const getParameters: readonly Parameter[] = [
  ...parameterRefs('get').filter(({ $ref }) => !String($ref).includes('/page')),
  parameterRef('If-None-Match'),
];
const completeListDescription =
  'The list is complete unless page, pageSize or after is given. Without sort, it is in the order of definition.';
const collectionName: Parameter = {
  name: 'collectionName',
  in: 'query',
  description: 'The collection whose fields are listed.',
  schema: { type: 'string' },
  example: 'posts',
};
const dryRunParameter = parameterRef('dryRun');
const ifMatchParameter = parameterRef('If-Match');
const orDryRun = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, schemaRef('DefinitionDryRun')] });
const collectionReply = jsonReply('The collection, with its fields.', orDryRun(schemaRef('Collection')));
const fieldReply = jsonReply('The field.', orDryRun(schemaRef('Field')));
const destroyedReply = jsonReply('1: the number of destroyed collections or fields.', orDryRun(oneSchema));

const collectionOperations: readonly OperationDefinition[] = [
  {
    action: 'collections:list',
    method: 'get',
    summary: 'List collections with their fields',
    description: completeListDescription,
    may: hasGrants(['collections', 'list']),
    parameters: listParameters,
    success: jsonListReply('The collections.', schemaRef('Collection'), etagHeader),
    notModified: true,
  },
  {
    action: 'collections:get',
    method: 'get',
    summary: 'Get one collection',
    may: hasGrants(['collections', 'get']),
    parameters: [{ ...nameParameter('collection', 'posts'), required: false }, ...getParameters],
    success: jsonReply('The collection.', schemaRef('Collection'), undefined, etagHeader),
    notModified: true,
  },
  {
    action: 'collections:create',
    summary: 'Define a collection',
    may: hasGrants(['collections', 'create']),
    parameters: [dryRunParameter],
    body: jsonBody(schemaRef('CollectionDefinition')),
    success: collectionReply,
  },
  {
    action: 'collections:update',
    summary: 'Change title, description, indexes and options',
    may: hasGrants(['collections', 'update']),
    parameters: [
      nameParameter('collection', 'posts'),
      { ...sharedParameters['force'], description: 'Allow that switching an option off deletes its data.' },
      dryRunParameter,
      ifMatchParameter,
    ],
    body: jsonBody(schemaRef('CollectionChange')),
    success: collectionReply,
    matches: true,
  },
  {
    action: 'collections:apply',
    summary: 'Create missing collections and fields of a set, and change different ones',
    may: hasGrants(['collections', 'create'], ['collections', 'update'], ['fields', 'create'], ['fields', 'update']),
    parameters: [dryRunParameter],
    body: jsonBody(schema.array(schemaRef('CollectionDefinition'))),
    success: jsonReply('The collections, in the order of the set.', orDryRun(schema.array(schemaRef('Collection'))), {
      type: 'object',
      properties: { changes: schema.array(schemaRef('DefinitionEvent')) },
      required: ['changes'],
      additionalProperties: false,
    }),
  },
  {
    action: 'collections:destroy',
    summary: 'Destroy a collection with its records',
    may: hasGrants(['collections', 'destroy']),
    parameters: [nameParameter('collection', 'posts'), parameterRef('cascade'), dryRunParameter, ifMatchParameter],
    success: destroyedReply,
    matches: true,
  },
];

const fieldOperations: readonly OperationDefinition[] = [
  ...makeFieldWriteOperations('fields', []),
  makeFieldListOperation('fields', [{ ...collectionName, required: true }]),
  makeFieldListOperation('collections/fields', [collectionName]),
  {
    action: 'collections/fields:get',
    method: 'get',
    summary: 'Get one field of a collection',
    may: hasGrants(['fields', 'get']),
    parameters: [{ ...nameParameter('field', 'title'), required: false }, ...getParameters],
    success: jsonReply('The field.', schemaRef('Field'), undefined, etagHeader),
    notModified: true,
  },
  ...makeFieldWriteOperations('collections/fields', [{ ...nameParameter('field', 'title'), required: false }]),
];

function makeFieldListOperation(resource: string, extraParameters: readonly Parameter[]): OperationDefinition {
  return {
    action: `${resource}:list`,
    method: 'get',
    summary: 'List the fields of a collection',
    description: completeListDescription,
    may: hasGrants(['fields', 'list']),
    parameters: [...extraParameters, ...listParameters],
    success: jsonListReply('The fields.', schemaRef('Field'), etagHeader),
    notModified: true,
  };
}

/** The writes of fields have two paths: with the collection in the body, or in the path. */
function makeFieldWriteOperations(
  resource: string,
  pathParameters: readonly Parameter[],
): readonly OperationDefinition[] {
  const isNested = resource !== 'fields';
  const collectionParameter = {
    ...collectionName,
    description: 'The collection of the field, instead of in the body.',
  };
  const change = jsonBody(schemaRef('FieldChange'), !isNested);
  const definition = isNested ? schemaRef('FieldDefinition') : schemaRef('FieldChange');
  return [
    {
      action: `${resource}:create`,
      summary: 'Add a field',
      may: hasGrants(['fields', 'create']),
      parameters: [collectionParameter, dryRunParameter],
      body: jsonBody(definition),
      success: fieldReply,
    },
    {
      action: `${resource}:update`,
      summary: 'Change or rename a field',
      may: hasGrants(['fields', 'update']),
      parameters: [...pathParameters, collectionParameter, dryRunParameter, ifMatchParameter],
      body: jsonBody(schemaRef('FieldChange')),
      success: fieldReply,
      matches: true,
    },
    {
      action: `${resource}:destroy`,
      summary: 'Destroy a field with its values',
      may: hasGrants(['fields', 'destroy']),
      parameters: [...pathParameters, collectionParameter, dryRunParameter, ifMatchParameter],
      body: change,
      success: destroyedReply,
      matches: true,
    },
  ];
}

export const definitionOperations: readonly OperationDefinition[] = [...collectionOperations, ...fieldOperations];

/** The collection of `/api/collections/{collection}/fields:…`. */
export const collectionPathParameter: Parameter = {
  name: 'collection',
  in: 'path',
  required: true,
  description: 'The name of the collection.',
  schema: { type: 'string' },
  example: 'posts',
};
