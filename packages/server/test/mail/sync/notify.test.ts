/** NOTIFY: changes of mailboxes that are not selected. The polls are so rare that only a notification can bring a change in time. */
import type { ImapFlow } from 'imapflow';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { SyncTimes } from '../../../src/mail/sync/sync-services.ts';
import { hasDovecot } from '../../support/dovecot.ts';
import { sqlite } from '../../support/engines.ts';
import { type FaultyImap, startFaultyImap } from '../../support/faulty-imap.ts';
import type { Json } from '../../support/json.ts';
import { makeMessage, SyncWorld, waitFor } from '../../support/sync-world.ts';

const userNames = Array.from({ length: 8 }, (_, index) => `user${index}`);
/** A time after which no test waits any more. */
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

const notifyCommands = (): string[] => proxy.commands.filter((each) => each.startsWith('NOTIFY'));

describe.skipIf(!hasDovecot())('changes of mailboxes that are not selected', () => {
  prepare({ pollMilliseconds: never, notifiedPollMilliseconds: never, retryMilliseconds: 50 });

  test('new messages, flags, moves and deletions in another mailbox are shown without a poll', async () => {
    await start();
    await append('Müller', 'first');
    await until('first', ({ folder }) => folder === 'Müller');
    await append('Müller', 'second');
    await until('second');
    await client.mailboxOpen('Müller');
    await client.messageFlagsAdd('1', ['\\Seen', '\\Flagged'], { uid: true });
    await until('first', ({ read, starred }) => read && starred);
    await client.messageFlagsRemove('1', ['\\Seen'], { uid: true });
    await until('first', ({ read, starred }) => !read && starred);
    const { id } = (await world.findEmail('first'))!;
    await client.messageMove('1', 'INBOX', { uid: true });
    await until('first', ({ folder }) => folder === 'inbox');
    await client.messageDelete('2', { uid: true });
    await waitFor(async () => (await world.findEmail('second')) === undefined, 'the deletion');
    expect(await world.findEmail('first')).toMatchObject({ id, read: false, starred: true });
    expect(proxy.connections.size).toBe(1);
    await world.untilSame(30_000);
  });

  test('after the connection was lost, the next one reports changes again', async () => {
    await start();
    for (const connection of proxy.connections) connection.drop();
    await waitFor(() => notifyCommands().length === 2, 'a second NOTIFY');
    await append('Müller', 'after the loss');
    await until('after the loss');
  });

  test('new mailboxes, messages in them, new names and deletions are shown without a poll, on one connection', async () => {
    await start();
    const list = async (): Promise<string[]> => {
      const rows: Json[] = await world.server.data(`GET /api/mailboxes:list?filter={"accountId":${world.account}}`);
      return rows.map(({ path }) => path);
    };
    await client.mailboxCreate('New');
    await waitFor(async () => (await list()).includes('New'), 'the new mailbox');
    await append('New', 'in a new folder');
    await until('in a new folder');
    await client.mailboxRename('New', 'Renamed');
    await waitFor(async () => (await list()).includes('Renamed'), 'the new name');
    await client.mailboxDelete('Renamed');
    await waitFor(async () => !(await list()).includes('Renamed'), 'the deletion of the mailbox');
    expect(await world.findEmail('in a new folder')).toBeUndefined();
    expect(proxy.connections.size).toBe(1);
  });

  test('a server that refuses NOTIFY is used with IDLE and polls', async () => {
    proxy.script = ({ name, tag }) =>
      name === 'NOTIFY' ? [`${tag} NO [BADEVENT (MessageNew)] Not supported`] : undefined;
    await start();
    await world.deliver('by IDLE');
    await until('by IDLE');
    await append('Müller', 'by a poll');
    await world.server.data(`POST /api/accounts:sync?filterByTk=${world.account}`);
    await until('by a poll');
    expect(notifyCommands()).toHaveLength(1);
    expect(await world.readAccount()).toMatchObject({ status: 'live', problem: null });
  });

  test('a server that does not know NOTIFY after all keeps its connection', async () => {
    proxy.script = ({ name, tag }) => (name === 'NOTIFY' ? [`${tag} BAD Unknown command`] : undefined);
    await start();
    await world.deliver('after the refusal');
    await until('after the refusal');
    expect(proxy.connections.size).toBe(1);
    expect(notifyCommands()).toHaveLength(1);
  });

  test('after an overflow, all mailboxes are looked at, and the inbox is still reported', async () => {
    await start();
    // The server has stopped to report changes before it says so.
    proxy.rewrite = (line) => (/^\* STATUS "?M/.test(line) && !proxy.commands.at(-1)?.startsWith('LIST') ? null : line);
    await append('Müller', 'unreported');
    for (const connection of proxy.connections) connection.send('* OK [NOTIFICATIONOVERFLOW] Too many changes');
    await until('unreported');
    await waitFor(() => notifyCommands().length === 2, 'a second NOTIFY');
    expect(notifyCommands()[1]).toBe('NOTIFY SET (SELECTED-DELAYED (MessageNew MessageExpunge FlagChange))');
    await world.deliver('after the overflow');
    await until('after the overflow');
    expect(proxy.connections.size).toBe(1);
  });
});

describe.skipIf(!hasDovecot())('notifications that do not come', () => {
  // Only a server that has not reported anything is polled.
  prepare({
    pollMilliseconds: 1000,
    notifiedPollMilliseconds: never,
    probeMilliseconds: 500,
    probeTimeoutMilliseconds: 2000,
    commandMilliseconds: 5000,
    // The connection may become deaf while flags are compared.
    fetchMilliseconds: 5000,
  });

  test('a server that accepts NOTIFY and stays silent is polled', async () => {
    proxy.script = ({ name, tag }) => (name === 'NOTIFY' ? [`${tag} OK NOTIFY completed`] : undefined);
    await start();
    await append('Müller', 'by a poll');
    await until('by a poll');
    await world.deliver('by IDLE');
    await until('by IDLE');
    await append('Müller', 'by a later poll');
    await until('by a later poll');
  });

  test('a connection that has become deaf after notifications is replaced', async () => {
    await start();
    await append('Müller', 'reported');
    await until('reported');
    for (const connection of proxy.connections) connection.becomeDeaf();
    await append('Müller', 'while deaf');
    await until('while deaf');
    await waitFor(() => notifyCommands().length >= 2, 'a second NOTIFY');
  });
});
