/**
 * A year of a busy mailbox: the first synchronisation, one after changes, and a comparison of everything, while
 * e-mails are read over HTTP. It runs only with a number of messages:
 *
 *     MAIL_SCALE=100000 npm run test:only -- large-mailbox
 */
import { chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { mainStoreName } from '../../../src/open-stores.ts';
import { type Dovecot, hasDovecot, startDovecot } from '../../support/dovecot.ts';
import { sqlite } from '../../support/engines.ts';
import type { Json } from '../../support/json.ts';
import type { ServerProcess } from '../../support/server-process.ts';
import {
  comparePlacements,
  deliver,
  describeAccount,
  openClient,
  readServer,
  waitFor,
} from '../../support/sync-world.ts';
import { startSyncedProcess } from '../../support/synced-process.ts';

const count = Number(process.env['MAIL_SCALE'] ?? 0);
const folders = 40;
const changes = Math.min(1000, count);
if (count === 0) process.stdout.write('skipped: a mailbox of 100,000 messages, which needs MAIL_SCALE=100000\n');

const words = 'order invoice delivery question turntable broken tonearm refund address parcel Tuesday please'.split(
  ' ',
);
const begin = Date.UTC(2025, 10, 1) / 1000;

/** Every third message begins a conversation, which the two others answer. */
function makeMessage(index: number): string {
  const text = Array.from({ length: 200 }, (_, at) => words[(index * 7 + at * at) % words.length]).join(' ');
  const reply = index % 3 === 0 ? [] : [`In-Reply-To: <large-${index - (index % 3)}@example.test>`];
  const subject = `${words[index % words.length]} ${Math.floor(index / 3)}`;
  return [
    `From: Customer ${index % 5000} <customer${index % 5000}@example.test>`,
    'To: Alice <alice@example.test>',
    `Subject: ${index % 3 === 0 ? '' : 'Re: '}${subject}`,
    `Message-ID: <large-${index}@example.test>`,
    ...reply,
    `Date: ${new Date((begin + 300 * index) * 1000).toUTCString()}`,
    'Content-Type: text/plain; charset=utf-8',
    '',
    text.replace(/(.{70}) /g, '$1\r\n'),
    '',
  ].join('\r\n');
}

async function fill(dovecot: Dovecot): Promise<void> {
  const { uid, gid } = statSync(dovecot.maildir('alice'));
  const paths = [join(dovecot.maildir('alice'), 'cur')];
  for (let folder = 1; folder < folders; folder += 1) {
    await dovecot.doveadm('mailbox', 'create', '-u', dovecot.users['alice']!.address, `Folder ${folder}`);
    paths.push(join(dovecot.maildir('alice'), `.Folder ${folder}`, 'cur'));
  }
  for (const path of paths) {
    mkdirSync(path, { recursive: true });
    chownSync(path, uid, gid);
  }
  for (let index = 0; index < count; index += 1) {
    // Half of all messages are in the inbox.
    const path = paths[index % 2 === 0 ? 0 : 1 + ((index >> 1) % (folders - 1))]!;
    const file = join(path, `${begin + 300 * index}.M${index}P1.test:2,${index % 4 === 0 ? '' : 'S'}`);
    writeFileSync(file, makeMessage(index));
    chownSync(file, uid, gid);
  }
}

/** Reads random e-mails one after the other. @returns what ends it and tells the times in milliseconds, sorted. */
function startReading(server: ServerProcess): () => Promise<number[]> {
  const times: number[] = [];
  let isEnded = false;
  const reading = (async () => {
    while (!isEnded) {
      const top = ((await server.data('emails:list?pageSize=1&sort=-id&fields=id')) ?? []) as Json[];
      const newest = top[0]?.id ?? 0;
      for (let read = 0; read < 50 && newest > 0 && !isEnded; read += 1) {
        const from = performance.now();
        await server.call(`emails:get?filterByTk=${1 + Math.floor(Math.random() * newest)}`).then((it) => it?.text());
        times.push(performance.now() - from);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  return async () => {
    isEnded = true;
    await reading;
    return times.sort((a, b) => a - b);
  };
}

test.skipIf(count === 0 || !hasDovecot())(
  `a mailbox of ${count} messages in ${folders} folders`,
  async () => {
    const dovecot = await startDovecot();
    const store = await sqlite.store(true);
    await deliver(dovecot, 'first of all');
    await fill(dovecot);
    let server = await startSyncedProcess(store, dovecot);
    let begun = performance.now();
    let processor = 0;
    const seconds = (): number => (performance.now() - begun) / 1000;
    const query = (text: string): unknown[][] => {
      const database = new DatabaseSync(join(store.dataDir, 'applications', `${mainStoreName}.db`), { readOnly: true });
      try {
        return database
          .prepare(text)
          .all()
          .map((row) => Object.values(row as object));
      } finally {
        database.close();
      }
    };
    const report = async (what: string, ended: () => Promise<number[]>): Promise<void> => {
      const taken = seconds();
      const used = (server.processorTime - processor) / 1000;
      const times = await ended();
      const at = (share: number): string => (times[Math.floor(share * (times.length - 1))] ?? 0).toFixed(1);
      process.stdout.write(
        `${what}: ${taken.toFixed(1)} s, ${used.toFixed(1)} s of the processor, memory ${Math.round(server.memory)} MB, at most ${Math.round(server.peakMemory ?? 0)} MB; ${times.length} gets meanwhile, median ${at(0.5)} ms, p99 ${at(0.99)} ms, longest ${at(1)} ms\n`,
      );
      begun = performance.now();
      processor = server.processorTime;
    };
    const isSame = async (): Promise<string> => {
      const client = await openClient(dovecot);
      const list = await readServer(client);
      await client.logout();
      return comparePlacements(
        list,
        query(
          'SELECT m.path,p.uid,e."messageId",e.read,e.starred,e.answered,e.draft FROM "mailPlacements" p JOIN mailboxes m ON m.id=p."mailboxId" JOIN emails e ON e.id=p."emailId"',
        ),
      );
    };
    try {
      await server.data('accounts:create', describeAccount(dovecot));
      let ended = startReading(server);
      const readAccount = async (): Promise<Json> => ((await server.data('accounts:list')) as Json[])[0];
      await waitFor(
        async () => ((await server.data('emails:list?pageSize=50&fields=id')) as Json[]).length >= 50,
        'the first fifty messages',
        60_000,
      );
      process.stdout.write(`fifty messages are listed after ${seconds().toFixed(2)} s\n`);
      await waitFor(async () => (await readAccount()).status === 'live', 'the first synchronisation', 3_600_000);
      await report(`first synchronisation of ${(await readAccount()).backfillDone} messages`, ended);
      expect(await isSame()).toBe('');

      const client = await openClient(dovecot);
      await client.mailboxOpen('INBOX');
      begun = performance.now();
      processor = server.processorTime;
      ended = startReading(server);
      await client.messageFlagsAdd(`1:${changes / 2}`, ['\\Flagged']);
      await client.messageDelete(`${changes / 2 + 1}:${changes * 0.75}`);
      await client.messageMove(`${changes}:${changes * 1.25 - 1}`, 'Folder 1');
      await client.logout();
      const flagged = () => Number(query('SELECT count(*) FROM emails WHERE starred')[0]![0]);
      const left = () => Number(query('SELECT count(*) FROM "mailPlacements"')[0]![0]);
      await waitFor(
        () => flagged() === changes / 2 && left() === count + 1 - changes / 4,
        () => `the changes: ${flagged()} flagged, ${left()} left`,
        300_000,
      );
      await report(`${changes} changes on the mail server`, ended);
      await waitFor(async () => (await isSame()) === '', 'both sides to be the same', 120_000);

      await server.kill('SIGTERM');
      const times = { reconcileMilliseconds: 1, tickMilliseconds: 1000, pollMilliseconds: 5000 };
      const since = new Date().toISOString();
      server = await startSyncedProcess(store, dovecot, times);
      begun = performance.now();
      processor = 0;
      ended = startReading(server);
      const late = () =>
        Number(
          query(
            `SELECT count(*) FROM mailboxes WHERE selectable AND "rawPath" IS NOT NULL AND ("reconciledAt" IS NULL OR "reconciledAt"<'${since}')`,
          )[0]![0],
        );
      await waitFor(
        () => late() === 0,
        () => `the comparison of ${late()} mailboxes`,
        600_000,
      );
      await report('a comparison of all messages', ended);
      expect(await isSame()).toBe('');
    } finally {
      await server.kill();
      await dovecot.stop();
      await store.remove();
    }
  },
  5_400_000,
);
