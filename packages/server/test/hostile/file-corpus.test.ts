import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { fetchBytes, sendFiles, startFileServer } from '../support/file-server.ts';
import type { HostileFile } from '../support/hostile/hostile-file.ts';
import { makeHostileFiles } from '../support/hostile/hostile-files.ts';
import type { Json } from '../support/json.ts';
import type { TestServer } from '../support/scenario.ts';

const files = await makeHostileFiles();
const activeContent = /html|svg|xml|script/;

/** Each file is uploaded, read, shown as a thumbnail, and imported. */
describeEngines('hostile files', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startFileServer(engine, { env: { LIMIT_FILE_MB: '20', LIMIT_UPLOAD_MB: '20' } });
    const fields = [
      { name: 'name', type: 'text' },
      { name: 'note', type: 'text' },
    ];
    await server.data('POST /api/collections:create', { body: { name: 'cells', fields } });
  });
  afterAll(() => server.stop());

  const send = ({ name, type, content }: HostileFile, path: string): ReturnType<typeof sendFiles> =>
    sendFiles(server, path, { as: 'admin', files: [{ name, type, content: content as Uint8Array<ArrayBuffer> }] });

  test('there are at least forty files, with different labels', () => {
    expect(files.length).toBeGreaterThanOrEqual(40);
    expect(new Set(files.map(({ label }) => label)).size).toBe(files.length);
  });

  test.each(files)('uploaded: $label', async (file) => {
    const { status, body } = await send(file, '/api/files:upload');
    expect(status, JSON.stringify(body)).toBe(200);
    const [stored]: Json[] = body.data;
    expect(stored.name).not.toMatch(/[/\\\p{Cc}\u202a-\u202e\u2066-\u2069]|^\.|\.\./u);
    expect(stored.name.isWellFormed() && stored.name.length <= 255).toBe(true);
    const reply = await fetchBytes(server, stored.url, { as: 'admin' });
    const { headers } = reply;
    expect(headers.get('content-type')).toBe(file.inline ?? 'application/octet-stream');
    expect(headers.get('content-type')).not.toMatch(activeContent);
    expect(headers.get('content-disposition')).toMatch(file.inline === null ? /^attachment;/ : /^inline;/);
    expect(headers.get('content-disposition')).not.toMatch(/[\r\n/\\]/);
    expect(headers.get('set-cookie')).toBeNull();
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toBe("sandbox; default-src 'none'");
    expect(Buffer.from(await reply.arrayBuffer()).equals(Buffer.from(file.content as Uint8Array))).toBe(true);
    const thumbnail = await fetchBytes(server, `${stored.url}?width=64`, { as: 'admin' });
    if (thumbnail.status === 200) expect(thumbnail.headers.get('content-type')).toBe('image/webp');
    else expect([thumbnail.status, ((await thumbnail.json()) as Json)['code']]).toEqual([404, 'THUMBNAIL_UNAVAILABLE']);
  });

  // The label of each file says what is wrong with it; its row in the table says what an import makes of it.
  test.each(files)('imported: $label', async (file) => {
    await server.call('POST /api/cells:destroy?filter={"id":{"$gt":0}}');
    const { status, body } = await send(file, '/api/cells:import?ignoreUnknown=true');
    const stored: Json[] = await server.data('GET /api/cells:list?fields=name,note&sort=id&pageSize=1000');
    if ('code' in file.imported) {
      expect(body).toMatchObject({ code: file.imported.code });
      expect(status).toBeLessThan(500);
      expect(stored).toEqual([]);
      return;
    }
    expect(status, JSON.stringify(body)).toBe(200);
    expect(stored.map(({ name, note }) => [name, note])).toEqual(file.imported.rows);
    const exported = await server.call('GET /api/cells:export?fields=name,note');
    expect(exported.text).not.toMatch(/(?:^|[,\n]"?)[\t\r]*[=+\-@]/m);
  });

  test('nothing was written outside of the store, and the server still works', async () => {
    const strange = /passwd|evil|cron|system\.ini|Main\.class/;
    const written = readdirSync(server.store.dataDir, { recursive: true, encoding: 'utf8' });
    expect(written.filter((name) => strange.test(name))).toEqual([]);
    expect(readdirSync(join(server.store.dataDir, '..')).filter((name) => strange.test(name))).toEqual([]);
    expect(readdirSync(tmpdir()).filter((name) => strange.test(name))).toEqual([]);
    expect((await server.call('GET /api/cells:list')).status).toBe(200);
  });
});
