/** Web Push: which messages are sent to the browsers of which users, and when nothing is sent. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { describeEngines, type Store, shareStore } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer } from '../support/mail-account-server.ts';
import { PushService } from '../support/push-service.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import { type Reply, TestServer } from '../support/scenario.ts';

/** Ann (2) owns the account 1, and Bob (3) is a member. */
describeEngines('push messages', (engine) => {
  let store: Store;
  let server: TestServer;
  /** Another server on the same store; on SQLite, the same server. */
  let second: TestServer;
  const service = new PushService();
  let lastMail = 0;

  const push = () => server.running.applications.main.mail.push;
  const secondPush = () => second.running.applications.main.mail.push;
  const sql = async (text: string): Promise<unknown[][]> => {
    const { database } = server.running.applications.main;
    return [...(await database.write((transaction) => transaction.run({ text, values: [] })))] as unknown[][];
  };
  const count = async (table: string): Promise<number> => Number((await sql(`SELECT count(*) FROM "${table}"`))[0]![0]);
  const makeDue = () => sql(`UPDATE "mailPushMessages" SET "notBefore"='2000-01-01T00:00:00.000Z'`);
  const subscribe = (as: string, browser: string, more: object = {}): Promise<Json> =>
    server.data('POST /api/mailPushSubscriptions:subscribe', { as, body: { ...service.subscribe(browser), ...more } });
  const refuse = (as: string, body: object): Promise<Reply> =>
    server.call('POST /api/mailPushSubscriptions:subscribe', { as, body });
  const list = (as: string): Promise<Json[]> => server.data('GET /api/mailPushSubscriptions?sort=id', { as });
  /** A note of Ann that mentions Bob. */
  const mentionBob = (): Promise<Json> =>
    server.data('POST /api/conversationNotes', {
      as: 'ann',
      body: { conversationId: 1, text: 'Please look', mentions: [3] },
    });
  /** Stores a message as one that has just arrived in the inbox. */
  const arrive = async (subject: string, more: { inReplyTo?: string } = {}): Promise<number> => {
    lastMail += 1;
    const raw = Buffer.from(
      makeRawMail({ subject, from: 'Cora Lind <cora@example.net>', id: `push-${lastMail}@1`, ...more }),
    );
    const mail = server.running.applications.main.mail;
    const [mailbox] = await sql(`SELECT id FROM mailboxes WHERE "accountId"=1 AND role='inbox'`);
    const flags = { read: false, starred: false, answered: false, draft: false };
    const [result] = await mail.ingest.store(
      { id: 1, address: 'shop@example.com' },
      [{ raw, mailbox: { id: Number(mailbox![0]), folder: 'inbox' }, receivedAt: null, flags, isNew: true }] as never,
      { actor: null, requestId: null },
    );
    return result!.emailId!;
  };
  /** Sends the waiting messages, and returns those that the push service has received. */
  const sent = async (): Promise<Json[]> => {
    await push().runNow();
    return service.received.splice(0).map(({ browser, payload }) => [browser, payload]);
  };

  beforeAll(async () => {
    await service.start();
    store = await engine.store();
    const shared = shareStore(engine, store);
    const env = { MAIL_PUSH_ALLOW: '127.0.0.1', OUTBOUND_ALLOW: '10.0.0.0/8' };
    server = await startMailAccountServer(shared, env);
    second = engine.name === 'sqlite' ? server : await TestServer.start(shared, { env, signIn: false });
    await server.data('PATCH /api/accounts/1', { body: { members: [2, 3] } });
    await server.data('POST /api/mailboxes', { as: 'ann', body: { accountId: 1, path: 'INBOX', role: 'inbox' } });
    await arrive('Broken turntable');
  });
  afterAll(async () => {
    if (second !== server) await second.stop();
    await server.stop();
    await store.remove();
    await service.stop();
  });
  beforeEach(async () => {
    // The second server looks for messages every half minute, and would send those that a test holds back on the first.
    if (second !== server) await secondPush().end();
    await sql('DELETE FROM "mailPushMessages"');
    await sql('DELETE FROM "mailPushSubscriptions"');
    service.received.splice(0);
    service.status.clear();
    service.requests = 0;
  });

  test('the key pair is created once, and stays', async () => {
    const keys = await Promise.all(
      Array.from({ length: 4 }, () => server.data('GET /api/mailPushSubscriptions:key', { as: 'ann' })),
    );
    expect(new Set(keys.map(({ publicKey }: Json) => publicKey)).size).toBe(1);
    expect(Buffer.from(keys[0].publicKey, 'base64url')).toHaveLength(65);
    expect(await count('mailPushKeys')).toBe(1);
    expect(JSON.stringify(await sql('SELECT secret FROM "mailPushKeys"'))).not.toContain(keys[0].publicKey);
  });

  test('a mention reaches all browsers of its user, encrypted and signed, and nobody else', async () => {
    for (const browser of ['bob-1', 'bob-2']) await subscribe('bob', browser, { name: 'Laptop' });
    await subscribe('ann', 'ann-1');
    await mentionBob();
    await push().runNow();
    expect(service.received.map(({ browser }) => browser).sort()).toEqual(['bob-1', 'bob-2']);
    const [message] = service.received;
    const { publicKey } = await server.data('GET /api/mailPushSubscriptions:key', { as: 'bob' });
    expect(message).toMatchObject({
      publicKey,
      payload: { application: 'main', kind: 'mention', conversation: 1, subject: 'Broken turntable', from: '' },
      claims: {
        aud: new URL(service.subscribe('other').endpoint).origin,
        sub: expect.stringMatching(/^(mailto|https):/),
      },
    });
    expect(message!.ttl).toBeGreaterThan(3600);
    expect(message!.bytes.toString('latin1')).not.toContain('turntable');
    expect(await count('mailPushMessages')).toBe(0);
  });

  test('one of several servers sends each message, with the same key', async () => {
    await subscribe('bob', 'bob-1');
    const servers = [server, second].map(({ running }) => running.applications.main.mail);
    secondPush().begin();
    for (let index = 0; index < 5; index += 1) await mentionBob();
    await Promise.all(servers.map((mail) => mail.push.runNow()));
    await expect.poll(() => count('mailPushMessages')).toBe(0);
    expect(service.requests).toBe(5);
    const keys = await Promise.all(servers.map((mail) => mail.loadPushKeys()));
    expect(keys[1]).toEqual(keys[0]);
  });

  test('new mail in an inbox reaches members who want it, unless it was read or moved', async () => {
    await subscribe('ann', 'ann-1', { newMail: true });
    await subscribe('bob', 'bob-1', { newMail: false });
    await arrive('Second question');
    expect(await sent()).toMatchObject([
      ['ann-1', { kind: 'newMail', subject: 'Second question', from: 'Cora Lind', conversation: expect.any(Number) }],
    ]);
    await push().end();
    const read = await arrive('Read at once');
    await server.data(`PATCH /api/emails/${read}`, { as: 'ann', body: { read: true } });
    const moved = await arrive('Moved at once');
    await sql(`UPDATE emails SET folder='archive' WHERE id=${moved}`);
    push().begin();
    expect(await sent()).toEqual([]);
    const isTrue = engine.name === 'sqlite' ? '1' : 'true';
    await sql(
      `UPDATE conversations SET muted=${isTrue} WHERE id=(SELECT "conversationId" FROM emails WHERE id=${moved})`,
    );
    await arrive('Re: Moved at once', { inReplyTo: `push-${lastMail}@1` });
    expect(await sent()).toEqual([]);
  });

  test('nothing is sent to users who may not see the conversation any more, or have read the notification', async () => {
    await subscribe('bob', 'bob-1', { newMail: true });
    await push().end();
    await mentionBob();
    await server.data('PATCH /api/accounts/1', { body: { members: [2] } });
    push().begin();
    expect(await sent()).toEqual([]);
    expect(await count('mailPushMessages')).toBe(0);
    await server.data('PATCH /api/accounts/1', { body: { members: [2, 3] } });
    await push().end();
    await mentionBob();
    await server.data('POST /api/mailNotifications:update?filter={"read":false}', { as: 'bob', body: { read: true } });
    push().begin();
    expect(await sent()).toEqual([]);
    expect([await count('mailPushMessages'), await count('mailPushSubscriptions')]).toEqual([0, 1]);
  });

  test('a subscription ends with the login, and nothing is sent to suspended users', async () => {
    server.tokens.set('bob2', await server.signIn('bob@example.com', 'correct horse'));
    await subscribe('bob2', 'bob-2');
    await subscribe('bob', 'bob-1');
    await server.data('POST /api/auth:signOut', { as: 'bob2' });
    await mentionBob();
    expect((await sent()).map(([browser]) => browser)).toEqual(['bob-1']);
    expect((await list('bob')).length).toBe(1);
    await push().end();
    await mentionBob();
    await server.data('POST /api/users:update?filterByTk=3', { body: { status: 'suspended' } });
    push().begin();
    expect(await sent()).toEqual([]);
    await server.data('POST /api/users:update?filterByTk=3', { body: { status: 'active' } });
    server.tokens.set('bob', await server.signIn('bob@example.com', 'correct horse'));
    expect(await list('bob')).toEqual([]);
  });

  test.each([404, 410])('the reply %s of a push service ends the subscription', async (status) => {
    await subscribe('bob', 'bob-1');
    service.status.set('bob-1', status);
    await mentionBob();
    expect(await sent()).toEqual([]);
    expect([await list('bob'), await count('mailPushMessages')]).toEqual([[], 0]);
  });

  test('failed attempts are retried for a limited time, and other refusals are not retried', async () => {
    await subscribe('bob', 'bob-1');
    service.status.set('bob-1', 503);
    await mentionBob();
    for (let index = 1; index <= 7; index += 1) {
      await push().runNow();
      expect(service.requests).toBe(Math.min(index, 5));
      await push().runNow();
      expect(service.requests, 'before the next attempt is due').toBe(Math.min(index, 5));
      await makeDue();
    }
    expect([await count('mailPushMessages'), await count('mailPushSubscriptions')]).toEqual([0, 1]);
    service.status.set('bob-1', 413);
    await mentionBob();
    expect(await sent()).toEqual([]);
    expect([await count('mailPushMessages'), await count('mailPushSubscriptions')]).toEqual([0, 1]);
    service.status.set('bob-1', 429);
    await mentionBob();
    await push().runNow();
    service.status.clear();
    await makeDue();
    expect(await sent()).toHaveLength(1);
  });

  test('a browser is subscribed once, changed and unsubscribed; its endpoint and keys are never shown', async () => {
    const browser = service.subscribe('bob-1');
    const body = { ...browser, name: 'Laptop' };
    const first = await server.data('POST /api/mailPushSubscriptions:subscribe', { as: 'bob', body });
    const again = await server.data('POST /api/mailPushSubscriptions:subscribe', {
      as: 'bob',
      body: { ...body, newMail: true },
    });
    expect([again.id, again.newMail]).toEqual([first.id, true]);
    await expect
      .poll(async () => {
        const events = await server.data('GET /api/changes:list?resource=mailPushSubscriptions&pageSize=1000', {
          as: 'bob',
        });
        return events.filter(({ tk }: Json) => tk === String(first.id)).map(({ name }: Json) => name);
      })
      .toEqual(['mailPushSubscriptions.created', 'mailPushSubscriptions.updated']);
    const text = JSON.stringify(await server.data('GET /api/mailPushSubscriptions', { as: 'bob' }));
    for (const secret of [browser.endpoint, browser.keys.auth, browser.keys.p256dh, 'endpointHash', 'loginId'])
      expect(text).not.toContain(secret);
    expect(JSON.stringify(await sql('SELECT * FROM "mailPushSubscriptions"'))).not.toContain(browser.keys.auth);
    for (const as of ['ann', 'admin']) expect(await list(as)).toEqual([]);
    const patch = (as: string, values: object): Promise<Reply> =>
      server.call(`PATCH /api/mailPushSubscriptions/${first.id}`, { as, body: values });
    expect((await patch('bob', { newMail: false })).body.data).toMatchObject({ newMail: false });
    expect((await patch('bob', { userId: 2 })).status).toBe(403);
    expect((await patch('ann', { newMail: true })).status).toBe(403);
    // Another user signs in at the same browser.
    await server.data('POST /api/mailPushSubscriptions:subscribe', { as: 'ann', body });
    expect([(await list('ann')).length, (await list('bob')).length]).toEqual([1, 0]);
    const end = (as: string): Promise<Json> =>
      server.data('POST /api/mailPushSubscriptions:unsubscribe', { as, body: { endpoint: browser.endpoint } });
    expect([await end('bob'), await end('ann'), await end('ann')]).toEqual([
      { removed: false },
      { removed: true },
      { removed: false },
    ]);
  });

  test('a subscription that the browser replaces keeps its record and its waiting messages', async () => {
    const former = service.subscribe('bob-1').endpoint;
    const first = await subscribe('bob', 'bob-1', { name: 'Laptop', newMail: true });
    await push().end();
    await mentionBob();
    const renewed = await subscribe('bob', 'bob-2', { name: 'Laptop', newMail: true, replaces: former });
    expect(renewed).toEqual({ id: first.id, name: 'Laptop', newMail: true });
    push().begin();
    expect((await sent()).map(([browser]) => browser)).toEqual(['bob-2']);
    // The event of the browser may be repeated, and the endpoint may be unknown.
    expect((await subscribe('bob', 'bob-2', { replaces: former })).id).toBe(first.id);
    expect((await list('bob')).length).toBe(1);
    // Only subscriptions of the caller are replaced.
    await subscribe('ann', 'ann-1');
    await subscribe('bob', 'bob-3', { replaces: service.subscribe('ann-1').endpoint });
    expect([(await list('ann')).length, (await list('bob')).length]).toEqual([1, 2]);
    // If both endpoints are subscribed, the former subscription ends.
    await subscribe('bob', 'bob-3', { replaces: service.subscribe('bob-2').endpoint });
    await mentionBob();
    expect((await sent()).map(([browser]) => browser)).toEqual(['bob-3']);
  });

  test('a user with the maximum number of browsers can still replace a subscription', async () => {
    for (let index = 0; index < 20; index += 1) await subscribe('bob', `full-${index}`);
    await subscribe('bob', 'full-20', { replaces: service.subscribe('full-3').endpoint });
    expect((await refuse('bob', { ...service.subscribe('full-21'), replaces: 'https://x.example' })).status).toBe(422);
    expect((await list('bob')).length).toBe(20);
  });

  test.each([
    ['replaces', { replaces: 7 }],
    ['endpoint', { endpoint: 'http://10.0.0.1/x' }],
    ['endpoint', { endpoint: 'http://push.example.com/x' }],
    ['endpoint', { endpoint: 'https://user:pass@push.example.com/x' }],
    ['endpoint', { endpoint: 'file:///etc/passwd' }],
    ['endpoint', { endpoint: undefined }],
    ['keys.p256dh', { keys: { p256dh: Buffer.alloc(65, 4).toString('base64url'), auth: 'AAAAAAAAAAAAAAAAAAAAAA' } }],
    ['keys.p256dh', { keys: null }],
    ['name', { name: 'x\ny' }],
    ['newMail', { newMail: 'yes' }],
  ])('a wrong %s is refused: %j', async (field, change) => {
    const { status, body } = await refuse('bob', { ...service.subscribe('bob-9'), ...change });
    expect(status).toBe(422);
    expect(JSON.stringify(body)).toContain(`"${field}"`);
    expect(await count('mailPushSubscriptions')).toBe(0);
  });

  test('API keys and anonymous callers cannot subscribe, and the number of browsers of a user is limited', async () => {
    const { token } = await server.data('POST /api/apiKeys:create', { body: { role: { name: 'admin' } } });
    server.tokens.set('key', token);
    expect(await refuse('key', service.subscribe('key'))).toMatchObject({
      status: 403,
      body: { code: 'SESSION_NEEDED' },
    });
    expect((await refuse('nobody', service.subscribe('nobody'))).status).toBe(401);
    for (let index = 0; index < 20; index += 1) await subscribe('bob', `many-${index}`);
    expect((await refuse('bob', service.subscribe('many-20'))).status).toBe(422);
    expect((await list('bob')).length).toBe(20);
  });
});
