import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines, type Store, shareStore } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { deliverRawMail } from '../support/mail-arrivals.ts';
import { hour, MovingClock } from '../support/moving-clock.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import { TestServer } from '../support/scenario.ts';

/** Ann (2) owns the account, and Bob (3) is a member. */
describeEngines('reminders of conversations that nobody answers', (engine) => {
  const clock = new MovingClock();
  let store: Store;
  let server: TestServer;
  /** Another server on the same store; the same one where only one process can use the store. */
  let second: TestServer;

  const inHours = (hours: number): string => new Date(clock.now() + hours * hour).toISOString();
  const patch = (id: number, body: object): Promise<Json> =>
    server.data(`PATCH /api/conversations/${id}`, { as: 'ann', body });
  const get = (id: number): Promise<Json> => server.data(`GET /api/conversations/${id}`, { as: 'ann' });
  const returns = (): Promise<unknown> =>
    Promise.all([server, second].map(({ running }) => running.applications.main.mail.snoozes.runNow()));
  const notified = async (as = 'ann'): Promise<number[]> =>
    (await server.data('GET /api/mailNotifications?sort=id', { as }))
      .filter(({ kind }: Json) => kind === 'followUp')
      .map(({ conversationId }: Json) => conversationId);
  const history = async (id: number): Promise<unknown[]> =>
    (await server.data(`GET /api/conversations:history?filterByTk=${id}`, { as: 'ann' })).flatMap(
      ({ changes, actor }: Json) =>
        changes
          .filter(({ field }: Json) => field === 'followUpAt')
          .map(({ before, after }: Json) => [before !== null, after !== null, actor]),
    );
  const answer = (id: number, more: Parameters<typeof makeRawMail>[0] = {}): Promise<number> =>
    deliverRawMail(
      server,
      makeRawMail({
        subject: `Re: Number ${id}`,
        from: 'Zoe <zoe@example.net>',
        references: [`${id}@example.net`],
        id: `${crypto.randomUUID()}@x`,
        ...more,
      }),
    );

  beforeAll(async () => {
    store = await engine.store();
    const shared = shareStore(engine, store);
    server = await startMailAccountServer(shared, {}, { clock });
    second = engine.name === 'sqlite' ? server : await TestServer.start(shared, { clock, signIn: false });
    await server.data('PATCH /api/accounts/1', { body: { members: [2, 3] } });
    for (let number = 1; number <= 3; number++)
      await upload(server, 'ann', 1, makeRawMail({ subject: `Number ${number}`, id: `${number}@example.net` }));
  });
  afterAll(async () => {
    if (second !== server) await second.stop();
    await server.stop();
    await store.remove();
  });

  test('are due at a time in the future, and can be removed', async () => {
    for (const followUpAt of ['2020-01-01T00:00:00Z', '2040-01-01T00:00:00Z', 'tomorrow', 5]) {
      const { status, text } = await server.call('PATCH /api/conversations/1', { as: 'ann', body: { followUpAt } });
      expect(status, String(followUpAt)).toBe(422);
      expect(text).toContain('followUpAt');
    }
    expect(await patch(1, { followUpAt: inHours(1) })).toMatchObject({ followUpById: 2, state: 'open' });
    expect(await patch(1, { followUpAt: null })).toMatchObject({ followUpAt: null, followUpById: null });
    const forged = await server.call('PATCH /api/conversations/1', { as: 'ann', body: { followUpById: 3 } });
    expect(forged.status).toBe(403);
    clock.advance(2 * hour);
    await returns();
    expect(await notified()).toEqual([]);
  });

  test('open the conversation and notify the user who set them, once, also after a restart', async () => {
    await patch(1, { followUpAt: inHours(2), state: 'closed' });
    await patch(2, { followUpAt: inHours(4) });
    await returns();
    expect(await notified()).toEqual([]);
    expect(await server.running.applications.main.mail.nextDue()).toBe(Date.parse((await get(1)).followUpAt));
    clock.advance(2 * hour + 1000);
    await Promise.all([returns(), returns()]);
    expect(await get(1)).toMatchObject({ state: 'open', followUpAt: null, followUpById: null });
    expect([await notified(), await notified('bob')]).toEqual([[1], []]);
    expect((await history(1))[0]).toEqual([true, false, null]);
    clock.advance(3 * hour);
    await server.running.stop();
    await server.boot();
    for (const name of ['ann', 'bob'])
      server.tokens.set(name, await server.signIn(`${name}@example.com`, 'correct horse'));
    await expect.poll(() => notified()).toEqual([1, 2]);
  });

  test('end with an answer, but not with an automatic reply or a message of the account', async () => {
    await patch(3, { followUpAt: inHours(2) });
    await answer(3, { headers: ['Auto-Submitted: auto-replied'] });
    await answer(3, { from: 'shop@example.com' });
    expect((await get(3)).followUpAt).not.toBe(null);
    await answer(3);
    expect(await get(3)).toMatchObject({ followUpAt: null, followUpById: null });
    expect((await history(3))[0]).toEqual([true, false, null]);
    clock.advance(3 * hour);
    await returns();
    expect(await notified()).toEqual([1, 2]);
  });

  test('are set with a message that is sent, and end if it is not sent after all', async () => {
    const send = (followUpAt: unknown, as = 'ann') =>
      server.call('POST /api/emails:send', {
        as,
        body: { account: 1, to: 'cora@example.net', subject: 'Offer', text: 'Our offer.', followUpAt },
      });
    for (const wrong of ['soon', inHours(-1), new Date(clock.now() + 1000).toISOString()])
      expect((await send(wrong)).status, wrong).toBe(422);
    expect(await server.data('GET /api/emails?folder=outbox', { as: 'ann' })).toEqual([]);
    const later = inHours(48);
    const sent = (await send(later, 'bob')).body.data;
    const { conversationId } = await server.data(`GET /api/emails/${sent.id}`, { as: 'ann' });
    expect(await get(conversationId)).toMatchObject({ followUpAt: later, followUpById: 3 });
    expect(await history(conversationId)).toEqual([[false, true, 'user:3']]);
    await server.data('POST /api/emails:cancelSend', { as: 'bob', body: { id: sent.id } });
    expect(await get(conversationId)).toMatchObject({ followUpAt: null, followUpById: null });
    const { emails } = await server.data('GET /api/conversations/1?appends=emails', { as: 'ann' });
    const body = { id: emails[0].id, text: 'Hello', followUpAt: later };
    expect(await server.data('POST /api/emails:reply', { as: 'ann', body })).toMatchObject({ status: 'queued' });
    expect(await get(1)).toMatchObject({ followUpAt: later, followUpById: 2 });
  });

  test('need the permission to update conversations', async () => {
    await server.data('POST /api/roles:create', { body: { name: 'sender', title: 'Sender' } });
    for (const resource of ['emails', 'accounts'])
      await server.data('POST /api/permissions:create', {
        body: { role: 'sender', resource, actions: ['list', 'get', 'create'] },
      });
    await server.data('POST /api/users:update?filterByTk=3', { body: { roles: ['sender'] } });
    const message = { account: 1, to: 'cora@example.net', subject: 'Offer', text: 'Our offer.' };
    const refused = await server.call('POST /api/emails:send', {
      as: 'bob',
      body: { ...message, followUpAt: inHours(2) },
    });
    expect(refused.status).toBe(403);
    expect((await server.call('POST /api/emails:send', { as: 'bob', body: message })).status).toBe(200);
  });
});
