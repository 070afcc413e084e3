import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, inject, test } from 'vitest';
import { hasDovecot } from '../../support/dovecot.ts';
import { postgres, shareStore, sqlite } from '../../support/engines.ts';
import type { Json } from '../../support/json.ts';
import { TestServer } from '../../support/scenario.ts';
import { rootEmail, rootPassword } from '../../support/server-settings.ts';
import { describeAccount, SyncWorld, waitFor } from '../../support/sync-world.ts';

/** Assigns the leases of the stopped server to a killed one, as another process would find them. */
function holdLeases(dataDir: string): void {
  const folder = join(dataDir, 'applications');
  const until = new Date(Date.now() + 3_600_000).toISOString();
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.db') && !each.endsWith('.audit.db'))) {
    const database = new DatabaseSync(join(folder, name));
    database.prepare('UPDATE accounts SET "leasedBy"=?,"leasedUntil"=?').run('killed', until);
    database.prepare('INSERT INTO "mailWorkers" (name,"seenAt") VALUES (?,?)').run('killed', until);
    database.close();
  }
}

test.skipIf(!hasDovecot())(
  'an application that synchronises mail stays open, also after a restart',
  async () => {
    const world = await SyncWorld.open(sqlite, { env: { APPLICATION_IDLE_SECONDS: '1' } });
    const { server, dovecot } = world;
    try {
      for (const name of ['mail', 'idle']) {
        await server.data('POST /api/applications:create', { body: { name } });
        // The first administrator is the user who creates the application.
        const body = { email: rootEmail, password: rootPassword };
        const { token } = await server.data('POST /api/auth:signIn', {
          as: 'nobody',
          body,
          headers: { 'x-app': name },
        });
        server.tokens.set(name, token);
      }
      const as = { as: 'mail', headers: { 'x-app': 'mail' } };
      await server.data('POST /api/accounts:create', { ...as, body: describeAccount(dovecot) });
      const readStatus = async (): Promise<unknown> => (await server.data('GET /api/accounts:list', as))[0].status;
      await waitFor(async () => (await readStatus()) === 'live', 'the account to be live');
      expect(server.running.applications.openCount).toBe(2);
      const countAfterTick = async (): Promise<number> => {
        await server.running.applications.tick();
        return server.running.applications.openCount;
      };
      await waitFor(async () => (await countAfterTick()) === 1, 'the other application to be closed');
      await new Promise((resolve) => setTimeout(resolve, 1100));
      expect(await countAfterTick()).toBe(1);

      await server.running.stop();
      holdLeases(server.store.dataDir);
      await server.boot();
      expect(server.running.applications.openCount).toBe(0);
      await world.deliver('after the restart');
      expect(await countAfterTick()).toBe(1);
      const hasArrived = async (): Promise<boolean> => (await server.data('GET /api/emails:list', as)).length === 1;
      await waitFor(hasArrived, 'the message');
    } finally {
      await world.close();
    }
  },
  30_000,
);

test.skipIf(inject('postgresSkipped') !== null)(
  'an application that another server stops, or destroys and creates again, is closed even if no request arrives',
  async () => {
    const store = await postgres.store(true);
    const shared = shareStore(postgres, store);
    const env = { MAIL_SYNC: 'on', MAIL_ALLOWED_PRIVATE_HOSTS: '127.0.0.1' };
    const nodes: TestServer[] = [];
    try {
      for (let index = 0; index < 2; index += 1)
        nodes.push(await TestServer.start(shared, { env, mailSyncTimes: { tickMilliseconds: 100 } }));
      const [holder, other] = nodes as [TestServer, TestServer];
      const headers = { 'x-app': 'shop' };
      const signIn = async (): Promise<string> => {
        const credentials = { email: rootEmail, password: rootPassword };
        const more = { as: 'nobody', headers, body: credentials };
        return (await holder.data('POST /api/auth:signIn', more)).token;
      };
      await holder.data('POST /api/applications:create', { body: { name: 'shop' } });
      // Nothing listens at this port, so the account is tried again and again by the server that has its lease.
      const imap = { host: '127.0.0.1', port: 1, security: 'none' };
      const account = { address: 'shop@example.com', imap, password: 'secret' };
      const token = await signIn();
      await holder.data('POST /api/accounts:create', { as: token, headers, body: account });
      const list = (as: string): Promise<Json> => holder.data('GET /api/accounts:list', { as, headers });
      await waitFor(async () => (await list(token))[0].status === 'backoff', 'the account to be tried');

      await other.data('POST /api/applications:stop?filterByTk=shop');
      await holder.running.applications.tick();
      expect(holder.running.applications.openCount).toBe(0);
      await other.data('POST /api/applications:start?filterByTk=shop');
      expect(await list(await signIn())).toHaveLength(1);

      await other.data('POST /api/applications:destroy?filterByTk=shop&confirm=shop');
      await other.data('POST /api/applications:create', { body: { name: 'shop' } });
      await holder.running.applications.tick();
      expect(await list(await signIn())).toEqual([]);
    } finally {
      for (const node of nodes) await node.stop();
      await store.remove();
    }
  },
  60_000,
);
