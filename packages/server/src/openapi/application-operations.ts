/** The `applications` actions, which only `main` has. */
import { adminRole } from '../access/access-table.ts';
import { mainApplicationName } from '../applications/application.ts';
import { moveSteps } from '../transfer/move/move-protocol.ts';
import { isBackupAdministrator } from './backup-operations.ts';
import { jsonBody, jsonReply, responseRef } from './operation.ts';
import { nameParameter, type OperationDefinition, oneSchema } from './operation-definition.ts';
import { parametersFor } from './record-operations.ts';
import { schemaRef } from './record-schemas.ts';
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
