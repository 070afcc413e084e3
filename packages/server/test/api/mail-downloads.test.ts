import { createServer, type IncomingHttpHeaders, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readMbox } from '../../src/mail/files/mbox-reader.ts';
import { describeEngines } from '../support/engines.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import type { Reply, TestServer } from '../support/scenario.ts';

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
/** Longer than one chunk of the blob store. */
const long = Buffer.alloc(1_300_000, 'abcdefghijklmnopqrstuvwxyz');

describeEngines('downloads of mail', (engine) => {
  let server: TestServer;
  let emails: { id: number; subject: string }[];
  let files: { id: number; filename: string; sha256: string }[];
  const message = makeRawMail({
    subject: 'Liner ../"notes"\u2028',
    id: 'l1@example.net',
    text: 'From here on.\r\n>From there.',
    attachments: [
      { name: 'cover.png', type: 'text/html', content: png },
      { name: 'page.html', type: 'image/png', content: '<html><script>alert(1)</script></html>' },
      { name: 'shape.svg', type: 'image/svg+xml', content: '<svg xmlns="http://www.w3.org/2000/svg"/>' },
      { name: 'long.bin', type: 'application/octet-stream', content: long },
      { name: 'words.txt', type: 'text/plain', content: 'Only words.' },
    ],
  });
  beforeAll(async () => {
    server = await startMailAccountServer(engine);
    await upload(server, 'ann', 1, message);
    await upload(
      server,
      'ann',
      1,
      makeRawMail({ subject: 'Second', id: 'l2@example.net' }),
      'message/rfc822',
      '&mailbox=Archive',
    );
    emails = await server.data('GET /api/emails?sort=id', { as: 'ann' });
    files = await server.data('GET /api/attachments?sort=id', { as: 'ann' });
  });
  afterAll(() => server.stop());

  const fetched = (path: string, headers: Record<string, string> = {}, method = 'GET', as = 'ann'): Promise<Response> =>
    fetch(server.running.url + path, {
      method,
      headers: { authorization: `Bearer ${server.tokens.get(as)}`, ...headers },
    });
  const file = (name: string): string => `/api/attachments/${files.find((each) => each.filename === name)!.id}`;
  const bytesOf = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer());

  test.each([
    ['cover.png', 'image/png', 'inline'],
    ['words.txt', 'text/plain; charset=utf-8', 'inline'],
    ['page.html', 'application/octet-stream', 'attachment'],
    ['shape.svg', 'application/octet-stream', 'attachment'],
    ['long.bin', 'text/plain; charset=utf-8', 'inline'],
  ])('%s is sent as %s and cannot run scripts', async (name, type, disposition) => {
    const { headers } = await fetched(file(name));
    expect(headers.get('content-type')).toBe(type);
    expect(headers.get('content-disposition')).toBe(`${disposition}; filename="${name}"; filename*=UTF-8''${name}`);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toBe("sandbox; default-src 'none'");
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
  });

  test('a browser navigation and additional parameters get the same headers', async () => {
    const id = file('page.html').split('/').at(-1);
    for (const path of [
      `${file('page.html')}?meta=0`,
      `/api/attachments/${id}?meta=false`,
      `/api/attachments/%3${id}`.replace(`%3${id}`, String(id)),
    ]) {
      const { headers } = await fetched(path, { accept: 'text/html' });
      expect(headers.get('content-disposition')).toMatch(/^attachment/);
    }
    const meta = await fetched(`${file('page.html')}?meta=1`);
    expect(await meta.json()).toMatchObject({ data: { filename: 'page.html', sniffedType: null } });
  });

  test.each([
    ['bytes=0-9', 206, 0, 10],
    ['bytes=-5', 206, long.length - 5, long.length],
    ['bytes=1299990-', 206, 1_299_990, long.length],
    ['bytes=524280-524300', 206, 524_280, 524_301],
    ['bytes=5-99999999999', 206, 5, long.length],
    ['bytes=-99999999', 206, 0, long.length],
    ['bytes=1300000-', 416, 0, 0],
    ['bytes=-0', 416, 0, 0],
    ['bytes=9-5', 200, 0, long.length],
    ['bytes=0-1,3-4', 200, 0, long.length],
    ['bytes=a-b', 200, 0, long.length],
    ['bytes=99999999999999999999-', 200, 0, long.length],
    ['lines=0-1', 200, 0, long.length],
  ] as const)('Range %s is answered with %d', async (range, status, from, end) => {
    const response = await fetched(file('long.bin'), { range });
    expect(response.status).toBe(status);
    expect(await bytesOf(response)).toEqual(status === 416 ? Buffer.alloc(0) : long.subarray(from, end));
    const { headers } = response;
    if (status === 206) expect(headers.get('content-range')).toBe(`bytes ${from}-${end - 1}/${long.length}`);
    if (status === 416) expect(headers.get('content-range')).toBe(`bytes */${long.length}`);
    expect(headers.get('content-length')).toBe(String(end - from));
  });

  test('the ETag is strong and is the hash of the bytes; If-Range and If-None-Match use it', async () => {
    const { sha256 } = files.find((each) => each.filename === 'long.bin')!;
    const etag = `"${sha256}"`;
    const range = 'bytes=0-3';
    expect((await fetched(file('long.bin'), { range, 'if-range': etag })).status).toBe(206);
    for (const other of [`W/${etag}`, '"other"', 'Fri, 20 Nov 2026 10:00:00 GMT'])
      expect((await fetched(file('long.bin'), { range, 'if-range': other })).status).toBe(200);
    for (const known of [etag, `"x", W/${etag}`, '*'])
      expect((await fetched(file('long.bin'), { 'if-none-match': known })).status).toBe(304);
  });

  test('HEAD returns only the headers', async () => {
    const response = await fetched(file('long.bin'), { range: 'bytes=0-3' }, 'HEAD');
    expect([response.status, response.headers.get('content-length')]).toEqual([200, String(long.length)]);
    expect((await bytesOf(response)).length).toBe(0);
  });

  test('a client that disconnects leaves no open files', async () => {
    for (let round = 0; round < 20; round += 1)
      await new Promise<void>((resolve) => {
        const headers = { authorization: `Bearer ${server.tokens.get('ann')}` };
        const asked = request(server.running.url + file('long.bin'), { headers }, (response) => {
          response.once('data', () => asked.destroy());
          response.once('close', resolve);
          response.on('error', () => {});
        });
        asked.on('error', () => {});
        asked.end();
      });
    expect(await bytesOf(await fetched(file('long.bin')))).toEqual(long);
  });

  test('a message is returned unchanged', async () => {
    const { id } = emails.find((each) => each.subject.startsWith('Liner'))!;
    for (const path of [`/api/emails/${id}?raw=1`, `/api/emails:raw?filterByTk=${id}`, `/api/emails:raw/${id}`]) {
      const response = await fetched(path);
      expect(response.status, path).toBe(200);
      expect(response.headers.get('content-type')).toBe('message/rfc822');
      expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename="_notes_[^"/\\]*\.eml"/);
      expect((await bytesOf(response)).toString()).toBe(message);
    }
  });

  test('an account is exported as an mbox that can be imported again', async () => {
    await server.data('POST /api/emails:batchUpdate', {
      as: 'ann',
      body: { ids: [emails[0]!.id], read: true, starred: true },
    });
    const response = await fetched('/api/emails:export?account=shop@example.com');
    expect(response.headers.get('content-type')).toBe('application/mbox');
    expect(response.headers.get('content-disposition')).toContain('filename="shop@example.com.mbox"');
    const found = [];
    for await (const each of readMbox([await bytesOf(response)])) found.push(each);
    expect(found.map(({ flags }) => flags?.includes('flagged'))).toEqual([true, false]);
    const whole = found.map(({ raw }) =>
      Buffer.from(raw)
        .toString()
        .replaceAll(/^(?:X-)?Status:.*\n/gm, '')
        .trimEnd(),
    );
    const both = [message, makeRawMail({ subject: 'Second', id: 'l2@example.net' })].map((each) =>
      each.replaceAll('\r\n', '\n').trimEnd(),
    );
    expect(new Set(whole)).toEqual(new Set(both));
    const part = await fetched('/api/emails:export?account=1&mailbox=archive');
    expect((await part.text()).match(/^From /gm)).toHaveLength(1);
  });

  test("bytes of another user's mail are refused in every spelling", async () => {
    const { id } = emails[0]!;
    const own = file('words.txt').split('/').at(-1);
    for (const as of ['bob', 'admin'])
      for (const path of [
        `/api/attachments/${own}`,
        `/api/attachments/${own}?meta=0`,
        `/api/attachments/${own}?meta=1`,
        `/api/emails/${id}?raw=1`,
        `/api/emails/${id}?raw=true`,
        `/api/emails:raw?filterByTk=${id}`,
        `/api/emails:raw/${id}`,
        `/api/emails:raw?filter={"id":${id}}`,
        '/api/emails:export?account=1',
        '/api/emails:export?account=SHOP@example.com',
      ])
        for (const headers of [{}, { range: 'bytes=0-3' }]) {
          const response = await fetched(path, headers as Record<string, string>, 'GET', as);
          const text = await response.text();
          expect([403, 404], `${as} ${path}`).toContain(response.status);
          expect(text, `${as} ${path}`).not.toMatch(/Only|Liner|From here/);
        }
  });

  test('a role that may not read all fields of an e-mail cannot read the raw message', async () => {
    await server.data('POST /api/roles:create', { body: { name: 'clerk', title: 'Clerk' } });
    for (const row of [
      { resource: 'emails', actions: ['list', 'get', 'export'], exceptFields: ['from'] },
      { resource: 'attachments', actions: ['list', 'get'], exceptFields: ['sha256'] },
    ])
      await server.data('POST /api/permissions:create', { body: { role: 'clerk', ...row } });
    const user = { email: 'cy@example.com', password: 'correct horse', roles: ['clerk'] };
    const { id } = await server.data('POST /api/users:create', { body: user });
    server.tokens.set('cy', await server.signIn(user.email, user.password));
    await server.data('POST /api/accounts:update?filterByTk=1', { body: { members: [id] } });
    for (const path of [
      `/api/emails/${emails[0]!.id}?raw=1`,
      `/api/emails:raw/${emails[0]!.id}`,
      '/api/emails:export?account=1',
      file('words.txt'),
    ])
      await server.play({
        name: path,
        request: `GET ${path}`,
        as: 'cy',
        expect: { status: 403, code: 'FIELD_DENIED' },
      });
    expect((await server.call(`GET /api/emails/${emails[0]!.id}`, { as: 'cy' })).status).toBe(200);
  });
});

