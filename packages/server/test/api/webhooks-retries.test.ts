import { describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { day, hour } from '../support/moving-clock.ts';
import { WebhookFixture } from '../support/webhook-fixture.ts';
import { acceptMessage, failMessage, neverAnswer, WebhookReceiver } from '../support/webhook-receiver.ts';

describeEngines('webhooks', (engine) => {
  const shop = WebhookFixture.forSuite(engine);

  describe('retries', () => {
    test('follow after ten seconds and growing delays with the same id; after a day the webhook is paused', async () => {
      const { id } = await shop.createWebhook('/broken', { events: ['others.created'] });
      shop.receiver.behaviour = failMessage;
      await shop.server.data('POST /api/others:create', { body: { total: 1 } });
      const times: number[] = [];
      for (let tries = 1; ; tries += 1) {
        const [delivery] = await shop.waitForAttempts(id, tries);
        if (delivery.status === 'dead') break;
        expect(delivery).toMatchObject({ status: 'pending', lastStatus: 500 });
        times.push(Date.parse(delivery.nextAt) - shop.clock.now());
        shop.clock.advance(times.at(-1)! + 1);
        shop.wake();
      }
      expect(times[0]).toBeGreaterThan(8000);
      expect(times[0]).toBeLessThanOrEqual(12_000);
      expect(times[1]).toBeGreaterThan(25_000);
      expect(times.length).toBeGreaterThan(8);
      expect(times.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(day);
      expect(
        new Set((await shop.receiver.messages('/broken', times.length)).map(({ headers }) => headers['webhook-id']))
          .size,
      ).toBe(1);

      // The next failure pauses the webhook, because the receiver has now failed for a day.
      shop.clock.advance(8 * hour);
      await shop.server.data('POST /api/others:create', { body: { total: 2 } });
      await expect
        .poll(() => shop.server.data(`GET /api/webhooks:get/${id}`))
        .toMatchObject({ enabled: false, pausedAt: expect.any(String) });

      // After the webhook is enabled again, a replay sends the messages that were given up.
      shop.receiver.behaviour = acceptMessage;
      await shop.server.data(`POST /api/webhooks:update?filterByTk=${id}`, { body: { enabled: true } });
      const dead = (await shop.listDeliveries(id)).filter((each) => each.status === 'dead');
      expect(await shop.server.data(`POST /api/webhooks:replay?filterByTk=${id}`)).toBe(dead.length);
      await shop.waitForStatus(id, 'delivered', dead.length);
      expect(await shop.server.data(`GET /api/webhooks:get/${id}`)).toMatchObject({
        enabled: true,
        pausedAt: null,
        failingSince: null,
      });
      const again = { deliveries: [dead[0].id] };
      expect(await shop.server.data(`POST /api/webhooks:replay?filterByTk=${id}`, { body: again })).toBe(1);
    });

    test('stop for a receiver that replies 410', async () => {
      const { id } = await shop.createWebhook('/gone', { events: ['others.created'] });
      shop.receiver.behaviour = (response) => response.writeHead(410).end();
      await shop.server.data('POST /api/others:create', { body: { total: 3 } });
      await expect.poll(() => shop.server.data(`GET /api/webhooks:get/${id}`)).toMatchObject({ enabled: false });
      expect(await shop.listDeliveries(id)).toMatchObject([{ status: 'dead', lastStatus: 410, attempts: 1 }]);
      shop.receiver.behaviour = acceptMessage;
    });
  });

  test('a receiver that never replies does not delay others', async () => {
    const slow = await WebhookReceiver.start();
    slow.behaviour = neverAnswer;
    const { id: hanging } = await shop.createWebhook('/x', { url: slow.url(), events: ['others.created'] });
    const { id } = await shop.createWebhook('/quick', { events: ['others.created'] });
    const many = Array.from({ length: 30 }, (_, total) => ({ total }));
    await shop.server.data('POST /api/others:create', { body: many });
    await shop.waitForStatus(id, 'delivered', many.length);
    expect((await shop.listDeliveries(hanging)).filter(({ status }) => status !== 'pending')).toEqual([]);
    expect(slow.received.length).toBe(4);
    await shop.removeWebhook(hanging);
    await slow.stop();
  });

  test('queued messages survive a restart and are not sent twice', async () => {
    const { id } = await shop.createWebhook('/restart', { events: ['others.created'] });
    shop.receiver.behaviour = failMessage;
    await shop.server.data('POST /api/others:create', { body: { total: 4 } });
    await shop.receiver.messages('/restart', 1);
    await expect.poll(async () => (await shop.listDeliveries(id))[0]?.lastError).toContain('500');
    await shop.server.running.stop();
    shop.receiver.behaviour = acceptMessage;
    shop.clock.advance(30_000);
    await shop.server.boot();
    await shop.waitForStatus(id, 'delivered');
    expect((await shop.receiver.messages('/restart', 2)).length).toBe(2);
  });
});
