import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { upload } from '../support/mail-account-server.ts';
import {
  type MailComposeServer,
  pngBase64,
  readOutbox,
  saveDraft,
  startMailComposeServer,
} from '../support/mail-compose-server.ts';
import type { Reply, TestServer } from '../support/scenario.ts';

const html = Buffer.from('<script>alert(1)</script>\r\n').toString('base64');

describeEngines('mail composition', (engine) => {
  let desk: MailComposeServer;
  let server: TestServer;
  beforeAll(async () => {
    desk = await startMailComposeServer(engine);
    server = desk.server;
  });
  afterAll(() => server.stop());

  const save = (body: object, as = 'ann', headers = {}): Promise<Reply> => saveDraft(server, body, as, headers);
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
  test('a draft is saved and saved again under the same id', async () => {
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
      { filename: 'a.png', contentType: 'image/png', content: pngBase64 },
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
    expect(await server.data('GET /api/emails?search=nee%20', { as: 'ann' })).toEqual([]);
    expect(await server.data('GET /api/emails?fields=folder', { as: 'ann' })).not.toContainEqual({ folder: 'drafts' });
    expect(await server.data('GET /api/emails?folder=drafts', { as: 'ann' })).toContainEqual(
      expect.objectContaining({ id }),
    );
    expect(await server.data('GET /api/emails?search=hel%20', { as: 'ann' })).toEqual([]);
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

  test('of two users who save the same draft, the second one is refused as outdated', async () => {
    const made = await save({ account: 1, text: 'one' });
    const etag = made.headers.get('etag')!;
    const { id } = made.body.data;
    expect((await save({ id, text: 'two' }, 'ann', { 'if-match': etag })).status).toBe(200);
    await server.play({
      name: 'an outdated draft is refused',
      request: 'POST /api/emails:saveDraft',
      as: 'ann',
      body: { id, text: 'three' },
      headers: { 'if-match': etag },
      expect: { status: 412, code: 'VERSION_STALE' },
    });
    expect((await get(id)).text.trim()).toBe('two');
  });

  test('a sent draft waits in the outbox and can be cancelled', async () => {
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
    const listed = async (query: string): Promise<boolean> =>
      (await server.data(`GET /api/emails${query}`, { as: 'ann' })).some((each: { id: number }) => each.id === id);
    expect(await Promise.all(['', '?unread=false', '?folder=outbox', '?search=ship'].map(listed))).toEqual([
      false,
      false,
      true,
      true,
    ]);
    const bytes = await raw(id);
    expect(bytes).toContain('To: cora@example.net\r\n');
    expect(bytes).not.toContain('eve@example.net');
    expect(await readOutbox(server)).toEqual([
      [id, 'queued', 'shop@example.com', ['cora@example.net', 'eve@example.net']],
    ]);
    for (const [request, body] of [
      ['POST /api/emails:saveDraft', { id, text: 'x' }],
      ['POST /api/emails:send', { id }],
    ] as const)
      await server.play({
        name: 'a queued e-mail cannot be changed',
        request,
        as: 'ann',
        body,
        expect: { status: 403, code: 'SYSTEM_PROTECTED' },
      });
    for (const [request, body] of [
      ['POST /api/emails:move', { ids: [id], mailbox: 'INBOX' }],
      ['POST /api/emails:destroy', { ids: [id] }],
      [`DELETE /api/emails/${id}`, undefined],
      [`POST /api/conversations/${(await get(id)).conversationId}/emails:destroy?filterByTk=${id}`, undefined],
    ] as const)
      await server.play({
        name: 'a queued e-mail is refused',
        request,
        as: 'ann',
        body,
        expect: { status: 409, code: 'MAIL_QUEUED' },
      });
    await server.play({
      name: 'another user cannot call back the e-mail',
      request: 'POST /api/emails:cancelSend',
      as: 'bob',
      body: { id },
      expect: { status: 403, code: 'NO_PERMISSION' },
    });
    await server.play({
      name: 'the sender calls back the e-mail',
      request: 'POST /api/emails:cancelSend',
      as: 'ann',
      body: { id },
      expect: {
        status: 200,
        body: { data: { id, draft: true, folder: 'drafts', bcc: [{ address: 'eve@example.net' }] } },
        events: ['emails.updated', 'conversations.updated'],
      },
    });
    expect(await readOutbox(server)).toEqual([]);
    await server.play({
      name: 'the e-mail cannot be called back twice',
      request: 'POST /api/emails:cancelSend',
      as: 'ann',
      body: { id },
      expect: { status: 409, code: 'MAIL_NOT_QUEUED' },
    });
    expect((await save({ id, subject: 'Ship it tomorrow' })).body.data).toMatchObject({
      id,
      subject: 'Ship it tomorrow',
    });
  });

  test('parallel saves and sends of one draft lose no change, and the draft is sent once', async () => {
    const { id } = (await save({ account: 1, to: 'cora@example.net', text: 'start' })).body.data;
    const saves = await Promise.all(['a', 'b', 'c', 'd'].map((text) => save({ id, text })));
    const done = saves.filter(({ status }) => status === 200);
    expect(done.length).toBeGreaterThan(0);
    for (const { status } of saves) expect([200, 412]).toContain(status);
    expect(done.map(({ body }) => body.data.text.trim())).toContain((await get(id)).text.trim());
    const before = (await readOutbox(server)).length;
    const send = (): Promise<Reply> => server.call('POST /api/emails:send', { as: 'ann', body: { id } });
    const sends = await Promise.all([send(), send(), send()]);
    expect(sends.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await readOutbox(server)).toHaveLength(before + 1);
    const { body } = sends.find(({ status }) => status === 200)!;
    await server.data('POST /api/emails:cancelSend', { as: 'ann', body: { id: body.data.id } });
  });

  test('an e-mail with a later time waits until then', async () => {
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    const body = { account: 1, to: 'cora@example.net', text: 'Later.', sendAt };
    const key = { 'idempotency-key': 'later-1' };
    const first = await server.call('POST /api/emails:send', { as: 'ann', body, headers: key });
    expect(first.body.data).toMatchObject({ status: 'queued', sendAt });
    const again = await server.call('POST /api/emails:send', { as: 'ann', body, headers: key });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    expect(await readOutbox(server)).toHaveLength(1);
    await server.data('POST /api/emails:cancelSend', { as: 'ann', body: { id: first.body.data.id } });
  });

  test('a draft whose send request is repeated is sent once', async () => {
    const { id } = await server.data('POST /api/emails:saveDraft', {
      as: 'ann',
      body: { account: 1, to: 'cora@example.net', text: 'Once.' },
    });
    const asked = { as: 'ann', body: { id }, headers: { 'idempotency-key': 'once-1', 'if-match': '*' } };
    const first = await server.call('POST /api/emails:send', asked);
    const again = await server.call('POST /api/emails:send', asked);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    expect(await readOutbox(server)).toHaveLength(1);
    const otherKey = { ...asked, headers: { 'idempotency-key': 'once-2' } };
    expect((await server.call('POST /api/emails:send', otherKey)).status).toBe(403);
    const otherBody = { ...asked, body: { id, subject: 'Twice' } };
    expect((await server.call('POST /api/emails:send', otherBody)).body.code).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(await readOutbox(server)).toHaveLength(1);
    await server.data('POST /api/emails:cancelSend', { as: 'ann', body: { id: first.body.data.id } });
  });

  test('a dry run of a send sends nothing', async () => {
    const before = await server.readSnapshot();
    const body = { account: 1, to: 'cora@example.net', text: 'Try.' };
    const tried = await server.call('POST /api/emails:send?dryRun=true', { as: 'ann', body });
    expect(tried.body).toMatchObject({ data: { status: 'queued' }, meta: { dryRun: true } });
    expect(await readOutbox(server)).toEqual([]);
    expect(await server.readSnapshot()).toBe(before);
  });

  test('a reply goes to the sender, in the same conversation, with one prefix and the quoted text', async () => {
    const sent = await server.data('POST /api/emails:reply', {
      as: 'ann',
      body: { id: desk.emailId, text: 'The thin one.' },
    });
    const mine = await get(sent.id);
    expect(mine).toMatchObject({
      subject: 'Re: Needle',
      to: [{ name: 'Cora', address: 'cora@example.net' }],
      cc: [],
      inReplyTo: ['n2@example.net'],
      references: ['n0@example.net', 'n1@example.net', 'n2@example.net'],
      conversationId: (await get(desk.emailId)).conversationId,
      attachments: [],
    });
    expect(mine.text).toContain(
      'The thin one.\n\nOn 2026-11-20 10:00 UTC, Cora <cora@example.net> wrote:\n> Which one fits?\n>> old',
    );
    await server.data('POST /api/emails:cancelSend', { as: 'ann', body: { id: sent.id } });
    const all = await server.data('POST /api/emails:replyAll', {
      as: 'ann',
      body: { id: desk.emailId, text: 'All.', draft: true, quote: false },
    });
    expect(all).toMatchObject({
      draft: true,
      cc: [{ address: 'dan@example.net' }],
      text: expect.stringMatching(/^All\.\s*$/),
    });
  });

  test('a forwarded e-mail keeps its attachments', async () => {
    const body = { id: desk.emailId, to: 'fay@example.org', text: 'See below.' };
    const { id } = await server.data('POST /api/emails:forward', { as: 'ann', body });
    const mine = await get(id);
    expect(mine).toMatchObject({ subject: 'Fwd: Needle', inReplyTo: [], attachments: [{ filename: 'needle.png' }] });
    const ofIt = await server.data(`GET /api/attachments:get?filterByTk=${desk.attachmentId}`, { as: 'ann' });
    expect(mine.attachments[0].sha256).toBe(ofIt.sha256);
    expect(mine.text).toContain('Forwarded message');
    await server.data('POST /api/emails:cancelSend', { as: 'ann', body: { id } });
  });

  test('files of every kind keep their bytes until the draft is sent', async () => {
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

  test('a file of any size is attached unchanged', async () => {
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

  /** A message whose HTML shows one of its two pictures. */
  const illustrated = [
    'From: Cora <cora@example.net>',
    'To: shop@example.com',
    'Subject: Sleeve',
    'Message-ID: <sleeve@example.net>',
    'MIME-Version: 1.0',
    'Content-Type: multipart/related; boundary=b',
    '',
    '--b',
    'Content-Type: text/html; charset=utf-8',
    '',
    '<style>.x { color: red }</style><p class="x">Grün: <img src="cid:sleeve@cora"></p>',
    ...['sleeve@cora', 'unused@cora'].flatMap((contentId) => [
      '--b',
      `Content-Type: image/png; name="${contentId}.png"`,
      `Content-ID: <${contentId}>`,
      'Content-Disposition: inline',
      'Content-Transfer-Encoding: base64',
      '',
      pngBase64,
    ]),
    '--b--',
    '',
  ].join('\r\n');

  test('a reply quotes HTML with the pictures that it shows, and quoting again changes no names', async () => {
    const [id] = (await upload(server, 'ann', 1, illustrated)).ids;
    const reply = await server.data('POST /api/emails:reply', {
      as: 'ann',
      body: { id, html: '<p>Nice.</p>', draft: true },
    });
    expect(reply.attachments.map(({ contentId }: Json) => contentId)).toEqual(['sleeve@cora']);
    expect(reply.html).toMatch(
      /^<style>\.m-scope \.m-x\{color:red\}<\/style><div class="m-scope"><p>Nice\.<\/p><div class="m-gmail_quote">[\s\S]*<p class="m-x">Grün: <img data-cid="sleeve@cora"/,
    );
    const sent = await server.data('POST /api/emails:send', { as: 'ann', body: { id: reply.id } });
    expect((await raw(sent.id)).replaceAll('=\r\n', '').replaceAll('=3D', '=')).toMatch(
      /multipart\/related[\s\S]*<img src="cid:sleeve@cora"[\s\S]*Content-Id: <sleeve@cora>/i,
    );
    await server.data('POST /api/emails:cancelSend', { as: 'ann', body: { id: sent.id } });
    // A plain-text reply shows no picture, so no picture is attached.
    const plain = await server.data('POST /api/emails:reply', {
      as: 'ann',
      body: { id, text: 'Nice.', quote: false, draft: true },
    });
    expect(plain.attachments).toEqual([]);
  });

  test('a message is forwarded as an attachment, byte for byte', async () => {
    const [id] = (await upload(server, 'ann', 1, illustrated.replace('sleeve@example.net', 'second@example.net'))).ids;
    const body = { id, to: 'fay@example.org', text: 'See the file.', asAttachment: true };
    const sent = await server.data('POST /api/emails:forward', { as: 'ann', body });
    const mine = await get(sent.id);
    expect(mine.text.trim()).toBe('See the file.');
    expect(mine.attachments).toMatchObject([{ filename: 'Sleeve.eml', contentType: 'message/rfc822' }]);
    const hash = createHash('sha256')
      .update(await raw(id!))
      .digest('hex');
    expect(mine.attachments[0].sha256).toBe(hash);
    expect(await raw(sent.id)).toMatch(/Content-Type: message\/rfc822[\s\S]*Content-Transfer-Encoding: 8bit/);
    await server.data('POST /api/emails:cancelSend', { as: 'ann', body: { id: sent.id } });
    const wrong = await server.call('POST /api/emails:reply', { as: 'ann', body: { id, asAttachment: true } });
    expect(wrong.status).toBe(400);
  });

  test('a picture is attached with the content id by which the HTML shows it', async () => {
    const { id } = (await save({ account: 1, html: '<p><img src="cid:shelf@draft"></p>' })).body.data;
    const attach = (contentId: string): Promise<Response> =>
      fetch(
        `${server.running.url}/api/emails:attach?filterByTk=${id}&filename=shelf.png&contentType=image/png&contentId=${contentId}`,
        {
          method: 'POST',
          headers: { authorization: `Bearer ${server.tokens.get('ann')}`, 'content-type': 'application/octet-stream' },
          body: Buffer.from(pngBase64, 'base64'),
        },
      );
    expect((await attach('a%20b')).status).toBe(400);
    expect((await attach('shelf@draft')).status).toBe(200);
    const draft = await get(id);
    expect(draft.attachments).toMatchObject([
      { contentId: 'shelf@draft', disposition: 'inline', sniffedType: 'image/png' },
    ]);
    expect(draft.html).toContain('<img data-cid="shelf@draft"');
  });

  test('a plain-style request saves a draft', async () => {
    const made = await server.call('POST /api/emails', { as: 'ann', body: { account: 1, text: 'plain' } });
    expect(made.body.data).toMatchObject({ draft: true, snippet: 'plain' });
  });

  test('a draft that is sent under another subject leaves no empty conversation', async () => {
    const draft = (await save({ account: 1, to: 'cora@example.net', subject: 'Was', text: 'x' })).body.data;
    const body = { id: draft.id, subject: 'Is' };
    const { id } = await server.data('POST /api/emails:send', { as: 'ann', body });
    expect((await get(id)).conversationId).not.toBe(draft.conversationId);
    const filter = encodeURIComponent(JSON.stringify({ id: draft.conversationId }));
    expect(await server.data(`GET /api/conversations?filter=${filter}`, { as: 'ann' })).toEqual([]);
  });
});
