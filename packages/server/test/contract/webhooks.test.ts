import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines, type Store, shareStore } from '../support/engines.ts';
import { hour, MovingClock } from '../support/moving-clock.ts';
import { TestServer } from '../support/scenario.ts';
import { ServerProcess } from '../support/server-process.ts';
import { acceptMessage, failMessage, neverAnswer, WebhookReceiver } from '../support/webhook-receiver.ts';

const env = { OUTBOUND_ALLOW: '127.0.0.1' };
const orders = { name: 'orders', fields: [{ name: 'n', type: 'integer' }] };

async function hook(
  server: TestServer,
  receiver: WebhookReceiver,
  headers: Record<string, string> = {},
  as = 'admin',
): Promise<number> {
  const body = { url: receiver.url(), events: ['orders.created'], role: 'viewer' };
  return (await server.data('POST /api/webhooks:create', { body, headers, as })).id;
}

const told = (receiver: WebhookReceiver): number[] =>
  receiver.received.map(({ body }) => body.data.record.n).sort((a, b) => a - b);

describeEngines('several servers with webhooks', (engine) => {
  if (engine.name === 'sqlite') {
    test('one process serves a SQLite file', () => expect(engine.name).toBe('sqlite'));
    return;
  }
  let store: Store;
  let nodes: TestServer[];
  let receiver: WebhookReceiver;
  beforeAll(async () => {
    receiver = await WebhookReceiver.start();
    store = await engine.store(true);
    const shared = shareStore(engine, store);
    nodes = await Promise.all([1, 2, 3].map(() => TestServer.start(shared, { env })));
  });
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await receiver.stop();
    await store.remove();
  });

  test('send each message once', async () => {
    await nodes[0]!.data('POST /api/collections:create', { body: orders });
    await hook(nodes[0]!, receiver);
    const numbers = Array.from({ length: 90 }, (_, n) => n);
    await Promise.all(numbers.map((n) => nodes[n % 3]!.data('POST /api/orders:create', { body: { n } })));
    await expect.poll(() => receiver.received.length).toBe(numbers.length);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(told(receiver)).toEqual(numbers);
  });

  test('send messages of a long transaction after it ends, and lose none', async () => {
    receiver.received.length = 0;
    const other = new pg.Client({ connectionString: store.databaseUrl! });
    await other.connect();
    try {
      await other.query('BEGIN');
      await other.query('SELECT pg_current_xact_id()');
      await nodes[0]!.data('POST /api/orders:create', { body: { n: 1000 } });
      await new Promise((resolve) => setTimeout(resolve, 6000));
      expect(told(receiver)).toEqual([]);
      await other.query('COMMIT');
      await expect.poll(() => told(receiver)).toEqual([1000]);
    } finally {
      await other.end();
    }
  });
});

describeEngines('a killed server with webhooks', (engine) => {
  test('leaves the messages of all acknowledged writes to the next server', async () => {
    const receiver = await WebhookReceiver.start();
    receiver.behaviour = neverAnswer;
    const clock = new MovingClock();
    const server = await TestServer.start(engine, { clock, env });
    try {
      await server.data('POST /api/collections:create', { body: orders });
      await hook(server, receiver);
      await server.running.stop();
      const acknowledged = await writtenUntilKilled(server.store);
      expect(acknowledged.length).toBeGreaterThan(20);
      receiver.behaviour = acceptMessage;
      receiver.received.length = 0;
      clock.advance(2 * 60_000); // deliveries that the killed server had started are due again
      await server.boot();
      const missing = (): number[] => acknowledged.filter((n) => !told(receiver).includes(n));
      await expect.poll(missing).toEqual([]);
      expect(new Set(told(receiver)).size).toBe(receiver.received.length);
    } finally {
      await server.stop();
      await receiver.stop();
    }
  });
});

/** Writes orders to a server process that is killed during the writes. @returns the orders that it acknowledged. */
async function writtenUntilKilled(store: Store): Promise<number[]> {
  const server = await ServerProcess.start(store, env);
  const acknowledged: number[] = [];
  let gone: Promise<void> | null = null;
  for (let n = 0; n < 100_000; n += 1) {
    const reply = await server.call('orders:create', { n });
    if (reply === null) break;
    if (reply.ok) acknowledged.push(n);
    if (n === 100) gone = new Promise((resolve) => setTimeout(() => resolve(server.kill()), 15));
  }
  await gone;
  return acknowledged;
}

