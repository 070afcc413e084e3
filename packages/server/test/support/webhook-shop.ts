import { afterAll, beforeAll, expect } from 'vitest';
import type { Engine } from './engines.ts';
import type { Json } from './json.ts';
import { MovingClock } from './moving-clock.ts';
import { Receiver } from './receiver.ts';
import { TestServer } from './scenario.ts';

export const hookUrl = 'https://example.com/hook';
/** A webhook that can be saved. */
export const goodHook = { url: hookUrl, events: ['orders.*'], role: 'viewer' };
/** A secret that is brought along. */
export const givenSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** Orders and others, a clerk who sees some of the orders, and a receiver that hears of them: for the tests of one suite. */
export class WebhookShop {
  readonly clock = new MovingClock();
  server!: TestServer;
  receiver!: Receiver;

  /** Opened before the tests of the suite, and closed after them. */
  static forSuite(engine: Engine): WebhookShop {
    const shop = new WebhookShop();
    beforeAll(() => shop.#open(engine));
    afterAll(async () => {
      await shop.server?.stop();
      await shop.receiver?.stop();
    });
    return shop;
  }

  async #open(engine: Engine): Promise<void> {
    this.receiver = await Receiver.start();
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
    await server.key('configurer');
    await server.key('viewer');
  }

  /** A webhook of its own path, so that tests do not hear each other's messages. */
  hook(path: string, more: object = {}): Promise<{ id: number; secret: string }> {
    return this.server.data('POST /api/webhooks:create', {
      body: { ...goodHook, url: this.receiver.url(path), ...more },
    });
  }

  remove(id: number): Promise<unknown> {
    return this.server.data(`POST /api/webhooks:destroy?filterByTk=${id}`);
  }

  order(body: object): Promise<{ id: number }> {
    return this.server.data('POST /api/orders:create', { body });
  }

  /** Looks for due deliveries now, by the clock of the suite. */
  wake(): void {
    this.server.running.applications.main.webhooks.wake(0);
  }

  deliveries(id: number): Promise<Json[]> {
    return this.server.data(`GET /api/webhooks/${id}/deliveries:list?sort=id&pageSize=1000`);
  }

  /** Until so many deliveries of a webhook have come to a status. */
  async settled(id: number, status: string, count = 1): Promise<void> {
    await expect
      .poll(async () => (await this.deliveries(id)).filter((each) => each.status === status).length)
      .toBe(count);
  }

  /** The first delivery and those after it, once so many tries of it have been noted. */
  async noted(id: number, tries: number): Promise<Json[]> {
    const tried = async (): Promise<number> => {
      const [delivery] = await this.deliveries(id);
      return delivery?.lastError == null ? 0 : delivery.attempts;
    };
    await expect.poll(tried).toBe(tries);
    return this.deliveries(id);
  }
}
