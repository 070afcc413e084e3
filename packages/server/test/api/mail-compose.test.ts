import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { openMailWorld, upload } from '../support/mail-world.ts';
import { rawMail } from '../support/raw-mail.ts';
import type { Reply, Scenario, TestServer } from '../support/scenario.ts';

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const html = Buffer.from('<script>alert(1)</script>\r\n').toString('base64');

describeEngines('writing mail', (engine) => {
  let server: TestServer;
  let letter: number;
  let attached: number;
  beforeAll(async () => {
    server = await openMailWorld(engine);
    await server.data('POST /api/accounts:create', { as: 'bob', body: { name: 'Bob', address: 'bob@example.com' } });
    const attachments = [{ name: 'needle.png', type: 'image/png', content: Buffer.from(png, 'base64') }];
    const mail = {
      subject: 'AW: Re: Needle',
      from: 'Cora <cora@example.net>',
      cc: 'Dan <dan@example.net>, shop@example.com',
    };
    const thread = { id: 'n2@example.net', references: ['n0@example.net', 'n1@example.net'] };
    await upload(server, 'ann', 1, rawMail({ ...mail, ...thread, text: 'Which one fits?\n> old', attachments }));
    [{ id: letter }] = await server.data('GET /api/emails', { as: 'ann' });
    [{ id: attached }] = await server.data('GET /api/attachments', { as: 'ann' });
  });
  afterAll(() => server.stop());

  const save = (body: object, as = 'ann', headers = {}): Promise<Reply> =>
    server.call('POST /api/emails:saveDraft', { as, body, headers });
  const get = (id: number, as = 'ann'): Promise<Json> => server.data(`GET /api/emails/${id}`, { as });
  /** The bytes of a message as they are stored. */
  const raw = async (id: number): Promise<string> => {
    const { database, mail } = server.running.applications.main;
    const [rows] = await database.read([
      {
        text: `SELECT e."accountId",c."rawSha256" FROM emails e JOIN "mailContents" c ON c.id=e."contentId" WHERE e.id=${id}`,
        values: [],
      },
    ]);
    return (await mail.blobs.get(Number(rows![0]![0]), rows![0]![1] as string))!.toString();
  };
  const queue = async (): Promise<unknown[][]> => {
    const { database } = server.running.applications.main;
    const text = 'SELECT "emailId",status,sender,recipients FROM "mailOutbox" ORDER BY id';
    const [rows] = await database.read([{ text, values: [] }]);
    return rows!.map(([id, status, sender, list]) => [
      Number(id),
      status,
      sender,
      typeof list === 'string' ? JSON.parse(list) : list,
    ]);
  };

  test('a draft is saved, and saved again, under one id', async () => {
    const first = await save({ account: 1, to: 'cora@example.net', subject: 'Nee', text: 'Hel' });
    expect(first.body.data).toMatchObject({
      draft: true,
      read: true,
      folder: 'drafts',
      outgoing: true,
      subject: 'Nee',
      from: [{ name: 'Shop', address: 'shop@example.com' }],
      to: [{ address: 'cora@example.net' }],
    });
    const { id, conversationId, messageId } = first.body.data;
    expect(first.body.data.text.trim()).toBe('Hel');
    const files = [
      { filename: 'a.png', contentType: 'image/png', content: png },
      { filename: 'x.html', content: html },
    ];
    const second = await save({ id, subject: 'Needles', html: '<p onclick="x()">Hello</p>', attachments: files });
    expect(second.body.data).toMatchObject({
      id,
      conversationId,
      messageId,
      subject: 'Needles',
      to: [{ address: 'cora@example.net' }],
      html: '<p>Hello</p>',
      hasAttachments: true,
      attachments: [
        { filename: 'a.png', sniffedType: 'image/png' },
        { filename: 'x.html', size: 27 },
      ],
    });
    const third = await save({ id, bcc: [{ name: 'Eve', address: 'eve@example.net' }] });
    expect(third.body.data).toMatchObject({ bcc: [{ name: 'Eve', address: 'eve@example.net' }], html: '<p>Hello</p>' });
    expect(third.body.data.attachments).toEqual(second.body.data.attachments);
    const fewer = await save({ id, attachments: [{ id: third.body.data.attachments[1].id }] });
    expect(fewer.body.data.attachments).toEqual([third.body.data.attachments[1]]);
    expect(await server.data('GET /api/emails?search=hello needles', { as: 'ann' })).toMatchObject([{ id }]);
    expect(await server.data('GET /api/emails?search=nee', { as: 'ann' })).toEqual([]);
    expect(await server.data('GET /api/emails?search=hel', { as: 'ann' })).toEqual([]);
    expect(await server.data(`GET /api/conversations/${conversationId}`, { as: 'ann' })).toMatchObject({
      subject: 'Needles',
      messages: 1,
      emails: [{ id }],
    });
    const mailboxes = await server.data('GET /api/mailboxes', { as: 'ann' });
    expect(mailboxes.find((each: { role: string }) => each.role === 'drafts')).toMatchObject({
      messages: 1,
      unread: 0,
    });
  });

  test('of two who save the same draft, the second is told', async () => {
    const made = await save({ account: 1, text: 'one' });
    const etag = made.headers.get('etag')!;
    const { id } = made.body.data;
    expect((await save({ id, text: 'two' }, 'ann', { 'if-match': etag })).status).toBe(200);
    await server.play({
      name: '',
      request: 'POST /api/emails:saveDraft',
      as: 'ann',
      body: { id, text: 'three' },
      headers: { 'if-match': etag },
      expect: { status: 412, body: { code: 'VERSION_STALE' } },
    });
    expect((await get(id)).text.trim()).toBe('two');
  });

  test('a draft is sent: it waits in the outbox, and can be called back', async () => {
    const { id: draft } = (
      await save({ account: 'shop@example.com', to: 'cora@example.net', bcc: 'eve@example.net', subject: 'Ship it' })
    ).body.data;
    const sent = await server.call('POST /api/emails:send', { as: 'ann', body: { id: draft, text: 'Now.' } });
    expect(sent.body.data).toMatchObject({ status: 'queued', accountId: 1 });
    const wait = Date.parse(sent.body.data.sendAt) - Date.now();
    expect(wait).toBeGreaterThan(5_000);
    expect(wait).toBeLessThan(10_001);
    const { id } = sent.body.data;
    expect(await get(id)).toMatchObject({ draft: false, folder: 'outbox', bcc: [{ address: 'eve@example.net' }] });
    expect((await server.call(`GET /api/emails/${draft}`, { as: 'ann' })).status).toBe(403);
    const bytes = await raw(id);
    expect(bytes).toContain('To: cora@example.net\r\n');
    expect(bytes).not.toContain('eve@example.net');
    expect(await queue()).toEqual([[id, 'queued', 'shop@example.com', ['cora@example.net', 'eve@example.net']]]);
    for (const [request, body] of [
      ['POST /api/emails:saveDraft', { id, text: 'x' }],
      ['POST /api/emails:send', { id }],
    ] as const)
      await server.play({
        name: '',
        request,
        as: 'ann',
        body,
        expect: { status: 403, body: { code: 'SYSTEM_PROTECTED' } },
      });
    for (const [request, body] of [
      ['POST /api/emails:move', { ids: [id], mailbox: 'INBOX' }],
      ['POST /api/emails:destroy', { ids: [id] }],
      [`DELETE /api/emails/${id}`, undefined],
      [`POST /api/conversations/${(await get(id)).conversationId}/emails:destroy?filterByTk=${id}`, undefined],
    ] as const)
      await server.play({ name: '', request, as: 'ann', body, expect: { status: 409, body: { code: 'MAIL_QUEUED' } } });
    await server.play({
      name: 'somebody else does not call it back',
      request: 'POST /api/emails:cancelSend',
      as: 'bob',
      body: { id },
      expect: { status: 403 },
    });
    await server.play({
      name: 'called back',
      request: 'POST /api/emails:cancelSend',
      as: 'ann',
      body: { id },
      expect: {
        status: 200,
        body: { data: { id, draft: true, folder: 'drafts', bcc: [{ address: 'eve@example.net' }] } },
        events: ['emails.updated', 'conversations.updated'],
      },
    });
    expect(await queue()).toEqual([]);
    await server.play({
      name: 'not twice',
      request: 'POST /api/emails:cancelSend',
      as: 'ann',
      body: { id },
      expect: { status: 409, body: { code: 'MAIL_NOT_QUEUED' } },
    });
    expect((await save({ id, subject: 'Ship it tomorrow' })).body.data).toMatchObject({
      id,
      subject: 'Ship it tomorrow',
    });
  });

  test('of many at once who save or send one draft, nobody undoes the other, and it is sent once', async () => {
    const { id } = (await save({ account: 1, to: 'cora@example.net', text: 'start' })).body.data;
    const saves = await Promise.all(['a', 'b', 'c', 'd'].map((text) => save({ id, text })));
    const done = saves.filter(({ status }) => status === 200);
    expect(done.length).toBeGreaterThan(0);
    for (const { status } of saves) expect([200, 412]).toContain(status);
    expect(done.map(({ body }) => body.data.text.trim())).toContain((await get(id)).text.trim());
    const before = (await queue()).length;
    const send = (): Promise<Reply> => server.call('POST /api/emails:send', { as: 'ann', body: { id } });
    const sends = await Promise.all([send(), send(), send()]);
    expect(sends.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await queue()).toHaveLength(before + 1);
    const { body } = sends.find(({ status }) => status === 200)!;
    await server.data('POST /api/emails:cancelSend', { as: 'ann', body: { id: body.data.id } });
  });

  test('what is sent later waits until then', async () => {
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    const body = { account: 1, to: 'cora@example.net', text: 'Later.', sendAt };
    const key = { 'idempotency-key': 'later-1' };
    const first = await server.call('POST /api/emails:send', { as: 'ann', body, headers: key });
    expect(first.body.data).toMatchObject({ status: 'queued', sendAt });
    const again = await server.call('POST /api/emails:send', { as: 'ann', body, headers: key });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    expect(await queue()).toHaveLength(1);
    await server.data('POST /api/emails:cancelSend', { as: 'ann', body: { id: first.body.data.id } });
  });

  test('a draft whose sending is repeated is sent once', async () => {
    const { id } = await server.data('POST /api/emails:saveDraft', {
      as: 'ann',
      body: { account: 1, to: 'cora@example.net', text: 'Once.' },
    });
    const asked = { as: 'ann', body: { id }, headers: { 'idempotency-key': 'once-1', 'if-match': '*' } };
    const first = await server.call('POST /api/emails:send', asked);
    const again = await server.call('POST /api/emails:send', asked);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    expect(await queue()).toHaveLength(1);
    const otherKey = { ...asked, headers: { 'idempotency-key': 'once-2' } };
    expect((await server.call('POST /api/emails:send', otherKey)).status).toBe(403);
    const otherBody = { ...asked, body: { id, subject: 'Twice' } };
    expect((await server.call('POST /api/emails:send', otherBody)).body.code).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(await queue()).toHaveLength(1);
    await server.data('POST /api/emails:cancelSend', { as: 'ann', body: { id: first.body.data.id } });
  });

  test('a trial of a sending sends nothing', async () => {
    const before = await server.picture();
    const body = { account: 1, to: 'cora@example.net', text: 'Try.' };
    const tried = await server.call('POST /api/emails:send?dryRun=true', { as: 'ann', body });
    expect(tried.body).toMatchObject({ data: { status: 'queued' }, meta: { dryRun: true } });
    expect(await queue()).toEqual([]);
    expect(await server.picture()).toBe(before);
  });

  test('an answer goes to the sender, in the thread, with one prefix and what was said', async () => {
    const sent = await server.data('POST /api/emails:reply', {
      as: 'ann',
      body: { id: letter, text: 'The thin one.' },
    });
    const mine = await get(sent.id);
    expect(mine).toMatchObject({
      subject: 'Re: Needle',
      to: [{ name: 'Cora', address: 'cora@example.net' }],
      cc: [],
      inReplyTo: ['n2@example.net'],
      references: ['n0@example.net', 'n1@example.net', 'n2@example.net'],
      conversationId: (await get(letter)).conversationId,
      attachments: [],
    });
    expect(mine.text).toContain(
      'The thin one.\n\nOn 2026-11-20 10:00 UTC, Cora <cora@example.net> wrote:\n> Which one fits?\n>> old',
    );
    await server.data('POST /api/emails:cancelSend', { as: 'ann', body: { id: sent.id } });
    const all = await server.data('POST /api/emails:replyAll', {
      as: 'ann',
      body: { id: letter, text: 'All.', draft: true, quote: false },
    });
    expect(all).toMatchObject({
      draft: true,
      cc: [{ address: 'dan@example.net' }],
      text: expect.stringMatching(/^All\.\s*$/),
    });
  });

  test('what is passed on keeps its attachments', async () => {
    const body = { id: letter, to: 'fay@example.org', text: 'See below.' };
    const { id } = await server.data('POST /api/emails:forward', { as: 'ann', body });
    const mine = await get(id);
    expect(mine).toMatchObject({ subject: 'Fwd: Needle', inReplyTo: [], attachments: [{ filename: 'needle.png' }] });
    const ofIt = await server.data(`GET /api/attachments:get?filterByTk=${attached}`, { as: 'ann' });
    expect(mine.attachments[0].sha256).toBe(ofIt.sha256);
    expect(mine.text).toContain('Forwarded message');
    await server.data('POST /api/emails:cancelSend', { as: 'ann', body: { id } });
  });

  test('files of every kind keep their bytes, so that a draft that is sent has them', async () => {
    const kinds = ['text/plain', 'text/html', 'text/calendar', 'message/rfc822', 'multipart/mixed', 'image/svg+xml'];
    const content = Buffer.from('Subject: x\r\n\nBEGIN\rend').toString('base64');
    const attachments = kinds.flatMap((contentType, index) => [
      { filename: `${index}.a`, contentType, content },
      { contentType, content, contentId: `c${index}` },
    ]);
    const { id, attachments: kept } = (
      await save({ account: 1, to: 'cora@example.net', attachments, html: '<p>x</p>' })
    ).body.data;
    expect(kept).toHaveLength(attachments.length);
    expect(new Set(kept.map((each: { sha256: string }) => each.sha256)).size).toBe(1);
    const sent = await server.data('POST /api/emails:send', { as: 'ann', body: { id } });
    expect((await get(sent.id)).attachments).toHaveLength(attachments.length);
    await server.data('POST /api/emails:cancelSend', { as: 'ann', body: { id: sent.id } });
  });

  test('a file of any size is added as it is', async () => {
    const { id } = (await save({ account: 1, subject: 'Files' })).body.data;
    const bytes = Buffer.from('line\r\nline\nÿ\u0000', 'latin1');
    const url = `${server.running.url}/api/emails:attach?filterByTk=${id}&filename=${encodeURIComponent('../../Übung".bin')}`;
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.tokens.get('ann')}`, 'content-type': 'application/octet-stream' },
      body: bytes,
    });
    const { data } = (await response.json()) as { data: { attachments: { id: number; filename: string }[] } };
    expect(data.attachments).toMatchObject([{ filename: 'Übung_.bin', size: bytes.length }]);
    const back = await fetch(`${server.running.url}/api/attachments/${data.attachments[0]!.id}`, {
      headers: { authorization: `Bearer ${server.tokens.get('ann')}` },
    });
    expect(Buffer.from(await back.arrayBuffer())).toEqual(bytes);
  });

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
    expect(await queue()).toEqual([]);
  });

  test("somebody else's messages are no second path", async () => {
    const { id } = (await save({ account: 1, subject: 'Mine', text: 'zanzibar' })).body.data;
    for (const [action, body] of [
      ['saveDraft', { id, text: 'x' }],
      ['send', { id, to: 'bob@example.com' }],
      ['reply', { id: letter, text: 'x' }],
      ['replyAll', { id: letter, draft: true }],
      ['forward', { id: letter, to: 'bob@example.com' }],
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
      body: { account: 2, attachments: [{ id: attached }] },
      expect: { status: 400, body: { code: 'REFERENCE_MISSING' } },
    });
    expect((await server.call('POST /api/emails', { as: 'nobody', body: { account: 1 } })).status).toBe(401);
    expect(await server.data('GET /api/changes:list?resource=emails', { as: 'bob' })).toEqual([]);
    expect(await server.data('GET /api/changes:list?resource=emails', { as: 'ann' })).not.toEqual([]);
  });

  test('plain style saves a draft', async () => {
    const made = await server.call('POST /api/emails', { as: 'ann', body: { account: 1, text: 'plain' } });
    expect(made.body.data).toMatchObject({ draft: true, snippet: 'plain' });
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
      ['reply', { id: letter, text: 'x' }, 'FIELD_DENIED'],
      ['forward', { id: letter, to: 'a@b.c' }, 'FIELD_DENIED'],
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
