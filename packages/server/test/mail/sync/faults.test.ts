import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { hasDovecot } from '../../support/dovecot.ts';
import { sqlite } from '../../support/engines.ts';
import { type FaultyImap, startFaultyImap } from '../../support/faulty-imap.ts';
import type { Json } from '../../support/json.ts';
import { SyncWorld, waitFor } from '../../support/sync-world.ts';

const userNames = Array.from({ length: 13 }, (_, index) => `user${index}`);
const times = {
  retryMilliseconds: 20,
  probeMilliseconds: 300,
  probeTimeoutMilliseconds: 300,
  commandMilliseconds: 2000,
};

describe.skipIf(!hasDovecot())('a mail server with faults', () => {
  let world: SyncWorld;
  let proxy: FaultyImap;
  let users = 0;

  beforeAll(async () => {
    world = await SyncWorld.open(sqlite, { dovecot: { userNames }, times });
  });
  afterAll(() => world?.close());

  /** Every test has a user of its own. */
  beforeEach(async () => {
    world.user = userNames[users]!;
    users += 1;
    for (let number = 1; number <= 3; number += 1) await world.deliver(`message ${number}`);
    proxy = await startFaultyImap({ upstreamPort: world.dovecot.imapPort, security: 'none' });
  });
  afterEach(async () => {
    await world.server.data(`DELETE /api/accounts/${world.account}`);
    await proxy.stop();
  });

  const start = async (): Promise<void> => {
    await world.createAccount(proxy.port);
    await world.untilLive();
  };
  const listProblems = (): Promise<Json[]> =>
    world.server.data(`GET /api/mailProblems:list?sort=-id&filter={"accountId":${world.account}}`) as never;

  test('a dropped connection is opened again, and no message is missed', async () => {
    await start();
    for (const connection of proxy.connections) connection.drop();
    await world.deliver('after the drop');
    await waitFor(async () => (await world.findEmail('after the drop')) !== undefined, 'the message after the drop');
    await world.untilSame();
    expect(await listProblems()).toEqual([]);
  });

  test('a message that is moved to another mailbox and back during a synchronisation keeps its id', async () => {
    const client = await world.openClient();
    await client.mailboxCreate('Shuttle');
    await start();
    const { id } = (await world.findEmail('message 2'))!;
    const user = world.dovecot.users[world.user]!.address;
    let isMovedBack = false;
    proxy.script = ({ name, args }) => {
      if (name === 'SELECT' && args.includes('Shuttle') && !isMovedBack) {
        // The inbox was already read, without the message.
        world.dovecot.doveadmSync('move', '-u', user, 'INBOX', 'mailbox', 'Shuttle', 'all');
        isMovedBack = true;
      }
      return undefined;
    };
    await client.mailboxOpen('INBOX');
    await client.messageMove('2', 'Shuttle');
    await waitFor(() => isMovedBack, 'the look at the other mailbox');
    await world.untilSame();
    expect((await world.findEmail('message 2'))!.id).toBe(id);
  });

  test('a connection that no longer replies is replaced', async () => {
    await start();
    for (const connection of proxy.connections) connection.becomeDeaf();
    await world.deliver('while deaf');
    await waitFor(async () => (await world.findEmail('while deaf')) !== undefined, 'the message');
    await world.untilSame();
  });

  test('a server that limits requests is not used for a while, and the account shows the reason', async () => {
    let refusals = 3;
    proxy.script = ({ name }) => {
      if (name !== 'LIST' || refusals === 0) return undefined;
      refusals -= 1;
      return ['{tag} NO [LIMIT] Too many requests, slow down'];
    };
    await world.createAccount(proxy.port);
    await waitFor(async () => (await world.readAccount()).status === 'backoff', 'the pause');
    const { problem, retryAt } = await world.readAccount();
    expect(problem).toMatchObject({ code: expect.any(String), cure: expect.any(String), at: expect.any(String) });
    expect(retryAt).not.toBeNull();
    await world.untilLive();
    expect((await world.readAccount()).problem).toBeNull();
    expect((await listProblems()).length).toBeGreaterThan(0);
    await world.untilSame();
  });

  test('messages that the server reports as gone, but still lists, stay', async () => {
    await start();
    const before = await world.listEmails();
    const [connection] = proxy.connections;
    connection!.send('* VANISHED 1:3');
    await world.deliver('after the lie');
    await waitFor(async () => (await world.findEmail('after the lie')) !== undefined, 'the message after the lie');
    // The same in the reply to a request for changes.
    proxy.script = ({ name, args, connection: each }) => {
      if (name === 'UID FETCH' && args.includes('CHANGEDSINCE')) each.send('* VANISHED (EARLIER) 1:2');
      return undefined;
    };
    await world.deliver('after another lie');
    await waitFor(async () => (await world.findEmail('after another lie')) !== undefined, 'the next message');
    await waitFor(async () => (await listProblems()).some(({ code }) => code === 'protocol'), 'the report');
    for (const { id, subject } of before) expect((await world.findEmail(subject))!.id).toBe(id);
  });

  test('if a server accepts flags but does not store them, the flags of the server are shown in the end', async () => {
    await start();
    proxy.script = ({ name }) => (name === 'UID STORE' ? ['{tag} OK Store completed'] : undefined);
    const email = await world.findEmail('message 1');
    await world.server.data(`PATCH /api/emails/${email!.id}`, { body: { starred: true } });
    expect((await world.findEmail('message 1'))!.starred).toBe(true);
    await waitFor(async () => (await listProblems()).some(({ code }) => code === 'flagsIgnored'), 'the report');
    await waitFor(async () => (await world.findEmail('message 1'))!.starred === false, 'the flag of the server');
    await world.untilSame();
  });

  test('an interrupted move is neither lost nor made twice', async () => {
    await start();
    // The server moves the message, but its reply never arrives.
    proxy.script = ({ name, count, connection }) => {
      if (name === 'UID MOVE' && count === 1) setTimeout(() => connection.drop(), 50);
      return undefined;
    };
    proxy.rewrite = (line) => (/COPYUID|OK Move/i.test(line) && !/^\* CAPABILITY/.test(line) ? null : line);
    const email = await world.findEmail('message 2');
    await world.server.data('POST /api/emails:move', { body: { ids: [email!.id], mailbox: 'archive' } });
    await waitFor(() => proxy.commands.some((each) => each.startsWith('UID MOVE')), 'the move');
    await new Promise((resolve) => setTimeout(resolve, 100));
    proxy.rewrite = (line) => line;
    await world.untilSame();
    expect(await world.findEmail('message 2')).toMatchObject({ id: email!.id, folder: 'archive' });
  });

  test('if one of several messages of a move is gone, the others are moved and keep their ids', async () => {
    await start();
    const before = await world.listEmails();
    const refusal = '{tag} NO [EXPUNGEISSUED] Some of the requested messages no longer exist (0.001 + 0.000 secs).';
    proxy.script = ({ name, count }) => (name === 'UID MOVE' && count === 1 ? [refusal] : undefined);
    await world.server.data('POST /api/emails:move', { body: { ids: before.map(({ id }) => id), mailbox: 'archive' } });
    await waitFor(() => proxy.commands.some((each) => each.startsWith('UID MOVE')), 'the move');
    await world.untilSame();
    for (const { id, subject } of before)
      expect(await world.findEmail(subject)).toMatchObject({ id, folder: 'archive' });
  });

  test('an interrupted append is not made twice', async () => {
    await start();
    proxy.rewrite = (line) => (/APPENDUID/i.test(line) ? null : line);
    const body = { account: world.account, to: ['bob@example.test'], subject: 'Once', text: 'Once' };
    await world.server.data('POST /api/emails:saveDraft', { body });
    await waitFor(() => proxy.commands.some((each) => each.startsWith('APPEND')), 'the append');
    await new Promise((resolve) => setTimeout(resolve, 200));
    for (const connection of proxy.connections) connection.drop();
    proxy.rewrite = (line) => line;
    await world.untilSame();
    const client = await world.openClient();
    expect(await client.status('Drafts', { messages: true })).toMatchObject({ messages: 1 });
  });

  test('a full mailbox is reported, and the change is sent when there is room', async () => {
    await start();
    let isFull = true;
    proxy.script = ({ name }) =>
      name === 'APPEND' && isFull ? ['{tag} NO [OVERQUOTA] Quota exceeded (mailbox for user is full)'] : undefined;
    const body = { account: world.account, to: ['bob@example.test'], subject: 'Too much', text: 'Text' };
    await world.server.data('POST /api/emails:saveDraft', { body });
    await waitFor(async () => (await listProblems()).some(({ code }) => code === 'overQuota'), 'the report', 20_000);
    expect((await world.readAccount()).status).toBe('live');
    const readWaiting = (): Promise<Json> => world.server.data(`GET /api/accounts:waiting?filterByTk=${world.account}`);
    expect((await readWaiting()).changes).toMatchObject({ count: 1, failing: 1, oldestAt: expect.any(String) });
    isFull = false;
    await world.server.data(`POST /api/accounts:sync?filterByTk=${world.account}`);
    await world.untilSame(20_000);
    expect((await readWaiting()).changes).toEqual({ count: 0, failing: 0, oldestAt: null });
  });

  test('a wrong password stops the account until it is changed', async () => {
    await world.createAccount(proxy.port, { password: 'wrong' });
    await waitFor(async () => (await world.readAccount()).status === 'authError', 'the refusal');
    expect(await world.readAccount()).toMatchObject({ problem: { code: 'wrongPassword' }, retryAt: null });
    const logins = (): number => proxy.commands.filter((each) => /^(LOGIN|AUTHENTICATE)/.test(each)).length;
    const before = logins();
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(logins()).toBe(before);
    const { password } = world.dovecot.users[world.user]!;
    await world.server.data(`PATCH /api/accounts/${world.account}`, { body: { password } });
    await world.untilLive();
    await world.untilSame();
  });
});
