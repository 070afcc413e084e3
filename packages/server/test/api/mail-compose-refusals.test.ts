import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type LetterDesk, openLetterDesk, outboxOf, saveDraft } from '../support/letter-desk.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

describeEngines('writing mail that is refused', (engine) => {
  let desk: LetterDesk;
  let server: TestServer;
  beforeAll(async () => {
    desk = await openLetterDesk(engine);
    server = desk.server;
  });
  afterAll(() => server.stop());

  const line = 'cora@example.net\r\nBcc: eve@example.net';
  const refused: readonly (readonly [string, string, unknown, number, string?])[] = [
    ['a line end in an address', 'send', { account: 1, to: line }, 422, 'to'],
    [
      'a line end in a name',
      'send',
      { account: 1, to: { name: 'x\r\nBcc: eve@example.net', address: 'a@b.c' } },
      422,
      'to',
    ],
    ['two addresses in one', 'send', { account: 1, to: 'a@b.c, d@e.f' }, 422, 'to'],
    ['a route', 'send', { account: 1, to: '<a@b.c>' }, 422, 'to'],
    ['a quoted local part', 'send', { account: 1, to: '"a b"@b.c' }, 422, 'to'],
    ['a domain in brackets', 'send', { account: 1, to: 'a@[127.0.0.1]' }, 422, 'to'],
    ['no address', 'saveDraft', { account: 1, to: ['a@b.c', 'nobody'] }, 422, 'to[1]'],
    ['a line end in a subject', 'saveDraft', { account: 1, subject: 'x\r\nBcc: eve@example.net' }, 422, 'subject'],
    ['a separator in a subject', 'saveDraft', { account: 1, subject: 'x\u2028y' }, 422, 'subject'],
    ['NUL in a text', 'saveDraft', { account: 1, text: 'a\0b' }, 422, 'text'],
    ['nobody to send to', 'send', { account: 1, text: 'x' }, 422, 'to'],
    ['too many', 'send', { account: 1, to: Array.from({ length: 501 }, (_, n) => `a${n}@b.c`) }, 422, 'to'],
    [
      'a line end in a file name',
      'saveDraft',
      { account: 1, attachments: [{ filename: 'a\r\nX: y', content: '' }] },
      422,
      'attachments[0]',
    ],
    [
      'a type with more',
      'saveDraft',
      { account: 1, attachments: [{ contentType: 'text/html; x=y', content: '' }] },
      422,
      'attachments[0]',
    ],
    [
      'a path for a file',
      'saveDraft',
      { account: 1, attachments: [{ path: '/etc/passwd', content: '' }] },
      422,
      'attachments[0]',
    ],
    [
      'a file by an address',
      'saveDraft',
      { account: 1, attachments: [{ href: 'http://127.0.0.1/' }] },
      422,
      'attachments[0]',
    ],
    [
      'content that is a path',
      'saveDraft',
      { account: 1, attachments: [{ content: { path: '/etc/passwd' } }] },
      422,
      'attachments[0]',
    ],
    ['what is no base64', 'saveDraft', { account: 1, attachments: [{ content: '***' }] }, 422, 'attachments[0]'],
    ['a moment that is none', 'send', { account: 1, to: 'a@b.c', sendAt: 'soon' }, 422, 'sendAt'],
    ['another property', 'saveDraft', { account: 1, from: 'x@y.z' }, 400],
    ['headers', 'send', { account: 1, to: 'a@b.c', headers: { Bcc: 'x@y.z' } }, 400],
    ['no account', 'saveDraft', { text: 'x' }, 422, 'account'],
    ["somebody else's account", 'send', { account: 2, to: 'a@b.c' }, 403],
    ['an account that is not there', 'send', { account: 99, to: 'a@b.c' }, 403],
    ['a draft in another account', 'saveDraft', { id: 1, account: 1 }, 400],
    ['a draft that is not there', 'saveDraft', { id: 1, text: 'x' }, 403],
    ['a parameter', 'saveDraft?fields=id', { account: 1 }, 400],
  ];
  test('what is wrong is refused, and nothing is kept', async () => {
    for (const [name, action, body, status, field] of refused) {
      const row: Scenario = {
        name,
        request: `POST /api/emails:${action}`,
        as: 'ann',
        body,
        expect: { status, ...(field !== undefined && { body: { details: { [field]: expect.any(String) } } }) },
      };
      await server.play(row).catch((error: Error) => {
        throw Object.assign(error, { message: `${name}: ${error.message}` });
      });
    }
    expect(await outboxOf(server)).toEqual([]);
  });

  test("somebody else's messages are no second path", async () => {
    const { id } = (await saveDraft(server, { account: 1, subject: 'Mine', text: 'zanzibar' })).body.data;
    for (const [action, body] of [
      ['saveDraft', { id, text: 'x' }],
      ['send', { id, to: 'bob@example.com' }],
      ['reply', { id: desk.letter, text: 'x' }],
      ['replyAll', { id: desk.letter, draft: true }],
      ['forward', { id: desk.letter, to: 'bob@example.com' }],
      ['cancelSend', { id }],
    ] as const)
      for (const as of ['bob', 'admin'])
        await server.play({
          name: action,
          request: `POST /api/emails:${action}`,
          as,
          body,
          expect: { status: 403, absent: ['zanzibar', 'eedle'] },
        });
    await server.play({
      name: 'an attachment of somebody else',
      request: 'POST /api/emails:saveDraft',
      as: 'bob',
      body: { account: 2, attachments: [{ id: desk.attached }] },
      expect: { status: 400, body: { code: 'REFERENCE_MISSING' } },
    });
    expect((await server.call('POST /api/emails', { as: 'nobody', body: { account: 1 } })).status).toBe(401);
    expect(await server.data('GET /api/changes:list?resource=emails', { as: 'bob' })).toEqual([]);
    expect(await server.data('GET /api/changes:list?resource=emails', { as: 'ann' })).not.toEqual([]);
  });

  test('a role that may not write a field, or sees a part, is held to it', async () => {
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
      ['reply', { id: desk.letter, text: 'x' }, 'FIELD_DENIED'],
      ['forward', { id: desk.letter, to: 'a@b.c' }, 'FIELD_DENIED'],
    ] as const)
      await server.play({
        name: action,
        request: `POST /api/emails:${action}`,
        as: 'cy',
        body,
        expect: { status: 403, body: { code }, absent: ['Which one'] },
      });
    const made = await server.call('POST /api/emails:saveDraft', { as: 'cy', body: { account: 1, to: 'a@b.c' } });
    expect(made.status).toBe(200);
    expect(made.body.data).not.toHaveProperty('text');
  });
});
