/**
 * `tablinum backup` while a server is running: a server can start on the copy, the copy is consistent, and no webhook
 * is sent with WEBHOOKS=off.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../src/base/config.ts';
import { runBackupCommand } from '../../src/cli-backup.ts';
import { backupFolder } from '../../src/database/sqlite/backup-folder.ts';
import { type Engine, sqlite } from '../support/engines.ts';
import { fetchBytes } from '../support/file-server.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import { TestServer } from '../support/scenario.ts';
import { failMessage, WebhookReceiver } from '../support/webhook-receiver.ts';

const root = mkdtempSync(join(tmpdir(), 'tablinum-backup-'));
const env = { OUTBOUND_ALLOW: '127.0.0.1' };
const manifest = { at: '2026-11-28T05:00:00.000Z', serverVersion: '0.1.0', bucket: null };
const shop = { 'x-app': 'shop' };
let server: TestServer;
let receiver: WebhookReceiver;

beforeAll(async () => {
  receiver = await WebhookReceiver.start();
  receiver.behaviour = failMessage;
  server = await TestServer.start(sqlite, { env });
  const things = { name: 'things', fields: [{ name: 'n', type: 'integer' }] };
  await server.data('POST /api/collections:create', { body: things });
  const hook = { url: receiver.url('/original'), events: ['things.*'], role: 'admin' };
  await server.data('POST /api/webhooks:create', { body: hook });
  await server.data('POST /api/applications:create', { body: { name: 'shop' } });
  const entered = await server.data('POST /api/applications:enter?filterByTk=shop');
  server.tokens.set('shop', entered.token);
  await server.data('POST /api/collections:create', { as: 'shop', headers: shop, body: things });
  await server.data('POST /api/accounts:create', { body: { name: 'Shop', address: 'shop@example.com' } });
  const letter = makeRawMail({ subject: 'Broken turntable', from: 'Cora <cora@example.net>', id: 'a1@example.net' });
  const headers = { 'content-type': 'message/rfc822' };
  await server.data('POST /api/emails:import?account=1', { headers, body: letter });
  const form = ['--b', 'Content-Disposition: form-data; name="f"; filename="a.txt"', '', 'A file.', '--b--', ''];
  const type = { 'content-type': 'multipart/form-data; boundary=b' };
  await server.data('POST /api/files:upload', { headers: type, body: form.join('\r\n') });
  await mkdir(join(server.store.dataDir, 'applications', '1.files', '0', 'in'), { recursive: true });
  await writeFile(join(server.store.dataDir, 'applications', '1.files', '0', 'in', 'in-1'), 'still arriving');
  await mkdir(join(server.store.dataDir, 'applications', '1.files', '-1', 'ab'), { recursive: true });
  await writeFile(join(server.store.dataDir, 'applications', '1.files', '-1', 'ab', 'ab01'), 'a thumbnail');
});
afterAll(async () => {
  await server.stop();
  await receiver.stop();
  rmSync(root, { recursive: true });
});

test('a server starts on the backup of a running server, its data is consistent, and it sends no webhook with WEBHOOKS off', async () => {
  await server.data('POST /api/things:create', { body: { n: 1 } });
  await receiver.messages('/original', 1);
  const target = join(root, 'copy');
  let ended = false;
  // Records, and administrative actions: they are written to the journal while the two files are copied.
  const writer = async (more: object): Promise<void> => {
    for (let n = 2; !ended; n += 1) {
      await server.data('POST /api/things:create', { ...more, body: { n } });
      await server.data('POST /api/roles:create', { ...more, body: { name: `role${n}` } });
    }
  };
  const writers = [writer({}), writer({ as: 'shop', headers: shop })];
  const report = await backupFolder(server.store.dataDir, target, {
    application: null,
    manifest,
    recipients: [],
  }).finally(() => {
    ended = true;
  });
  await Promise.all(writers);
  const isJournal = report.files.flatMap(({ path }) => (path.endsWith('.db') ? [path.endsWith('.audit.db')] : []));
  expect(isJournal).toEqual([true, false, true, false]);
  expect(report.files.filter(({ path }) => path.includes('.files/'))).toHaveLength(2); // without incomplete uploads and without thumbnails
  expect(existsSync(join(target, 'server.lock'))).toBe(false);

  const store = { dataDir: target, databaseUrl: null, copy: async () => async () => {}, remove: async () => {} };
  const engine: Engine = { name: 'sqlite', store: async () => store };
  const copy = await TestServer.start(engine, { env: { ...env, WEBHOOKS: 'off' } });
  const entered = await copy.data('POST /api/applications:enter?filterByTk=shop');
  copy.tokens.set('shop', entered.token);
  for (const more of [{}, { as: 'shop', headers: shop }]) {
    expect(await copy.data('GET /api/audit:verify', more)).toMatchObject({ valid: true });
    expect((await copy.data('GET /api/things:list?pageSize=1000', more)).length).toBeGreaterThan(0);
  }
  const [email] = await copy.data('GET /api/emails:list');
  expect((await copy.call(`GET /api/emails:raw?filterByTk=${email.id}`)).text).toContain('Broken turntable');
  expect(await (await fetchBytes(copy, '/api/files/1', { as: 'admin' })).text()).toBe('A file.');

  const { webhooks } = copy.running.applications.main;
  expect([webhooks.listening, await webhooks.nextDue()]).toEqual([false, null]);
  const heard = receiver.received.length;
  await copy.data('POST /api/things:create', { body: { n: 0 } });
  const tried = await copy.data('POST /api/webhooks:test?filterByTk=1');
  expect(tried).toEqual({
    delivered: false,
    status: null,
    error: 'This server sends no webhooks, because WEBHOOKS is off.',
  });
  expect(receiver.received.slice(heard).filter(({ body }) => body.data?.record?.n === 0)).toEqual([]);
  await copy.stop();
});

test('a backup is refused before it changes anything', async () => {
  const settings = (more: object): ReturnType<typeof readConfig> =>
    readConfig({ DATA_DIR: server.store.dataDir, ...more });
  const run = (words: string[], more: object = {}): Promise<void> => runBackupCommand(words, settings(more));
  const target = join(root, 'other');
  await expect(run([])).rejects.toThrow(/^Usage: tablinum backup \[--app/);
  await expect(run([root])).rejects.toThrow(/already exists\. Name a folder that does not/);
  await expect(run([target], { DATA_DIR: root })).rejects.toThrow(/contains no database of a Tablinum server/);
  await expect(run(['--app', 'main', target])).rejects.toThrow(/Leave out --app/);
  await expect(run(['--app', 'nothing', target])).rejects.toThrow(/There is no application "nothing"/);
  expect(existsSync(target)).toBe(false);
});
