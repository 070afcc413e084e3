import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Dovecot, hasDovecot, startDovecot } from '../../support/dovecot.ts';
import { describeEngines, type Store } from '../../support/engines.ts';
import type { Json } from '../../support/json.ts';
import type { ServerProcess } from '../../support/server-process.ts';
import { openStoreReader, type StoreReader } from '../../support/store-reader.ts';
import { deliver, describeAccount, openClient, waitFor } from '../../support/sync-world.ts';
import { startSyncedProcess, untilAllLive } from '../../support/synced-process.ts';

/** Leases are short, so that the next server does not wait long until it may work for the account. */
const shortLease = { leaseMilliseconds: 3000, renewMilliseconds: 500 };
describe.skipIf(!hasDovecot())('with a mail server', () => {
  describeEngines('rules for mail of a real server', (engine) => {
    /** `RULE_KILLS=20` kills the server 20 times. */
    const rounds = Number(process.env['RULE_KILLS'] ?? (engine.name === 'sqlite' ? 3 : 1));
    let dovecot: Dovecot;
    let store: Store;
    let reader: StoreReader;
    let server: ServerProcess;
    beforeAll(async () => {
      dovecot = await startDovecot();
      store = await engine.store(true);
      await deliver(dovecot, 'first of all');
      server = await startSyncedProcess(store, dovecot, shortLease);
      reader = await openStoreReader(store);
      await server.data('accounts:create', describeAccount(dovecot));
      await untilAllLive(server, 1);
      await server.data('mailRules:create', {
        accountId: 1,
        name: 'Orders',
        conditions: [{ field: 'subject', operator: 'startsWith', value: 'order' }],
        actions: [
          { type: 'star' },
          { type: 'markRead' },
          { type: 'addLabel', label: 'Orders' },
          { type: 'webhook' },
          { type: 'move', mailbox: 'archive' },
        ],
      });
    });
    afterAll(async () => {
      await server?.kill();
      await reader?.close();
      await dovecot?.stop();
      await store?.remove();
    });

    /** The messages with the subject "order …" in a mailbox of the IMAP server, with their flags. */
    async function readOrders(mailbox: string): Promise<Map<string, string[]>> {
      const client = await openClient(dovecot);
      const { exists } = await client.mailboxOpen(mailbox, { readOnly: true });
      const all = exists === 0 ? [] : await client.fetchAll('1:*', { envelope: true, flags: true });
      await client.logout();
      const orders = all.filter(({ envelope }) => envelope?.subject?.startsWith('order'));
      return new Map(orders.map(({ envelope, flags }) => [envelope!.subject!, [...(flags ?? [])].sort()]));
    }

    async function readOperations(): Promise<number> {
      return (await server.data('accounts:sync?filterByTk=1', {}))?.waiting ?? -1;
    }

    async function untilFiled(count: number): Promise<void> {
      let archived = new Map<string, string[]>();
      await waitFor(
        async () => {
          archived = await readOrders('Archive');
          return archived.size === count && (await readOrders('INBOX')).size === 0 && (await readOperations()) === 0;
        },
        () => `${count} messages to be in the archive of the server: ${JSON.stringify([...archived])}`,
        30_000,
      );
      for (const [subject, flags] of archived)
        expect([subject, flags]).toEqual([subject, expect.arrayContaining(['Orders', '\\Flagged', '\\Seen'])]);
    }

    async function readEvents(): Promise<Json[]> {
      const events: Json[] = [];
      for (let since: string | undefined; ; ) {
        const reply = await server.call('changes:list', { resource: 'emails', pageSize: 1000, since });
        const { data, meta } = (await reply!.json()) as Json;
        events.push(...data);
        if (!meta.hasNext) return events;
        since = meta.nextCursor;
      }
    }

    /**
     * The number of times that the rule was applied to each e-mail. On PostgreSQL, events can be read when all older
     * transactions have ended.
     */
    async function countMatches(expected: number): Promise<number[]> {
      let matches: number[] = [];
      const read = async (): Promise<boolean> => {
        const events = await readEvents();
        const matched = events.filter(({ name }) => name === 'emails.ruleMatched').map(({ tk }) => tk as string);
        matches = [...Map.groupBy(matched, (tk) => tk).values()].map((list) => list.length);
        return matches.length >= expected;
      };
      await waitFor(read, () => `the events about ${expected} e-mails: ${JSON.stringify(matches)}`, 30_000);
      return matches;
    }

    test('a message that arrives is moved, labelled and flagged, also on the mail server', async () => {
      await deliver(dovecot, 'order 0');
      await untilFiled(1);
      expect(await countMatches(1)).toEqual([1]);
    });

    test(
      'rules are applied once if the server is killed while messages are stored',
      async () => {
        let waited = 0;
        for (let round = 1; round <= rounds; round += 1) {
          for (let index = 0; index < 5; index += 1) await deliver(dovecot, `order ${round}.${index}`);
          await untilArrived(1 + 5 * (round - 1));
          await server.kill();
          waited += await reader.readNumber('SELECT count(*) FROM "mailArrivals"');
          server = await startSyncedProcess(store, dovecot, shortLease);
          await untilAllLive(server, 1);
        }
        await untilFiled(1 + 5 * rounds);
        expect(await countMatches(1 + 5 * rounds)).toEqual(Array.from({ length: 1 + 5 * rounds }, () => 1));
        if (process.env['RULE_KILLS'])
          process.stdout.write(`${rounds} kills, ${waited} messages waited for their rules\n`);
      },
      30_000 + 10_000 * rounds,
    );

    /** Resolves as soon as the store has more orders than before. Their rules may not have been applied yet. */
    async function untilArrived(before: number): Promise<void> {
      const count = `SELECT count(*) FROM emails WHERE subject LIKE 'order%'`;
      await waitFor(async () => (await reader.readNumber(count)) > before, 'messages to arrive', 20_000);
    }
  });
});
