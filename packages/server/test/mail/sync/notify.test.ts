/**
 * NOTIFY: changes of mailboxes that are not selected. Regular synchronisations are so rare here that only a
 * notification can report a change in time.
 */
import type { ImapFlow } from 'imapflow';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { SyncTimes } from '../../../src/mail/sync/sync-services.ts';
import { hasDovecot } from '../../support/dovecot.ts';
import { sqlite } from '../../support/engines.ts';
import { type FaultyImap, startFaultyImap } from '../../support/faulty-imap.ts';
import type { Json } from '../../support/json.ts';
import { BodyGate, makeLargeMail } from '../../support/large-mail.ts';
import { makeMessage, SyncWorld, waitFor } from '../../support/sync-world.ts';

const userNames = Array.from({ length: 8 }, (_, index) => `user${index}`);
/** An interval that is longer than any test. */
const never = 3_600_000;

let world: SyncWorld;
let proxy: FaultyImap;
let client: ImapFlow;
let appended = 0;

/** Gives each test an account of its own, whose connections go through a proxy. */
function prepare(times: Partial<SyncTimes>): void {
  let users = 0;

  beforeAll(async () => {
    world = await SyncWorld.open(sqlite, { dovecot: { userNames }, times });
  });
  afterAll(() => world?.close());

  beforeEach(async () => {
    world.user = userNames[users]!;
    users += 1;
    proxy = await startFaultyImap({ upstreamPort: world.dovecot.imapPort, security: 'none' });
    client = await world.openClient();
    await client.mailboxCreate('Müller');
    await world.deliver('in the inbox');
  });
  afterEach(async () => {
    await client.logout();
    await world.server.data(`DELETE /api/accounts/${world.account}`);
    await proxy.stop();
  });
}

async function start(): Promise<void> {
  await world.createAccount(proxy.port);
  await world.untilLive(30_000);
  expect(await world.findEmail('in the inbox')).toBeDefined();
}

async function append(path: string, subject: string): Promise<void> {
  appended += 1;
  await client.append(path, makeMessage(subject, 'Hello', `<notify-${appended}@test>`));
}

const until = (subject: string, condition: (email: Json) => boolean = () => true): Promise<void> =>
  waitFor(async () => {
    const email = await world.findEmail(subject);
    return email !== undefined && condition(email);
  }, `"${subject}"`);

const countCommands = (name: string): number => proxy.commands.filter((each) => each.startsWith(name)).length;

