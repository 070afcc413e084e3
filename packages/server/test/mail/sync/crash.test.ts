import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ImapFlow } from 'imapflow';
import pg from 'pg';
import { expect, test } from 'vitest';
import { mainStoreName } from '../../../src/open-stores.ts';
import { hasDovecot, startDovecot } from '../../support/dovecot.ts';
import { describeEngines, type Store } from '../../support/engines.ts';
import type { Json } from '../../support/json.ts';
import type { ServerProcess } from '../../support/server-process.ts';
import {
  comparePlacements,
  deliver,
  describeAccount,
  makeMessage,
  openClient,
  readServer,
  waitFor,
} from '../../support/sync-world.ts';
import { fillInbox, startSyncedProcess, untilAllLive } from '../../support/synced-process.ts';

/**
 * The suite runs a few rounds; `CRASH_ROUNDS=50` runs the number that the acceptance criteria of synchronisation
 * require.
 */
const rounds = Number(process.env['CRASH_ROUNDS'] ?? 3);
const messageCount = 150;
/**
 * Leases are short, so that the next server can soon work for the account, and kills interrupt the synchronisation and
 * not the wait for it.
 */
const shortLease = { leaseMilliseconds: 1000, renewMilliseconds: 200 };
/** The maximum time from the start of a server to its kill, in milliseconds. */
const maxLifetime = 1500;

describeEngines('a server that is killed', (engine) => {
  test.skipIf(!hasDovecot())(
    'after kills at random moments, no message is lost or stored twice, and both sides are the same',
    async () => {
      const dovecot = await startDovecot();
      const store = await engine.store(true);
      await deliver(dovecot, 'first of all');
      // Every third message is first stored with only its headers.
      const raws = Array.from({ length: messageCount }, (_, index) =>
        makeMessage(`message ${index}`, 'Text '.repeat(index % 3 === 0 ? 20_000 : 200), `<${index}@crash.test>`),
      );
      fillInbox(dovecot, 'alice', raws);
      const client = await openClient(dovecot);
      let server = await startSyncedProcess(store, dovecot, shortLease);
      try {
        await server.data('accounts:create', describeAccount(dovecot));
        for (let round = 0; round < rounds; round += 1) {
          // The first rounds interrupt the first synchronisation, the later ones changes of both sides.
          const work = changeBothSides(server, client, round);
          await pause(Math.random() * maxLifetime);
          await server.kill();
          await work;
          server = await startSyncedProcess(store, dovecot, shortLease);
        }
        await untilAllLive(server, 1, 60_000);
        await untilSame(store, client);
        await waitFor(async () => (await countMissing(store)) === 0, 'all bodies to be downloaded', 60_000);
        await untilSame(store, client);
        const { emails, identities, drafts } = await countEmails(store);
        expect(emails).toBe(identities);
        const total = [...(await readServer(client)).values()].flat().length;
        expect(emails).toBe(total);
        expect(drafts).toBe((await readServer(client)).get('Drafts')?.length ?? 0);
      } finally {
        client.close();
        await server.kill();
        await dovecot.stop();
        await store.remove();
      }
    },
    60_000 + rounds * 15_000,
  );
});

/** Changes messages on both sides until the server is killed. */
async function changeBothSides(server: ServerProcess, client: ImapFlow, round: number): Promise<void> {
  const emails = ((await server.data('emails:list?pageSize=200')) ?? []) as Json[];
  const pick = (): Json | undefined => emails[Math.floor(Math.random() * emails.length)];
  for (let step = 0; step < 12; step += 1) {
    const email = pick();
    const mailbox = ['archive', 'inbox', 'junk'][Math.floor(Math.random() * 3)];
    if (email && step % 3 === 0)
      await server.call(`emails:update?filterByTk=${email.id}`, { read: step % 2 === 0, starred: step % 4 === 0 });
    if (email && step % 3 === 1) await server.call('emails:move', { ids: [email.id], mailbox });
    if (step === 5)
      await server.call('emails:saveDraft', {
        account: 1,
        to: ['bob@example.test'],
        subject: `draft ${round}`,
        text: 'x',
      });
    if (email && step === 8) await server.call(`emails:destroy?filterByTk=${email.id}&force=true`);
    if (step % 4 === 2) await changeServer(client, round);
  }
}

/** Another program changes flags and moves messages at the same time. */
async function changeServer(client: ImapFlow, round: number): Promise<void> {
  const { exists } = await client.mailboxOpen(round % 2 === 0 ? 'INBOX' : 'Archive');
  if (exists === 0) return;
  const number = String(1 + Math.floor(Math.random() * exists));
  if (Math.random() < 0.5) await client.messageFlagsAdd(number, ['\\Answered']);
  else await client.messageMove(number, round % 2 === 0 ? 'Archive' : 'INBOX');
}

/** Reads rows of the store while a server uses it. */
async function readStore(store: Store, text: string): Promise<unknown[][]> {
  if (store.databaseUrl !== null) {
    const client = new pg.Client({ connectionString: store.databaseUrl, options: '-c search_path=app_1' });
    await client.connect();
    try {
      const { rows } = await client.query<unknown[]>({ text, rowMode: 'array' });
      return rows;
    } finally {
      await client.end();
    }
  }
  const path = join(store.dataDir, 'applications', `${mainStoreName}.db`);
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return database
      .prepare(text)
      .all()
      .map((row) => Object.values(row));
  } finally {
    database.close();
  }
}

async function untilSame(store: Store, client: ImapFlow): Promise<void> {
  let problem = '';
  await waitFor(
    async () => {
      const waiting = await readStore(store, 'SELECT kind,"lastError",attempts FROM "mailOperations"');
      const placements = await readStore(
        store,
        'SELECT m.path,p.uid,e."messageId",e.read,e.starred,e.answered,e.draft FROM "mailPlacements" p JOIN mailboxes m ON m.id=p."mailboxId" JOIN emails e ON e.id=p."emailId"',
      );
      problem =
        waiting.length > 0
          ? `operations wait: ${JSON.stringify(waiting)}`
          : comparePlacements(await readServer(client), placements);
      return problem === '';
    },
    () => `both sides to be the same: ${problem}`,
    60_000,
  );
}

async function countEmails(store: Store): Promise<{ emails: number; identities: number; drafts: number }> {
  const [row = []] = await readStore(
    store,
    'SELECT count(*),count(DISTINCT identity),count(CASE WHEN draft THEN 1 END) FROM emails',
  );
  const [emails = 0, identities = 0, drafts = 0] = row.map(Number);
  return { emails, identities, drafts };
}

/** The number of e-mails without bodies, and of queued body downloads. */
async function countMissing(store: Store): Promise<number> {
  const partial = `(SELECT count(*) FROM emails WHERE "bodyState"='partial')`;
  const [row] = await readStore(store, `SELECT ${partial} + (SELECT count(*) FROM "mailMissingBodies")`);
  return Number(row![0]);
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
