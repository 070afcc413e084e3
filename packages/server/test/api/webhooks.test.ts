import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mostWaiting } from '../../src/webhooks/outbox.ts';
import { describeEngines } from '../support/engines.ts';
import { day, hour, MovingClock } from '../support/moving-clock.ts';
import { accepts, fails, hangs, Receiver } from '../support/receiver.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const url = 'https://example.com/hook';
const good = { url, events: ['orders.*'], role: 'viewer' };
const given = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

const saved = (name: string, body: object, status: number, expected?: object): Scenario => ({
  name,
  request: 'POST /api/webhooks:create',
  body: { ...good, ...body },
  expect: { status, body: expected, absent: [given] },
});
const refused = (name: string, body: object, field: string, words: string): Scenario =>
  saved(name, body, 422, { code: 'DEFINITION_INVALID', details: { [field]: expect.stringContaining(words) } });

const refusals: readonly Scenario[] = [
  ...['http://127.0.0.2/', 'http://2852039166/', 'http://[::1]/', 'http://localhost/', 'http://169.254.169.254/'].map(
    (each) => refused(`${each} lies inside`, { url: each }, 'url', 'inside the network'),
  ),
  refused('an address of another scheme', { url: 'ftp://example.com/' }, 'url', 'http://'),
  refused('credentials in the address', { url: 'https://a:b@example.com/' }, 'url', 'password'),
  refused('no address', { url: undefined }, 'url', 'address'),
  refused('no events', { events: [] }, 'events', 'list'),
  refused('events that are no list', { events: 'orders.created' }, 'events', 'list'),
  refused('an event of no collection', { events: ['order.created'] }, 'events', 'no collection "order"'),
  refused('a verb that records do not know', { events: ['orders.made'] }, 'events', 'created, updated'),
  refused('an event that is no name', { events: ['orders.created.x'] }, 'events', 'patterns'),
  refused('an unknown role', { role: 'nobody' }, 'role', 'no role'),
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
    body: { ...good, role: 'admin' },
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
      body: action === 'create' ? good : undefined,
      expect: { status: 403 },
    }),
  ),
  {
    name: 'the secret is never read',
    request: 'GET /api/webhooks:get/1?fields=secret',
    expect: { status: 403, absent: [given] },
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
  const clock = new MovingClock();
  let server: TestServer;
  let receiver: Receiver;

  beforeAll(async () => {
    receiver = await Receiver.start();
    server = await TestServer.start(engine, { clock, env: { OUTBOUND_ALLOW: '127.0.0.1' } });
    const fields = [
      { name: 'total', type: 'integer' },
      { name: 'note', type: 'string' },
    ];
    await server.data('POST /api/collections:create', { body: { name: 'orders', fields } });
    await server.data('POST /api/collections:create', { body: { name: 'others', fields } });
    await server.data('POST /api/roles:create', { body: { name: 'clerk' } });
    const clerk = {
      role: 'clerk',
      resource: 'orders',
      actions: ['view'],
      fields: ['id', 'total'],
      filter: { total: { $gt: 10 } },
    };
    await server.data('POST /api/permissions:create', { body: clerk });
    await server.data('POST /api/roles:create', { body: { name: 'configurer', allowConfigure: true } });
    await server.key('configurer');
    await server.key('viewer');
  });
  afterAll(async () => {
    await server?.stop();
    await receiver?.stop();
  });

  /** A webhook of its own path, so that tests do not hear each other's messages. */
  async function hook(path: string, more: object = {}): Promise<{ id: number; secret: string }> {
    return server.data('POST /api/webhooks:create', { body: { ...good, url: receiver.url(path), ...more } });
  }
  const wake = (): void => server.running.applications.main.webhooks.wake(0);
  // biome-ignore lint/suspicious/noExplicitAny: a reply's data has no static type here
  const deliveries = (id: number): Promise<any[]> =>
    server.data(`GET /api/webhooks/${id}/deliveries:list?sort=id&pageSize=1000`);
  const settled = (id: number, status: string, count = 1): Promise<unknown> =>
    expect.poll(async () => (await deliveries(id)).filter((each) => each.status === status).length).toBe(count);
  /** The first delivery, once so many tries of it have been noted. */
  // biome-ignore lint/suspicious/noExplicitAny: a reply's data has no static type here
  async function noted(id: number, tries: number): Promise<any[]> {
    const tried = async (): Promise<number> => {
      const [delivery] = await deliveries(id);
      return delivery?.lastError == null ? 0 : delivery.attempts;
    };
    await expect.poll(tried).toBe(tries);
    return deliveries(id);
  }
  const order = (body: object): Promise<{ id: number }> => server.data('POST /api/orders:create', { body });

  describe('saved', () => {
    test('a webhook: its made secret is told once', async () => {
      const made = await server.data('POST /api/webhooks:create', { body: good });
      expect(made).toMatchObject({ id: 1, ...good, filter: null, enabled: true, failingSince: null, pausedAt: null });
      expect(made.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      const { text } = await server.call('GET /api/webhooks:list');
      expect(text).toContain(url);
      expect(text).not.toContain('whsec_');
      await server.data('POST /api/webhooks:update?filterByTk=1', {
        body: { ...JSON.parse(text).data[0], enabled: false },
      });
    });

    test('a secret that was brought along is not told, nor kept as it is', async () => {
      const reply = await server.call('POST /api/webhooks:create', {
        body: { ...good, role: 'clerk', enabled: false, secret: given },
      });
      expect([reply.status, reply.text.includes('whsec_')]).toEqual([200, false]);
      const { database } = server.running.applications.main;
      const [rows] = await database.read([{ text: 'SELECT secret FROM webhooks ORDER BY id', values: [] }]);
      expect(rows!.every(([secret]) => typeof secret === 'string' && !secret.includes('whsec_'))).toBe(true);
    });

    test('several at once, and a trial that keeps nothing', async () => {
      const made = await server.data('POST /api/webhooks:create', {
        body: [
          { ...good, enabled: false },
          { ...good, enabled: false, secret: given },
        ],
      });
      expect(made.map((each: { secret?: string }) => typeof each.secret)).toEqual(['string', 'undefined']);
      const trial = await server.call('POST /api/webhooks:create?dryRun=true', { body: good });
      expect([trial.status, trial.text.includes('whsec_')]).toEqual([200, false]);
      for (const { id } of made) await server.data(`POST /api/webhooks:destroy?filterByTk=${id}`);
    });

    test.each(refusals)('$name', async (scenario) => {
      await server.play(scenario);
    });
  });

  describe('sent', () => {
    test('the record as the role may read it, signed in the Standard Webhooks form', async () => {
      const { id, secret } = await hook('/form', { role: 'clerk', events: ['orders.created'] });
      const made = await order({ total: 50, note: 'a secret note' });
      const [message] = await receiver.messages('/form', 1);
      expect(message!.body).toEqual({
        type: 'orders.created',
        timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
        data: {
          application: 'main',
          resource: 'orders',
          tk: String(made.id),
          actor: 'user:1',
          changed: ['total'],
          record: { id: made.id, total: 50 },
        },
      });
      const headers = message!.headers as Record<string, string>;
      expect(new Webhook(secret).verify(message!.text, headers)).toEqual(message!.body);
      expect(() => new Webhook(given).verify(message!.text, headers)).toThrow();
      expect(headers['authorization']).toBeUndefined();
      await settled(id, 'delivered');
      expect(await deliveries(id)).toMatchObject([
        {
          event: 'orders.created',
          tk: String(made.id),
          attempts: 1,
          lastStatus: 204,
          messageId: headers['webhook-id'],
        },
      ]);
    });

    test('nothing of what the role does not see, and of what is gone what was told before', async () => {
      const { id } = await hook('/seen', { role: 'clerk' });
      const hidden = await order({ total: 1 });
      const seen = await order({ total: 60 });
      await settled(id, 'skipped');
      await settled(id, 'delivered');
      await server.data(`POST /api/orders:destroy?filterByTk=${hidden.id}`);
      await server.data(`POST /api/orders:destroy?filterByTk=${seen.id}`);
      await settled(id, 'skipped', 2);
      await settled(id, 'delivered', 2);
      const told = (await receiver.messages('/seen', 2)).map(({ body }) => [body.type, body.data.tk, body.data.record]);
      expect(told).toEqual([
        ['orders.created', String(seen.id), { id: seen.id, total: 60 }],
        ['orders.destroyed', String(seen.id), undefined],
      ]);
    });

    test('what its filter admits, of the events it names', async () => {
      const { id } = await hook('/filter', { events: ['orders.updated'], filter: { note: 'wanted' } });
      const one = await order({ total: 1, note: 'wanted' });
      const two = await order({ total: 1, note: 'else' });
      await server.data(`POST /api/orders:update?filterByTk=${two.id}`, { body: { total: 2 } });
      await server.data(`POST /api/orders:update?filterByTk=${one.id}`, { body: { total: 2 } });
      await server.data('POST /api/others:create', { body: { total: 2 } });
      await settled(id, 'delivered');
      await settled(id, 'skipped');
      expect((await receiver.messages('/filter', 1)).map(({ body }) => body.data.tk)).toEqual([String(one.id)]);
    });

    test('what is published, to the roles that may hear of it', async () => {
      await server.data('POST /api/permissions:create', {
        body: { role: 'clerk', resource: 'campaign', actions: ['publish', 'get'] },
      });
      await server.data('POST /api/roles:create', { body: { name: 'deaf' } });
      const events = ['campaign.sent'];
      const hears = await hook('/hears', { role: 'clerk', events });
      const all = await hook('/all', { role: 'clerk', events: ['*'] });
      const deaf = await hook('/deaf', { role: 'deaf', events });
      await server.data('POST /api/changes:publish', { body: { name: 'campaign.ended' } });
      await server.data('POST /api/changes:publish', { body: { name: 'campaign.sent', payload: { to: [1, 'two'] } } });
      await settled(deaf.id, 'skipped');
      await settled(hears.id, 'delivered');
      await settled(all.id, 'delivered', 2);
      const told = { application: 'main', resource: 'campaign', tk: null, actor: 'user:1', changed: [] };
      expect((await receiver.messages('/hears', 1)).map(({ body }) => body)).toEqual([
        { type: 'campaign.sent', timestamp: expect.any(String), data: { ...told, payload: { to: [1, 'two'] } } },
      ]);
      expect((await server.call(`GET /api/webhooks/${deaf.id}/deliveries:list`)).text).not.toContain('two');
      for (const { id } of [hears, all, deaf]) await server.data(`POST /api/webhooks:destroy?filterByTk=${id}`);
    });

    test('what is over its time in the log and has not been looked at yet', async () => {
      const { id } = await hook('/late', { events: ['others.created'] });
      const { main } = server.running.applications;
      const { database } = main;
      const position = async (): Promise<unknown> =>
        (await database.read([{ text: 'SELECT position FROM _outbox', values: [] }]))[0]![0]![0];
      const before = await position();
      await server.data('POST /api/others:create', { body: Array.from({ length: 5 }, (_, n) => ({ total: n })) });
      await settled(id, 'delivered', 5);
      // As if it had not come that far.
      const sides = [
        { text: `UPDATE _outbox SET position='${before}'`, values: [] },
        { text: `DELETE FROM "webhookDeliveries" WHERE "webhookId"=${id}`, values: [] },
      ];
      const old = database.dialect.shared ? "now() - interval '99 days'" : "'2000-01-01T00:00:00.000Z'";
      await database.write(async (transaction) => {
        for (const each of sides) await transaction.run(each);
        await transaction.run({ text: `UPDATE _events SET at=${old}`, values: [] });
      });
      await main.pruneEvents();
      wake();
      await settled(id, 'delivered', 5);
      await main.pruneEvents();
      const [rows] = await database.read([{ text: 'SELECT count(*) FROM _events', values: [] }]);
      expect(Number(rows![0]![0])).toBe(1);
      await server.data(`POST /api/webhooks:destroy?filterByTk=${id}`);
    });

    test('what happens after the store has moved to another cluster', async () => {
      const { id } = await hook('/moved', { events: ['others.created'] });
      const { changes, database } = server.running.applications.main;
      if (database.dialect.shared) {
        // As a younger cluster would find it: all its numbers are yet to come.
        const later = (position: string): string =>
          `concat(split_part(${position},'.',1)::bigint+1000000,'.',split_part(${position},'.',2))`;
        await database.write(async (transaction) => {
          for (const text of [
            'UPDATE _events SET xid=((xid::text)::bigint+1000000)::text::xid8',
            `UPDATE _outbox SET position=${later('position')}`,
            `UPDATE webhooks SET "startsAfter"=${later('"startsAfter"')} WHERE "startsAfter" IS NOT NULL`,
          ])
            await transaction.run({ text, values: [] });
        });
      }
      await changes.open();
      const { id: made } = await server.data('POST /api/others:create', { body: { total: 1 } });
      await settled(id, 'delivered');
      expect((await receiver.messages('/moved', 1)).map(({ body }) => body.data.tk)).toEqual([String(made)]);
      await server.data(`POST /api/webhooks:destroy?filterByTk=${id}`);
    });

    test('what the role may no longer read is not sent, from that moment on', async () => {
      await server.data('POST /api/roles:create', { body: { name: 'fading' } });
      const permission = { role: 'fading', resource: 'orders', actions: ['view'] };
      const { id: row } = await server.data('POST /api/permissions:create', { body: permission });
      const { id } = await hook('/fading', { role: 'fading' });
      await order({ total: 5 });
      await settled(id, 'delivered');
      await server.data(`POST /api/permissions:destroy?filterByTk=${row}`);
      await order({ total: 6 });
      await settled(id, 'skipped');
      expect((await receiver.messages('/fading', 1)).length).toBe(1);
    });

    test('nobody is its $user: rows that ask for one admit nothing', async () => {
      await server.data('POST /api/roles:create', { body: { name: 'own' } });
      const own = { role: 'own', resource: 'orders', actions: ['view'], filter: { total: { $ne: '{{$user.id}}' } } };
      await server.data('POST /api/permissions:create', { body: own });
      const { id } = await hook('/own', { role: 'own' });
      await order({ total: 70 });
      await settled(id, 'skipped');
      expect(receiver.received.filter(({ path }) => path === '/own')).toEqual([]);
    });

    test('definitions by their names, to a role that may see them', async () => {
      const { id } = await hook('/definitions', { role: 'developer', events: ['collections.*'] });
      const { id: blind } = await hook('/blind', { events: ['collections.*'] });
      await server.data('POST /api/collections:create', { body: { name: 'brandNew', fields: [] } });
      await settled(id, 'delivered');
      await settled(blind, 'skipped');
      const [message] = await receiver.messages('/definitions', 1);
      expect(message!.body).toMatchObject({ type: 'collections.created', data: { tk: 'brandNew' } });
      expect(message!.body.data).not.toHaveProperty('record');
      expect(receiver.received.filter(({ path }) => path === '/blind')).toEqual([]);
    });

    test('what happened before it was there, or while it was disabled, is not told', async () => {
      await order({ total: 7 });
      const { id } = await hook('/later');
      const first = await order({ total: 8 });
      await settled(id, 'delivered');
      await server.data(`POST /api/webhooks:update?filterByTk=${id}`, { body: { enabled: false } });
      await order({ total: 9 });
      await server.data(`POST /api/webhooks:update?filterByTk=${id}`, { body: { enabled: true } });
      const last = await order({ total: 10 });
      await settled(id, 'delivered', 2);
      const told = (await receiver.messages('/later', 2)).map(({ body }) => body.data.tk);
      expect(told).toEqual([String(first.id), String(last.id)]);
    });

    test('a test message, at once', async () => {
      const { id, secret } = await hook('/test', { events: ['others.created'] });
      expect(await server.data(`POST /api/webhooks:test?filterByTk=${id}`)).toEqual({
        delivered: true,
        status: 204,
        error: null,
      });
      const [message] = await receiver.messages('/test', 1);
      expect(new Webhook(secret).verify(message!.text, message!.headers as Record<string, string>)).toMatchObject({
        type: 'webhooks.test',
      });
      receiver.behaviour = fails;
      expect(await server.data(`POST /api/webhooks:test?filterByTk=${id}`)).toEqual({
        delivered: false,
        status: 500,
        error: 'The receiver answered 500: the receiver is broken',
      });
      receiver.behaviour = accepts;
    });

    test('a webhook that is changed while messages are under way is sent to as it is then', async () => {
      const { id } = await hook('/before', { events: ['others.created'] });
      let first = true;
      receiver.behaviour = (response, { path }) => {
        if (path !== '/before' || !first) return accepts(response, undefined!);
        first = false;
        setTimeout(() => accepts(response, undefined!), 400);
        void server.data(`POST /api/webhooks:update?filterByTk=${id}`, { body: { url: receiver.url('/after') } });
      };
      await server.data('POST /api/others:create', { body: Array.from({ length: 40 }, (_, total) => ({ total })) });
      await settled(id, 'delivered', 40);
      const to = (path: string): number => receiver.received.filter((each) => each.path === path).length;
      expect(to('/before') + to('/after')).toBe(40);
      expect(to('/before')).toBeLessThan(20);
      receiver.behaviour = accepts;
      await server.data(`POST /api/webhooks:update?filterByTk=${id}`, { body: { enabled: false } });
      await server.data(`POST /api/webhooks:destroy?filterByTk=${id}`);
    });

    test('a redirect inward is not followed', async () => {
      const { id } = await hook('/redirect');
      receiver.behaviour = (response, { path }) =>
        path === '/redirect'
          ? response.writeHead(307, { location: receiver.url('/inner') }).end()
          : accepts(response, undefined!);
      await order({ total: 11 });
      await expect.poll(async () => (await deliveries(id))[0]?.lastError).toContain('redirects (307)');
      expect(receiver.received.filter(({ path }) => path === '/inner')).toEqual([]);
      receiver.behaviour = accepts;
      await server.data(`POST /api/webhooks:destroy?filterByTk=${id}`);
      expect((await server.call(`GET /api/webhooks/${id}/deliveries:list`)).status).toBe(404);
    });
  });

  describe('tried again', () => {
    test('after ten seconds, then ever later, with the same id; after a day it is given up, and the webhook paused', async () => {
      const { id } = await hook('/broken', { events: ['others.created'] });
      receiver.behaviour = fails;
      await server.data('POST /api/others:create', { body: { total: 1 } });
      const times: number[] = [];
      for (let tries = 1; ; tries += 1) {
        const [delivery] = await noted(id, tries);
        if (delivery.status === 'dead') break;
        expect(delivery).toMatchObject({ status: 'pending', lastStatus: 500 });
        times.push(Date.parse(delivery.nextAt) - clock.now());
        clock.advance(times.at(-1)! + 1);
        wake();
      }
      expect(times[0]).toBeGreaterThan(8000);
      expect(times[0]).toBeLessThanOrEqual(12_000);
      expect(times[1]).toBeGreaterThan(25_000);
      expect(times.length).toBeGreaterThan(8);
      expect(times.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(day);
      expect(
        new Set((await receiver.messages('/broken', times.length)).map(({ headers }) => headers['webhook-id'])).size,
      ).toBe(1);

      // Later failures of the same receiver find it broken for a day: the last try lay up to 7.2 hours before its end.
      clock.advance(8 * hour);
      await server.data('POST /api/others:create', { body: { total: 2 } });
      await expect
        .poll(() => server.data(`GET /api/webhooks:get/${id}`))
        .toMatchObject({ enabled: false, pausedAt: expect.any(String) });

      // Enabled again, what was given up is sent when it is asked for.
      receiver.behaviour = accepts;
      await server.data(`POST /api/webhooks:update?filterByTk=${id}`, { body: { enabled: true } });
      const dead = (await deliveries(id)).filter((each) => each.status === 'dead');
      expect(await server.data(`POST /api/webhooks:replay?filterByTk=${id}`)).toBe(dead.length);
      await settled(id, 'delivered', dead.length);
      expect(await server.data(`GET /api/webhooks:get/${id}`)).toMatchObject({
        enabled: true,
        pausedAt: null,
        failingSince: null,
      });
      const again = { deliveries: [dead[0].id] };
      expect(await server.data(`POST /api/webhooks:replay?filterByTk=${id}`, { body: again })).toBe(1);
    });

    test.each([429, 503])(
      'not before the time that a receiver asks for with %i, for any of its messages',
      async (status) => {
        const path = `/busy-${status}`;
        const { id } = await hook(path, { events: ['others.created'] });
        receiver.behaviour = (response) => response.writeHead(status, { 'retry-after': '3600' }).end();
        await server.data('POST /api/others:create', { body: { total: 1 } });
        const [delivery] = await noted(id, 1);
        expect(Date.parse(delivery.nextAt) - clock.now()).toBeGreaterThan(3_590_000);
        await server.data('POST /api/others:create', { body: [{ total: 2 }, { total: 3 }] });
        await settled(id, 'pending', 3);
        clock.advance(hour / 2);
        wake();
        await new Promise((resolve) => setTimeout(resolve, 100));
        expect((await receiver.messages(path, 1)).length).toBe(1);
        receiver.behaviour = accepts;
        clock.advance(hour / 2 + 1000);
        wake();
        await settled(id, 'delivered', 3);
        await server.data(`POST /api/webhooks:destroy?filterByTk=${id}`);
      },
    );

    test('at once where somebody asks for it', async () => {
      const { id } = await hook('/asked', { events: ['others.created'] });
      receiver.behaviour = (response) => response.writeHead(503, { 'retry-after': '3600' }).end();
      await server.data('POST /api/others:create', { body: [{ total: 1 }] });
      await noted(id, 1);
      receiver.behaviour = accepts;
      await server.data('POST /api/others:create', { body: { total: 2 } });
      await server.data(`POST /api/webhooks:replay?filterByTk=${id}`);
      await settled(id, 'delivered');
      await server.data(`POST /api/webhooks:destroy?filterByTk=${id}`);
    });

    test('a receiver that falls too far behind gets no more: its webhook is paused', { timeout: 60_000 }, async () => {
      const { id } = await hook('/behind', { events: ['others.created'] });
      const { database } = server.running.applications.main;
      const far = database.dialect.shared ? "'2100-01-01T00:00:00Z'" : "'2100-01-01T00:00:00.000Z'";
      const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<${mostWaiting})`;
      const text = `INSERT INTO "webhookDeliveries" ("webhookId","messageId",event,resource,tk,at,changed,status,attempts,"nextAt","giveUpAt") ${numbers} SELECT ${id},'m','others.created','others','1',${far},'[]','pending',0,${far},${far} FROM n`;
      await database.write((transaction) => transaction.run({ text, values: [] }), { heavy: true, patient: true });
      await server.data('POST /api/others:create', { body: { total: 1 } });
      await expect
        .poll(() => server.data(`GET /api/webhooks:get/${id}`))
        .toMatchObject({
          enabled: false,
          pausedAt: expect.any(String),
          pausedFor: expect.stringContaining('100000 messages waited'),
        });
      await server.data('POST /api/others:create', { body: { total: 2 } });
      const [rows] = await database.read([
        { text: `SELECT count(*) FROM "webhookDeliveries" WHERE "webhookId"=${id}`, values: [] },
      ]);
      expect(Number(rows![0]![0])).toBe(mostWaiting + 1);
      await server.data(`POST /api/webhooks:update?filterByTk=${id}`, { body: { enabled: true } });
      expect(await server.data(`GET /api/webhooks:get/${id}`)).toMatchObject({ enabled: true, pausedFor: null });
      await server.data(`POST /api/webhooks:destroy?filterByTk=${id}`);
    });

    test('a receiver that is gone is not called again', async () => {
      const { id } = await hook('/gone', { events: ['others.created'] });
      receiver.behaviour = (response) => response.writeHead(410).end();
      await server.data('POST /api/others:create', { body: { total: 3 } });
      await expect.poll(() => server.data(`GET /api/webhooks:get/${id}`)).toMatchObject({ enabled: false });
      expect(await deliveries(id)).toMatchObject([{ status: 'dead', lastStatus: 410, attempts: 1 }]);
      receiver.behaviour = accepts;
    });
  });

  test('a receiver that hangs holds up nobody else', async () => {
    const slow = await Receiver.start();
    slow.behaviour = hangs;
    const { id: hanging } = await hook('/x', { url: slow.url(), events: ['others.created'] });
    const { id } = await hook('/quick', { events: ['others.created'] });
    const many = Array.from({ length: 30 }, (_, total) => ({ total }));
    await server.data('POST /api/others:create', { body: many });
    await settled(id, 'delivered', many.length);
    expect((await deliveries(hanging)).filter(({ status }) => status !== 'pending')).toEqual([]);
    expect(slow.received.length).toBe(4);
    await server.data(`POST /api/webhooks:destroy?filterByTk=${hanging}`);
    await slow.stop();
  });

  test('what waits outlives a restart, and is not sent twice', async () => {
    const { id } = await hook('/restart', { events: ['others.created'] });
    receiver.behaviour = fails;
    await server.data('POST /api/others:create', { body: { total: 4 } });
    await receiver.messages('/restart', 1);
    await expect.poll(async () => (await deliveries(id))[0]?.lastError).toContain('500');
    await server.running.stop();
    receiver.behaviour = accepts;
    clock.advance(30_000);
    await server.boot();
    await settled(id, 'delivered');
    expect((await receiver.messages('/restart', 2)).length).toBe(2);
  });
});