describe.skipIf(!hasDovecot())('changes of mailboxes that are not selected', () => {
  prepare({ pollMilliseconds: never, retryMilliseconds: 50 });

  test('new messages, flags, moves and deletions in another mailbox are shown within seconds', async () => {
    await start();
    let fastest = Number.POSITIVE_INFINITY;
    for (const subject of ['first', 'second']) {
      const begun = performance.now();
      await append('Müller', subject);
      await until(subject, ({ folder }) => folder === 'Müller');
      fastest = Math.min(fastest, performance.now() - begun);
    }
    expect(fastest).toBeLessThan(1500);
    await client.mailboxOpen('Müller');
    await client.messageFlagsAdd('1', ['\\Seen', '\\Flagged'], { uid: true });
    await until('first', ({ read, starred }) => read && starred);
    await client.messageFlagsRemove('1', ['\\Seen'], { uid: true });
    await until('first', ({ read, starred }) => !read && starred);
    const { id } = (await world.findEmail('first'))!;
    await client.messageMove('1', 'Archive', { uid: true });
    await until('first', ({ folder }) => folder === 'archive');
    await client.messageDelete('2', { uid: true });
    await waitFor(async () => (await world.findEmail('second')) === undefined, 'the deletion');
    expect(await world.findEmail('first')).toMatchObject({ id, read: false, starred: true });
    expect(proxy.connections.size).toBe(1);
    await world.untilSame(30_000);
  });

  test('large messages that are moved before their bodies are downloaded get their bodies', async () => {
    const subjects = ['out of the inbox', 'into the inbox', 'elsewhere', 'not even there'];
    // The bodies are held back in the mailboxes where the messages are first, and that of the last one also in its
    // target. All UIDs are different.
    const gate = new BodyGate(proxy, [2, 11, 12, 13, 23]);
    for (const [path, count] of [
      ['Archive', 10],
      ['Müller', 20],
    ] as const) {
      for (let number = 0; number < count; number += 1) await append(path, 'deleted before');
      await client.mailboxOpen(path);
      await client.messageDelete('1:*');
    }
    await client.append('INBOX', makeLargeMail(subjects[0]!));
    await client.append('Archive', makeLargeMail(subjects[1]!));
    await client.append('Archive', makeLargeMail(subjects[2]!));
    await client.append('Archive', makeLargeMail(subjects[3]!));
    await world.createAccount(proxy.port);
    await world.untilLive(30_000);
    const ids = new Map<string, number>((await world.listEmails()).map(({ subject, id }) => [subject, id]));
    for (const [from, subject, to, folder] of [
      ['INBOX', subjects[0]!, 'Müller', 'Müller'],
      ['Archive', subjects[1]!, 'INBOX', 'inbox'],
      ['Archive', subjects[2]!, 'Müller', 'Müller'],
      ['Archive', subjects[3]!, 'Müller', 'Müller'],
    ] as const) {
      await client.mailboxOpen(from);
      const found = (await client.search({ subject }, { uid: true })) as number[];
      await client.messageMove(found, to, { uid: true });
      await until(subject, (email) => email.folder === folder);
    }
    gate.open();
    for (const subject of subjects) await until(subject, ({ bodyState }) => bodyState === 'complete');
    await world.untilSame(30_000);
    const after = await world.listEmails();
    expect(new Map(after.map(({ subject, id }) => [subject, id]))).toEqual(ids);
  });

  test('new, renamed and deleted mailboxes, and messages in new ones, are shown over one connection', async () => {
    await start();
    const list = async (): Promise<Map<string, number>> => {
      const rows: Json[] = await world.server.data(`GET /api/mailboxes:list?filter={"accountId":${world.account}}`);
      return new Map(rows.map(({ path, id }) => [path, id]));
    };
    await client.mailboxCreate('New');
    await waitFor(async () => (await list()).has('New'), 'the new mailbox');
    const mailbox = (await list()).get('New');
    await append('New', 'in a new folder');
    await until('in a new folder');
    const { id } = (await world.findEmail('in a new folder'))!;
    await client.mailboxRename('New', 'Renamed');
    await waitFor(async () => (await list()).has('Renamed'), 'the new name');
    expect((await list()).get('Renamed')).toBe(mailbox);
    await until('in a new folder', ({ folder }) => folder === 'Renamed');
    expect((await world.findEmail('in a new folder'))!.id).toBe(id);
    // The mailbox has this name for only a moment.
    await client.mailboxRename('Renamed', 'Passing');
    await append('Passing', 'in passing');
    await client.mailboxRename('Passing', 'Last');
    await until('in passing', ({ folder }) => folder === 'Last');
    expect((await list()).get('Last')).toBe(mailbox);
    await client.mailboxDelete('Last');
    await waitFor(async () => !(await list()).has('Last'), 'the deletion of the mailbox');
    expect(await world.findEmail('in a new folder')).toBeUndefined();
    expect(proxy.connections.size).toBe(1);
    expect(await world.readAccount()).toMatchObject({ status: 'live', problem: null });
  });

  test('after an overflow, all mailboxes are read, and the inbox is still reported', async () => {
    await start();
    // The server has already stopped reporting changes before it says so.
    proxy.rewrite = (line) => (/^\* STATUS "?M/.test(line) && !proxy.commands.at(-1)?.startsWith('LIST') ? null : line);
    await append('Müller', 'unreported');
    for (const connection of proxy.connections) connection.send('* OK [NOTIFICATIONOVERFLOW] Too many changes');
    await until('unreported');
    await waitFor(() => countCommands('NOTIFY') === 2, 'a second NOTIFY');
    expect(proxy.commands.findLast((each) => each.startsWith('NOTIFY'))).toBe(
      'NOTIFY SET (SELECTED-DELAYED (MessageNew MessageExpunge FlagChange))',
    );
    await world.deliver('after the overflow');
    await until('after the overflow');
    expect(proxy.connections.size).toBe(1);
  });

  test('a server that constantly reports changes is synchronised less and less often', async () => {
    await start();
    const before = countCommands('LIST');
    const end = performance.now() + 2000;
    while (performance.now() < end) {
      for (const connection of proxy.connections) connection.send('* STATUS Archive (MESSAGES 0)');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(countCommands('LIST') - before).toBeGreaterThan(0);
    // Pauses of 0.5, 1 and 2 seconds.
    expect(countCommands('LIST') - before).toBeLessThan(6);
  });
});

describe.skipIf(!hasDovecot())('notifications that do not come', () => {
  prepare({ pollMilliseconds: 1000, retryMilliseconds: 50 });

  test.each([
    ['refuses NOTIFY', '{tag} BAD Unknown command'],
    ['accepts NOTIFY and reports nothing', '{tag} OK NOTIFY completed'],
  ])('a server that %s is synchronised regularly, over the same connection', async (_, reply) => {
    proxy.script = ({ name }) => (name === 'NOTIFY' ? [reply] : undefined);
    await start();
    await append('Müller', 'by a look');
    await until('by a look');
    await world.deliver('by IDLE');
    await until('by IDLE');
    expect(countCommands('NOTIFY')).toBe(1);
    expect(proxy.connections.size).toBe(1);
    expect(await world.readAccount()).toMatchObject({ status: 'live', problem: null });
  });
});
