import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeEngines, type Store } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { ServerProcess } from '../support/server-process.ts';
import { type SmtpRelay, startSmtpRelay } from '../support/smtp-relay.ts';

/** `CAMPAIGN_KILLS=50 vitest run mail-campaigns-crash` kills servers 50 times. */
const kills = Number(process.env['CAMPAIGN_KILLS'] ?? 2);
const recipients = Number(process.env['CAMPAIGN_RECIPIENTS'] ?? 40 * kills);
const timeout = 60_000 + 15_000 * kills + 100 * recipients;

describeEngines('campaigns of servers that die', (engine) => {
  let store: Store;
  let relay: SmtpRelay;
  let folder: string;
  let servers: ServerProcess[] = [];
  beforeEach(async () => {
    store = await engine.store(true);
    relay = await startSmtpRelay({ users: { shop: 'secret' } });
    folder = mkdtempSync(join(tmpdir(), 'tablinum-campaign-'));
    writeFileSync(join(folder, 'ca.pem'), relay.certificate.ca);
  });
  afterEach(async () => {
    await killAll();
    await relay.stop();
    await store.remove();
    rmSync(folder, { recursive: true });
  });

  /**
   * Starts a server, and on PostgreSQL a second one that shares the work.
   *
   * @param step in each step, the clocks are ahead of those of the previous step by more than a lease.
   * @returns the first server.
   */
  async function start(step: number): Promise<ServerProcess> {
    const first = await startOne(step);
    if (store.databaseUrl) await startOne(step);
    return first;
  }

  async function startOne(step: number): Promise<ServerProcess> {
    const server = await ServerProcess.start(store, {
      MAIL_ALLOWED_PRIVATE_HOSTS: '127.0.0.1',
      MAIL_CA_FILE: join(folder, 'ca.pem'),
      MAIL_SECRET_KEY: 'a key for tests only, long enough to be quiet',
      PUBLIC_URL: 'https://data.example.com',
      TEST_CLOCK_AHEAD: String(step * 100_000),
    });
    servers.push(server);
    return server;
  }

  async function killAll(): Promise<void> {
    const running = servers;
    servers = [];
    await Promise.all(running.map((each) => each.kill()));
  }

  async function startCampaign(server: ServerProcess): Promise<void> {
    const smtp = { host: '127.0.0.1', port: relay.port, security: 'starttls', user: 'shop' };
    await server.data('accounts:create', { address: 'shop@example.com', smtp, smtpPassword: 'secret' });
    const fields = ['name', 'email'].map((name) => ({ name, type: 'string' }));
    await server.data('collections:create', { name: 'customers', fields });
    for (let first = 0; first < recipients; first += 500)
      await server.data(
        'customers:create',
        Array.from({ length: Math.min(500, recipients - first) }, (_, index) => ({
          name: `No. ${first + index}`,
          email: `c${first + index}@example.net`,
        })),
      );
    const campaign = await server.data('mailCampaigns:create', {
      accountId: 1,
      name: 'All',
      audience: { collection: 'customers', field: 'email' },
      subject: 'News for {{name}}',
      text: 'Dear {{name}}',
      ratePerMinute: 6000,
    });
    expect(await server.data('mailCampaigns:start', { id: campaign.id })).toMatchObject({ status: 'sending' });
  }

  const listMessages = async (server: ServerProcess): Promise<Json[]> => {
    const all: Json[] = [];
    for (let page = 1; all.length === (page - 1) * 200; page += 1) {
      const query = { pageSize: 200, page, sort: ['id'] };
      const found = (await server.data('mailCampaignMessages:list', query)) as Json[];
      all.push(...found);
      if (found.length < 200) break;
    }
    return all;
  };

  test(
    'nobody gets a message twice, and everybody gets it or has an unknown outcome, whenever servers are killed',
    async () => {
      let server = await start(0);
      await startCampaign(server);
      for (let step = 1; step <= kills; step += 1) {
        const target = Math.floor((recipients * step) / (kills + 2));
        await relay.waitForMessages(Math.max(target, relay.received.length));
        await pause((step * 37) % 50);
        await killAll();
        server = await start(step);
      }
      let campaign: Json = null;
      for (let attempt = 0; campaign?.status !== 'done'; attempt += 1) {
        if (attempt > 20 * recipients) throw new Error(`The campaign is ${JSON.stringify(campaign)}`);
        await pause(100);
        campaign = await server.data('mailCampaigns:get', { filterByTk: 1 });
      }
      const messages = await listMessages(server);
      expect(messages.length).toBe(recipients);
      const addresses = relay.received.flatMap(({ to }) => to);
      expect(new Set(addresses).size, 'twice to one address').toBe(addresses.length);
      const received = new Set(addresses);
      const missing = messages.filter(({ status, address }) => status === 'sent' && !received.has(address));
      expect(missing).toEqual([]);
      const unknown = messages.filter(({ status }) => status === 'unknown');
      expect(unknown.length).toBeLessThanOrEqual(2 * kills);
      expect(messages.filter(({ status }) => status !== 'sent' && status !== 'unknown')).toEqual([]);
      expect(campaign).toMatchObject({ recipients, sent: recipients - unknown.length, unknown: unknown.length });
      if (process.env['CAMPAIGN_KILLS'])
        process.stdout.write(
          `${recipients} recipients, ${kills} kills: ${addresses.length} received, ${unknown.length} unknown\n`,
        );
    },
    timeout,
  );
});
