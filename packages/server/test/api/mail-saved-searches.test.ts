/** Saved searches: each user only sees their own. */
import { afterAll, beforeAll, test } from 'vitest';
import type { ErrorCode } from '../../src/protocol/error-catalogue.ts';
import { describeEngines } from '../support/engines.ts';
import { startMailAccountServer } from '../support/mail-account-server.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const refused = (name: string, body: object, code: ErrorCode = 'VALUE_INVALID'): Scenario => ({
  name,
  request: 'POST /api/mailSavedSearches',
  as: 'ann',
  body,
  expect: { status: code === 'UNIQUE_CONFLICT' ? 409 : 422, code },
});

const scenarios: readonly Scenario[] = [
  {
    name: 'a search is saved for the user who creates it, whatever the body says',
    request: 'POST /api/mailSavedSearches',
    as: 'ann',
    body: { name: ' Bills ', view: { q: 'label:Bills', unread: true }, userId: 1 },
    expect: {
      status: 200,
      events: ['mailSavedSearches.created'],
      body: { data: { id: 1, userId: 2, name: 'Bills', view: { q: 'label:Bills', unread: true } } },
    },
  },
  refused(
    'a second search of the same name is refused with 409',
    { name: 'Bills', view: { q: 'x' } },
    'UNIQUE_CONFLICT',
  ),
  refused('a search without a name is refused with 422', { name: '  ', view: { q: 'x' } }),
  refused('a view without members is refused with 422', { name: 'Nothing', view: {} }),
  refused('a view with an unknown member is refused with 422', { name: 'Other', view: { query: 'x' } }),
  refused('a view with a text that is too long is refused', { name: 'Long', view: { q: 'x'.repeat(1001) } }),
  refused('a view with a value of another type is refused', { name: 'Odd', view: { account: '1' } }),
  {
    name: 'two users may use the same name',
    request: 'POST /api/mailSavedSearches',
    as: 'bob',
    body: { name: 'Bills', view: { folder: 'any', label: 'Bills' } },
    expect: { status: 200, events: ['mailSavedSearches.created'], body: { data: { userId: 3 } } },
  },
  {
    name: 'a user lists only the own searches',
    request: 'GET /api/mailSavedSearches?fields=userId,name',
    as: 'bob',
    expect: { status: 200, body: { data: [{ userId: 3, name: 'Bills' }] } },
  },
  {
    name: 'administrators do not see the searches of others',
    request: 'GET /api/mailSavedSearches',
    expect: { status: 200, body: { data: [] } },
  },
  {
    name: 'a search of another user cannot be changed',
    request: 'PATCH /api/mailSavedSearches/1',
    as: 'bob',
    body: { name: 'Mine' },
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'a user renames a search and changes its view',
    request: 'PATCH /api/mailSavedSearches/1',
    as: 'ann',
    body: { name: 'Paid', view: { q: 'paid' }, userId: 3 },
    expect: {
      status: 200,
      events: ['mailSavedSearches.updated'],
      body: { data: { id: 1, userId: 2, name: 'Paid', view: { q: 'paid' } } },
    },
  },
  {
    name: 'a user deletes a saved search',
    request: 'DELETE /api/mailSavedSearches/1',
    as: 'ann',
    expect: { status: 200, events: ['mailSavedSearches.destroyed'] },
  },
];

describeEngines('saved searches', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startMailAccountServer(engine);
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, async () => void (await server.play(scenario)));

  test('a user has at most 100 of them', async () => {
    const searches = Array.from({ length: 100 }, (_, index) => ({ name: `Search ${index}`, view: { q: 'x' } }));
    await server.data('POST /api/mailSavedSearches:create', { as: 'ann', body: searches });
    await server.play(refused('a search too many is refused with 422', { name: 'One more', view: { q: 'x' } }));
  });
});
