import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { TestServer } from '../support/scenario.ts';

/** Ann (2) owns the account, Bob (3) is a member, and Mallory (4) is none. */
describeEngines('templates of messages', (engine) => {
  let server: TestServer;
  let shared: Json;
  let own: Json;

  const create = (as: string, body: object): Promise<Json> =>
    server.data('POST /api/mailTemplates:create', { as, body });
  const refuse = async (as: string, call: string, body: object = {}): Promise<Json> => {
    const { status, text } = await server.call(call, { as, ...(!call.startsWith('GET') && { body }) });
    return { status, text };
  };
  const fill = (body: object, as = 'ann'): Promise<Json> => server.data('POST /api/mailTemplates:fill', { as, body });
  const names = async (as: string): Promise<string[]> =>
    (await server.data('GET /api/mailTemplates?sort=id', { as })).map(({ name }: Json) => name);

  beforeAll(async () => {
    server = await startMailAccountServer(engine);
    const body = { email: 'mallory@example.com', password: 'correct horse', roles: ['editor'] };
    await server.data('POST /api/users:create', { body });
    server.tokens.set('mallory', await server.signIn(body.email, body.password));
    await server.data('POST /api/users:update?filterByTk=2', { body: { nickname: 'Ann Berg' } });
    await server.data('PATCH /api/accounts/1', { body: { members: [2, 3] } });
    await upload(server, 'ann', 1, makeRawMail({ subject: 'Refund', id: '1@example.net' }));
    shared = await create('ann', {
      accountId: 1,
      name: 'Thanks',
      subject: 'Re: {{conversationSubject}}',
      text: 'Dear {{recipientFirstName|customer}}, {{order}} {{userName}} {{userEmail}} {{accountName}}',
      html: '<p>Dear {{recipientName|customer}}</p><script>taken()</script>',
      authorId: 3,
    });
    own = await create('ann', { accountId: 1, name: 'Private', text: 'Mine', shared: false });
  });
  afterAll(() => server.stop());

  test('have their author, and their HTML is sanitised', () => {
    expect(shared).toMatchObject({ authorId: 2, shared: true, html: '<p>Dear {{recipientName|customer}}</p>' });
  });

  test('are seen by members, and private ones by their author, on every path and in events', async () => {
    expect(await names('ann')).toEqual(['Thanks', 'Private']);
    expect(await names('bob')).toEqual(['Thanks']);
    for (const as of ['mallory', 'admin']) expect(await names(as), as).toEqual([]);
    for (const as of ['bob', 'mallory', 'admin']) {
      for (const call of [
        `GET /api/mailTemplates/${own.id}`,
        `POST /api/mailTemplates:fill?filterByTk=${own.id}`,
        `PATCH /api/mailTemplates/${own.id}`,
      ])
        expect((await refuse(as, call, call.startsWith('PATCH') ? { name: 'x' } : undefined)).status, as).toBe(403);
      const countEvents = async (): Promise<number> =>
        (await server.data('GET /api/changes:list?resource=mailTemplates&pageSize=50', { as })).length;
      // PostgreSQL shows an event when all older transactions have ended, also those of other tests.
      if (as === 'bob') await expect.poll(countEvents, { message: as }).toBe(1);
      else expect(await countEvents(), as).toBe(0);
    }
    expect(await refuse('mallory', 'POST /api/mailTemplates:create', { accountId: 1, name: 'x' })).toMatchObject({
      status: 400,
      text: expect.stringContaining('accountId'),
    });
  });

  test('are changed by members; only the author makes one private', async () => {
    expect(
      await server.data(`PATCH /api/mailTemplates/${shared.id}`, { as: 'bob', body: { name: 'Thank you' } }),
    ).toMatchObject({ name: 'Thank you', authorId: 2 });
    const body = { shared: false };
    expect(await refuse('bob', `PATCH /api/mailTemplates/${shared.id}`, body)).toMatchObject({ status: 403 });
    expect(await refuse('ann', `PATCH /api/mailTemplates/${shared.id}`, { accountId: 1 })).toMatchObject({
      status: 403,
    });
    expect(await names('bob')).toEqual(['Thank you']);
  });

  test('are filled with the values of the recipient, the conversation, the account and the user', async () => {
    const recipient = { name: '<b>Lind</b>, {{userName}}', address: 'cora@example.net' };
    expect(await fill({ id: shared.id, recipient, conversation: 1 })).toEqual({
      subject: 'Re: Refund',
      text: 'Dear {{userName}}, {{order}} Ann Berg ann@example.com Shop',
      html: '<p>Dear &lt;b&gt;Lind&lt;/b&gt;, {{userName}}</p>',
      missing: ['order'],
    });
    expect(await fill({ id: shared.id })).toMatchObject({
      subject: 'Re: {{conversationSubject}}',
      html: '<p>Dear customer</p>',
      missing: ['conversationSubject', 'order'],
    });
    expect((await fill({ id: shared.id, recipient: 'cora@example.net' }, 'bob')).text).toContain('Dear customer');
  });

  test('refuse invalid input, and name the valid form', async () => {
    const long = 'x'.repeat(300_000);
    for (const [field, body] of [
      ['text', { text: '{{#each x}}' }],
      ['text', { text: long }],
      ['subject', { subject: 'a\nb' }],
      ['html', { html: 5 }],
      ['html', { html: '<a href="https://a.example/{{recipientName}}">a</a>' }],
      ['name', { name: ' ' }],
      ['accountId', { accountId: undefined }],
    ] as const) {
      const answer = await refuse('ann', 'POST /api/mailTemplates:create', { accountId: 1, name: 'x', ...body });
      expect(answer, field).toMatchObject({ status: 422 });
      expect(answer.text).toContain(`"${field}"`);
    }
    for (const [status, body] of [
      [400, {}],
      [404, { id: 999 }],
      [403, { id: shared.id, conversation: 999 }],
      [422, { id: shared.id, recipient: 'nobody' }],
      [422, { id: shared.id, conversation: 'x' }],
    ] as const) {
      const answer = await refuse('ann', 'POST /api/mailTemplates:fill', body);
      expect(status === 404 ? [403, 404] : [status], JSON.stringify(body)).toContain(answer.status);
    }
    expect(await names('ann')).toEqual(['Thank you', 'Private']);
  });

  test('are not filled if the request names two of them', async () => {
    const fill = (query: string, id: unknown): ReturnType<TestServer['call']> =>
      server.call(`POST /api/mailTemplates:fill${query}`, { as: 'ann', body: { id } });
    expect((await fill(`?filterByTk=${shared.id}`, shared.id)).status).toBe(200);
    expect(await fill(`?filterByTk=${shared.id}`, own.id)).toMatchObject({
      status: 400,
      text: expect.stringContaining('different templates'),
    });
  });

  test('are deleted with their account', async () => {
    const account = await server.data('POST /api/accounts:create', {
      as: 'ann',
      body: { name: 'Other', address: 'other@example.com' },
    });
    const other = await create('ann', { accountId: account.id, name: 'Other' });
    await server.data(`POST /api/accounts:destroy?filterByTk=${account.id}`, { as: 'ann' });
    await expect
      .poll(async () => (await server.call(`GET /api/mailTemplates/${other.id}`, { as: 'ann' })).status)
      .toBe(403);
  });
});
