import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { fileScope, unreferencedGraceMilliseconds } from '../../src/base/blob-store.ts';
import { type FilePart, readMultipart } from '../../src/files/multipart.ts';
import { describeEngines } from '../support/engines.ts';
import { fetchBytes, sendFiles, startFileServer, uploadFile } from '../support/file-server.ts';
import type { Json } from '../support/json.ts';
import type { TestServer } from '../support/scenario.ts';

const script = '<script>alert(1)</script>';
const boundary = 'b-o-u-n-d';

describeEngines('hostile files', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startFileServer(engine, { env: { LIMIT_FILE_MB: '1', LIMIT_UPLOAD_MB: '2' } });
  });
  afterAll(() => server.stop());

  const listBlobs = (): Promise<string[]> =>
    server.running.applications.main.files.blobs.findStoredBefore(fileScope, Date.now() + 60_000);
  const listFiles = async (): Promise<unknown> => server.data('GET /api/files:list?pageSize=1000', { as: 'ann' });

  test.each([
    ['a page that claims to be a picture', 'x.png', 'image/png', `<html>${script}</html>`],
    ['a picture with a script', 'x.svg', 'image/svg+xml', `<svg xmlns="http://www.w3.org/2000/svg">${script}</svg>`],
    ['a page that claims to be text', 'x.txt', 'text/plain', `  <!doctype html>${script}`],
    [
      'an XML page',
      'x.xml',
      'text/xml',
      `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">${script}</html>`,
    ],
    ['a page with a byte order mark', 'x.txt', 'text/plain', `\ufeff<html>${script}`],
    ['a script', 'x.js', 'text/javascript\r\nx-evil: 1', 'alert(1)\u0000'],
    ['an empty file', 'empty.html', 'text/html', ''],
  ])('%s is sent as a download', async (_, name, type, content) => {
    const { url } = await uploadFile(server, { name, type, content });
    const { headers } = await fetchBytes(server, url);
    expect(headers.get('content-disposition')).toMatch(/^attachment;/);
    expect(headers.get('content-type')).toBe('application/octet-stream');
    expect(headers.get('x-evil')).toBeNull();
  });

  test('a picture that is also an HTML page is served as a picture, and cannot run scripts', async () => {
    const gif = Buffer.from(`GIF89a/*${script}*/=1;`);
    const { url } = await uploadFile(server, { name: 'x.html', type: 'text/html', content: gif });
    const { headers } = await fetchBytes(server, url);
    expect([headers.get('content-type'), headers.get('x-content-type-options')]).toEqual(['image/gif', 'nosniff']);
    expect(headers.get('content-security-policy')).toBe("sandbox; default-src 'none'");
  });

  test.each([
    ['../../../etc/passwd', 'passwd'],
    ['..\\..\\boot.ini', 'boot.ini'],
    ['a\u0000b\u202egnp.exe', 'a bgnp.exe'],
    ['con.txt', '_con.txt'],
    ['...', 'file'],
    ['x'.repeat(5000), 'x'.repeat(255)],
  ])('the file name %j becomes harmless', async (given, stored) => {
    const { name, url } = await uploadFile(server, { name: given, content: 'x' });
    expect(name).toBe(stored);
    expect((await fetchBytes(server, url)).headers.get('content-disposition')).not.toMatch(/[\r\n/]/);
  });

  /** Sends raw bytes as a multipart body. */
  async function sendRaw(body: string | Uint8Array<ArrayBuffer>): Promise<[number, string]> {
    const response = await fetch(`${server.running.url}/api/files:upload`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.tokens.get('ann')}`,
        'content-type': `multipart/form-data; boundary=${boundary}`,
      },
      body,
    });
    const reply: Json = await response.json();
    return [response.status, reply.code];
  }
  const part = (header: string, content = 'x'): string => `--${boundary}\r\n${header}\r\n\r\n${content}\r\n`;
  const file = 'Content-Disposition: form-data; name="f"; filename="a.txt"';
  const end = `--${boundary}--\r\n`;

  test.each([
    ['no parts', end, 400],
    ['nothing', ' ', 400],
    ['another boundary', part(file).replaceAll(boundary, 'other'), 400],
    ['no end', part(file), 400],
    ['a part without a name', part('Content-Disposition: form-data; filename="a"') + end, 400],
    ['a part that is no file', part('Content-Disposition: form-data; name="f"') + end, 400],
    ['too many parts', part(file).repeat(101) + end, 400],
    ['endless headers', `--${boundary}\r\n${'X-A: b\r\n'.repeat(100_000)}\r\nx\r\n${end}`, 400],
    ['a file over the limit', part(file, 'x'.repeat(1024 * 1024 + 1)) + end, 413],
    ['files over the limit of a request', part(file, 'x'.repeat(1_000_000)).repeat(3) + end, 413],
    ['a text over the limit', part('Content-Disposition: form-data; name="f"', 'x'.repeat(1_100_000)) + end, 413],
  ])('%s: refused, and no file is stored', async (_, body, status) => {
    const before = await listFiles();
    const [replied, code] = await sendRaw(body);
    expect([replied, code]).toEqual([status, expect.any(String)]);
    expect(await listFiles()).toEqual(before);
  });

  test('a file name of a megabyte is truncated', async () => {
    const header = `Content-Disposition: form-data; name="f"; filename="${'n'.repeat(1_000_000)}"`;
    expect(await sendRaw(part(header) + end)).toEqual([200, undefined]);
    const files: Json[] = await server.data('GET /api/files:list?sort=-id&pageSize=1', { as: 'ann' });
    expect(files[0].name).toBe('n'.repeat(255));
  });

  test('an upload that is cut off leaves nothing', async () => {
    const before = [await listBlobs(), await listFiles()];
    const { port, hostname } = new URL(server.running.url);
    const socket = connect(Number(port), hostname);
    const head = [
      'POST /api/files:upload HTTP/1.1',
      `Host: ${hostname}`,
      `Authorization: Bearer ${server.tokens.get('ann')}`,
      `Content-Type: multipart/form-data; boundary=${boundary}`,
      'Content-Length: 900000',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n--${boundary}\r\n${file}\r\n\r\n${'begun '.repeat(100_000)}`);
    await vi.waitFor(async () => expect(await listBlobs()).not.toEqual(before[0]), { timeout: 20_000, interval: 10 });
    socket.destroy();
    await vi.waitFor(async () => expect(await listBlobs()).toEqual(before[0]), { timeout: 20_000, interval: 10 });
    expect(await listFiles()).toEqual(before[1]);
    if (engine.name === 'sqlite')
      expect(readdirSync(join(server.store.dataDir, 'applications', '1.files', '0', 'in'))).toEqual([]);
  });

  test('equal files that arrive at the same time are stored once', async () => {
    const content = 'equal bytes '.repeat(50_000);
    const before = await listBlobs();
    const replies = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        sendFiles(server, '/api/files:upload', { files: [{ name: `${index}.txt`, content }] }),
      ),
    );
    expect(replies.map(({ status }) => status)).toEqual(Array(6).fill(200));
    expect(await listBlobs()).toHaveLength(before.length + 1);
    for (const { body } of replies)
      expect((await (await fetchBytes(server, body.data[0].url)).text()).length).toBe(content.length);
  });

  test('a user cannot have many uploads at the same time', async () => {
    const replies = await Promise.all(
      Array.from({ length: 40 }, () =>
        sendFiles(server, '/api/files:upload', { files: [{ name: 'x', content: 'many '.repeat(100_000) }] }),
      ),
    );
    const statuses = new Set(replies.map(({ status }) => status));
    expect([...statuses].filter((each) => each !== 200 && each !== 503)).toEqual([]);
    expect((await sendFiles(server, '/api/files:upload', { files: [{ name: 'x', content: 'x' }] })).status).toBe(200);
  });
});

test('an upload is aborted before its stored bytes are old enough to be swept', async () => {
  const hours = 3_600_000;
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  let pieces = 0;
  async function* trickle(): AsyncGenerator<Buffer> {
    yield Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\n`);
    for (; pieces < 30; pieces += 1) {
      now += hours;
      yield Buffer.from('x');
    }
    yield Buffer.from(`\r\n--${boundary}--\r\n`);
  }
  const onFile = async ({ bytes }: FilePart): Promise<void> => {
    for await (const _ of bytes);
  };
  const body = { bytes: Readable.from(trickle()), contentType: `multipart/form-data; boundary=${boundary}` };
  const limits = { fileBytes: 1000, requestBytes: 1000 };
  await expect(readMultipart(body, limits, { onFile, onText: () => {} })).rejects.toMatchObject({
    code: 'BODY_INVALID',
    message: expect.stringContaining('12 hours'),
  });
  clock.mockRestore();
  expect(now).toBeLessThan(unreferencedGraceMilliseconds);
});
