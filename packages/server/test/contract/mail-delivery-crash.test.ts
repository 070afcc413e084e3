import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeEngines, type Store } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { ServerProcess } from '../support/server-process.ts';
import { type SmtpRelay, startSmtpRelay } from '../support/smtp-relay.ts';

const accounts = 4;
/** `DELIVERY_KILLS=50 vitest run mail-delivery-crash` kills servers 50 times. */
const kills = Number(process.env['DELIVERY_KILLS'] ?? 2);
const messages = 10 * kills;
const timeout = 60_000 + 15_000 * kills;
/**
 * Longer than the undo window and a lease, so that all messages are due for a server whose clock is ahead by this time.
 */
const stepMilliseconds = 100_000;

describeEngines('delivery of mail by servers that die', (engine) => {
  let store: Store;
  let relay: SmtpRelay;
  let folder: string;
  let servers: ServerProcess[] = [];
  beforeEach(async () => {
    store = await engine.store(true);
    relay = await startSmtpRelay({ users: { shop: 'secret' } });
    folder = mkdtempSync(join(tmpdir(), 'tablinum-delivery-'));
    writeFileSync(join(folder, 'ca.pem'), relay.certificate.ca);
  });
  afterEach(async () => {
    for (const server of servers) await server.kill();
    servers = [];
    await relay.stop();
    await store.remove();
    rmSync(folder, { recursive: true });
  });

  async function start(step: number, settings: Record<string, string> = {}): Promise<ServerProcess> {
    const server = await ServerProcess.start(store, {
      MAIL_ALLOWED_PRIVATE_HOSTS: '127.0.0.1',
      MAIL_CA_FILE: join(folder, 'ca.pem'),
      MAIL_SECRET_KEY: 'a key for tests only, long enough to be quiet',
      TEST_CLOCK_AHEAD: String(step * stepMilliseconds),
      ...settings,
    });
    servers.push(server);
    return server;
  }

  async function kill(server: ServerProcess): Promise<void> {
    servers = servers.filter((each) => each !== server);
    await server.kill();
  }

  /** Queues messages that are due for a server of the next step. */
  async function queue(server: ServerProcess, count: number): Promise<void> {
    const smtp = { host: '127.0.0.1', port: relay.port, security: 'starttls', user: 'shop' };
    for (let account = 1; account <= accounts; account += 1)
      await server.data('accounts:create', { address: `a${account}@example.com`, smtp, smtpPassword: 'secret' });
    const send = (index: number): Promise<Json> =>
      server.data('emails:send', { account: 1 + (index % accounts), to: 'cora@example.net', subject: `No. ${index}` });
    for (let index = 0; index < count; index += 10)
      await Promise.all(Array.from({ length: Math.min(10, count - index) }, (_, more) => send(index + more)));
  }

  async function readStatuses(server: ServerProcess): Promise<Map<string, string>> {
    const emails = (await server.data('emails:list', {
      pageSize: 1000,
      fields: ['messageId', 'deliveryStatus'],
      filter: { folder: { $in: ['outbox', 'sent'] } },
    })) as Json[];
    return new Map(emails.map(({ messageId, deliveryStatus }) => [messageId as string, deliveryStatus as string]));
  }

  async function untilSettled(server: ServerProcess, count: number): Promise<Map<string, string>> {
    for (let attempt = 0; ; attempt += 1) {
      const statuses = await readStatuses(server);
      const isOver = [...statuses.values()].every((each) => each === 'sent' || each === 'unknown');
      if (statuses.size === count && isOver) return statuses;
      if (attempt === 200) throw new Error(`${statuses.size} messages: ${[...new Set(statuses.values())]}`);
      await pause(150);
    }
  }

  /** How often the mail server has accepted each message. */
  function countReceived(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { raw } of relay.received) {
      const id = /^Message-ID:\s*<(.+)>/im.exec(raw.toString())![1]!;
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  }

  test(
    'no message is lost and none is sent twice when servers are killed at random moments',
    async () => {
      const count = messages;
      const first = await start(0);
      await queue(first, count);
      await kill(first);
      let step = 1;
      for (; relay.received.length < count && step <= kills; step += 1) {
        const before = relay.received.length;
        const server = await start(step);
        for (let wait = 0; relay.received.length === before && wait < 100; wait += 1) await pause(5);
        await pause(Math.random() * 60);
        await kill(server);
      }
      const statuses = await untilSettled(await start(step), count);
      const received = countReceived();
      for (const [messageId, status] of statuses) {
        const times = received.get(messageId) ?? 0;
        expect([messageId, status, times]).toEqual([messageId, status, status === 'sent' ? 1 : Math.min(times, 1)]);
      }
      expect([...received.keys()].filter((each) => !statuses.has(each))).toEqual([]);
      expect(step).toBeGreaterThan(2);
    },
    timeout,
  );

  test.runIf(engine.name === 'postgres')(
    'two servers send 200 messages, each once',
    async () => {
      const count = 200;
      // A slow machine may need longer than the undo window to queue the messages, and a message that is just being
      // sent does not have an outcome yet.
      const first = await start(0, { MAIL_DELIVERY: 'off' });
      await queue(first, count);
      await kill(first);
      const [server] = await Promise.all([start(1), start(1)]);
      const statuses = await untilSettled(server, count);
      expect(new Set(statuses.values())).toEqual(new Set(['sent']));
      expect([...countReceived().values()]).toEqual(Array.from({ length: count }, () => 1));
    },
    60_000,
  );
});
