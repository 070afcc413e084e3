import { afterAll, beforeAll, expect, test } from 'vitest';
import { bookshelves } from '../support/bookshelves.ts';
import { describeEngines } from '../support/engines.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const said = expect.any(String);
const scenarios: readonly Scenario[] = [
  {
    name: 'words of a collection',
    request: 'POST /api/collections:update?filterByTk=books',
    body: { title: 'Books', description: 'What we lend' },
    expect: {
      status: 200,
      body: { data: { name: 'books', title: 'Books', description: 'What we lend' } },
      events: ['collections.updated'],
    },
  },
  {
    name: 'what is not named stays',
    request: 'POST /api/collections:update?filterByTk=books',
    body: { description: null },
    expect: { status: 200, body: { data: { title: 'Books', description: null } }, events: ['collections.updated'] },
  },
  {
    name: 'an index over several fields',
    request: 'POST /api/collections:update?filterByTk=books',
    body: { options: { indexes: [{ fields: ['title', 'pages'], unique: true }] } },
    expect: { status: 200, events: ['collections.updated'] },
  },
  {
    name: 'holds from then on',
    request: 'POST /api/books:create',
    body: { title: 'B', pages: 200 },
    expect: { status: 409, body: { code: 'UNIQUE_CONFLICT' } },
  },
  {
    name: 'a unique index over equal values is 409',
    request: 'POST /api/collections:update?filterByTk=books',
    body: { options: { indexes: [{ fields: ['lang'], unique: true }] } },
    expect: { status: 409, body: { code: 'UNIQUE_CONFLICT' } },
  },
  {
    name: 'an index over nothing is 422',
    request: 'POST /api/collections:update?filterByTk=books',
    body: { options: { indexes: [{ fields: ['nothing'] }] } },
    expect: { status: 422, body: { details: { 'options.indexes': said } } },
  },
  {
    name: 'an option that does not exist is 422',
    request: 'POST /api/collections:update?filterByTk=books',
    body: { options: { fast: true } },
    expect: { status: 422, body: { details: { 'options.fast': said } } },
  },
  {
    name: 'an unchanged option is accepted, also flat',
    request: 'POST /api/collections:update?filterByTk=books',
    body: { timestamps: false, options: { timestamps: false, indexes: [] } },
    expect: { status: 200, events: ['collections.updated'] },
  },
  {
    name: 'one that is given twice with different values is 400',
    request: 'POST /api/collections:update?filterByTk=books',
    body: { paranoid: true, options: { paranoid: false } },
    expect: { status: 400, body: { code: 'BODY_INVALID' } },
  },
  {
    name: 'fields do not change that way',
    request: 'POST /api/collections:update?filterByTk=books',
    body: { fields: [] },
    expect: { status: 422, body: { details: { fields: said } } },
  },
  {
    name: 'nor does the name',
    request: 'POST /api/collections:update?filterByTk=books',
    body: { name: 'volumes' },
    expect: { status: 422, body: { details: { name: said } } },
  },
  {
    name: 'a system collection does not change',
    request: 'POST /api/collections:update?filterByTk=users',
    body: { title: 'People' },
    expect: { status: 403, body: { code: 'SYSTEM_PROTECTED' } },
  },
  {
    name: 'a collection that is not there is 404',
    request: 'POST /api/collections:update?filterByTk=nothing',
    body: { title: 'x' },
    expect: { status: 404 },
  },
];

describeEngines('changes of collections', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await bookshelves(engine);
  });
  afterAll(() => server.stop());

  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario).then(() => {}));

  test('definitions and data are the same after a restart', async () => {
    const before = await server.picture();
    await server.running.stop();
    await server.boot();
    expect(await server.picture()).toBe(before);
  });
});
