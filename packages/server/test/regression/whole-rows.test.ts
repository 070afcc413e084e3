import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const invalid = (name: string): Scenario['expect'] => ({
  status: 422,
  body: { code: 'DEFINITION_INVALID', details: { [name]: expect.any(String) } },
});

/** Permission 1 of the reader is on posts, with a filter and fields that are left out; webhook 1 acts as editor. */
const scenarios: readonly Scenario[] = [
  {
    name: 'a permission that leaves fields out takes no list of fields beside that',
    request: 'POST /api/permissions:update?filterByTk=$1',
    body: { fields: ['title'] },
    expect: invalid('exceptFields'),
  },
  {
    name: 'it moves to no collection without the fields that it names',
    request: 'POST /api/permissions:update?filterByTk=$1',
    body: { resource: 'albums' },
    expect: invalid('exceptFields'),
  },
  {
    name: 'nor without those that its filter names',
    request: 'POST /api/permissions:update?filterByTk=$1',
    body: { resource: 'albums', exceptFields: null },
    expect: invalid('filter'),
  },
  {
    name: 'nor to all of them',
    request: 'POST /api/permissions:update?filterByTk=$1',
    body: { resource: '*', exceptFields: null },
    expect: invalid('filter'),
  },
  {
    name: 'it moves with what goes along',
    request: 'POST /api/permissions:update?filterByTk=$1',
    body: { resource: 'albums', exceptFields: null, filter: { name: 'a' } },
    expect: { status: 200, events: ['permissions.updated'] },
  },
  {
    name: 'a permission that is not there is 404',
    request: 'POST /api/permissions:update?filterByTk=999',
    body: { actions: ['list'] },
    expect: { status: 404 },
  },
  {
    name: 'a permission that is out of reach tells nothing of itself',
    request: 'POST /api/permissions:update?filterByTk=$1',
    as: 'delegate',
    body: { filter: { nothing: 1 } },
    expect: { status: 403, body: { code: 'NO_PERMISSION' } },
  },
  {
    name: 'who may write its filter alone writes that',
    request: 'POST /api/permissions:update?filterByTk=$2',
    as: 'delegate',
    body: { filter: { title: 'b' } },
    expect: { status: 200, events: ['permissions.updated'] },
  },
  {
    name: 'a webhook that is out of reach tells nothing of its events',
    request: 'POST /api/webhooks:update?filterByTk=1',
    as: 'delegate',
    body: { filter: { nothing: 1 } },
    expect: { status: 403, body: { code: 'NO_PERMISSION' }, absent: ['posts'] },
  },
  {
    name: 'nor whether it is there',
    request: 'POST /api/webhooks:update?filterByTk=2',
    as: 'delegate',
    body: { filter: { nothing: 1 } },
    expect: { status: 403, body: { code: 'NO_PERMISSION' } },
  },
  {
    name: 'one within reach is checked as the webhook that the change makes',
    request: 'POST /api/webhooks:update?filterByTk=1',
    body: { filter: { nothing: 1 } },
    expect: invalid('filter'),
  },
  {
    name: 'with its secret',
    request: 'POST /api/webhooks:update?filterByTk=1',
    body: { events: ['posts.updated'], secret: 'short' },
    expect: invalid('secret'),
  },
];

describeEngines('rows that are checked whole when they change', (engine) => {
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
    await server.key('delegate');
  });
  afterAll(() => server.stop());

  for (const scenario of scenarios)
    test(scenario.name, async () => {
      const request = scenario.request.replace(/\$(\d)/, (_, place: string) => String(ids[Number(place) - 1]));
      await server.play({ ...scenario, request });
    });
});
