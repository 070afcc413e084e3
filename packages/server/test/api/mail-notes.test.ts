import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

/** Ann (2) owns the account, Bob (3) is a member, Eve (4) sees assigned conversations only, and Mallory (5) is no member. */
describeEngines('internal notes', (engine) => {
  let server: TestServer;
  let note: Json;

  const write = (as: string, body: object): Promise<Json> =>
    server.data('POST /api/conversationNotes:create', { as, body });
  const list = (as: string): Promise<Json[]> => server.data('GET /api/conversationNotes?sort=id', { as });
  const notifications = (as: string): Promise<Json[]> => server.data('GET /api/mailNotifications?sort=id', { as });
  const eventNames = async (as: string, resource: string): Promise<string[]> =>
    (await server.data(`GET /api/changes:list?resource=${resource}&pageSize=100`, { as })).map(
      ({ name }: Json) => name,
    );

  beforeAll(async () => {
    server = await startMailAccountServer(engine);
    await server.data('POST /api/roles:create', { body: { name: 'agent', title: 'Agent' } });
    for (const resource of ['conversations', 'emails'])
      await server.data('POST /api/permissions:create', {
        body: {
          role: 'agent',
          resource,
          actions: ['list', 'get'],
          ...(resource === 'conversations' && { filter: { assigneeId: '{{$user.id}}' } }),
        },
      });
    await server.data('POST /api/permissions:create', {
      body: { role: 'agent', resource: 'conversationNotes', actions: ['list', 'get', 'create', 'update', 'destroy'] },
    });
    for (const [name, role] of [
      ['eve', 'agent'],
      ['mallory', 'editor'],
    ] as const) {
      const body = { email: `${name}@example.com`, password: 'correct horse', roles: [role] };
      await server.data('POST /api/users:create', { body });
      server.tokens.set(name, await server.signIn(body.email, body.password));
    }
    await server.data('PATCH /api/accounts/1', { body: { members: [2, 3, 4] } });
    await upload(server, 'ann', 1, makeRawMail({ subject: 'Refund', id: '1@example.net' }));
    await upload(server, 'ann', 1, makeRawMail({ subject: 'Delivery', id: '2@example.net' }));
    await server.data('PATCH /api/conversations/2', { body: { assigneeId: 4 }, as: 'ann' });
    note = await write('ann', { conversationId: 1, text: 'Please look at this, @bob', mentions: [3] });
  });
  afterAll(() => server.stop());

  test('has its author, account and conversation, and is counted', async () => {
    expect(note).toMatchObject({ id: 1, accountId: 1, conversationId: 1, authorId: 2, mentions: [3] });
    expect(await server.data('GET /api/conversations/1', { as: 'bob' })).toMatchObject({ notes: 1 });
    expect(await server.data('GET /api/conversations/1?appends=conversationNotes', { as: 'bob' })).toMatchObject({
      conversationNotes: [{ text: 'Please look at this, @bob' }],
    });
  });

  test('a mention notifies that user only, once', async () => {
    expect(await notifications('bob')).toMatchObject([
      { kind: 'mention', conversationId: 1, noteId: 1, actorId: 2, userId: 3, read: false },
    ]);
    await server.data('PATCH /api/conversationNotes/1', { as: 'ann', body: { text: 'Again', mentions: [3, 2] } });
    expect(await notifications('bob')).toHaveLength(1);
    for (const as of ['ann', 'mallory', 'admin']) expect(await notifications(as), as).toEqual([]);
    expect(await eventNames('bob', 'mailNotifications')).toEqual(['mailNotifications.created']);
    expect(await eventNames('ann', 'mailNotifications')).toEqual([]);
  });

  test('an assignment notifies the assignee, and a role without the permission gets no notification', async () => {
    await server.data('PATCH /api/conversations/1', { as: 'ann', body: { assigneeId: 3 } });
    await server.data('PATCH /api/conversations/1', { as: 'ann', body: { assigneeId: 3 } });
    expect((await notifications('bob')).map(({ kind }) => kind)).toEqual(['mention', 'assignment']);
    expect((await server.call('GET /api/mailNotifications', { as: 'eve' })).status).toBe(403);
  });

  test('is visible to those who see the conversation, and to nobody else', async () => {
    await write('bob', { conversationId: 2, text: 'For Eve too' });
    expect((await list('bob')).map(({ id }) => id)).toEqual([1, 2]);
    expect((await list('eve')).map(({ id }) => id)).toEqual([2]);
    for (const as of ['mallory', 'admin']) expect(await list(as), as).toEqual([]);
    for (const path of [
      '/api/conversationNotes/1',
      '/api/conversationNotes:get?filterByTk=1',
      '/api/conversations/1/conversationNotes:list',
      '/api/conversations/1?appends=conversationNotes',
      '/api/conversationNotes:history?filterByTk=1',
    ])
      for (const as of ['eve', 'mallory', 'admin'])
        expect((await server.call(`GET ${path}`, { as })).text, `${path} ${as}`).not.toContain('Again');
    const names = async (as: string): Promise<number> => (await eventNames(as, 'conversationNotes')).length;
    expect([await names('bob'), await names('eve'), await names('mallory')]).toEqual([3, 1, 0]);
  });

  test('is not part of mail that is sent or exported', async () => {
    const reply = await server.data(`POST /api/emails:reply?filterByTk=${await firstEmail()}`, {
      as: 'ann',
      body: { text: 'Hello', draft: true },
    });
    const headers = { authorization: `Bearer ${server.tokens.get('ann')}` };
    const raw = await (await fetch(`${server.running.url}/api/emails/${reply.id}?raw=1`, { headers })).text();
    expect(raw).toContain('Hello');
    expect(raw).not.toContain('Again');
    const exported = await (await fetch(`${server.running.url}/api/emails:export?account=1`, { headers })).text();
    expect(exported).toContain('Refund');
    expect(exported).not.toContain('Again');
  });

  const firstEmail = async (): Promise<number> =>
    (await server.data('GET /api/emails?conversationId=1', { as: 'ann' }))[0].id;

  const refused = (
    name: string,
    [request, as, body]: readonly [string, string, unknown],
    [status, code]: readonly [403 | 400 | 422 | 404, string],
  ): Scenario => ({ name, request, as, body, expect: { status, code: code as never } });
  const create = 'POST /api/conversationNotes:create';
  const scenarios: readonly Scenario[] = [
    refused(
      'A viewer of no mail writes no note.',
      [create, 'mallory', { conversationId: 1, text: 'x' }],
      [400, 'REFERENCE_MISSING'],
    ),
    refused(
      'An administrator who is no member writes no note.',
      [create, 'admin', { conversationId: 1, text: 'x' }],
      [400, 'REFERENCE_MISSING'],
    ),
    refused(
      'A hidden conversation gets no note.',
      [create, 'eve', { conversationId: 1, text: 'x' }],
      [400, 'REFERENCE_MISSING'],
    ),
    refused('A note needs a text.', [create, 'ann', { conversationId: 1, text: ' ' }], [422, 'VALUE_INVALID']),
    refused('A note needs a conversation.', [create, 'ann', { text: 'x' }], [422, 'VALUE_INVALID']),
    refused(
      'A note mentions members only.',
      [create, 'ann', { conversationId: 1, text: 'x', mentions: [3, 5] }],
      [422, 'VALUE_INVALID'],
    ),
    refused(
      'Only the author changes a note.',
      ['PATCH /api/conversationNotes/1', 'bob', { text: 'x' }],
      [403, 'NO_PERMISSION'],
    ),
    refused(
      'Only the author destroys a note.',
      ['DELETE /api/conversationNotes/1', 'bob', undefined],
      [403, 'NO_PERMISSION'],
    ),
    refused(
      'A note stays in its conversation.',
      ['PATCH /api/conversationNotes/1', 'ann', { conversationId: 2 }],
      [403, 'SYSTEM_PROTECTED'],
    ),
    refused(
      'A notification is not created by a client.',
      ['POST /api/mailNotifications:create', 'ann', { userId: 3 }],
      [403, 'NO_PERMISSION'],
    ),
    refused(
      'A notification is not moved to another user.',
      ['PATCH /api/mailNotifications/1', 'bob', { userId: 2 }],
      [403, 'SYSTEM_PROTECTED'],
    ),
    refused(
      'A conversation is only assigned to a member.',
      ['PATCH /api/conversations/1', 'ann', { assigneeId: 5 }],
      [422, 'VALUE_INVALID'],
    ),
  ];
  test.each(scenarios)('$name', async (scenario) => {
    await server.play(scenario);
  });

  test('follows its conversation when that is merged, and is deleted with it', async () => {
    const [one, two] = ['a@example.net', 'b@example.net'];
    await upload(server, 'ann', 1, makeRawMail({ subject: 'Split', id: one, references: ['<root@example.net>'] }));
    await upload(server, 'ann', 1, makeRawMail({ subject: 'Split', id: two, references: ['<other@example.net>'] }));
    const found = await server.data('GET /api/conversations?search=split&sort=id', { as: 'ann' });
    expect(found).toHaveLength(2);
    const text = 'Stays with its conversation';
    const created = await write('bob', { conversationId: found[1].id, text, mentions: [2] });
    await upload(
      server,
      'ann',
      1,
      makeRawMail({ subject: 'Re: Split', id: 'c@example.net', references: [`<${one}>`, `<${two}>`] }),
    );
    expect(await server.data(`GET /api/conversationNotes/${created.id}`, { as: 'ann' })).toMatchObject({
      conversationId: found[0].id,
    });
    expect((await notifications('ann')).at(-1)).toMatchObject({ conversationId: found[0].id, kind: 'mention' });
    expect(await server.data(`GET /api/conversations/${found[0].id}`, { as: 'ann' })).toMatchObject({ notes: 1 });
    const late = await write('bob', { conversationId: found[1].id, text: 'Written to the merged one' });
    expect(late.conversationId).toBe(found[0].id);
    const emails = await server.data(`GET /api/emails?conversationId=${found[0].id}`, { as: 'ann' });
    const ids = emails.map(({ id }: Json) => id);
    await server.data('POST /api/emails:destroy?force=true', { as: 'ann', body: { ids } });
    for (const id of [created.id, late.id])
      expect((await server.call(`GET /api/conversationNotes/${id}`, { as: 'bob' })).status).toBeGreaterThan(400);
    expect((await notifications('ann')).filter(({ kind }) => kind === 'mention')).toEqual([]);
  });

  test('is destroyed by its author, with its notifications', async () => {
    const [{ id }] = await notifications('bob');
    const read = await server.data(`PATCH /api/mailNotifications/${id}`, { as: 'bob', body: { read: true } });
    expect(read).toMatchObject({ id, read: true });
    expect((await server.call('DELETE /api/conversationNotes/1', { as: 'ann' })).status).toBeLessThan(300);
    expect((await notifications('bob')).map(({ kind }) => kind)).toEqual(['assignment']);
    expect(await server.data('GET /api/conversations/1', { as: 'bob' })).toMatchObject({ notes: 0 });
  });
});
