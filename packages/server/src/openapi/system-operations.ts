import { adminRole } from '../access/access-table.ts';
import { mainName } from '../applications/application.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { batch } from './batch-operation.ts';
import { body, type Operation, reply, responseRef } from './operation.ts';
import { type Parameter, parameterRef } from './parameters.ts';
import { parametersFor } from './record-operations.ts';
import { schemaRef } from './record-schemas.ts';
import { grantsFor, type Subject } from './subject.ts';
import { listOf } from './system-schemas.ts';

/** An operation that is written down here, for those who may do it. */
interface WrittenOperation {
  /** `auth:signIn`; below a collection `collections/fields:list`. */
  readonly action: string;
  readonly method?: 'get' | 'post';
  readonly summary: string;
  may(subject: Subject): boolean;
  readonly parameters?: readonly Parameter[] | ((subject: Subject) => readonly Parameter[]);
  readonly body?: JsonSchema;
  readonly success: JsonSchema;
  readonly notModified?: boolean;
  readonly open?: boolean;
}

const tag = { ETag: { $ref: '#/components/headers/ETag' } };
const one: JsonSchema = { const: 1 };
const everybody = (): boolean => true;
const signedIn = ({ caller }: Subject): boolean => caller.type !== 'anonymous';
const granted =
  (...needed: readonly (readonly [string, string])[]) =>
  (subject: Subject): boolean =>
    needed.every(([resource, action]) => grantsFor(subject, resource, [action]) !== null);
const inMain =
  (action: string) =>
  (subject: Subject): boolean =>
    subject.application === mainName && subject.grantOf('applications', action) !== null;
const named = (what: string, example: string): Parameter => ({
  name: 'filterByTk',
  in: 'query',
  required: true,
  description: `The name of the ${what}.`,
  schema: { type: 'string' },
  example,
});
const tried = parameterRef('dryRun');
const orTrial = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, schemaRef('DefinitionTrial')] });
const collection = reply('The collection, with its fields.', orTrial(schemaRef('Collection')));
const field = reply('The field.', orTrial(schemaRef('Field')));
const gone = reply('1, or what would be.', orTrial(one));

const authOperations: readonly WrittenOperation[] = [
  {
    action: 'auth:signIn',
    summary: 'Sign in with e-mail address or user name',
    may: everybody,
    body: body(schemaRef('Credentials')),
    success: reply('A token that lasts seven days after its last use.', schemaRef('Session')),
    open: true,
  },
  { action: 'auth:signOut', summary: 'Sign out', may: signedIn, success: reply('1', one) },
  {
    action: 'auth:check',
    method: 'get',
    summary: 'Who the credential stands for',
    may: signedIn,
    success: reply('User, role, application and credential.', schemaRef('Check')),
  },
  {
    action: 'apiKeys:create',
    summary: 'Make an API key',
    may: (subject) => subject.caller.type === 'session' || subject.grantOf('apiKeys', 'create') !== null,
    body: body(schemaRef('NewKey')),
    success: reply('The key; its token is shown this once.', schemaRef('MadeKey')),
  },
];

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

const application = responseRef('applications.one');
const theApplication = named('application', 'shop');
const applicationOperations: readonly WrittenOperation[] = [
  {
    action: 'applications:list',
    method: 'get',
    summary: 'List applications',
    may: inMain('list'),
    parameters: (subject) => parametersFor(subject, subject.registry.get('applications'), 'list'),
    success: responseRef('applications.list'),
    notModified: true,
  },
  {
    action: 'applications:get',
    method: 'get',
    summary: 'Get one application',
    may: inMain('get'),
    parameters: (subject) => parametersFor(subject, subject.registry.get('applications'), 'get'),
    success: application,
    notModified: true,
  },
  {
    action: 'applications:create',
    summary: 'Make an application',
    may: inMain('create'),
    body: body(schemaRef('NewApplication')),
    success: application,
  },
  {
    action: 'applications:update',
    summary: 'Change words and options of an application',
    may: inMain('update'),
    parameters: [theApplication],
    body: body(schemaRef('ApplicationChange')),
    success: application,
  },
  {
    action: 'applications:start',
    summary: 'Start an application',
    may: inMain('update'),
    parameters: [theApplication],
    success: application,
  },
  {
    action: 'applications:stop',
    summary: 'Stop an application',
    may: inMain('update'),
    parameters: [theApplication],
    success: application,
  },
  {
    action: 'applications:destroy',
    summary: 'Destroy an application with all its data',
    may: inMain('destroy'),
    parameters: [
      theApplication,
      {
        name: 'confirm',
        in: 'query',
        required: true,
        description: 'Its name once more.',
        schema: { type: 'string' },
        example: 'shop',
      },
    ],
    success: reply('1', one),
  },
  {
    action: 'applications:enter',
    summary: 'Get a login in an application',
    may: (subject) => subject.caller.role === adminRole && inMain('update')(subject),
    parameters: [theApplication],
    success: reply('The user there, and its token.', schemaRef('Session')),
  },
];

const documentOperations: readonly WrittenOperation[] = [
  {
    action: 'docs:openapi',
    method: 'get',
    summary: 'This document, for the role of the credential',
    may: everybody,
    success: {
      description: 'OpenAPI 3.1.',
      headers: tag,
      content: { 'application/json': { schema: { type: 'object', required: ['openapi'] } } },
    },
    notModified: true,
    open: true,
  },
];

/** What is no resource: it has no action in its path. */
const health: Operation = {
  method: 'get',
  path: '/api/health',
  id: 'health',
  tag: 'health',
  summary: 'Whether the server lives',
  parameters: [],
  success: reply('It does.', schemaRef('Health')),
  errors: 'read',
  open: true,
};

const all: readonly WrittenOperation[] = [
  ...authOperations,
  ...collectionOperations,
  ...fieldOperations,
  ...applicationOperations,
  ...documentOperations,
];

/** Actions that are described here, as http/ names them. */
export const writtenActions: readonly string[] = all.map(({ action }) => action);

/** The operations that no collection's definition makes, as far as the role may do them. */
export function systemOperations(subject: Subject): readonly Operation[] {
  return [
    health,
    ...(signedIn(subject) ? [batch] : []),
    ...all.filter((each) => each.may(subject)).map((each) => operationOf(each, subject)),
  ];
}

function operationOf(
  { action, method = 'post', parameters = [], may: _, ...rest }: WrittenOperation,
  subject: Subject,
): Operation {
  const below = action.startsWith('collections/');
  const [resource = '', name = ''] = action.split(':');
  return {
    ...rest,
    method,
    path: below ? `/api/collections/{collection}/fields:${name}` : `/api/${action}`,
    id: `${resource.replace('/', '.')}.${name}`,
    tag: below ? 'fields' : resource,
    parameters: typeof parameters === 'function' ? parameters(subject) : parameters,
    errors: method === 'get' ? 'read' : 'write',
  };
}

/** The collection of `/api/collections/{collection}/fields:…`. */
export const collectionInPath: Parameter = {
  name: 'collection',
  in: 'path',
  required: true,
  description: 'The name of the collection.',
  schema: { type: 'string' },
  example: 'posts',
};
