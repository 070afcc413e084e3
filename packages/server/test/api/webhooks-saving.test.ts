import { describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Scenario } from '../support/scenario.ts';
import { givenSecret, goodHook, hookUrl, WebhookShop } from '../support/webhook-shop.ts';

const saved = (name: string, body: object, status: number, expected?: object): Scenario => ({
  name,
  request: 'POST /api/webhooks:create',
  body: { ...goodHook, ...body },
  expect: { status, body: expected, absent: [givenSecret] },
});
const refused = (name: string, body: object, field: string, words: string): Scenario =>
  saved(name, body, 422, { code: 'DEFINITION_INVALID', details: { [field]: expect.stringContaining(words) } });

const refusals: readonly Scenario[] = [
  ...['http://127.0.0.2/', 'http://2852039166/', 'http://[::1]/', 'http://localhost/', 'http://169.254.169.254/'].map(
    (each) => refused(`${each} lies inside`, { url: each }, 'url', 'not public'),
  ),
  refused('an address of another scheme', { url: 'ftp://example.com/' }, 'url', 'http://'),
  refused('credentials in the address', { url: 'https://a:b@example.com/' }, 'url', 'password'),
  refused('no address', { url: undefined }, 'url', 'address'),
  refused('no events', { events: [] }, 'events', 'list'),
  refused('events that are no list', { events: 'orders.created' }, 'events', 'list'),
  refused('an event of no collection', { events: ['order.created'] }, 'events', 'no collection "order"'),
  refused('a verb that records do not know', { events: ['orders.made'] }, 'events', 'created, updated'),
  refused('an event that is no name', { events: ['orders.created.x'] }, 'events', 'patterns'),
  refused('an unknown role', { role: 'nobody' }, 'role', 'does not exist'),
  refused('no role', { role: undefined }, 'role', 'name of a role'),
  refused('a role by the relation', { roleOf: 'viewer' }, 'roleOf', '"role"'),
  refused('a secret of another form', { secret: 'hunter2' }, 'secret', 'whsec_'),
  refused('a secret that is too short', { secret: 'whsec_c2hvcnQ=' }, 'secret', 'whsec_'),
  refused('a filter over two collections', { events: ['*'], filter: { total: 1 } }, 'filter', 'one collection'),
  refused('a filter on an unknown field', { filter: { nope: 1 } }, 'filter', 'nope'),
  refused('a filter on a field that the role may not read', { filter: { note: 'x' }, role: 'clerk' }, 'filter', 'note'),
  saved('what starts a webhook is set by the server', { startsAfter: '0.0' }, 400, { code: 'FIELD_UNKNOWN' }),
  {
    name: 'a role that may configure names none that it does not hold',
    request: 'POST /api/webhooks:create',
    as: 'configurer',
    body: { ...goodHook, role: 'admin' },
    expect: { status: 403, body: { code: 'ROLE_NOT_HELD' } },
  },
  {
    name: 'nor changes where one of another role goes',
    request: 'POST /api/webhooks:update?filterByTk=1',
    as: 'configurer',
    body: { url: 'https://elsewhere.example/' },
    expect: { status: 403, body: { code: 'ROLE_NOT_HELD' } },
  },
  ...['test', 'replay'].map(
    (action): Scenario => ({
      name: `nor has one of another role ${action}ed`,
      request: `POST /api/webhooks:${action}?filterByTk=1`,
      as: 'configurer',
      expect: { status: 403, body: { code: 'ROLE_NOT_HELD' } },
    }),
  ),
  ...['webhooks:list', 'webhooks:get/1', 'webhookDeliveries:list', 'webhooks/1/deliveries:list'].map(
    (path): Scenario => ({
      name: `${path} is for those who may configure`,
      request: `GET /api/${path}`,
      as: 'viewer',
      expect: { status: 403, absent: ['example.com'] },
    }),
  ),
  ...['create', 'update?filterByTk=1', 'destroy?filterByTk=1', 'test?filterByTk=1', 'replay?filterByTk=1'].map(
    (action): Scenario => ({
      name: `webhooks:${action} is not for a viewer`,
      request: `POST /api/webhooks:${action}`,
      as: 'viewer',
      body: action === 'create' ? goodHook : undefined,
      expect: { status: 403 },
    }),
  ),
  {
    name: 'the secret is never read',
    request: 'GET /api/webhooks:get/1?fields=secret',
    expect: { status: 403, absent: [givenSecret] },
  },
  {
    name: 'nor by a filter',
    request: 'GET /api/webhooks:list?filter={"secret":{"$includes":"a"}}',
    expect: { status: 403 },
  },
  {
    name: 'updates go by one key',
    request: 'POST /api/webhooks:update?filter={"id":{"$gt":0}}',
    body: { enabled: false },
    expect: { status: 400, body: { code: 'PARAMETER_INVALID' } },
  },
  {
    name: 'deliveries are written by the server alone',
    request: 'POST /api/webhookDeliveries:create',
    body: { event: 'x' },
    expect: { status: 403, body: { code: 'SYSTEM_PROTECTED' } },
  },
  {
    name: 'also below their webhook',
    request: 'POST /api/webhooks/1/deliveries:create',
    body: { event: 'x' },
    expect: { status: 403, body: { code: 'SYSTEM_PROTECTED' } },
  },
  {
    name: 'deliveries are not destroyed either',
    request: 'POST /api/webhookDeliveries:destroy?filter={"id":{"$gt":0}}',
    expect: { status: 403, body: { code: 'SYSTEM_PROTECTED' } },
  },
  { name: 'a webhook that is not there', request: 'POST /api/webhooks:test?filterByTk=99', expect: { status: 404 } },
  { name: 'nor replayed', request: 'POST /api/webhooks:replay?filterByTk=99', expect: { status: 404 } },
  {
    name: 'a replay of something else than ids',
    request: 'POST /api/webhooks:replay?filterByTk=1',
    body: { deliveries: ['all'] },
    expect: { status: 400, body: { code: 'BODY_INVALID' } },
  },
  {
    name: 'a role that a webhook acts as stays',
    request: 'POST /api/roles:destroy?filterByTk=clerk',
    expect: { status: 409, body: { code: 'DEPENDANTS_EXIST' } },
  },
];

