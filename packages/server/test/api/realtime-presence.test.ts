import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines, type Store, shareStore } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import { TestServer } from '../support/scenario.ts';
import { SocketClient } from '../support/socket-client.ts';

/** Ann and Bob share an account, Mallory has none. Bob may use another server on the same store. */
describeEngines('presence', (engine) => {
  let store: Store;
  let server: TestServer;
  let second: TestServer;
  const clients: SocketClient[] = [];
  const connect = async (node: TestServer, as: string): Promise<SocketClient> => {
    const client = await SocketClient.as(node, server.tokens.get(as));
    clients.push(client);
    return client;
  };
  const announce = (client: SocketClient, id: string, activity?: string): void =>
    client.send({ type: 'present', id, resource: 'conversations', tk: 1, ...(activity && { activity }) });
  const lastPresent = (client: SocketClient, id: string): Json =>
    client.heard.filter((message) => message.type === 'presence' && message.id === id).at(-1)?.present;
  const expectPresent = (client: SocketClient, id: string, present: readonly object[]): Promise<void> =>
    expect.poll(() => lastPresent(client, id), { timeout: 10_000 }).toMatchObject(present) as never;

  beforeAll(async () => {
    store = await engine.store();
    const shared = shareStore(engine, store);
    server = await startMailAccountServer(shared);
    second = engine.name === 'sqlite' ? server : await TestServer.start(shared, { signIn: false });
    const body = { email: 'mallory@example.com', password: 'correct horse', roles: ['editor'] };
    await server.data('POST /api/users:create', { body });
    server.tokens.set('mallory', await server.signIn(body.email, body.password));
    await server.data('POST /api/users:update?filterByTk=3', { body: { nickname: 'Bob' } });
    await server.data('PATCH /api/accounts/1', { body: { members: [2, 3] } });
    await upload(server, 'ann', 1, makeRawMail({ subject: 'Refund' }));
  });
  afterAll(async () => {
    for (const client of clients) client.socket.terminate();
    if (second !== server) await second.stop();
    await server.stop();
    await store.remove();
  });

  test('shows who else has a conversation open, and what they do, on every server', { timeout: 60_000 }, async () => {
    const ann = await connect(server, 'ann');
    const bob = await connect(second, 'bob');
    announce(ann, 'p');
    await expectPresent(ann, 'p', []);
    announce(bob, 'q');
    await expectPresent(bob, 'q', [{ userId: 2, name: 'ann@example.com', activity: 'viewing' }]);
    await expectPresent(ann, 'p', [{ userId: 3, name: 'Bob', activity: 'viewing' }]);
    announce(bob, 'q', 'editing');
    await expectPresent(ann, 'p', [{ userId: 3, activity: 'editing' }]);
    bob.send({ type: 'unsubscribe', id: 'q' });
    await expectPresent(ann, 'p', []);
    announce(bob, 'r', 'editing');
    await expectPresent(ann, 'p', [{ userId: 3, activity: 'editing' }]);
    await bob.close();
    await expectPresent(ann, 'p', []);
    const events = await server.data('GET /api/changes:list?pageSize=100');
    expect(events.filter(({ resource }: Json) => resource === 'realtimePresence')).toEqual([]);
  });

  test('is shown to nobody who may not see the conversation', { timeout: 60_000 }, async () => {
    for (const as of ['mallory', 'admin']) {
      const client = await connect(server, as);
      announce(client, 'm');
      const reply = await client.next(({ id }) => id === 'm');
      expect(reply).toMatchObject({ type: 'error', code: expect.stringMatching(/NO_PERMISSION|RECORD_UNKNOWN/) });
    }
    const [ann, bob] = [await connect(server, 'ann'), await connect(second, 'bob')];
    announce(ann, 'p');
    announce(bob, 'q');
    await expectPresent(bob, 'q', [{ userId: 2 }]);
    await server.data('PATCH /api/accounts/1', { body: { members: [2] } });
    const before = bob.heard.length;
    announce(ann, 'p', 'editing');
    await bob.next(({ type, id }) => type === 'error' && id === 'q');
    expect(bob.heard.slice(before).filter(({ type }) => type === 'presence')).toEqual([]);
    await expectPresent(ann, 'p', []);
    expect(await server.call('GET /api/realtimePresence:list')).toMatchObject({ status: 404 });
  });

  test('refuses values that name no view of a record', async () => {
    const ann = await connect(server, 'ann');
    const refusals: readonly [string, object][] = [
      ['BODY_INVALID', { resource: 'conversations', tk: 1, activity: 'sleeping' }],
      ['PARAMETER_INVALID', { resource: 'conversations', tk: [1, 2] }],
      ['NO_PERMISSION', { resource: 'nothing', tk: 1 }],
      ['NO_PERMISSION', { resource: 'accountMembers', tk: 1 }],
      ['NO_PERMISSION', { resource: 'conversations', tk: 99 }],
    ];
    for (const [index, [code, message]] of refusals.entries()) {
      ann.send({ type: 'present', id: `x${index}`, ...message });
      expect(await ann.next(({ id }) => id === `x${index}`)).toMatchObject({ type: 'error', code });
    }
    for (let index = 0; index <= 20; index++) announce(ann, `v${index}`);
    expect(await ann.next(({ type, id }) => type === 'error' && id === 'v20')).toMatchObject({
      code: 'LIMIT_EXCEEDED',
    });
  });
});
