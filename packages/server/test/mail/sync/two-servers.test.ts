import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { hasDovecot, startDovecot } from '../../support/dovecot.ts';
import { postgres, type Store } from '../../support/engines.ts';
import type { Json } from '../../support/json.ts';
import type { ServerProcess } from '../../support/server-process.ts';
import { deliver, describeAccount, waitFor } from '../../support/sync-world.ts';
import { startSyncedProcess, untilAllLive } from '../../support/synced-process.ts';

/**
 * The number of accounts that two servers share; `SYNC_ACCOUNTS=50` is the number that the acceptance criteria require.
 */
const accountCount = Number(process.env['SYNC_ACCOUNTS'] ?? 6);
const times = { leaseMilliseconds: 3000, renewMilliseconds: 1000 };
const defaultLease = { leaseMilliseconds: 27_000, renewMilliseconds: 9000, tickMilliseconds: 2000 };

test.skipIf(!hasDovecot() || inject('postgresSkipped') !== null)(
  'two servers share the accounts, and the other server takes over those of a killed one',
  async () => {
    const userNames = Array.from({ length: accountCount }, (_, index) => `user${index}`);
    const dovecot = await startDovecot({ userNames });
    const store = await postgres.store(true);
    const ownTimes = process.env['SYNC_DEFAULT_TIMES'] ? defaultLease : times;
    const servers: ServerProcess[] = [];
    for (let index = 0; index < 2; index += 1) servers.push(await startSyncedProcess(store, dovecot, ownTimes));
    const [first, second] = servers as [ServerProcess, ServerProcess];
    try {
      for (const name of userNames)
        await first.data('accounts:create', describeAccount(dovecot, dovecot.imapPort, name));
      await untilAllLive(first, accountCount, 60_000);
      const share = Math.ceil(accountCount / 2);
      const isShared = async (): Promise<boolean> => {
        const counts = await countLeases(store);
        return counts.length === 2 && Math.max(...counts) <= share;
      };
      await waitFor(isShared, 'both servers to have their share', 60_000);
      await untilAllLive(first, accountCount, 60_000);
      await first.kill();
      const killed = performance.now();
      for (const name of userNames) await deliver(dovecot, `after the kill, for ${name}`, { to: name });
      await waitFor(
        async () => {
          const emails = ((await second.data('emails:list?pageSize=200')) ?? []) as Json[];
          return userNames.every((name) => emails.some(({ subject }) => subject === `after the kill, for ${name}`));
        },
        'the mail of all accounts',
        90_000,
      );
      const takeover = (performance.now() - killed) / 1000;
      process.stdout.write(
        `two servers with ${accountCount} accounts, lease ${ownTimes.leaseMilliseconds} ms: mail of all accounts ${takeover.toFixed(1)} s after one was killed\n`,
      );
      expect(takeover).toBeLessThan(60);
      const emails = (await second.data('emails:list?pageSize=500')) as Json[];
      expect(emails).toHaveLength(accountCount);
    } finally {
      await second.kill();
      await dovecot.stop();
      await store.remove();
    }
  },
  180_000,
);

/** The number of accounts of which each server holds the lease. */
async function countLeases(store: Store): Promise<number[]> {
  const client = new pg.Client({ connectionString: store.databaseUrl! });
  client.on('error', () => {}); // the database is being removed, which closes the connection
  await client.connect();
  const { rows } = await client.query(
    'SELECT count(*) AS n FROM app_1.accounts WHERE "leasedBy" IS NOT NULL GROUP BY "leasedBy"',
  );
  await client.end();
  return rows.map(({ n }) => Number(n));
}
