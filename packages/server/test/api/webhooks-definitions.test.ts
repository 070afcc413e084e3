import { describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Scenario } from '../support/scenario.ts';
import { providedSecret, validWebhook, WebhookFixture, webhookUrl } from '../support/webhook-fixture.ts';

const refused = (name: string, body: object, field: string, text: string): Scenario => ({
  name,
  request: 'POST /api/webhooks:create',
  body: { ...validWebhook, ...body },
  expect: {
    status: 422,
    code: 'DEFINITION_INVALID',
    body: { details: { [field]: expect.stringContaining(text) } },
    absent: [providedSecret],
  },
});

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
  {
    name: 'the start position of a webhook is set by the server',
    request: 'POST /api/webhooks:create',
    body: { ...validWebhook, startsAfter: '0.0' },
    expect: { status: 400, code: 'FIELD_UNKNOWN', absent: [providedSecret] },
  },
  {
    name: 'a role that may configure cannot name a role that its user does not hold',
    request: 'POST /api/webhooks:create',
    as: 'configurer',
    body: { ...validWebhook, role: 'admin' },
    expect: { status: 403, code: 'ROLE_NOT_HELD' },
  },
  {
    name: 'a role that may configure cannot change the URL of a webhook with another role',
    request: 'POST /api/webhooks:update?filterByTk=1',
    as: 'configurer',
    body: { url: 'https://elsewhere.example/' },
    expect: { status: 403, code: 'ROLE_NOT_HELD' },
  },
  ...['test', 'replay'].map(
    (action): Scenario => ({
      name: `a role that may configure cannot ${action} a webhook with another role`,
      request: `POST /api/webhooks:${action}?filterByTk=1`,
      as: 'configurer',
      expect: { status: 403, code: 'ROLE_NOT_HELD' },
    }),
  ),
  ...['webhooks:list', 'webhooks:get/1', 'webhookDeliveries:list', 'webhooks/1/deliveries:list'].map(
    (path): Scenario => ({
      name: `${path} needs a role that may configure`,
      request: `GET /api/${path}`,
      as: 'viewer',
      expect: { status: 403, code: 'NO_PERMISSION', absent: ['example.com'] },
    }),
  ),
  ...['create', 'update?filterByTk=1', 'destroy?filterByTk=1', 'test?filterByTk=1', 'replay?filterByTk=1'].map(
    (action): Scenario => ({
      name: `a viewer cannot call webhooks:${action}`,
      request: `POST /api/webhooks:${action}`,
      as: 'viewer',
      body: action === 'create' ? validWebhook : undefined,
      expect: { status: 403, code: 'NO_PERMISSION' },
    }),
  ),
  {
    name: 'the secret cannot be read',
    request: 'GET /api/webhooks:get/1?fields=secret',
    expect: { status: 403, code: 'FIELD_DENIED', absent: [providedSecret] },
  },
  {
    name: 'the secret cannot be used in a filter',
    request: 'GET /api/webhooks:list?filter={"secret":{"$includes":"a"}}',
    expect: { status: 403, code: 'FIELD_DENIED' },
  },
  {
    name: 'an update needs exactly one key',
    request: 'POST /api/webhooks:update?filter={"id":{"$gt":0}}',
    body: { enabled: false },
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'deliveries are only written by the server',
    request: 'POST /api/webhookDeliveries:create',
    body: { event: 'x' },
    expect: { status: 403, code: 'SYSTEM_PROTECTED' },
  },
  {
    name: 'deliveries cannot be written below their webhook',
    request: 'POST /api/webhooks/1/deliveries:create',
    body: { event: 'x' },
    expect: { status: 403, code: 'SYSTEM_PROTECTED' },
  },
  {
    name: 'deliveries cannot be destroyed',
    request: 'POST /api/webhookDeliveries:destroy?filter={"id":{"$gt":0}}',
    expect: { status: 403, code: 'SYSTEM_PROTECTED' },
  },
  {
    name: 'an unknown webhook is refused with 404',
    request: 'POST /api/webhooks:test?filterByTk=99',
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'a replay of an unknown webhook is refused with 404',
    request: 'POST /api/webhooks:replay?filterByTk=99',
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'a replay of something other than ids is refused',
    request: 'POST /api/webhooks:replay?filterByTk=1',
    body: { deliveries: ['all'] },
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'a role that a webhook uses cannot be destroyed',
    request: 'POST /api/roles:destroy?filterByTk=clerk',
    expect: { status: 409, code: 'DEPENDANTS_EXIST' },
  },
];

describeEngines('webhooks', (engine) => {
  const shop = WebhookFixture.forSuite(engine);

  describe('saving', () => {
    test('a generated secret is shown once', async () => {
      const made = await shop.server.data('POST /api/webhooks:create', { body: validWebhook });
      expect(made).toMatchObject({
        id: 1,
        ...validWebhook,
        filter: null,
        enabled: true,
        failingSince: null,
        pausedAt: null,
      });
      expect(made.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      const { text } = await shop.server.call('GET /api/webhooks:list');
      expect(text).toContain(webhookUrl);
      expect(text).not.toContain('whsec_');
      await shop.server.data('POST /api/webhooks:update?filterByTk=1', {
        body: { ...JSON.parse(text).data[0], enabled: false },
      });
    });

    test('a provided secret is not shown, and is stored encrypted', async () => {
      const reply = await shop.server.call('POST /api/webhooks:create', {
        body: { ...validWebhook, role: 'clerk', enabled: false, secret: providedSecret },
      });
      expect([reply.status, reply.text.includes('whsec_')]).toEqual([200, false]);
      const { database } = shop.server.running.applications.main;
      const [rows] = await database.read([{ text: 'SELECT secret FROM webhooks ORDER BY id', values: [] }]);
      expect(rows!.every(([secret]) => typeof secret === 'string' && !secret.includes('whsec_'))).toBe(true);
    });

    test('several webhooks are saved at once, and a dry run stores nothing', async () => {
      const made = await shop.server.data('POST /api/webhooks:create', {
        body: [
          { ...validWebhook, enabled: false },
          { ...validWebhook, enabled: false, secret: providedSecret },
        ],
      });
      expect(made.map((each: { secret?: string }) => typeof each.secret)).toEqual(['string', 'undefined']);
      const trial = await shop.server.call('POST /api/webhooks:create?dryRun=true', { body: validWebhook });
      expect([trial.status, trial.text.includes('whsec_')]).toEqual([200, false]);
      for (const { id } of made) await shop.removeWebhook(id);
    });

    test.each(refusals)('$name', async (scenario) => {
      await shop.server.play(scenario);
    });
  });
});
