import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hasDovecot, startDovecot } from '../../support/dovecot.ts';
import { sqlite } from '../../support/engines.ts';
import type { Json } from '../../support/json.ts';
import { deliver, describeAccount, waitFor } from '../../support/sync-world.ts';
import { fillInbox, readMessages, startSyncedProcess, untilAllLive } from '../../support/synced-process.ts';

/**
 * A large inbox; `SYNC_MESSAGES=2500` uses all messages. Whether each message of the corpus can be parsed is tested in
 * mail/corpus.test.ts.
 */
const messageCount = Number(process.env['SYNC_MESSAGES'] ?? 1000);
const shared = process.env['SHARED_DATA_DIR'] ?? join(import.meta.dirname, '../../../../../../shared/data');
const folder = join(shared, 'mail/easy-ham');
const isThere = existsSync(folder);
if (!isThere) process.stdout.write(`skipped: the first synchronisation of real mail, since ${folder} is absent\n`);

test.skipIf(!isThere || !hasDovecot())(
  'the newest messages of a large inbox are listed first',
  async () => {
    const dovecot = await startDovecot();
    const store = await sqlite.store(true);
    const messages = readMessages(folder).slice(0, messageCount);
    await deliver(dovecot, 'first of all');
    fillInbox(dovecot, 'alice', messages);
    const server = await startSyncedProcess(store, dovecot);
    const memory = server.memory;
    const begun = performance.now();
    const seconds = (): number => (performance.now() - begun) / 1000;
    try {
      await server.data('accounts:create', describeAccount(dovecot));
      const list = async (): Promise<Json[]> => ((await server.data('emails:list?pageSize=50')) ?? []) as Json[];
      await waitFor(async () => (await list()).length >= 50, 'the first fifty messages');
      const first = seconds();
      await untilAllLive(server, 1, 120_000);
      const all = seconds();
      const { backfillDone } = ((await server.data('accounts:list')) as Json[])[0];
      process.stdout.write(
        `first synchronisation of ${backfillDone} messages: 50 listed after ${first.toFixed(2)} s, all after ${all.toFixed(1)} s (${Math.round(backfillDone / all)} messages/s), memory ${Math.round(memory)} MB before, at most ${Math.round(server.peakMemory ?? 0)} MB\n`,
      );
      expect(backfillDone).toBe(messages.length + 1);
      expect(first).toBeLessThan(Math.max(10, all / 2)); // on a slow machine, at least long before the others
    } finally {
      await server.kill();
      await dovecot.stop();
      await store.remove();
    }
  },
  180_000,
);
