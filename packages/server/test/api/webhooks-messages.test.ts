import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { accepts, fails } from '../support/receiver.ts';
import { givenSecret, WebhookShop } from '../support/webhook-shop.ts';

describeEngines('webhooks', (engine) => {
  const shop = WebhookShop.forSuite(engine);

  describe('sent', () => {
    test('the record as the role may read it, signed in the Standard Webhooks form', async () => {
      const { id, secret } = await shop.hook('/form', { role: 'clerk', events: ['orders.created'] });
      const made = await shop.order({ total: 50, note: 'a secret note' });
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
      expect(() => new Webhook(givenSecret).verify(message!.text, headers)).toThrow();
      expect(headers['authorization']).toBeUndefined();
      await shop.settled(id, 'delivered');
      expect(await shop.deliveries(id)).toMatchObject([
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
      const { id } = await shop.hook('/seen', { role: 'clerk' });
      const hidden = await shop.order({ total: 1 });
      const seen = await shop.order({ total: 60 });
      await shop.settled(id, 'skipped');
      await shop.settled(id, 'delivered');
      await shop.server.data(`POST /api/orders:destroy?filterByTk=${hidden.id}`);
      await shop.server.data(`POST /api/orders:destroy?filterByTk=${seen.id}`);
      await shop.settled(id, 'skipped', 2);
      await shop.settled(id, 'delivered', 2);
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

    test('what its filter admits, of the events it names', async () => {
      const { id } = await shop.hook('/filter', { events: ['orders.updated'], filter: { note: 'wanted' } });
      const one = await shop.order({ total: 1, note: 'wanted' });
      const two = await shop.order({ total: 1, note: 'else' });
      await shop.server.data(`POST /api/orders:update?filterByTk=${two.id}`, { body: { total: 2 } });
      await shop.server.data(`POST /api/orders:update?filterByTk=${one.id}`, { body: { total: 2 } });
      await shop.server.data('POST /api/others:create', { body: { total: 2 } });
      await shop.settled(id, 'delivered');
      await shop.settled(id, 'skipped');
      expect((await shop.receiver.messages('/filter', 1)).map(({ body }) => body.data.tk)).toEqual([String(one.id)]);
    });

    test('what is published, to the roles that may hear of it', async () => {
      await shop.server.data('POST /api/permissions:create', {
        body: { role: 'clerk', resource: 'campaign', actions: ['publish', 'get'] },
      });
      await shop.server.data('POST /api/roles:create', { body: { name: 'deaf' } });
      const events = ['campaign.sent'];
      const hears = await shop.hook('/hears', { role: 'clerk', events });
      const all = await shop.hook('/all', { role: 'clerk', events: ['*'] });
      const deaf = await shop.hook('/deaf', { role: 'deaf', events });
      await shop.server.data('POST /api/changes:publish', { body: { name: 'campaign.ended' } });
      await shop.server.data('POST /api/changes:publish', {
        body: { name: 'campaign.sent', payload: { to: [1, 'two'] } },
      });
      await shop.settled(deaf.id, 'skipped');
      await shop.settled(hears.id, 'delivered');
      await shop.settled(all.id, 'delivered', 2);
      const told = { application: 'main', resource: 'campaign', tk: null, actor: 'user:1', changed: [] };
      expect((await shop.receiver.messages('/hears', 1)).map(({ body }) => body)).toEqual([
        { type: 'campaign.sent', timestamp: expect.any(String), data: { ...told, payload: { to: [1, 'two'] } } },
      ]);
      expect((await shop.server.call(`GET /api/webhooks/${deaf.id}/deliveries:list`)).text).not.toContain('two');
      for (const { id } of [hears, all, deaf]) await shop.remove(id);
    });

    test('what is over its time in the log and has not been looked at yet', async () => {
      const { id } = await shop.hook('/late', { events: ['others.created'] });
      const { main } = shop.server.running.applications;
      const { database } = main;
      const position = async (): Promise<unknown> =>
        (await database.read([{ text: 'SELECT position FROM _outbox', values: [] }]))[0]![0]![0];
      const before = await position();
      await shop.server.data('POST /api/others:create', { body: Array.from({ length: 5 }, (_, n) => ({ total: n })) });
      await shop.settled(id, 'delivered', 5);
      // As if it had not come that far.
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
      await shop.settled(id, 'delivered', 5);
      await main.pruneEvents();
      const [rows] = await database.read([{ text: 'SELECT count(*) FROM _events', values: [] }]);
      expect(Number(rows![0]![0])).toBe(1);
      await shop.remove(id);
    });

    test('what happens after the store has moved to another cluster', async () => {
      const { id } = await shop.hook('/moved', { events: ['others.created'] });
      const { changes, database } = shop.server.running.applications.main;
      if (database.multiNode) {
        // As a younger cluster would find it: all its numbers are yet to come.
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
      }
      await changes.open();
      const { id: made } = await shop.server.data('POST /api/others:create', { body: { total: 1 } });
      await shop.settled(id, 'delivered');
      expect((await shop.receiver.messages('/moved', 1)).map(({ body }) => body.data.tk)).toEqual([String(made)]);
      await shop.remove(id);
    });

    test('what the role may no longer read is not sent, from that moment on', async () => {
      await shop.server.data('POST /api/roles:create', { body: { name: 'fading' } });
      const permission = { role: 'fading', resource: 'orders', actions: ['view'] };
      const { id: row } = await shop.server.data('POST /api/permissions:create', { body: permission });
      const { id } = await shop.hook('/fading', { role: 'fading' });
      await shop.order({ total: 5 });
      await shop.settled(id, 'delivered');
      await shop.server.data(`POST /api/permissions:destroy?filterByTk=${row}`);
      await shop.order({ total: 6 });
      await shop.settled(id, 'skipped');
      expect((await shop.receiver.messages('/fading', 1)).length).toBe(1);
    });

    test('nobody is its $user: rows that ask for one admit nothing', async () => {
      await shop.server.data('POST /api/roles:create', { body: { name: 'own' } });
      const own = { role: 'own', resource: 'orders', actions: ['view'], filter: { total: { $ne: '{{$user.id}}' } } };
      await shop.server.data('POST /api/permissions:create', { body: own });
      const { id } = await shop.hook('/own', { role: 'own' });
      await shop.order({ total: 70 });
      await shop.settled(id, 'skipped');
      expect(shop.receiver.received.filter(({ path }) => path === '/own')).toEqual([]);
    });

    test('definitions by their names, to a role that may see them', async () => {
      const { id } = await shop.hook('/definitions', { role: 'developer', events: ['collections.*'] });
      const { id: blind } = await shop.hook('/blind', { events: ['collections.*'] });
      await shop.server.data('POST /api/collections:create', { body: { name: 'brandNew', fields: [] } });
      await shop.settled(id, 'delivered');
      await shop.settled(blind, 'skipped');
      const [message] = await shop.receiver.messages('/definitions', 1);
      expect(message!.body).toMatchObject({ type: 'collections.created', data: { tk: 'brandNew' } });
      expect(message!.body.data).not.toHaveProperty('record');
      expect(shop.receiver.received.filter(({ path }) => path === '/blind')).toEqual([]);
    });

    test('what happened before it was there, or while it was disabled, is not told', async () => {
      await shop.order({ total: 7 });
      const { id } = await shop.hook('/later');
      const first = await shop.order({ total: 8 });
      await shop.settled(id, 'delivered');
      await shop.server.data(`POST /api/webhooks:update?filterByTk=${id}`, { body: { enabled: false } });
      await shop.order({ total: 9 });
      await shop.server.data(`POST /api/webhooks:update?filterByTk=${id}`, { body: { enabled: true } });
      const last = await shop.order({ total: 10 });
      await shop.settled(id, 'delivered', 2);
      const told = (await shop.receiver.messages('/later', 2)).map(({ body }) => body.data.tk);
      expect(told).toEqual([String(first.id), String(last.id)]);
    });

    test('a test message, at once', async () => {
      const { id, secret } = await shop.hook('/test', { events: ['others.created'] });
      expect(await shop.server.data(`POST /api/webhooks:test?filterByTk=${id}`)).toEqual({
        delivered: true,
        status: 204,
        error: null,
      });
      const [message] = await shop.receiver.messages('/test', 1);
      expect(new Webhook(secret).verify(message!.text, message!.headers as Record<string, string>)).toMatchObject({
        type: 'webhooks.test',
      });
      shop.receiver.behaviour = fails;
      expect(await shop.server.data(`POST /api/webhooks:test?filterByTk=${id}`)).toEqual({
        delivered: false,
        status: 500,
        error: 'The receiver answered 500: the receiver is broken',
      });
      shop.receiver.behaviour = accepts;
    });

    test('a redirect inward is not followed', async () => {
      const { id } = await shop.hook('/redirect');
      shop.receiver.behaviour = (response, { path }) =>
        path === '/redirect'
          ? response.writeHead(307, { location: shop.receiver.url('/inner') }).end()
          : accepts(response, undefined!);
      await shop.order({ total: 11 });
      await expect.poll(async () => (await shop.deliveries(id))[0]?.lastError).toContain('redirects (307)');
      expect(shop.receiver.received.filter(({ path }) => path === '/inner')).toEqual([]);
      shop.receiver.behaviour = accepts;
      await shop.remove(id);
      expect((await shop.server.call(`GET /api/webhooks/${id}/deliveries:list`)).status).toBe(404);
    });
  });
});
