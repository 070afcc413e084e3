/** deploy/nginx.conf with a real nginx: requests, events, large uploads, and addresses of clients. */
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { findFreePort } from '../../../../scripts/unprivileged-user.ts';
import { sqlite } from '../support/engines.ts';
import { EventStream } from '../support/event-stream.ts';
import type { Json } from '../support/json.ts';
import { isInstalled, startNginx } from '../support/nginx.ts';
import { TestServer } from '../support/scenario.ts';
import { rootEmail, rootPassword } from '../support/server-settings.ts';

const installed = isInstalled('nginx');
if (!installed) process.stdout.write('nginx is not installed: deploy/nginx.conf is not tried.\n');
/** An address of this machine that the server does not trust as a proxy. */
const clientAddress = '127.0.0.5';
const megabyte = 1024 * 1024;

describe.skipIf(!installed)('deploy/nginx.conf', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tablinum-nginx-'));
  let server: TestServer;
  let nginx: Awaited<ReturnType<typeof startNginx>>;
  let port: number;

  beforeAll(async () => {
    server = await TestServer.start(sqlite, { env: { TRUSTED_PROXIES: '127.0.0.1' } });
    await server.data('POST /api/collections:create', {
      body: { name: 'things', fields: [{ name: 'n', type: 'integer' }] },
    });
    port = await findFreePort();
    nginx = await startNginx({ folder, upstream: new URL(server.running.url).host, port });
  });
  afterAll(async () => {
    await nginx?.stop();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Sends a request to nginx over TLS, as a client on another machine. */
  const send = (
    path: string,
    { method = 'GET', headers = {}, body }: { method?: string; headers?: object; body?: string | Readable } = {},
  ): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const options = {
        host: '127.0.0.1',
        port,
        path,
        method,
        localAddress: clientAddress,
        rejectUnauthorized: false,
        headers: { host: 'example.com', authorization: `Bearer ${server.tokens.get('admin')}`, ...headers },
      };
      const sent = request(options, resolve).once('error', reject);
      if (body instanceof Readable) body.pipe(sent);
      else sent.end(body);
    });
  const readJson = async (reply: IncomingMessage): Promise<Json> => {
    let text = '';
    for await (const piece of reply) text += String(piece);
    return JSON.parse(text);
  };
  const json = { 'content-type': 'application/json' };

  test('passes requests on with the real address of the client, not with the one that the client claims', async () => {
    const body = JSON.stringify({ email: rootEmail, password: rootPassword });
    const headers = { ...json, 'x-forwarded-for': '198.51.100.7' };
    const reply = await send('/api/auth:signIn', { method: 'POST', headers, body });
    expect(reply.statusCode).toBe(200);
    expect((await readJson(reply)).data.token).toMatch(/^tbs_/);
    await expect
      .poll(async () => (await server.data('GET /api/audit:list?filter={"action":"auth:signIn"}&sort=-id'))[0]?.address)
      .toBe(clientAddress);
  });

  test('passes events on immediately, over streams and sockets', async () => {
    const reply = await send('/api/realtime?resource=things', { headers: { accept: 'text/event-stream' } });
    expect(reply.headers['content-type']).toContain('text/event-stream');
    const stream = new EventStream(new Response(Readable.toWeb(reply) as ReadableStream));
    const options = { headers: { host: 'example.com' }, rejectUnauthorized: false, localAddress: clientAddress };
    const socket = new WebSocket(`wss://127.0.0.1:${port}/api/realtime`, options);
    const heard: Json[] = [];
    socket.on('message', (data) => heard.push(JSON.parse(String(data))));
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    socket.send(JSON.stringify({ type: 'authenticate', token: server.tokens.get('admin') }));
    await expect.poll(() => heard.some(({ type }) => type === 'authenticated')).toBe(true);
    socket.send(JSON.stringify({ type: 'subscribe', id: 's', resource: 'things' }));
    await expect.poll(() => heard.some(({ type }) => type === 'subscribed')).toBe(true);
    await server.data('POST /api/things:create', { body: { n: 1 } });
    await expect.poll(() => JSON.stringify(heard)).toContain('things.created');
    let message = await stream.next();
    while (!JSON.stringify(message).includes('things.created')) message = await stream.next();
    socket.close();
    await stream.cancel();
  });

  test('passes large uploads on while they arrive, and returns the refusals of the server', async () => {
    const boundary = 'b';
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="f"; filename="a.bin"\r\n\r\n`;
    const piece = Buffer.alloc(megabyte, 'x');
    const upload = (): Readable =>
      Readable.from(
        (function* () {
          yield Buffer.from(head);
          for (let n = 0; n < 40; n += 1) yield piece;
          yield Buffer.from(`\r\n--${boundary}--\r\n`);
        })(),
      );
    const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
    const reply = await send('/api/files:upload', { method: 'POST', headers, body: upload() });
    expect((await readJson(reply)).data).toMatchObject([{ size: 40 * megabyte }]);
    const refused = await send('/api/things:create', { method: 'POST', headers: json, body: '{' });
    expect([refused.statusCode, (await readJson(refused)).code]).toEqual([400, 'BODY_INVALID']);
  });

  test('replies with 502 while no server runs', async () => {
    await server.running.stop();
    const reply = await send('/api/things:list');
    expect(reply.statusCode).toBe(502);
    reply.resume();
    await server.boot();
  });
});
