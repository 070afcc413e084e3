import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import {
  type MailComposeServer,
  readOutbox,
  saveDraft,
  startMailComposeServer,
} from '../support/mail-compose-server.ts';
import type { ExpectedRefusal, Scenario, TestServer } from '../support/scenario.ts';

describeEngines('refusals of mail composition', (engine) => {
  let desk: MailComposeServer;
  let server: TestServer;
  beforeAll(async () => {
    desk = await startMailComposeServer(engine);
    server = desk.server;
  });
  afterAll(() => server.stop());

  const line = 'cora@example.net\r\nBcc: eve@example.net';
  const invalidValue = { status: 422, code: 'VALUE_INVALID' } as const;
  const invalidBody = { status: 400, code: 'BODY_INVALID' } as const;
  const forbidden = { status: 403, code: 'NO_PERMISSION' } as const;
  const refused: readonly (readonly [string, string, unknown, Pick<ExpectedRefusal, 'status' | 'code'>, string?])[] = [
    ['a line break in an address', 'send', { account: 1, to: line }, invalidValue, 'to'],
    [
      'a line break in a name',
      'send',
      { account: 1, to: { name: 'x\r\nBcc: eve@example.net', address: 'a@b.c' } },
      invalidValue,
      'to',
    ],
    ['two addresses in one text', 'send', { account: 1, to: 'a@b.c, d@e.f' }, invalidValue, 'to'],
    ['a route', 'send', { account: 1, to: '<a@b.c>' }, invalidValue, 'to'],
    ['a quoted local part', 'send', { account: 1, to: '"a b"@b.c' }, invalidValue, 'to'],
    ['a domain in brackets', 'send', { account: 1, to: 'a@[127.0.0.1]' }, invalidValue, 'to'],
    ['no address', 'saveDraft', { account: 1, to: ['a@b.c', 'nobody'] }, invalidValue, 'to[1]'],
    [
      'a line break in a subject',
      'saveDraft',
      { account: 1, subject: 'x\r\nBcc: eve@example.net' },
      invalidValue,
      'subject',
    ],
    ['a separator in a subject', 'saveDraft', { account: 1, subject: 'x\u2028y' }, invalidValue, 'subject'],
    ['NUL in a text', 'saveDraft', { account: 1, text: 'a\0b' }, invalidValue, 'text'],
    ['no recipient', 'send', { account: 1, text: 'x' }, invalidValue, 'to'],
    ['too many', 'send', { account: 1, to: Array.from({ length: 501 }, (_, n) => `a${n}@b.c`) }, invalidValue, 'to'],
    [
      'a line break in a file name',
      'saveDraft',
      { account: 1, attachments: [{ filename: 'a\r\nX: y', content: '' }] },
      invalidValue,
      'attachments[0]',
    ],
    [
      'a content type with parameters',
      'saveDraft',
      { account: 1, attachments: [{ contentType: 'text/html; x=y', content: '' }] },
      invalidValue,
      'attachments[0]',
    ],
    [
      'a file given as a path',
      'saveDraft',
      { account: 1, attachments: [{ path: '/etc/passwd', content: '' }] },
      invalidValue,
      'attachments[0]',
    ],
    [
      'a file given as a URL',
      'saveDraft',
      { account: 1, attachments: [{ href: 'http://127.0.0.1/' }] },
      invalidValue,
      'attachments[0]',
    ],
    [
      'content that is a path',
      'saveDraft',
      { account: 1, attachments: [{ content: { path: '/etc/passwd' } }] },
      invalidValue,
      'attachments[0]',
    ],
    ['invalid base64', 'saveDraft', { account: 1, attachments: [{ content: '***' }] }, invalidValue, 'attachments[0]'],
    ['an invalid time', 'send', { account: 1, to: 'a@b.c', sendAt: 'soon' }, invalidValue, 'sendAt'],
    ['a time in the past', 'send', { account: 1, to: 'a@b.c', sendAt: '2001-01-01T00:00:00Z' }, invalidValue, 'sendAt'],
    ['another property', 'saveDraft', { account: 1, priority: 'high' }, invalidBody],
    ['a sender that the account does not have', 'saveDraft', { account: 1, from: 'x@y.z' }, invalidValue, 'from'],
    ['headers', 'send', { account: 1, to: 'a@b.c', headers: { Bcc: 'x@y.z' } }, invalidBody],
    ['no account', 'saveDraft', { text: 'x' }, invalidValue, 'account'],
    ['an account of another user', 'send', { account: 2, to: 'a@b.c' }, forbidden],
    ['an unknown account', 'send', { account: 99, to: 'a@b.c' }, forbidden],
    ['a draft in another account', 'saveDraft', { id: 1, account: 1 }, invalidBody],
    ['an unknown draft', 'saveDraft', { id: 1, text: 'x' }, forbidden],
    ['a parameter', 'saveDraft?fields=id', { account: 1 }, { status: 400, code: 'PARAMETER_UNKNOWN' }],
  ];
  test('an invalid draft is refused, and nothing is stored', async () => {
    for (const [name, action, body, { status, code }, field] of refused) {
      const row: Scenario = {
        name,
        request: `POST /api/emails:${action}`,
        as: 'ann',
        body,
        expect: { status, code, ...(field !== undefined && { body: { details: { [field]: expect.any(String) } } }) },
      };
      await server.play(row).catch((error: Error) => {
        throw Object.assign(error, { message: `${name}: ${error.message}` });
      });
    }
    expect(await readOutbox(server)).toEqual([]);
  });

  test('the refusal of a text names the characters that it must not contain', async () => {
    for (const [name, value] of [
      ['subject', 'a\0b'],
      ['text', 'a\0b'],
      ['html', 'a\0b'],
      ['text', 'a\ud800b'],
      ['subject', 'a\udc00b'],
    ] as const)
      await server.play({
        name: `${name} ${JSON.stringify(value)}`,
        request: 'POST /api/emails:saveDraft',
        as: 'ann',
        body: { account: 1, [name]: value },
        expect: {
          status: 422,
          code: 'VALUE_INVALID',
          body: { details: { [name]: expect.stringMatching(/must not contain .*U\+0000,? or a lone surrogate/) } },
        },
      });
    expect(await server.data('GET /api/emails?folder=drafts', { as: 'ann' })).toEqual([]);
  });

  test('a time in the past is refused, and one that has just passed means now', async () => {
    const body = (sendAt: number): object => ({
      account: 1,
      to: 'cora@example.net',
      text: 'x',
      sendAt: new Date(sendAt).toISOString(),
    });
    await server.play({
      name: 'a minute ago',
      request: 'POST /api/emails:send',
      as: 'ann',
      body: body(Date.now() - 65_000),
      expect: {
        status: 422,
        code: 'VALUE_INVALID',
        body: { details: { sendAt: expect.stringContaining('must be in the future') } },
      },
    });
    expect(await readOutbox(server)).toEqual([]);
    const now = Date.now();
    const sent = await server.data('POST /api/emails:send', { as: 'ann', body: body(now - 30_000) });
    expect(Date.parse(sent.sendAt)).toBeGreaterThanOrEqual(now + 10_000);
    await server.data('POST /api/emails:cancelSend', { as: 'ann', body: { id: sent.id } });
  });

  test('messages of other users cannot be reached by drafts', async () => {
    const { id } = (await saveDraft(server, { account: 1, subject: 'Mine', text: 'zanzibar' })).body.data;
    for (const [action, body] of [
      ['saveDraft', { id, text: 'x' }],
      ['send', { id, to: 'bob@example.com' }],
      ['reply', { id: desk.emailId, text: 'x' }],
      ['replyAll', { id: desk.emailId, draft: true }],
      ['forward', { id: desk.emailId, to: 'bob@example.com' }],
      ['cancelSend', { id }],
    ] as const)
      for (const as of ['bob', 'admin'])
        await server.play({
          name: action,
          request: `POST /api/emails:${action}`,
          as,
          body,
          expect: { status: 403, code: 'NO_PERMISSION', absent: ['zanzibar', 'eedle'] },
        });
    await server.play({
      name: 'an attachment of another user is refused',
      request: 'POST /api/emails:saveDraft',
      as: 'bob',
      body: { account: 2, attachments: [{ id: desk.attachmentId }] },
      expect: { status: 400, code: 'REFERENCE_MISSING' },
    });
    expect((await server.call('POST /api/emails', { as: 'nobody', body: { account: 1 } })).status).toBe(401);
    expect(await server.data('GET /api/changes:list?resource=emails', { as: 'bob' })).toEqual([]);
    expect(await server.data('GET /api/changes:list?resource=emails', { as: 'ann' })).not.toEqual([]);
  });

  test('a role that may not write a field, or sees only some fields, is limited to them', async () => {
    await server.data('POST /api/roles:create', { body: { name: 'clerk', title: 'Clerk' } });
    for (const row of [
      { resource: 'emails', actions: ['create', 'update'], exceptFields: ['cc'] },
      { resource: 'emails', actions: ['get'], exceptFields: ['content'] },
    ])
      await server.data('POST /api/permissions:create', { body: { role: 'clerk', ...row } });
    const user = { email: 'cy@example.com', password: 'correct horse', roles: ['clerk'] };
    const { id } = await server.data('POST /api/users:create', { body: user });
    server.tokens.set('cy', await server.signIn(user.email, user.password));
    await server.data('POST /api/accounts:update?filterByTk=1', { body: { members: [id] } });
    for (const [action, body, code] of [
      ['saveDraft', { account: 1, cc: 'a@b.c' }, 'FIELD_DENIED'],
      ['send', { account: 1, to: 'a@b.c', cc: 'a@b.c' }, 'FIELD_DENIED'],
      ['reply', { id: desk.emailId, text: 'x' }, 'FIELD_DENIED'],
      ['forward', { id: desk.emailId, to: 'a@b.c' }, 'FIELD_DENIED'],
    ] as const)
      await server.play({
        name: action,
        request: `POST /api/emails:${action}`,
        as: 'cy',
        body,
        expect: { status: 403, code, absent: ['Which one'] },
      });
    const made = await server.call('POST /api/emails:saveDraft', { as: 'cy', body: { account: 1, to: 'a@b.c' } });
    expect(made.status).toBe(200);
    expect(made.body.data).not.toHaveProperty('text');
  });
});
