import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBookshelfServer } from '../support/bookshelf-server.ts';
import { describeEngines } from '../support/engines.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const said = expect.any(String);
const scenarios: readonly Scenario[] = [
  {
    name: 'labels of a collection change',
    request: 'POST /api/collections:update?filterByTk=books',
    body: { title: 'Books', description: 'What we lend' },
    expect: {
      status: 200,
      body: { data: { name: 'books', title: 'Books', description: 'What we lend' } },
      events: ['collections.updated'],
    },
  },
  {
    name: 'properties that are not named stay',
    request: 'POST /api/collections:update?filterByTk=books',
    body: { description: null },
    expect: { status: 200, body: { data: { title: 'Books', description: null } }, events: ['collections.updated'] },
  },
  {
    name: 'an index over several fields is added',
    request: 'POST /api/collections:update?filterByTk=books',
    body: { options: { indexes: [{ fields: ['title', 'pages'], unique: true }] } },
    expect: { status: 200, events: ['collections.updated'] },
  },
  {
    name: 'a unique index applies from then on',
    request: 'POST /api/books:create',
    body: { title: 'B', pages: 200 },
    expect: { status: 409, code: 'UNIQUE_CONFLICT' },
  },
  {
    name: 'a unique index over equal values is refused with 409',
    request: 'POST /api/collections:update?filterByTk=books',
    body: { options: { indexes: [{ fields: ['lang'], unique: true }] } },
    expect: { status: 409, code: 'UNIQUE_CONFLICT' },
  },
  {
    name: 'an index over unknown fields is refused with 422',
    request: 'POST /api/collections:update?filterByTk=books',
    body: { options: { indexes: [{ fields: ['nothing'] }] } },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { 'options.indexes': said } } },
  },
  {
    name: 'an unknown option is refused with 422',
    request: 'POST /api/collections:update?filterByTk=books',
    body: { options: { fast: true } },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { 'options.fast': said } } },
  },
  {
    name: 'an unchanged option is accepted, also without "options"',
    request: 'POST /api/collections:update?filterByTk=books',
    body: { timestamps: false, options: { timestamps: false, indexes: [] } },
    expect: { status: 200, events: ['collections.updated'] },
  },
  {
    name: 'an option that is given twice with different values is refused with 400',
    request: 'POST /api/collections:update?filterByTk=books',
    body: { paranoid: true, options: { paranoid: false } },
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'fields cannot be changed by collections:update',
    request: 'POST /api/collections:update?filterByTk=books',
    body: { fields: [] },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { fields: said } } },
  },
  {
    name: 'the name of a collection cannot be changed',
    request: 'POST /api/collections:update?filterByTk=books',
    body: { name: 'volumes' },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { name: said } } },
  },
  {
    name: 'a system collection cannot be changed',
    request: 'POST /api/collections:update?filterByTk=users',
    body: { title: 'People' },
    expect: { status: 403, code: 'SYSTEM_PROTECTED' },
  },
  {
    name: 'a collection that does not exist is refused with 404',
    request: 'POST /api/collections:update?filterByTk=nothing',
    body: { title: 'x' },
    expect: { status: 404, code: 'COLLECTION_UNKNOWN' },
  },
];

describeEngines('changes of collections', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startBookshelfServer(engine);
  });
  afterAll(() => server.stop());

  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario).then(() => {}));

  test('definitions and data are the same after a restart', async () => {
    const before = await server.readSnapshot();
    await server.running.stop();
    await server.boot();
    expect(await server.readSnapshot()).toBe(before);
  });
});