describeEngines('remote images', (engine) => {
  let server: TestServer;
  let elsewhere: Server;
  let base: string;
  let id: number;
  const asked: { url: string; headers: IncomingHttpHeaders }[] = [];
  beforeAll(async () => {
    elsewhere = createServer(({ url = '', headers }, response) => {
      asked.push({ url, headers });
      if (url.startsWith('/moved')) response.writeHead(302, { location: `${base}/a.png` }).end();
      else if (url.startsWith('/page')) response.writeHead(200, { 'content-type': 'image/png' }).end('<html></html>');
      else if (url.startsWith('/endless')) {
        response.writeHead(200, { 'content-type': 'image/png' }).write(png);
        const more = setInterval(() => response.write(Buffer.alloc(1024 * 1024)), 1);
        response.on('close', () => clearInterval(more));
      } else response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': 'a=b' }).end(png);
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
    server = await startMailAccountServer(engine, { OUTBOUND_ALLOW: '127.0.0.1' });
    const paths = ['/a.png?x=1&y=2', '/moved', '/page', '/endless'].map((path) => `${base}${path}`);
    const images = [...paths, 'http://10.0.0.1/inside.png', 'http://localhost/inside.png'];
    const html = images.map((url) => `<img src="${url.replaceAll('&', '&amp;')}">`).join('');
    await upload(server, 'ann', 1, makeRawMail({ subject: 'Pictures', html }));
    [{ id }] = await server.data('GET /api/emails', { as: 'ann' });
  });
  afterAll(async () => {
    elsewhere.closeAllConnections();
    elsewhere.close();
    await server.stop();
  });
  const image = (url: string, as = 'ann'): Promise<Reply> =>
    server.call(`GET /api/emails:image?filterByTk=${id}&url=${encodeURIComponent(url)}`, { as });

  test('no remote image is loaded until the reader requests it', async () => {
    const { html } = await server.data(`GET /api/emails/${id}`, { as: 'ann' });
    expect(html).not.toMatch(/\ssrc=/);
    expect(asked).toEqual([]);
  });

  test('an image is returned with its detected type, and the request reveals nothing about the reader', async () => {
    const { status, headers } = await image(`${base}/a.png?x=1&y=2`);
    expect([status, headers.get('content-type')]).toEqual([200, 'image/png']);
    expect(headers.get('content-security-policy')).toBe("sandbox; default-src 'none'");
    expect(headers.get('set-cookie')).toBeNull();
    expect(asked.map(({ url }) => url)).toEqual(['/a.png?x=1&y=2']);
    expect(Object.keys(asked[0]!.headers).sort()).toEqual(['accept', 'connection', 'host', 'user-agent']);
  });

  test.each([
    ['a page with the content type of an image', '/page'],
    ['a redirect', '/moved'],
    ['an endless image', '/endless'],
    ['an image that is not in the message', '/b.png'],
    ['a prefix of an image URL in the message', '/a.png'],
  ])('%s is answered with 404', async (_, path) => {
    const reply = await image(base + path);
    expect([reply.status, reply.body.code]).toEqual([404, 'IMAGE_UNAVAILABLE']);
  });

  test('private addresses are not requested, and all failures have the same reply', async () => {
    const replies = [await image('http://10.0.0.1/inside.png'), await image('http://localhost/inside.png')];
    for (const { status, body } of replies)
      expect([status, body.message]).toEqual([404, 'The image could not be fetched.']);
  });

  test("nothing is requested for another user's message", async () => {
    const before = asked.length;
    for (const as of ['bob', 'admin']) expect((await image(`${base}/a.png?x=1&y=2`, as)).status).toBe(403);
    expect((await image(`${base}/a.png?x=1&y=2`, 'nobody')).status).toBe(401);
    expect(asked).toHaveLength(before);
  });
});
