/** `applications:`, which are managed in `main`. */
import { adminRole } from '../access/access-table.ts';
import { mainApplicationName } from '../applications/application.ts';
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
    summary: 'Make an application',
    may: isGrantedInMain('create'),
    body: jsonBody(schemaRef('NewApplication')),
    success: application,
  },
  {
    action: 'applications:update',
    summary: 'Change words and options of an application',
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
    summary: 'Destroy an application with all its data',
    may: isGrantedInMain('destroy'),
    parameters: [
      applicationParameter,
      {
        name: 'confirm',
        in: 'query',
        required: true,
        description: 'Its name once more.',
        schema: { type: 'string' },
        example: 'shop',
      },
    ],
    success: jsonReply('1', oneSchema),
  },
  {
    action: 'applications:enter',
    summary: 'Get a login in an application',
    may: (subject) => subject.caller.role === adminRole && isGrantedInMain('update')(subject),
    parameters: [applicationParameter],
    success: jsonReply('The user there, and its token.', schemaRef('SignedIn')),
  },
];
