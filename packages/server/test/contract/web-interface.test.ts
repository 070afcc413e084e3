import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { registerWebInterface } from '../../src/http/web/web-interface.ts';
import { sqlite } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

const script = 'console.log("a script that is long enough to be worth packing")';

describe('the built interface', () => {
  let folder: string;
  let fastify: FastifyInstance;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'tablinum-web-'));
    mkdirSync(join(folder, 'assets'));
    writeFileSync(join(folder, 'index.html'), '<script nonce="__CSP_NONCE__" src="/assets/a-1.js"></script>');
    writeFileSync(join(folder, 'assets/a-1.js'), script);
    writeFileSync(join(folder, 'assets/a-1.js.br'), brotliCompressSync(script));
    writeFileSync(join(folder, 'assets/a-1.js.gz'), gzipSync(script));
    writeFileSync(join(folder, 'secret.js'), 'out of reach');
    fastify = Fastify();
    registerWebInterface(fastify, folder);
  });
  afterAll(async () => {
    await fastify.close();
    rmSync(folder, { recursive: true });
  });
  const get = (url: string, headers: Record<string, string> = {}) => fastify.inject({ url, headers });

  test.each(['/', '/setup', '/reset-password', '/mail-sign-in?state=x', '/a/main', '/a/main/data/albums?sort=-price'])(
    '%s returns the page',
    async (url) => {
      const { statusCode, headers, body } = await get(url);
      expect([statusCode, headers['content-type'], headers['cache-control']]).toEqual([
        200,
        'text/html; charset=utf-8',
        'no-store',
      ]);
      expect(body).toContain('/assets/a-1.js');
    },
  );

  test('has a content security policy that only permits scripts and styles of this server, and a new nonce for each reply', async () => {
    const first = await get('/');
    const policy = String(first.headers['content-security-policy']);
    const rules = Object.fromEntries(policy.split('; ').map((rule) => [rule.split(' ')[0], rule]));
    const nonce = /nonce="([\w-]{22})"/.exec(first.body)![1];
    expect(rules).toMatchObject({
      'default-src': "default-src 'none'",
      'script-src': "script-src 'self'",
      'style-src': `style-src 'self' 'nonce-${nonce}'`,
      'connect-src': "connect-src 'self'",
      'frame-ancestors': "frame-ancestors 'none'",
      'base-uri': "base-uri 'none'",
      'form-action': "form-action 'none'",
      'require-trusted-types-for': "require-trusted-types-for 'script'",
    });
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(first.headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
    expect((await get('/')).body).not.toContain(nonce);
  });

  test('has files that are cached permanently, and are sent in the best accepted compression', async () => {
    const asset = (accepted: string) => get('/assets/a-1.js', { 'accept-encoding': accepted });
    const encodings = await Promise.all(['gzip, br', 'gzip', 'identity'].map(asset));
    expect(encodings.map(({ headers }) => headers['content-encoding'])).toEqual(['br', 'gzip', undefined]);
    expect(encodings[2]!.body).toBe(script);
    expect(encodings[0]!.headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': 'text/javascript; charset=utf-8',
      vary: 'Accept-Encoding',
    });
  });

  test.each([
    '/assets/nothing.js',
    '/assets/a-1.js.br',
    '/assets/..%2fsecret.js',
    '/assets/%2e%2e%2findex.html',
    '/assets/',
  ])('%s is not served', async (url) => expect((await get(url)).statusCode).not.toBe(200));
});

describe('next to the API', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(sqlite);
  });
  afterAll(() => server.stop());

  test('unknown API addresses keep their own 404, and a write never returns the page', async () => {
    for (const [method, path] of [
      ['GET', '/nothing'],
      ['GET', '/api'],
      ['GET', '/api/nothing'],
      ['GET', '/assets/nothing.js'],
      ['POST', '/'],
      ['POST', '/a/main'],
    ] as const) {
      const response = await fetch(server.running.url + path, { method });
      expect([path, response.status, await response.json()]).toEqual([
        path,
        404,
        expect.objectContaining({ code: 'ROUTE_UNKNOWN' }),
      ]);
    }
  });

  test('an interface that was not built is reported at /', async () => {
    const built = existsSync(new URL('../../../web/dist/index.html', import.meta.url));
    const response = await fetch(`${server.running.url}/`);
    expect([response.status, await response.text()]).toEqual(
      built ? [200, expect.stringContaining('<div id="app">')] : [404, expect.stringContaining('npm run build:web')],
    );
  });
});
