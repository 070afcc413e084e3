import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const invalid = (name: string): Scenario['expect'] => ({
  status: 422,
  code: 'DEFINITION_INVALID',
  body: { details: { [name]: expect.any(String) } },
});

/** Permission 1 of the reader is for posts, with a row filter and excluded fields. Webhook 1 acts as editor. */
const scenarios: readonly Scenario[] = [
  {
    name: 'a permission with exceptFields does not accept a list of fields',
    request: 'POST /api/permissions:update?filterByTk=$1',
    body: { fields: ['title'] },
    expect: invalid('exceptFields'),
  },
  {
    name: 'a permission cannot move to a collection without the fields that it names',
    request: 'POST /api/permissions:update?filterByTk=$1',
    body: { resource: 'albums' },
    expect: invalid('exceptFields'),
  },
  {
    name: 'a permission cannot move to a collection without the fields that its filter names',
    request: 'POST /api/permissions:update?filterByTk=$1',
    body: { resource: 'albums', exceptFields: null },
    expect: invalid('filter'),
  },
  {
    name: 'a permission that names fields cannot move to all collections',
    request: 'POST /api/permissions:update?filterByTk=$1',
    body: { resource: '*', exceptFields: null },
    expect: invalid('filter'),
  },
  {
    name: 'a permission moves together with its new fields and filter',
    request: 'POST /api/permissions:update?filterByTk=$1',
    body: { resource: 'albums', exceptFields: null, filter: { name: 'a' } },
    expect: { status: 200, events: ['permissions.updated'] },
  },
  {
    name: 'an unknown permission is refused with 404',
    request: 'POST /api/permissions:update?filterByTk=999',
    body: { actions: ['list'] },
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'the refusal for an invisible permission reveals nothing about it',
    request: 'POST /api/permissions:update?filterByTk=$1',
    as: 'delegate',
    body: { filter: { nothing: 1 } },
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'a role that may only write the filter can write the filter',
    request: 'POST /api/permissions:update?filterByTk=$2',
    as: 'delegate',
    body: { filter: { title: 'b' } },
    expect: { status: 200, events: ['permissions.updated'] },
  },
  {
    name: 'the refusal for an invisible webhook reveals nothing about its events',
    request: 'POST /api/webhooks:update?filterByTk=1',
    as: 'delegate',
    body: { filter: { nothing: 1 } },
    expect: { status: 403, code: 'NO_PERMISSION', absent: ['posts'] },
  },
  {
    name: 'the refusal for an invisible webhook does not reveal whether it exists',
    request: 'POST /api/webhooks:update?filterByTk=2',
    as: 'delegate',
    body: { filter: { nothing: 1 } },
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'a visible webhook is checked with the values after the change',
    request: 'POST /api/webhooks:update?filterByTk=1',
    body: { filter: { nothing: 1 } },
    expect: invalid('filter'),
  },
  {
    name: 'a visible webhook is checked with its secret',
    request: 'POST /api/webhooks:update?filterByTk=1',
    body: { events: ['posts.updated'], secret: 'short' },
    expect: invalid('secret'),
  },
];

describeEngines('updates that are checked as whole records', (engine) => {
  let server: TestServer;
  let ids: readonly number[];
  beforeAll(async () => {
    server = await TestServer.start(engine);
    const make = (what: string, body: unknown): ReturnType<TestServer['data']> =>
      server.data(`POST /api/${what}:create`, { body });
    const text = (name: string): object => ({ name, type: 'string' });
    await make('collections', { name: 'posts', fields: [text('title'), text('body')] });
    await make('collections', { name: 'albums', fields: [text('name')] });
    await make('roles', [{ name: 'reader' }, { name: 'delegate' }]);
    const made = await make('permissions', [
      { role: 'reader', resource: 'posts', actions: 'view', filter: { title: 'a' }, exceptFields: ['body'] },
      { role: 'viewer', resource: 'posts', actions: 'view', filter: { title: 'a' } },
      { role: 'delegate', resource: 'permissions', actions: ['list', 'get'] },
      {
        role: 'delegate',
        resource: 'permissions',
        actions: 'update',
        fields: ['filter'],
        filter: { role: 'viewer' },
      },
      { role: 'delegate', resource: 'webhooks', actions: ['list', 'get', 'update'], filter: { enabled: false } },
    ]);
    ids = made.map((each: { id: number }) => each.id);
    await make('webhooks', { url: 'https://example.com/x', events: ['posts.created'], role: 'editor' });
    await server.createKey('delegate');
  });
  afterAll(() => server.stop());

  for (const scenario of scenarios)
    test(scenario.name, async () => {
      const request = scenario.request.replace(/\$(\d)/, (_, place: string) => String(ids[Number(place) - 1]));
      await server.play({ ...scenario, request });
    });
});