describeEngines('webhooks', (engine) => {
  const shop = WebhookShop.forSuite(engine);

  describe('saved', () => {
    test('a webhook: its made secret is told once', async () => {
      const made = await shop.server.data('POST /api/webhooks:create', { body: goodHook });
      expect(made).toMatchObject({
        id: 1,
        ...goodHook,
        filter: null,
        enabled: true,
        failingSince: null,
        pausedAt: null,
      });
      expect(made.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      const { text } = await shop.server.call('GET /api/webhooks:list');
      expect(text).toContain(hookUrl);
      expect(text).not.toContain('whsec_');
      await shop.server.data('POST /api/webhooks:update?filterByTk=1', {
        body: { ...JSON.parse(text).data[0], enabled: false },
      });
    });

    test('a secret that was brought along is not told, nor kept as it is', async () => {
      const reply = await shop.server.call('POST /api/webhooks:create', {
        body: { ...goodHook, role: 'clerk', enabled: false, secret: givenSecret },
      });
      expect([reply.status, reply.text.includes('whsec_')]).toEqual([200, false]);
      const { database } = shop.server.running.applications.main;
      const [rows] = await database.read([{ text: 'SELECT secret FROM webhooks ORDER BY id', values: [] }]);
      expect(rows!.every(([secret]) => typeof secret === 'string' && !secret.includes('whsec_'))).toBe(true);
    });

    test('several at once, and a trial that keeps nothing', async () => {
      const made = await shop.server.data('POST /api/webhooks:create', {
        body: [
          { ...goodHook, enabled: false },
          { ...goodHook, enabled: false, secret: givenSecret },
        ],
      });
      expect(made.map((each: { secret?: string }) => typeof each.secret)).toEqual(['string', 'undefined']);
      const trial = await shop.server.call('POST /api/webhooks:create?dryRun=true', { body: goodHook });
      expect([trial.status, trial.text.includes('whsec_')]).toEqual([200, false]);
      for (const { id } of made) await shop.remove(id);
    });

    test.each(refusals)('$name', async (scenario) => {
      await shop.server.play(scenario);
    });
  });
});
