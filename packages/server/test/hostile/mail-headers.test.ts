import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { TestServer } from '../support/scenario.ts';

const denied = ['subject', 'from', 'to', 'cc', 'messageId', 'sentAt'];
const secret = 'zanzibar';

describeEngines('headers of e-mails', (engine) => {
  let server: TestServer;
  let email: number;
  let conversation: number;
  beforeAll(async () => {
    server = await startMailAccountServer(engine);
    const headers = [`Cc: ${secret}-cc@e.example`, 'Reply-To: desk@e.example', 'X-Order: 5', `Thread-Topic: ${secret}`];
    const raw = makeRawMail({ subject: secret, text: 'Hello', id: `${secret}@e.example`, headers });
    email = (await upload(server, 'ann', 1, raw)).ids[0]!;
    conversation = (await server.data(`GET /api/emails/${email}`, { as: 'ann' })).conversationId;
    await server.data('POST /api/roles:create', { body: { name: 'blind' } });
    for (const each of [
      { resource: 'accounts', actions: ['list', 'get'] },
      { resource: 'emails', actions: ['list', 'get', 'update'], exceptFields: denied },
      { resource: 'conversations', actions: ['list', 'get'], exceptFields: ['subject', 'participants'] },
      { resource: 'mailRules', actions: ['list', 'get', 'create', 'update'] },
    ])
      await server.data('POST /api/permissions:create', { body: { role: 'blind', ...each } });
    const user = { email: 'blind@example.com', password: 'correct horse', roles: ['blind'] };
    const { id } = await server.data('POST /api/users:create', { body: user });
    server.tokens.set('blind', await server.signIn(user.email, user.password));
    await server.data('PATCH /api/accounts/1', { body: { members: [id] } });
  });
  afterAll(() => server?.stop());

  const listNames = (headers: readonly (readonly [string, string])[]): string[] => headers.map(([name]) => name);

  test('a header that repeats a field is left out for a role that may not read the field', async () => {
    const whole = await server.data(`GET /api/emails/${email}`, { as: 'ann' });
    expect(listNames(whole.headers)).toEqual(
      expect.arrayContaining(['From', 'To', 'Cc', 'Subject', 'Date', 'Message-ID', 'Thread-Topic', 'X-Order']),
    );
    const read = await server.data(`GET /api/emails/${email}`, { as: 'blind' });
    expect(listNames(read.headers)).toEqual(expect.arrayContaining(['Reply-To', 'X-Order']));
    expect(listNames(read.headers)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(from|to|cc|subject|date|message-id|thread-topic)$/i)]),
    );
    expect(read.text).toContain('Hello');
    expect(JSON.stringify(read)).not.toContain(secret);
    const { emails } = await server.data(`GET /api/conversations/${conversation}`, { as: 'blind' });
    expect(emails[0].headers).toEqual(read.headers);
    expect(JSON.stringify(emails)).not.toContain(secret);
  });

  test('lists with the content leave the headers out for such a role', async () => {
    for (const path of ['emails?appends=content', 'conversations?appends=emails.content']) {
      const text = JSON.stringify(await server.data(`GET /api/${path}`, { as: 'blind' }));
      expect(text).toContain('Hello');
      expect(text).not.toContain(secret);
      expect(JSON.stringify(await server.data(`GET /api/${path}`, { as: 'ann' }))).toContain(secret);
    }
  });

  test.each([
    'emails?fields=id,content.headers',
    'emails?filter={"content":{"headers":{"$notEmpty":true}}}',
    'conversations?fields=id,emails.content.headers',
  ])('headers that repeat a denied field are refused in %s', async (path) => {
    const expected = { status: 403, code: 'FIELD_DENIED', absent: [secret] } as const;
    await server.play({ name: path, request: `GET /api/${path}`, as: 'blind', expect: expected });
  });

  describe('a rule may not look at a header that repeats a denied field', () => {
    const actions = [{ type: 'star' }];
    const conditions = (header: string): object[] => [{ field: 'header', header, operator: 'contains', value: 'z' }];

    test.each([
      ['Subject', 'subject'],
      ['from', 'from'],
      ['MESSAGE-ID', 'messageId'],
      ['Date', 'sentAt'],
    ])('%s', async (header, field) => {
      const details = { 'conditions.0.field': `The role may not read "${field}" of emails.` };
      const rule = { conditions: conditions(header), actions };
      const requests: [string, object][] = [
        ['POST /api/mailRules:try', { account: 1, rule }],
        ['POST /api/mailRules:create', { accountId: 1, name: header, ...rule }],
      ];
      for (const [request, body] of requests) {
        const refusal = { status: 403, code: 'FIELD_DENIED', body: { details } } as const;
        await server.play({ name: request, request, as: 'blind', body, expect: refusal });
      }
      expect(await server.data('GET /api/mailRules', { as: 'ann' })).toEqual([]);
    });

    test('any other header is allowed', async () => {
      const body = { account: 1, rule: { conditions: conditions('X-Order'), actions } };
      expect(await server.data('POST /api/mailRules:try', { as: 'blind', body })).toMatchObject({ scanned: 1 });
    });
  });
});
