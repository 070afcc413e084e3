import { afterAll, beforeAll, expect } from 'vitest';
import type { Engine } from './engines.ts';
import type { Json } from './json.ts';
import { MovingClock } from './moving-clock.ts';
import { TestServer } from './scenario.ts';
import { WebhookReceiver } from './webhook-receiver.ts';

export const webhookUrl = 'https://example.com/hook';
/** A valid webhook. */
export const validWebhook = { url: webhookUrl, events: ['orders.*'], role: 'viewer' };
/** A secret that is provided when the webhook is created. */
export const providedSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/**
 * Orders and other collections, a clerk who sees some of the orders, and a receiver of webhooks: for the tests of one
 * suite.
 */
export class WebhookFixture {
  readonly clock = new MovingClock();
  server!: TestServer;
  receiver!: WebhookReceiver;

  /** Starts server and receiver before the tests of the suite, and closes them after these. */
  static forSuite(engine: Engine): WebhookFixture {
    const shop = new WebhookFixture();
    beforeAll(() => shop.#open(engine));
    afterAll(async () => {
      await shop.server?.stop();
      await shop.receiver?.stop();
    });
    return shop;
  }

  async #open(engine: Engine): Promise<void> {
    this.receiver = await WebhookReceiver.start();
    const server = await TestServer.start(engine, { clock: this.clock, env: { OUTBOUND_ALLOW: '127.0.0.1' } });
    this.server = server;
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
    await server.createKey('configurer');
    await server.createKey('viewer');
  }

  /** Creates a webhook with its own path, so that tests do not receive each other's messages. */
  createWebhook(path: string, more: object = {}): Promise<{ id: number; secret: string }> {
    return this.server.data('POST /api/webhooks:create', {
      body: { ...validWebhook, url: this.receiver.url(path), ...more },
    });
  }

  removeWebhook(id: number): Promise<unknown> {
    return this.server.data(`POST /api/webhooks:destroy?filterByTk=${id}`);
  }

  createOrder(body: object): Promise<{ id: number }> {
    return this.server.data('POST /api/orders:create', { body });
  }

  /** Sends due deliveries now, according to the clock of the suite. */
  wake(): void {
    this.server.running.applications.main.webhooks.wake(0);
  }

  listDeliveries(id: number): Promise<Json[]> {
    return this.server.data(`GET /api/webhooks/${id}/deliveries:list?sort=id&pageSize=1000`);
  }

  /** Waits until this number of deliveries of a webhook have a certain status. */
  async waitForStatus(id: number, status: string, count = 1): Promise<void> {
    await expect
      .poll(async () => (await this.listDeliveries(id)).filter((each) => each.status === status).length)
      .toBe(count);
  }

  /** Waits until this number of attempts of the first delivery were recorded. @returns all deliveries. */
  async waitForAttempts(id: number, tries: number): Promise<Json[]> {
    const tried = async (): Promise<number> => {
      const [delivery] = await this.listDeliveries(id);
      return delivery?.lastError == null ? 0 : delivery.attempts;
    };
    await expect.poll(tried).toBe(tries);
    return this.listDeliveries(id);
  }
}
