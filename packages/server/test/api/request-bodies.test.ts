import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sqlite } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { TestServer } from '../support/scenario.ts';

const kibibyte = 1024;
const mebibyte = 1024 * 1024;

interface RawReply {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Json;
}

describe('request bodies', () => {
  let server: TestServer;
  let before: string;
  beforeAll(async () => {
    server = await TestServer.start(sqlite);
    const fields = [{ name: 'text', type: 'text' }];
    await server.data('POST /api/collections:create', { body: { name: 'things', fields } });
    await server.data('POST /api/collections:create', { body: { name: 'wishes', fields } });
    const permission = { role: 'public', resource: 'wishes', actions: ['create', 'get'] };
    await server.data('POST /api/permissions:create', { body: permission });
    before = await server.readSnapshot();
  });
  afterAll(() => server.stop());

  const credential = (as: string): Record<string, string> =>
    as === 'nobody' ? {} : { authorization: `Bearer ${server.tokens.get(as)}` };

  /** Sends all of a body before the reply is read, as many clients do. */
  async function sent(
    path: string,
    as: string,
    bytes: Buffer,
    headers: Record<string, string> = {},
  ): Promise<RawReply> {
    const { hostname, port } = new URL(server.running.url);
    const chunked = headers['transfer-encoding'] === 'chunked';
    const head = { host: hostname, ...credential(as), 'content-type': 'application/json', ...headers };
    const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
    const length = chunked ? '' : `content-length: ${bytes.length}\r\n`;
    const socket = connect(Number(port), hostname);
    socket.setNoDelay(true);
    await once(socket, 'connect');
    socket.pause();
    const failed = once(socket, 'error').then(([error]) => Promise.reject(error as Error));
    failed.catch(() => {});
    const write = (piece: Buffer | string): Promise<unknown> =>
      Promise.race([failed, new Promise<void>((resolve) => socket.write(piece, () => resolve()))]);
    await write(`POST ${path} HTTP/1.1\r\n${lines.join('')}${length}\r\n`);
    for (let from = 0; from < bytes.length; from += 64 * kibibyte) {
      const piece = bytes.subarray(from, from + 64 * kibibyte);
      await write(
        chunked ? Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]) : piece,
      );
    }
    if (chunked) await write('0\r\n\r\n');
    let text = '';
    const done = new Promise<void>((resolve, reject) => {
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1');
        const end = text.indexOf('\r\n\r\n');
        const expected = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
        if (end >= 0 && text.length >= end + 4 + expected) resolve();
      });
      socket.on('close', () => reject(new Error(`closed after ${text.length} bytes`)));
    });
    socket.resume();
    await Promise.race([done, failed]);
    socket.destroy();
    const last = text.slice(text.lastIndexOf('HTTP/1.1 '));
    const [first = '', body = ''] = last.split('\r\n\r\n');
    const names = first
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(': ') as [string, string]);
    return { status: Number(last.slice(9, 12)), headers: Object.fromEntries(names), body: JSON.parse(body) };
  }

  const text = (length: number): Buffer => Buffer.from(JSON.stringify({ text: 'a'.repeat(length) }));

  test.each([
    ['nobody', '/api/things:create', 65 * kibibyte, '64 KiB'],
    ['nobody', '/api/wishes:create', 65 * kibibyte, '64 KiB'],
    ['nobody', '/api/auth:signIn', 65 * kibibyte, '64 KiB'],
    ['nobody', '/api/auth:signUp', 11 * mebibyte, '64 KiB'],
    ['admin', '/api/auth:signIn', 65 * kibibyte, '64 KiB'],
    ['nobody', '/api/emails:import?account=1', 65 * kibibyte, '64 KiB'],
    ['admin', '/api/things:create', 11 * mebibyte, '10 MiB'],
    ['admin', '/api/nothing:create', 11 * mebibyte, '10 MiB'],
  ])(
    '%s at %s: a body of %i bytes is refused with 413, and the client can read the reply',
    async (as, path, length, limit) => {
      const spellings: Record<string, string>[] = [{}, { 'transfer-encoding': 'chunked' }, { expect: '100-continue' }];
      for (const headers of path.includes('import') ? [{ 'content-type': 'message/rfc822' }] : spellings)
        for (let time = 0; time < 3; time += 1) {
          const reply = await sent(path, as, text(length), headers);
          expect(reply).toMatchObject({ status: 413, body: { error: 'Payload Too Large', code: 'BODY_TOO_LARGE' } });
          expect(reply.body.message).toContain(limit);
        }
      expect(await server.readSnapshot()).toBe(before);
    },
  );

  test('a refusal before the body is read can be read, and the connection stays usable', async () => {
    const stranger = await sent('/api/things:create', 'nobody', text(mebibyte), { authorization: 'Bearer tbk_nobody' });
    expect(stranger).toMatchObject({ status: 401, body: { code: 'TOKEN_INVALID' } });
    expect(await sent('/nowhere', 'admin', text(mebibyte))).toMatchObject({ status: 404 });
    const agent = { keepAlive: true };
    expect(
      (await fetch(`${server.running.url}/api/things:create`, { method: 'POST', body: text(mebibyte), ...agent }))
        .status,
    ).toBe(413);
    expect((await server.call('GET /api/things:list')).status).toBe(200);
  });

  test('a credential is verified before the body is read', async () => {
    const { hostname, port } = new URL(server.running.url);
    const headers = { authorization: 'Bearer tbk_nobody', 'content-type': 'application/json', 'content-length': 1000 };
    const unsent = httpRequest({ hostname, port, path: '/api/things:create', method: 'POST', headers });
    unsent.flushHeaders();
    const [reply] = await once(unsent, 'response');
    expect(reply.statusCode).toBe(401);
    unsent.on('error', () => {}).destroy();
  });

  test('a body of 64 KiB for a public action, and of 10 MiB with a credential, is accepted', async () => {
    const public64 = await sent('/api/wishes:create', 'nobody', text(64 * kibibyte - 20));
    expect(public64.status).toBe(200);
    const mine = await sent('/api/things:create', 'admin', text(10 * mebibyte - 20), {
      'transfer-encoding': 'chunked',
    });
    expect([mine.status, mine.body.data.text.length]).toEqual([200, 10 * mebibyte - 20]);
    await server.data('POST /api/wishes:destroy?filterByTk=1');
    await server.data('POST /api/things:destroy?filterByTk=1');
  });

  test('a body that is refused while it arrives is not read to its end', async () => {
    const start = await server.readSnapshot();
    const { hostname, port } = new URL(server.running.url);
    const socket = connect(Number(port), hostname);
    const head = `POST /api/things:create HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\n`;
    socket.write(
      `${head}authorization: Bearer ${server.tokens.get('admin')}\r\ncontent-length: ${10 * mebibyte}\r\n\r\n`,
    );
    socket.write('['.repeat(2000));
    const [chunk] = await once(socket, 'data');
    expect(String(chunk)).toContain('HTTP/1.1 400');
    socket.destroy();
    expect(await server.readSnapshot()).toBe(start);
  });

  const values = `["\\u0061",${'1,'.repeat(250_000)}1]`;
  const keys = `{${Array.from({ length: 25_000 }, (_, index) => `"k${index}":1`).join()}}`;
  test.each([
    ['more than 250,000 values', values, 'values'],
    ['more than 20,000 different keys', keys, 'keys'],
    ['more than 1,000 levels', '['.repeat(1001), 'levels'],
    ['unclosed levels', '{"a":'.repeat(200_000), 'levels'],
  ])('%s are refused before they are parsed', async (_, body, word) => {
    const reply = await server.call('POST /api/things:create', { body });
    expect(reply).toMatchObject({ status: 400, body: { code: 'LIMIT_EXCEEDED' } });
    expect(reply.body.message).toContain(word);
  });

  test.each([
    ['a byte that is not UTF-8', [0xff]],
    ['a sequence that ends early', [0xe2, 0x82]],
    ['an overlong spelling', [0xc0, 0xaf]],
    ['half of a surrogate pair', [0xed, 0xa0, 0x80]],
    ['Latin-1', [0xe9]],
  ])('%s is refused with 400 in bodies, paths and queries', async (_, bytes) => {
    const invalid = Buffer.from(bytes);
    const start = await server.readSnapshot();
    const body = Buffer.concat([Buffer.from('{"text":"'), invalid, Buffer.from('"}')]);
    for (const as of ['admin', 'nobody'])
      expect(await sent('/api/wishes:create', as, body)).toMatchObject({ status: 400, body: { code: 'BODY_INVALID' } });
    const escaped = [...invalid].map((byte) => `%${byte.toString(16)}`).join('');
    for (const path of [
      `things:list?search=${escaped}`,
      `things:list?filter={"text":"${escaped}"}`,
      `things:list?filter[text]=${escaped}`,
      `things:list?${escaped}=1`,
      `things:get/${escaped}`,
      `things${escaped}:list`,
      `things/${escaped}/text:list`,
    ])
      expect([
        path,
        (await fetch(`${server.running.url}/api/${path}`, { headers: credential('admin') })).status,
      ]).toEqual([path, 400]);
    for (const raw of [
      `/api/things:list?search=${invalid.toString('latin1')}`,
      `/api/things:get/${invalid.toString('latin1')}`,
    ])
      expect(
        (
          await written(
            `POST ${raw} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${server.tokens.get('admin')}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`,
          )
        ).status,
      ).toBe(400);
    expect(await server.readSnapshot()).toBe(start);
  });

  /** Sends raw bytes. */
  async function written(latin1: string): Promise<{ status: number; body: Json }> {
    const { hostname, port } = new URL(server.running.url);
    const socket = connect(Number(port), hostname);
    socket.end(Buffer.from(latin1, 'latin1'));
    let all = '';
    for await (const chunk of socket) all += String(chunk);
    const [head = '', body = ''] = all.split('\r\n\r\n');
    return { status: Number(head.slice(9, 12)), body: body === '' ? null : JSON.parse(body) };
  }

  test.each([
    ['application/json; charset=iso-8859-1', {}],
    ['application/json; charset="utf-16"', {}],
    ['text/plain', {}],
    ['application/json', { 'content-encoding': 'gzip' }],
  ])('%s is refused with 415', async (type, more) => {
    const start = await server.readSnapshot();
    const headers = { 'content-type': type, ...more };
    expect(await sent('/api/things:create', 'admin', text(3), headers)).toMatchObject({
      status: 415,
      body: { code: 'MEDIA_TYPE_UNSUPPORTED' },
    });
    expect(await server.readSnapshot()).toBe(start);
  });

  test.each(['application/json; charset=UTF-8', 'Application/JSON;charset="utf-8"', 'application/json; charset=utf8'])(
    '%s is accepted',
    async (type) => {
      expect((await sent('/api/things:create', 'admin', text(3), { 'content-type': type })).status).toBe(200);
    },
  );

  test('bodies that never end do not block bodies of other clients', { timeout: 240_000 }, async () => {
    const { url } = server.running;
    const { hostname, port } = new URL(url);
    const account = { email: 'slow@bodies.test', password: 'a long enough password' };
    await server.data('POST /api/users:create', { body: account });
    const { token } = await server.data('POST /api/auth:signIn', { as: 'nobody', body: account });
    const head = `POST /api/things:create HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${token}\r\n`;
    const unfinished = Buffer.alloc(10 * mebibyte - 1, ' ');
    const held: Socket[] = [];
    const refused: string[] = [];
    try {
      // Two large bodies of one sender are read at the same time; others of that sender wait for five seconds.
      for (let each = 0; each < 4; each += 1) {
        const socket = connect(Number(port), hostname);
        held.push(socket);
        socket.on('error', () => {});
        socket.once('data', (chunk) => refused.push(String(chunk).slice(9, 12)));
        socket.write(`${head}content-type: application/json\r\ncontent-length: ${unfinished.length + 1}\r\n\r\n`);
        await Promise.race([
          once(socket, 'data'),
          new Promise<void>((resolve) => socket.write(unfinished, () => resolve())),
          wait(200),
        ]);
      }
      const own = (body: Buffer): Promise<Response> =>
        fetch(`${url}/api/things:create`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body,
        });
      const large = own(text(3 * mebibyte));
      const other = sent('/api/things:create', 'admin', text(9 * mebibyte));
      // Small bodies do not wait.
      expect((await own(text(100 * kibibyte))).status).toBe(403);
      expect((await other).status).toBe(200);
      const late = await large;
      expect([late.status, await late.json()]).toMatchObject([503, { code: 'BUSY', retryAfter: 1 }]);
      expect(refused).toEqual(['503', '503']);
      // When a large body ends, the next waiting body is read.
      const next = own(text(3 * mebibyte));
      held[0]!.destroy();
      expect((await next).status).toBe(403);
    } finally {
      for (const socket of held) socket.destroy();
    }
  });

  test('an empty body needs no content type', async () => {
    for (const headers of [
      { 'content-type': 'text/plain' },
      { 'content-type': 'text/plain', 'transfer-encoding': 'chunked' },
    ])
      expect((await sent('/api/things:list', 'admin', Buffer.alloc(0), headers)).status).toBe(200);
  });

  test('an Expect header that cannot be met is refused with 417 in the common form', async () => {
    const reply = await sent('/api/things:create', 'admin', text(3), { expect: 'something' });
    expect(reply).toMatchObject({ status: 417, body: { error: 'Expectation Failed', code: 'EXPECTATION_FAILED' } });
  });

  test('no reply lets a browser guess its content type', async () => {
    const { url } = server.running;
    for (const path of [
      '/api/health',
      '/live',
      '/ready',
      '/nowhere',
      '/api/things:list',
      '/api/things:get/99',
      '/api/docs:openapi',
      '/docs',
      '/docs/page.js',
      '/api/%ff:list',
      '/api/things:list?paginate=false',
      '/api/realtime',
    ]) {
      const reply = await fetch(url + path, { headers: credential('admin') });
      await reply.arrayBuffer();
      expect([path, reply.headers.get('x-content-type-options')]).toEqual([path, 'nosniff']);
    }
    const { headers } = await sent('/api/things:create', 'admin', text(3), { expect: 'something' });
    expect(headers['x-content-type-options']).toBe('nosniff');
  });
});
