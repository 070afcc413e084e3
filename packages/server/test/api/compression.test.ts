import { request as httpRequest } from 'node:http';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { negotiateCoding } from '../../src/http/compression.ts';
import { sqlite } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

interface RawReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly bytes: Buffer;
}

const unpackers = { gzip: gunzipSync, br: brotliDecompressSync, zstd: zstdDecompressSync } as const;
const codings = Object.keys(unpackers) as (keyof typeof unpackers)[];

describe('compressed replies', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(sqlite);
    await server.data('POST /api/collections:create', {
      body: { name: 'posts', fields: [{ name: 'title', type: 'string' }] },
    });
    const records = Array.from({ length: 1000 }, (_, index) => ({ title: `A post with the number ${index}` }));
    await server.data('POST /api/posts:create', { body: records });
  });
  afterAll(() => server.stop());

  /** The reply as it is sent; fetch would decompress it. */
  function wire(request: string, headers: Record<string, string> = {}, body?: unknown): Promise<RawReply> {
    const [method = 'GET', path = ''] = request.split(' ');
    const { hostname, port } = new URL(server.running.url);
    const all = {
      authorization: `Bearer ${server.tokens.get('admin')}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    };
    return new Promise((resolve, reject) => {
      const sent = httpRequest({ hostname, port, method, path, headers: all, agent: false }, (reply) => {
        const chunks: Buffer[] = [];
        reply.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
        reply.on('end', () =>
          resolve({
            status: reply.statusCode!,
            headers: reply.headers as Record<string, string>,
            bytes: Buffer.concat(chunks),
          }),
        );
      });
      sent.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  test.each([
    [undefined, null],
    ['', null],
    ['identity', null],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['x-gzip', 'gzip'],
    ['deflate', null],
    ['gzip, deflate, br', 'br'],
    ['gzip, deflate, br, zstd', 'zstd'],
    ['br;q=0.5, gzip;q=0.8', 'gzip'],
    ['zstd;q=0, *', 'br'],
    ['gzip;q=0', null],
    ['*;q=0', null],
    ['gzip;q=nonsense', null],
    ['br ; q=0.1', 'br'],
  ])('Accept-Encoding %s is answered with %s', (header, coding) => {
    expect(negotiateCoding(header)).toBe(coding);
  });

  test.each(codings)('lists, records and streams are compressed with %s and have the same content', async (coding) => {
    for (const path of [
      'posts:list',
      'posts:list?pageSize=1000',
      'posts:list?paginate=false',
      'collections:list',
      'docs:openapi',
    ]) {
      const plain = await wire(`GET /api/${path}`);
      expect([path, plain.status, plain.headers['content-encoding']]).toEqual([path, 200, undefined]);
      const packed = await wire(`GET /api/${path}`, { 'accept-encoding': coding });
      expect(packed.headers['vary']).toBe('Authorization, X-App, X-Role, Accept-Encoding');
      expect(plain.headers['vary']).toBe(packed.headers['vary']);
      const isPacked = packed.headers['content-encoding'] !== undefined;
      expect([path, isPacked]).toEqual([path, path !== 'docs:openapi' || coding === 'gzip']);
      const text = isPacked ? unpackers[coding](packed.bytes) : packed.bytes;
      expect(text.equals(plain.bytes)).toBe(true);
      if (isPacked) expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 2);
      if (packed.headers['content-length']) expect(Number(packed.headers['content-length'])).toBe(packed.bytes.length);
    }
  });

  test('NDJSON and an aborted streamed list are compressed', async () => {
    const headers = { accept: 'application/x-ndjson', 'accept-encoding': 'gzip' };
    const packed = await wire('GET /api/posts:list?paginate=false', headers);
    expect(gunzipSync(packed.bytes).toString().trim().split('\n')).toHaveLength(1000);
    const head = await wire('HEAD /api/posts:list?paginate=false', headers);
    expect([head.status, head.headers['content-encoding'], head.bytes.length]).toEqual([200, 'gzip', 0]);
  });

  test('short replies are not compressed', async () => {
    const reply = await wire('GET /api/posts:get?filterByTk=1', { 'accept-encoding': 'gzip, br, zstd' });
    expect([reply.status, reply.headers['content-encoding']]).toEqual([200, undefined]);
  });

  test('each encoding has its own ETag, and any of them gives 304', async () => {
    const path = 'GET /api/posts:list';
    const tags = new Set<string>();
    for (const coding of ['identity', ...codings])
      tags.add((await wire(path, { 'accept-encoding': coding })).headers['etag']!);
    expect(tags.size).toBe(4);
    for (const tag of tags) {
      expect(tag).toMatch(/^"0\.[^"]+"$/);
      for (const coding of ['identity', 'gzip']) {
        const again = await wire(path, { 'accept-encoding': coding, 'if-none-match': tag });
        expect([again.status, again.bytes.length]).toEqual([304, 0]);
        expect(again.headers['vary']).toContain('Accept-Encoding');
      }
    }
    expect((await wire(path, { 'if-none-match': '"0.other.gzip"' })).status).toBe(200);
  });

  test('the ETag of a compressed record is accepted in If-Match', async () => {
    await server.data('POST /api/fields:create', { body: { collectionName: 'posts', name: 'text', type: 'text' } });
    await server.data('POST /api/posts:update?filterByTk=5', { body: { text: 'y'.repeat(3000) } });
    const packed = await wire('GET /api/posts:get?filterByTk=5', { 'accept-encoding': 'br' });
    expect(packed.headers['content-encoding']).toBe('br');
    const reply = await wire(
      'POST /api/posts:update?filterByTk=5',
      { 'if-match': packed.headers['etag']! },
      { text: 'z' },
    );
    expect(reply.status).toBe(200);
  });

  test('HEAD returns the headers of GET', async () => {
    const headers = { 'accept-encoding': 'gzip' };
    const [get, head] = [await wire('GET /api/posts:list', headers), await wire('HEAD /api/posts:list', headers)];
    for (const name of ['etag', 'content-encoding', 'content-length', 'vary'])
      expect(head.headers[name]).toBe(get.headers[name]);
    expect(head.bytes.length).toBe(0);
  });

  test('replies that contain a secret are never compressed', async () => {
    const accepted = { 'accept-encoding': 'gzip, br, zstd' };
    const nickname = 'n'.repeat(200);
    await server.data('POST /api/fields:create', { body: { collectionName: 'users', name: 'about', type: 'text' } });
    const email = 'root@example.com';
    await server.data('POST /api/users:update?filterByTk=1', { body: { nickname, about: 'a'.repeat(2000) } });
    const signedIn = await wire('POST /api/auth:signIn', accepted, { email, password: 'correct horse battery' });
    expect([signedIn.status, signedIn.headers['content-encoding']]).toEqual([200, undefined]);
    expect(signedIn.bytes.length).toBeGreaterThan(1024);
    const updated = await wire('POST /api/users:update?filterByTk=1', accepted, { nickname });
    expect([updated.status, updated.headers['content-encoding']]).toEqual([200, 'zstd']);
  });
});
