import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { upload } from '../support/mail-account-server.ts';
import { hour } from '../support/moving-clock.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { TestServer } from '../support/scenario.ts';
import { TwoServerInbox } from '../support/two-server-inbox.ts';

/** Ann (2) owns the account, and Bob (3) is a member. */
describeEngines('reminders of conversations that nobody answers', (engine) => {
  const inbox = new TwoServerInbox();
  const { clock, inHours, patch, get, runDue, listNotified, listChanges, answer } = inbox;
  /** Changes of the reminder of a conversation: whether it was set before, whether it is set after, and the actor. */
  const listReminderChanges = async (id: number): Promise<unknown[]> =>
    (await listChanges(id, 'followUpAt')).map(([before, after, actor]) => [before !== null, after !== null, actor]);
  let server: TestServer;

  beforeAll(async () => {
    await inbox.start(engine, 3);
    ({ server } = inbox);
    await server.data('PATCH /api/accounts/1', { body: { members: [2, 3] } });
  });
  afterAll(() => inbox.stop());

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
    await runDue();
    expect(await listNotified('followUp')).toEqual([]);
  });

  test('open the conversation and notify the user who set them, once, also after a restart', async () => {
    await patch(1, { followUpAt: inHours(2), state: 'closed' });
    await patch(2, { followUpAt: inHours(4) });
    await runDue();
    expect(await listNotified('followUp')).toEqual([]);
    expect(await server.running.applications.main.mail.nextDue()).toBe(Date.parse((await get(1)).followUpAt));
    clock.advance(2 * hour + 1000);
    await Promise.all([runDue(), runDue()]);
    expect(await get(1)).toMatchObject({ state: 'open', followUpAt: null, followUpById: null });
    expect([await listNotified('followUp'), await listNotified('followUp', 'bob')]).toEqual([[1], []]);
    expect((await listReminderChanges(1))[0]).toEqual([true, false, null]);
    clock.advance(3 * hour);
    await server.running.stop();
    await server.boot();
    for (const name of ['ann', 'bob'])
      server.tokens.set(name, await server.signIn(`${name}@example.com`, 'correct horse'));
    await expect.poll(() => listNotified('followUp')).toEqual([1, 2]);
  });

  test('end with an answer, but not with an automatic reply or a message of the account', async () => {
    await patch(3, { followUpAt: inHours(2) });
    await answer(3, { headers: ['Auto-Submitted: auto-replied'] });
    await answer(3, { from: 'shop@example.com' });
    expect((await get(3)).followUpAt).not.toBe(null);
    await answer(3);
    expect(await get(3)).toMatchObject({ followUpAt: null, followUpById: null });
    expect((await listReminderChanges(3))[0]).toEqual([true, false, null]);
    clock.advance(3 * hour);
    await runDue();
    expect(await listNotified('followUp')).toEqual([1, 2]);
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
    expect(await listReminderChanges(conversationId)).toEqual([[false, true, 'user:3']]);
    await server.data('POST /api/emails:cancelSend', { as: 'bob', body: { id: sent.id } });
    expect(await get(conversationId)).toMatchObject({ followUpAt: null, followUpById: null });
    const { emails } = await server.data('GET /api/conversations/1?appends=emails', { as: 'ann' });
    const body = { id: emails[0].id, text: 'Hello', followUpAt: later };
    expect(await server.data('POST /api/emails:reply', { as: 'ann', body })).toMatchObject({ status: 'queued' });
    expect(await get(1)).toMatchObject({ followUpAt: later, followUpById: 2 });
  });

  test('of others are kept if a message without a reminder is cancelled; a draft has no reminder', async () => {
    const followUpAt = inHours(24);
    await patch(3, { followUpAt });
    const { emails } = await server.data('GET /api/conversations/3?appends=emails', { as: 'ann' });
    const body = { id: emails[0].id, text: 'Hello' };
    const refused = await server.call('POST /api/emails:reply', {
      as: 'bob',
      body: { ...body, draft: true, followUpAt },
    });
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('followUpAt');
    const sent = await server.data('POST /api/emails:reply', { as: 'bob', body });
    await server.data('POST /api/emails:cancelSend', { as: 'bob', body: { id: sent.id } });
    expect(await get(3)).toMatchObject({ followUpAt, followUpById: 2 });
    const own = await server.data('POST /api/emails:reply', { as: 'bob', body: { ...body, followUpAt: inHours(30) } });
    await patch(3, { followUpAt });
    await server.data('POST /api/emails:cancelSend', { as: 'bob', body: { id: own.id } });
    expect(await get(3)).toMatchObject({ followUpAt, followUpById: 2 });
  });

  test('move with a merged conversation, which keeps the earliest and opens when it is due', async () => {
    const [one, two] = ['a@example.net', 'b@example.net'];
    const write = (id: string, references: string[]): Promise<unknown> =>
      upload(
        server,
        'ann',
        1,
        makeRawMail({ subject: 'Re: Split', id, references: references.map((each) => `<${each}>`) }),
      );
    await write(one, ['root@example.net']);
    await write(two, ['other@example.net']);
    const [first, second] = await server.data('GET /api/conversations?search=split&sort=id', { as: 'ann' });
    await patch(second.id, { followUpAt: inHours(5) });
    await patch(first.id, { followUpAt: inHours(6), state: 'closed' });
    const earliest = (await get(second.id)).followUpAt;
    await write('c@example.net', [one, two]);
    expect(await get(first.id)).toMatchObject({ followUpAt: earliest, followUpById: 2, state: 'closed' });
    clock.advance(7 * hour);
    await runDue();
    expect(await get(first.id)).toMatchObject({ followUpAt: null, state: 'open' });
    expect((await listNotified('followUp')).filter((id) => id === first.id || id === second.id)).toEqual([first.id]);
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