describeEngines('applications with webhooks', (engine) => {
  test('are opened when a delivery is due, even if they are closed', async () => {
    const clock = new MovingClock();
    const receiver = await WebhookReceiver.start();
    const server = await TestServer.start(engine, { clock, env: { ...env, APPLICATION_IDLE_SECONDS: '1' } });
    const { applications } = server.running;
    try {
      await server.data('POST /api/applications:create', { body: { name: 'shop' } });
      const { token } = await server.data('POST /api/applications:enter?filterByTk=shop');
      server.tokens.set('shop', token);
      const headers = { 'x-app': 'shop' };
      await server.data('POST /api/collections:create', { body: orders, headers, as: 'shop' });
      await hook(server, receiver, headers, 'shop');
      receiver.behaviour = failMessage;
      await server.data('POST /api/orders:create', { body: { n: 5 }, headers, as: 'shop' });
      await expect.poll(() => receiver.received.length).toBe(1);
      await expect
        .poll(async () => (await server.data('GET /api/webhookDeliveries:list', { headers, as: 'shop' }))[0].lastError)
        .toContain('500');
      const closed = async (): Promise<number> => {
        await applications.tick();
        return applications.openCount;
      };
      await expect.poll(closed, { interval: 300 }).toBe(0);
      expect(receiver.received.length).toBe(1);
      receiver.behaviour = acceptMessage;
      clock.advance(hour);
      await applications.tick();
      await expect.poll(() => receiver.received.length).toBe(2);
      expect(receiver.received[1]!.body).toMatchObject({ data: { application: 'shop', record: { n: 5 } } });
      await expect.poll(closed, { interval: 300 }).toBe(0);
      clock.advance(hour);
      await applications.tick();
      expect(applications.openCount).toBe(0);
    } finally {
      await server.stop();
      await receiver.stop();
    }
  });
});

describeEngines('a store of a version without webhooks', (engine) => {
  test('gets webhooks when it is opened', async () => {
    const receiver = await WebhookReceiver.start();
    const server = await TestServer.start(engine, { env });
    const { database } = server.running.applications.main;
    await database.write(async (transaction) => {
      for (const name of ['webhookDeliveries', 'webhooks']) {
        const id = `(SELECT id FROM _collections WHERE name='${name}')`;
        for (const text of [
          `DELETE FROM _fields WHERE collection_id=${id}`,
          `DELETE FROM _collections WHERE name='${name}'`,
          `DROP TABLE "${name}"`,
        ])
          await transaction.run({ text, values: [] });
      }
      await transaction.run({ text: 'DROP TABLE _outbox', values: [] });
    });
    await server.running.stop();
    await server.boot();
    await server.data('POST /api/collections:create', { body: orders });
    await hook(server, receiver);
    await server.data('POST /api/orders:create', { body: { n: 1 } });
    await expect.poll(() => told(receiver)).toEqual([1]);
    await server.stop();
    await receiver.stop();
  });
});

/** `WEBHOOK_MESSAGES=10000 vitest run contract/webhooks` sends 10,000 messages. */
const messages = Number(process.env['WEBHOOK_MESSAGES'] ?? 500);

describeEngines('many webhook messages', (engine) => {
  test('all arrive at one receiver', { timeout: 30_000 + messages * 20 }, async () => {
    const receiver = await WebhookReceiver.start();
    const server = await TestServer.start(engine, { env });
    await server.data('POST /api/collections:create', { body: orders });
    await hook(server, receiver);
    const begun = performance.now();
    for (let from = 0; from < messages; from += 500)
      await server.data('POST /api/orders:create', { body: Array.from({ length: 500 }, (_, n) => ({ n: from + n })) });
    const all = (): boolean => receiver.received.length >= messages;
    await expect.poll(all, { timeout: 20_000 + messages * 20, interval: 20 }).toBe(true);
    const seconds = (performance.now() - begun) / 1000;
    process.stdout.write(
      `${engine.name}: ${Math.round(receiver.received.length / seconds)} messages/s to one receiver\n`,
    );
    expect(new Set(told(receiver)).size).toBe(receiver.received.length);
    await server.stop();
    await receiver.stop();
  });
});
