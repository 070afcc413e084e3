import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { providedSecret, WebhookFixture } from '../support/webhook-fixture.ts';
import { acceptMessage, failMessage } from '../support/webhook-receiver.ts';

describeEngines('webhooks', (engine) => {
  const shop = WebhookFixture.forSuite(engine);

  describe('messages', () => {
    test('contain the record as the role may read it, signed in the Standard Webhooks form', async () => {
      const { id, secret } = await shop.createWebhook('/form', { role: 'clerk', events: ['orders.created'] });
      const made = await shop.createOrder({ total: 50, note: 'a secret note' });
      const [message] = await shop.receiver.messages('/form', 1);
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
      expect(() => new Webhook(providedSecret).verify(message!.text, headers)).toThrow();
      expect(headers['authorization']).toBeUndefined();
      await shop.waitForStatus(id, 'delivered');
      expect(await shop.listDeliveries(id)).toMatchObject([
        {
          event: 'orders.created',
          tk: String(made.id),
          attempts: 1,
          lastStatus: 204,
          messageId: headers['webhook-id'],
        },
      ]);
    });

    test('contain nothing that the role cannot see, and only earlier content of destroyed records', async () => {
      const { id } = await shop.createWebhook('/seen', { role: 'clerk' });
      const hidden = await shop.createOrder({ total: 1 });
      const seen = await shop.createOrder({ total: 60 });
      await shop.waitForStatus(id, 'skipped');
      await shop.waitForStatus(id, 'delivered');
      await shop.server.data(`POST /api/orders:destroy?filterByTk=${hidden.id}`);
      await shop.server.data(`POST /api/orders:destroy?filterByTk=${seen.id}`);
      await shop.waitForStatus(id, 'skipped', 2);
      await shop.waitForStatus(id, 'delivered', 2);
      const told = (await shop.receiver.messages('/seen', 2)).map(({ body }) => [
        body.type,
        body.data.tk,
        body.data.record,
      ]);
      expect(told).toEqual([
        ['orders.created', String(seen.id), { id: seen.id, total: 60 }],
        ['orders.destroyed', String(seen.id), undefined],
      ]);
    });

    test('are sent for the named events that the filter admits', async () => {
      const { id } = await shop.createWebhook('/filter', { events: ['orders.updated'], filter: { note: 'wanted' } });
      const one = await shop.createOrder({ total: 1, note: 'wanted' });
      const two = await shop.createOrder({ total: 1, note: 'else' });
      await shop.server.data(`POST /api/orders:update?filterByTk=${two.id}`, { body: { total: 2 } });
      await shop.server.data(`POST /api/orders:update?filterByTk=${one.id}`, { body: { total: 2 } });
      await shop.server.data('POST /api/others:create', { body: { total: 2 } });
      await shop.waitForStatus(id, 'delivered');
      await shop.waitForStatus(id, 'skipped');
      expect((await shop.receiver.messages('/filter', 1)).map(({ body }) => body.data.tk)).toEqual([String(one.id)]);
    });

    test('are sent for published events that the role may receive', async () => {
      await shop.server.data('POST /api/permissions:create', {
        body: { role: 'clerk', resource: 'campaign', actions: ['publish', 'get'] },
      });
      await shop.server.data('POST /api/roles:create', { body: { name: 'deaf' } });
      const events = ['campaign.sent'];
      const hears = await shop.createWebhook('/hears', { role: 'clerk', events });
      const all = await shop.createWebhook('/all', { role: 'clerk', events: ['*'] });
      const deaf = await shop.createWebhook('/deaf', { role: 'deaf', events });
      await shop.server.data('POST /api/changes:publish', { body: { name: 'campaign.ended' } });
      await shop.server.data('POST /api/changes:publish', {
        body: { name: 'campaign.sent', payload: { to: [1, 'two'] } },
      });
      await shop.waitForStatus(deaf.id, 'skipped');
      await shop.waitForStatus(hears.id, 'delivered');
      await shop.waitForStatus(all.id, 'delivered', 2);
      const told = { application: 'main', resource: 'campaign', tk: null, actor: 'user:1', changed: [] };
      expect((await shop.receiver.messages('/hears', 1)).map(({ body }) => body)).toEqual([
        { type: 'campaign.sent', timestamp: expect.any(String), data: { ...told, payload: { to: [1, 'two'] } } },
      ]);
      expect((await shop.server.call(`GET /api/webhooks/${deaf.id}/deliveries:list`)).text).not.toContain('two');
      for (const { id } of [hears, all, deaf]) await shop.removeWebhook(id);
    });

    test('are sent for events that left the log before they were processed', async () => {
      const { id } = await shop.createWebhook('/late', { events: ['others.created'] });
      const { main } = shop.server.running.applications;
      const { database } = main;
      const position = async (): Promise<unknown> =>
        (await database.read([{ text: 'SELECT position FROM _outbox', values: [] }]))[0]![0]![0];
      const before = await position();
      await shop.server.data('POST /api/others:create', { body: Array.from({ length: 5 }, (_, n) => ({ total: n })) });
      await shop.waitForStatus(id, 'delivered', 5);
      // As if the webhooks had not processed these events yet.
      const sides = [
        { text: `UPDATE _outbox SET position='${before}'`, values: [] },
        { text: `DELETE FROM "webhookDeliveries" WHERE "webhookId"=${id}`, values: [] },
      ];
      const old = database.multiNode ? "now() - interval '99 days'" : "'2000-01-01T00:00:00.000Z'";
      await database.write(async (transaction) => {
        for (const each of sides) await transaction.run(each);
        await transaction.run({ text: `UPDATE _events SET at=${old}`, values: [] });
      });
      await main.pruneEvents();
      shop.wake();
      await shop.waitForStatus(id, 'delivered', 5);
      await main.pruneEvents();
      const [rows] = await database.read([{ text: 'SELECT count(*) FROM _events', values: [] }]);
      expect(Number(rows![0]![0])).toBe(1);
      await shop.removeWebhook(id);
    });

    // Only PostgreSQL numbers the transactions of a cluster.
    test.runIf(engine.name === 'postgres')(
      'are sent for events after the store has moved to another cluster',
      async () => {
        const { id } = await shop.createWebhook('/moved', { events: ['others.created'] });
        const { changes, database } = shop.server.running.applications.main;
        // As on a newer cluster, which has not used these transaction numbers yet.
        const later = (text: string, mark: string, part: number): string =>
          `split_part(${text},'${mark}',${part})::bigint+1000000`;
        await database.write(async (transaction) => {
          for (const text of [
            'UPDATE _events SET xid=((xid::text)::bigint+1000000)::text::xid8',
            `UPDATE _outbox SET position=concat(${later('position', '.', 1)},'.',split_part(position,'.',2))`,
            `UPDATE webhooks SET "startsAfter"=concat(${later('"startsAfter"', ':', 1)},':',${later('"startsAfter"', ':', 2)},':') WHERE "startsAfter" IS NOT NULL`,
          ])
            await transaction.run({ text, values: [] });
        });
        await changes.open();
        const { id: made } = await shop.server.data('POST /api/others:create', { body: { total: 1 } });
        await shop.waitForStatus(id, 'delivered');
        expect((await shop.receiver.messages('/moved', 1)).map(({ body }) => body.data.tk)).toEqual([String(made)]);
        await shop.removeWebhook(id);
      },
    );

    test('no longer contain what the role may not read any more', async () => {
      await shop.server.data('POST /api/roles:create', { body: { name: 'fading' } });
      const permission = { role: 'fading', resource: 'orders', actions: ['view'] };
      const { id: row } = await shop.server.data('POST /api/permissions:create', { body: permission });
      const { id } = await shop.createWebhook('/fading', { role: 'fading' });
      await shop.createOrder({ total: 5 });
      await shop.waitForStatus(id, 'delivered');
      await shop.server.data(`POST /api/permissions:destroy?filterByTk=${row}`);
      await shop.createOrder({ total: 6 });
      await shop.waitForStatus(id, 'skipped');
      expect((await shop.receiver.messages('/fading', 1)).length).toBe(1);
    });

    test('have no $user, so row filters that refer to it admit nothing', async () => {
      await shop.server.data('POST /api/roles:create', { body: { name: 'own' } });
      const own = { role: 'own', resource: 'orders', actions: ['view'], filter: { total: { $ne: '{{$user.id}}' } } };
      await shop.server.data('POST /api/permissions:create', { body: own });
      const { id } = await shop.createWebhook('/own', { role: 'own' });
      await shop.createOrder({ total: 70 });
      await shop.waitForStatus(id, 'skipped');
      expect(shop.receiver.received.filter(({ path }) => path === '/own')).toEqual([]);
    });

    test('of definitions contain their names, if the role may see them', async () => {
      const { id } = await shop.createWebhook('/definitions', { role: 'developer', events: ['collections.*'] });
      const { id: blind } = await shop.createWebhook('/blind', { events: ['collections.*'] });
      await shop.server.data('POST /api/collections:create', { body: { name: 'brandNew', fields: [] } });
      await shop.waitForStatus(id, 'delivered');
      await shop.waitForStatus(blind, 'skipped');
      const [message] = await shop.receiver.messages('/definitions', 1);
      expect(message!.body).toMatchObject({ type: 'collections.created', data: { tk: 'brandNew' } });
      expect(message!.body.data).not.toHaveProperty('record');
      expect(shop.receiver.received.filter(({ path }) => path === '/blind')).toEqual([]);
    });

    test('are not sent for events before the webhook was created or while it was disabled', async () => {
      await shop.createOrder({ total: 7 });
      const { id } = await shop.createWebhook('/later');
      const first = await shop.createOrder({ total: 8 });
      await shop.waitForStatus(id, 'delivered');
      await shop.server.data(`POST /api/webhooks:update?filterByTk=${id}`, { body: { enabled: false } });
      await shop.createOrder({ total: 9 });
      await shop.server.data(`POST /api/webhooks:update?filterByTk=${id}`, { body: { enabled: true } });
      const last = await shop.createOrder({ total: 10 });
      await shop.waitForStatus(id, 'delivered', 2);
      const told = (await shop.receiver.messages('/later', 2)).map(({ body }) => body.data.tk);
      expect(told).toEqual([String(first.id), String(last.id)]);
    });

    test('are sent at once for a test', async () => {
      const { id, secret } = await shop.createWebhook('/test', { events: ['others.created'] });
      expect(await shop.server.data(`POST /api/webhooks:test?filterByTk=${id}`)).toEqual({
        delivered: true,
        status: 204,
        error: null,
      });
      const [message] = await shop.receiver.messages('/test', 1);
      expect(new Webhook(secret).verify(message!.text, message!.headers as Record<string, string>)).toMatchObject({
        type: 'webhooks.test',
      });
      shop.receiver.behaviour = failMessage;
      expect(await shop.server.data(`POST /api/webhooks:test?filterByTk=${id}`)).toEqual({
        delivered: false,
        status: 500,
        error: 'The receiver answered 500: the receiver is broken',
      });
      shop.receiver.behaviour = acceptMessage;
    });

    test('are not sent to a redirect to a private address', async () => {
      const { id } = await shop.createWebhook('/redirect');
      shop.receiver.behaviour = (response, { path }) =>
        path === '/redirect'
          ? response.writeHead(307, { location: shop.receiver.url('/inner') }).end()
          : acceptMessage(response, undefined!);
      await shop.createOrder({ total: 11 });
      await expect.poll(async () => (await shop.listDeliveries(id))[0]?.lastError).toContain('redirects (307)');
      expect(shop.receiver.received.filter(({ path }) => path === '/inner')).toEqual([]);
      shop.receiver.behaviour = acceptMessage;
      await shop.removeWebhook(id);
      expect((await shop.server.call(`GET /api/webhooks/${id}/deliveries:list`)).status).toBe(404);
    });
  });
});
