/** `applications:`, which are managed in `main`. */
import { adminRole } from '../access/access-table.ts';
import { mainName } from '../applications/application.ts';
import { body, reply, responseRef } from './operation.ts';
import { parametersFor } from './record-operations.ts';
import { schemaRef } from './record-schemas.ts';
import type { Subject } from './subject.ts';
import { named, one, type WrittenOperation } from './written-operation.ts';

const inMain =
  (action: string) =>
  (subject: Subject): boolean =>
    subject.application === mainName && subject.grantOf('applications', action) !== null;
const application = responseRef('applications.one');
const theApplication = named('application', 'shop');
export const applicationOperations: readonly WrittenOperation[] = [
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
    success: reply('The user there, and its token.', schemaRef('SignedIn')),
  },
];
