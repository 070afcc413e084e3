import { expect, test } from 'vitest';
import { maxWaitingDeliveries } from '../../src/webhooks/outbox.ts';
import { describeEngines } from '../support/engines.ts';
import { hour } from '../support/moving-clock.ts';
import { WebhookFixture } from '../support/webhook-fixture.ts';
import { acceptMessage } from '../support/webhook-receiver.ts';

describeEngines('queued messages', (engine) => {
  const shop = WebhookFixture.forSuite(engine);

  test('a message is sent to the current address of a changed webhook', async () => {
    const { id } = await shop.createWebhook('/before', { events: ['others.created'] });
    // Messages to the former address only get a reply after the change, so no others are sent to that address.
    let changed: Promise<unknown> | null = null;
    shop.receiver.behaviour = (response, { path }) => {
      if (path !== '/before') return acceptMessage(response, undefined!);
      changed ??= shop.server.data(`POST /api/webhooks:update?filterByTk=${id}`, {
        body: { url: shop.receiver.url('/after') },
      });
      void changed.then(() => acceptMessage(response, undefined!));
    };
    await shop.server.data('POST /api/others:create', { body: Array.from({ length: 40 }, (_, total) => ({ total })) });
    await shop.waitForStatus(id, 'delivered', 40);
    const to = (path: string): number => shop.receiver.received.filter((each) => each.path === path).length;
    expect(to('/before') + to('/after')).toBe(40);
    expect(to('/before')).toBeLessThan(20);
    shop.receiver.behaviour = acceptMessage;
    await shop.server.data(`POST /api/webhooks:update?filterByTk=${id}`, { body: { enabled: false } });
    await shop.removeWebhook(id);
  });

  test.each([429, 503])('no message is sent before the time that a receiver requests with %i', async (status) => {
    const path = `/busy-${status}`;
    const { id } = await shop.createWebhook(path, { events: ['others.created'] });
    shop.receiver.behaviour = (response) => response.writeHead(status, { 'retry-after': '3600' }).end();
    await shop.server.data('POST /api/others:create', { body: { total: 1 } });
    const [delivery] = await shop.waitForAttempts(id, 1);
    expect(Date.parse(delivery.nextAt) - shop.clock.now()).toBeGreaterThan(3_590_000);
    await shop.server.data('POST /api/others:create', { body: [{ total: 2 }, { total: 3 }] });
    await shop.waitForStatus(id, 'pending', 3);
    shop.clock.advance(hour / 2);
    shop.wake();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect((await shop.receiver.messages(path, 1)).length).toBe(1);
    shop.receiver.behaviour = acceptMessage;
    shop.clock.advance(hour / 2 + 1000);
    shop.wake();
    await shop.waitForStatus(id, 'delivered', 3);
    await shop.removeWebhook(id);
  });

  test('a replay sends the message at once', async () => {
    const { id } = await shop.createWebhook('/asked', { events: ['others.created'] });
    shop.receiver.behaviour = (response) => response.writeHead(503, { 'retry-after': '3600' }).end();
    await shop.server.data('POST /api/others:create', { body: [{ total: 1 }] });
    await shop.waitForAttempts(id, 1);
    shop.receiver.behaviour = acceptMessage;
    await shop.server.data('POST /api/others:create', { body: { total: 2 } });
    await shop.server.data(`POST /api/webhooks:replay?filterByTk=${id}`);
    await shop.waitForStatus(id, 'delivered');
    await shop.removeWebhook(id);
  });

  test('a webhook whose receiver falls too far behind is paused', { timeout: 240_000 }, async () => {
    const { id } = await shop.createWebhook('/behind', { events: ['others.created'] });
    const { database } = shop.server.running.applications.main;
    const far = database.multiNode ? "'2100-01-01T00:00:00Z'" : "'2100-01-01T00:00:00.000Z'";
    const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<${maxWaitingDeliveries})`;
    const text = `INSERT INTO "webhookDeliveries" ("webhookId","messageId",event,resource,tk,at,changed,status,attempts,"nextAt","giveUpAt") ${numbers} SELECT ${id},'m','others.created','others','1',${far},'[]','pending',0,${far},${far} FROM n`;
    await database.write((transaction) => transaction.run({ text, values: [] }), { heavy: true, longRunning: true });
    await shop.server.data('POST /api/others:create', { body: { total: 1 } });
    await expect
      .poll(() => shop.server.data(`GET /api/webhooks:get/${id}`))
      .toMatchObject({
        enabled: false,
        pausedAt: expect.any(String),
        pausedFor: expect.stringContaining('100000 messages are waiting'),
      });
    await shop.server.data('POST /api/others:create', { body: { total: 2 } });
    const [rows] = await database.read([
      { text: `SELECT count(*) FROM "webhookDeliveries" WHERE "webhookId"=${id}`, values: [] },
    ]);
    expect(Number(rows![0]![0])).toBe(maxWaitingDeliveries + 1);
    await shop.server.data(`POST /api/webhooks:update?filterByTk=${id}`, { body: { enabled: true } });
    expect(await shop.server.data(`GET /api/webhooks:get/${id}`)).toMatchObject({ enabled: true, pausedFor: null });
    await shop.removeWebhook(id);
  });
});
