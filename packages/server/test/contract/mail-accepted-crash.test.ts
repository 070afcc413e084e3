import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeEngines, type Store } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { ServerProcess } from '../support/server-process.ts';
import { type SmtpRelay, startSmtpRelay } from '../support/smtp-relay.ts';

/** `SEND_KILLS=50 vitest run mail-accepted-crash` kills the server 50 times, and prints the numbers. */
const given = process.env['SEND_KILLS'];
const rounds = Number(given ?? 3);
const senders = 4;
/** Longer than the undo window and a lease, so that messages accepted in one round are due in the next one. */
const stepMilliseconds = 100_000;

describeEngines('a server that is killed while it accepts and sends mail', (engine) => {
  let store: Store;
  let relay: SmtpRelay;
  let folder: string;
  let server: ServerProcess | null = null;
  /** Subjects of messages that the server has accepted. */
  const accepted = new Set<string>();
  beforeEach(async () => {
    store = await engine.store(true);
    relay = await startSmtpRelay({ users: { shop: 'secret' } });
    folder = mkdtempSync(join(tmpdir(), 'tablinum-delivery-'));
    writeFileSync(join(folder, 'ca.pem'), relay.certificate.ca);
  });
  afterEach(async () => {
    await server?.kill();
    await relay.stop();
    await store.remove();
    rmSync(folder, { recursive: true });
  });

  function start(step: number): Promise<ServerProcess> {
    return ServerProcess.start(store, {
      MAIL_ALLOWED_PRIVATE_HOSTS: '127.0.0.1',
      MAIL_CA_FILE: join(folder, 'ca.pem'),
      MAIL_SECRET_KEY: 'a key for tests only, long enough to be quiet',
      TEST_CLOCK_AHEAD: String(step * stepMilliseconds),
    });
  }

  /** Sends messages until the server has been killed. */
  async function send(target: ServerProcess, name: string, count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      const subject = `${name}.${index}`;
      const body = { account: 1 + (index % 2), to: 'cora@example.net', subject, text: 'Dear Cora,' };
      const reply = await target.call('emails:send', body, { 'idempotency-key': subject });
      if (!reply) return;
      if (reply.status === 200) accepted.add(subject);
      await reply.body?.cancel();
    }
  }

  async function readStatuses(target: ServerProcess): Promise<Map<string, string>> {
    const all = new Map<string, string>();
    for (let page = 1; ; page += 1) {
      const filter = { folder: { $in: ['outbox', 'sent'] } };
      const emails = (await target.data('emails:list', {
        page,
        pageSize: 200,
        sort: 'id',
        fields: ['subject', 'deliveryStatus'],
        filter,
      })) as Json[];
      for (const { subject, id, deliveryStatus } of emails) all.set(`${subject} ${id}`, deliveryStatus);
      if (emails.length < 200) return all;
    }
  }

  test(
    'every accepted message is delivered once or has an unknown outcome',
    async () => {
      accepted.clear();
      server = await start(0);
      const smtp = { host: '127.0.0.1', port: relay.port, security: 'starttls', user: 'shop' };
      for (const name of ['a', 'b'])
        await server.data('accounts:create', { address: `${name}@example.com`, smtp, smtpPassword: 'secret' });
      for (let round = 1; round <= rounds; round += 1) {
        const running = server;
        const work = Array.from({ length: senders }, (_, sender) => send(running, `${round}.${sender}`, 25));
        const before = accepted.size;
        for (let wait = 0; accepted.size === before && wait < 2000; wait += 1) await pause(5);
        await pause(Math.random() * 200);
        await running.kill();
        await Promise.all(work);
        server = await start(round);
      }
      await server.kill();
      server = await start(rounds + 1);
      let statuses = new Map<string, string>();
      await expect
        .poll(
          async () => {
            statuses = await readStatuses(server!);
            return [...statuses.values()].filter((each) => each !== 'sent' && each !== 'unknown');
          },
          { timeout: 60_000, interval: 200 },
        )
        .toEqual([]);
      const received = relay.received.map(({ raw }) => /^Subject: (.+)\r$/m.exec(raw.toString())![1]!);
      const subjects = [...statuses.keys()].map((each) => each.split(' ')[0]!);
      const count = (list: readonly string[], wanted: string): number => list.filter((each) => each === wanted).length;
      for (const subject of accepted) expect([subject, count(subjects, subject)]).toEqual([subject, 1]);
      for (const [key, status] of statuses) {
        const times = count(received, key.split(' ')[0]!);
        expect([key, status, times]).toEqual([key, status, status === 'sent' ? 1 : Math.min(times, 1)]);
      }
      for (const subject of received) expect(subjects).toContain(subject);
      expect(accepted.size).toBeGreaterThanOrEqual(rounds);
      const unknown = [...statuses].filter(([, status]) => status === 'unknown').map(([key]) => key.split(' ')[0]!);
      if (given)
        process.stdout.write(
          `${engine.name}: ${rounds} kills, ${accepted.size} accepted, ${statuses.size} stored, ${received.length} received, ${unknown.length} unknown, of which ${unknown.filter((each) => received.includes(each)).length} received\n`,
        );
    },
    60_000 + 10_000 * rounds,
  );
});
