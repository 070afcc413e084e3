/**
 * Another client changes random messages at the same time as this server. The test is bounded by time:
 *
 * MAIL_SECONDS=300 MAIL_MESSAGES=500 npm run test:only -- second-client
 *
 * The conflicts that it has found are tested deterministically in contract/mail-conflicts.test.ts, mail-command-conflicts.test.ts and
 * mail-interleaving.test.ts.
 */
import type { ImapFlow } from 'imapflow';
import { expect, test } from 'vitest';
import { hasDovecot } from '../../support/dovecot.ts';
import { describeEngines } from '../../support/engines.ts';
import { SyncWorld } from '../../support/sync-world.ts';
import { fillInbox } from '../../support/synced-process.ts';

const seconds = Number(process.env['MAIL_SECONDS'] ?? 0);
const count = Number(process.env['MAIL_MESSAGES'] ?? 60);
if (seconds === 0) process.stdout.write('skipped: random changes by two mail programs, which need MAIL_SECONDS=300\n');

const flags = ['\\Seen', '\\Flagged', '\\Answered'];
const folders = ['INBOX', 'Left', 'Right'];

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!;
const raw = (index: number): string =>
  `From: zoe@example.test\r\nTo: alice@example.test\r\nSubject: number ${index}\r\nMessage-ID: <number-${index}@test>\r\n\r\nText ${index}\r\n`;

/** A change of a random message by the other client. A message that was moved in the meantime is skipped. */
async function changeThere(client: ImapFlow): Promise<void> {
  const path = pick(folders);
  await client.mailboxOpen(path);
  const uids = (await client.search({ all: true }, { uid: true })) || [];
  if (uids.length === 0) return;
  const uid = String(pick(uids));
  const chance = Math.random();
  if (chance < 0.4) await client.messageFlagsAdd(uid, [pick(flags)], { uid: true });
  else if (chance < 0.8) await client.messageFlagsRemove(uid, [pick(flags)], { uid: true });
  else await client.messageMove(uid, pick(folders.filter((each) => each !== path)), { uid: true });
}

describeEngines('a second client', (engine) => {
  test.skipIf(seconds === 0 || !hasDovecot())(
    `changes the same ${count} messages for ${seconds} seconds; both sides end with the same state`,
    async () => {
      const world = await SyncWorld.open(engine);
      try {
        await world.deliver('first of all');
        fillInbox(
          world.dovecot,
          world.user,
          Array.from({ length: count }, (_, index) => raw(index)),
        );
        const client = await world.openClient();
        for (const path of folders.slice(1)) await client.mailboxCreate(path);
        await world.createAccount();
        await world.untilLive(60_000);
        await world.untilSame(60_000);
        const mailboxes = await world.server.data('GET /api/mailboxes:list?fields=id,path&pageSize=100');
        const idOf = (path: string): number => mailboxes.find((each: { path: string }) => each.path === path).id;
        const emails = await world.server.data('GET /api/emails:list?fields=id&pageSize=1000');
        const ids: number[] = emails.map(({ id }: { id: number }) => id);
        const end = performance.now() + seconds * 1000;
        let [here, there] = [0, 0];
        const changingHere = (async () => {
          for (; performance.now() < end; here += 1) {
            const body =
              Math.random() < 0.8
                ? { [pick(['read', 'starred'])]: Math.random() < 0.5 }
                : { mailboxId: idOf(pick(folders)) };
            const action = 'mailboxId' in body ? 'move' : 'batchUpdate';
            const { mailboxId, ...values } = body as { mailboxId?: number };
            // More than 20 keys are written in a worker thread on SQLite.
            const keys = new Set(Array.from({ length: Math.random() < 0.1 ? 30 : 1 }, () => pick(ids)));
            const reply = await world.server.call(`POST /api/emails:${action}`, {
              body: { ids: [...keys], ...values, ...(mailboxId !== undefined && { mailbox: mailboxId }) },
            });
            // 403: a moved message is hidden after it left one folder and before it is found in the other. 503: a slow
            // machine.
            if (![403, 503].includes(reply.status)) expect(reply.status, reply.text).toBe(200);
            await new Promise((resolve) => setTimeout(resolve, 20));
          }
        })();
        const changingThere = (async () => {
          for (; performance.now() < end; there += 1) await changeThere(client);
        })();
        await Promise.all([changingHere, changingThere]);
        await world.untilSame(120_000);
        await client.logout();
        process.stdout.write(`${engine.name}: ${here} changes over HTTP, ${there} by the other client\n`);
        expect(Math.min(here, there)).toBeGreaterThan(5);
        // Nothing is lost, and each message keeps its id. Dovecot may copy a message that two programs move at the same moment to
        // both targets: then both sides show it twice.
        const left = await world.server.data('GET /api/emails:list?fields=id&pageSize=1000');
        const sort = (list: readonly number[]): number[] => [...list].sort((a, b) => a - b);
        expect(sort(left.map(({ id }: { id: number }) => id))).toEqual(sort(ids));
        const { database } = world.server.running.applications.main;
        const [rows = []] = await database.read([
          { text: 'SELECT count(*),count(DISTINCT "emailId") FROM "mailPlacements"', values: [] },
        ]);
        const [placements, distinct] = rows[0]!.map(Number);
        expect(distinct).toBe(count + 1);
        process.stdout.write(`${engine.name}: ${placements! - distinct!} messages are there twice on both sides\n`);
      } finally {
        await world.close();
      }
    },
    seconds * 1000 + 300_000,
  );
});
