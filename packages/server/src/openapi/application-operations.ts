/** The `applications` actions, which only `main` has. */
import { adminRole } from '../access/access-table.ts';
import { mainApplicationName } from '../applications/application.ts';
import type { JsonSchema } from '../schema/field-type.ts';
import { moveSteps } from '../transfer/move/move-protocol.ts';
import { isBackupAdministrator } from './backup-operations.ts';
import { jsonBody, jsonReply, responseRef } from './operation.ts';
import { nameParameter, type OperationDefinition, oneSchema } from './operation-definition.ts';
import { parametersFor } from './record-operations.ts';
import { schemaRef } from './record-schemas.ts';
import * as schema from './schema-parts.ts';
import type { Subject } from './subject.ts';

const isGrantedInMain =
  (action: string) =>
  (subject: Subject): boolean =>
    subject.application === mainApplicationName && subject.findGrant('applications', action) !== null;
const application = responseRef('applications.one');
const applicationParameter = nameParameter('application', 'shop');
export const applicationOperations: readonly OperationDefinition[] = [
  {
    action: 'applications:list',
    method: 'get',
    summary: 'List applications',
    may: isGrantedInMain('list'),
    parameters: (subject) => parametersFor(subject, subject.registry.get('applications'), 'list'),
    success: responseRef('applications.list'),
    notModified: true,
  },
  {
    action: 'applications:get',
    method: 'get',
    summary: 'Get one application',
    may: isGrantedInMain('get'),
    parameters: (subject) => parametersFor(subject, subject.registry.get('applications'), 'get'),
    success: application,
    notModified: true,
  },
  {
    action: 'applications:create',
    summary: 'Create an application',
    may: isGrantedInMain('create'),
    body: jsonBody(schemaRef('NewApplication')),
    success: application,
  },
  {
    action: 'applications:update',
    summary: 'Change the title, description and options of an application',
    may: isGrantedInMain('update'),
    parameters: [applicationParameter],
    body: jsonBody(schemaRef('ApplicationChange')),
    success: application,
  },
  {
    action: 'applications:start',
    summary: 'Start an application',
    may: isGrantedInMain('update'),
    parameters: [applicationParameter],
    success: application,
  },
  {
    action: 'applications:stop',
    summary: 'Stop an application',
    may: isGrantedInMain('update'),
    parameters: [applicationParameter],
    success: application,
  },
  {
    action: 'applications:destroy',
    summary: 'Destroy an application with all of its data',
    may: isGrantedInMain('destroy'),
    parameters: [
      applicationParameter,
      {
        name: 'confirm',
        in: 'query',
        required: true,
        description: 'The name of the application, as a confirmation.',
        schema: { type: 'string' },
        example: 'shop',
      },
    ],
    success: jsonReply('1', oneSchema),
  },
  {
    action: 'applications:nodes',
    method: 'get',
    summary: 'List the nodes of the Citus cluster',
    description:
      'With the applications on each, and their sizes. Empty if the data of the server is not on such a cluster.',
    may: isBackupAdministrator,
    success: jsonReply('The nodes, the coordinator first.', schema.array(schemaRef('ClusterNode'))),
  },
  {
    action: 'applications:move',
    summary: 'Start to move an application to another node',
    description:
      'The application is used meanwhile; only at the end, its requests are 503 with Retry-After for less than two seconds. Its event log begins again, so clients with earlier cursors must reload. Only one move, backup or restore runs at a time, on all servers.',
    may: isBackupAdministrator,
    parameters: [applicationParameter],
    body: jsonBody(
      schema.object({ node: { type: 'string', description: 'A node of applications:nodes that is a target.' } }, [
        'node',
      ]),
    ),
    success: application,
    also: { 202: application },
  },
  {
    action: 'applications:enter',
    summary: 'Create a login in an application',
    may: (subject) => subject.caller.role === adminRole && isGrantedInMain('update')(subject),
    parameters: [applicationParameter],
    success: jsonReply('The user of that application, and the token.', schemaRef('SignedIn')),
  },
  {
    action: 'applications:receive',
    summary: 'Receive a part of an application that is moved to this server',
    description:
      'Only the command "tablinum move --to <address>" sends these requests. They only write to an application that the same move has created, and that is stopped. The reply contains numbers of rows and checksums, and no data.',
    may: isBackupAdministrator,
    parameters: [
      applicationParameter,
      {
        name: 'move',
        in: 'query',
        required: true,
        description: 'The id of the move.',
        schema: { type: 'string', format: 'uuid' },
      },
      {
        name: 'step',
        in: 'query',
        required: true,
        description: 'What the body contains: bytes for "blob" and "blobs", otherwise JSON.',
        schema: { enum: moveSteps },
      },
      {
        name: 'scope',
        in: 'query',
        description: 'For blobs: 0 for files, or the id of a mail account.',
        schema: { type: 'integer', minimum: 0 },
      },
      { name: 'name', in: 'query', description: 'For one blob: its SHA-256.', schema: { type: 'string' } },
    ],
    body: { required: true, content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } } },
    success: jsonReply('The result of the step.', { type: 'object' }),
  },
];

const count: JsonSchema = { type: 'integer', minimum: 0 };

/** Schemas for administrators of `main`. */
export const nodeSchemas: Readonly<Record<string, JsonSchema>> = {
  ClusterNode: schema.complete({
    node: { type: 'string', description: '`<host>:<port>`, or `coordinator`.' },
    isTarget: { type: 'boolean', description: 'Whether applications can be created on it, or moved to it.' },
    isAvailable: { type: 'boolean', description: 'Whether it replies.' },
    applications: schema.array(
      schema.complete({
        name: schema.string,
        bytes: {
          ...count,
          type: ['integer', 'null'],
          description:
            'The size in the database as of its last vacuum or analyze, with indexes; null if the node does not reply.',
        },
      }),
    ),
  }),
  NodeMove: schema.complete({
    from: schema.string,
    to: schema.string,
    status: { enum: ['running', 'done', 'failed'] },
    step: {
      enum: ['copying', 'switching', 'cleaning', 'undoing', 'cancelling', null],
      description:
        'copying: the application is used on the old node. switching: its requests are 503. cleaning: it is used on the new node, and remains are removed from the old one. undoing and cancelling: the move has failed, and is undone. null: it has ended.',
    },
    startedAt: schema.dateTime,
    finishedAt: schema.dateTimeOrNull,
    problem: { ...schema.stringOrNull, description: 'Why it failed.' },
  }),
};
