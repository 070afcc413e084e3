/** `tablinum backup`, `verify` and `restore`: a restored store replies like the original, and a refusal or a crash changes nothing. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../src/base/config.ts';
import { runBackupCommand } from '../../src/cli-backup.ts';
import { runRestoreCommand } from '../../src/cli-restore.ts';
import { runVerifyCommand } from '../../src/cli-verify.ts';
import { readManifest, writeManifest } from '../../src/database/backup-manifest.ts';
import { decideRestore, finishRestore, partName } from '../../src/database/sqlite/finish-restore.ts';
import { describeEngines, type Store, shareStore } from '../support/engines.ts';
import { fetchBytes } from '../support/file-server.ts';
import type { Json } from '../support/json.ts';
import { queryDatabase } from '../support/query-database.ts';
import { makeRawMail } from '../support/raw-mail.ts';
import { TestServer } from '../support/scenario.ts';
import { serverSettings } from '../support/server-settings.ts';

const program = fileURLToPath(new URL('../../bin/tablinum.js', import.meta.url));
const shop = { 'x-app': 'shop' };
const form = ['--b', 'Content-Disposition: form-data; name="f"; filename="a.txt"', '', 'A file.', '--b--', ''].join(
  '\r\n',
);

describeEngines('restore', (engine) => {
  const root = mkdtempSync(join(tmpdir(), 'tablinum-restore-'));
  const backup = join(root, 'backup');
  const stores: Store[] = [];
  let original: Json;
  let cursor: string;
  let shopKey: string;

  const settings = (store: Store): Record<string, string> => ({
    DATA_DIR: store.dataDir,
    ...(store.databaseUrl && { DATABASE_URL: store.databaseUrl }),
  });
  const config = (store: Store): ReturnType<typeof readConfig> => readConfig(settings(store));
  const emptyStore = async (): Promise<Store> => {
    const store = await engine.store();
    stores.push(store);
    return store;
  };
  const open = async (store: Store): Promise<TestServer> => {
    const server = await TestServer.start(shareStore(engine, store));
    const entered = await server.data('POST /api/applications:enter?filterByTk=shop');
    server.tokens.set('shop', entered.token);
    return server;
  };
  const read = async (server: TestServer): Promise<Json> => {
    const [email] = await server.data('GET /api/emails:list');
    const list = async (path: string, more: object = {}): Promise<Json> =>
      (await server.call(`GET ${path}`, more)).body;
    return {
      things: await list('/api/things:list?pageSize=100&sort=n'),
      shopThings: await list('/api/things:list?pageSize=100&sort=n', { as: 'shop', headers: shop }),
      fields: await list('/api/fields:list?collectionName=things'),
      mail: await list('/api/emails:list?fields=id,subject,receivedAt'),
      raw: (await server.call(`GET /api/emails:raw?filterByTk=${email.id}`)).text,
      file: await (await fetchBytes(server, '/api/files/1', { as: 'admin' })).text(),
    };
  };
  const readStopping = async (store: Store): Promise<Json> => {
    const server = await open(store);
    return read(server).finally(() => server.stop());
  };

  beforeAll(async () => {
    const server = await TestServer.start(engine);
    const fields = [
      { name: 'n', type: 'integer', unique: true },
      { name: 'text', type: 'text', search: true },
      { name: 'price', type: 'decimal', precision: 10, scale: 2 },
    ];
    await server.data('POST /api/collections:create', {
      body: { name: 'things', fields: fields.map(({ search: _, ...each }) => each) },
    });
    await server.data('POST /api/applications:create', { body: { name: 'shop' } });
    const entered = await server.data('POST /api/applications:enter?filterByTk=shop');
    server.tokens.set('shop', entered.token);
    const more = { as: 'shop', headers: shop };
    await server.data('POST /api/collections:create', {
      ...more,
      body: { name: 'things', fields: [{ name: 'n', type: 'integer' }] },
    });
    const key = { body: { role: { name: 'admin' } } };
    shopKey = (await server.data('POST /api/apiKeys:create', { ...more, ...key })).token;
    for (let n = 0; n < 5; n += 1) {
      await server.data('POST /api/things:create', {
        body: { n, text: `tab\t, line\n, \\N and \\. ${n}`, price: '1.10' },
      });
      await server.data('POST /api/things:create', { ...more, body: { n } });
    }
    await server.data('POST /api/accounts:create', { body: { name: 'Shop', address: 'shop@example.com' } });
    const letter = makeRawMail({ subject: 'Broken turntable', from: 'Cora <cora@example.net>', id: 'a1@example.net' });
    await server.data('POST /api/emails:import?account=1', {
      headers: { 'content-type': 'message/rfc822' },
      body: letter,
    });
    await server.data('POST /api/files:upload', {
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
      body: form,
    });
    cursor = (await server.data('GET /api/changes:list?pageSize=1'))[0].cursor;
    await runBackupCommand([backup], config(server.store));
    original = await read(server);
    await server.stop();
  });
  afterAll(async () => {
    for (const store of stores) await store.remove();
    rmSync(root, { recursive: true });
  });

  test('a backup passes verification, and a server restored from it into an empty location replies like the original', async () => {
    const store = await emptyStore();
    const { files } = await readManifest(backup);
    expect(files.filter(({ path }) => /-(wal|shm)$/.test(path))).toEqual([]);
    await runVerifyCommand([backup], config(store));
    await runRestoreCommand([backup], config(store));
    const server = await open(store);
    expect(await read(server)).toEqual(original);
    expect(original.shopThings.data).toHaveLength(5);
    expect(original.raw).toContain('Broken turntable');
    expect((await server.data('POST /api/things:create', { body: { n: 9 } })).id).toBe(6);
    const changes = await server.call(`GET /api/changes:list?since=${cursor}`);
    expect(changes.body.meta.resync).toBe(true);
    expect(await server.data('GET /api/audit:verify')).toMatchObject({ valid: true });
    await server.stop();

    await expect(runRestoreCommand([backup], config(store))).rejects.toThrow(/contains data/);
    await expect(runRestoreCommand(['--replace', 'shop', backup], config(store))).rejects.toThrow(/Use --replace all/);
    await expect(runRestoreCommand(['--app', 'shop', backup], config(store))).rejects.toThrow(/"shop" exists/);
    const changed = await open(store);
    expect((await changed.data('GET /api/things:list')).length).toBe(6);
    await changed.data('POST /api/things:create', { as: 'shop', headers: shop, body: { n: 100 } });
    await changed.stop();

    // One application is replaced; the others keep what was written after the backup.
    await runRestoreCommand(['--app', 'shop', '--replace', 'shop', backup], config(store));
    const replaced = await open(store);
    expect((await replaced.data('GET /api/things:list')).length).toBe(6);
    expect(await replaced.data('GET /api/things:list', { as: 'shop', headers: shop })).toHaveLength(5);
    await replaced.stop();
    await runRestoreCommand(['--replace', 'all', backup], config(store));
    expect(await readStopping(store)).toEqual(original);
  });

  test('one application is backed up, and restored into another server under its name', async () => {
    const [source, target] = [await emptyStore(), await emptyStore()];
    await runRestoreCommand([backup], config(source));
    const folder = join(root, 'shop');
    await runBackupCommand(['--app', 'shop', folder], config(source));
    expect(await readManifest(folder)).toMatchObject({ scope: 'application', applications: [{ name: 'shop' }] });
    await runVerifyCommand([folder], config(target));
    await expect(runRestoreCommand([folder], config(target))).rejects.toThrow(/has no "main"/);
    const first = await TestServer.start(shareStore(engine, target));
    await first.data('POST /api/collections:create', { body: { name: 'own' } });
    await first.stop();
    await runRestoreCommand([folder], config(target));
    const server = await open(target);
    expect(await server.data('GET /api/things:list', { as: 'shop', headers: shop })).toHaveLength(5);
    expect(await server.data('GET /api/audit:verify', { as: 'shop', headers: shop })).toMatchObject({ valid: true });
    expect(await server.data('GET /api/own:list')).toEqual([]);
    const withKey = { as: `header:Bearer ${shopKey}`, headers: shop };
    expect(await server.data('GET /api/things:list', withKey)).toHaveLength(5);
    await server.stop();
    await expect(runRestoreCommand([folder], config(target))).rejects.toThrow(/"shop" exists/);
  });

  test('one application is restored as a copy next to the original, from an encrypted backup', async () => {
    const store = await emptyStore();
    await runRestoreCommand([backup], config(store));
    const identity = await generateX25519Identity();
    const file = join(root, `identity-${engine.name}`);
    writeFileSync(file, identity);
    const recipients = { BACKUP_AGE_RECIPIENTS: await identityToRecipient(identity) };
    const folder = join(root, 'encrypted');
    await runBackupCommand([folder], readConfig({ ...settings(store), ...recipients }));
    await runVerifyCommand(['--identity', file, folder], config(store));
    const copy = ['--app', 'shop', '--as', 'shop-old'];
    await expect(runRestoreCommand([...copy, folder], config(store))).rejects.toThrow(/is encrypted/);
    await expect(runRestoreCommand(['--as', 'x', '--identity', file, folder], config(store))).rejects.toThrow(/--app/);
    // The key signs the audit journal of the copy.
    await runRestoreCommand(
      [...copy, '--identity', file, folder],
      readConfig({ ...serverSettings, ...settings(store) }),
    );
    await expect(runRestoreCommand([...copy, '--identity', file, folder], config(store))).rejects.toThrow(/exists/);
    expect(readdirSync(store.dataDir).filter((name) => name.startsWith('decrypted'))).toEqual([]);
    const server = await open(store);
    const { token } = await server.data('POST /api/applications:enter?filterByTk=shop-old');
    server.tokens.set('old', token);
    const asCopy = { as: 'old', headers: { 'x-app': 'shop-old' } };
    await server.data('POST /api/things:create', { ...asCopy, body: { n: 50 } });
    expect(await server.data('GET /api/things:list', asCopy)).toHaveLength(6);
    expect(await server.data('GET /api/things:list', { as: 'shop', headers: shop })).toHaveLength(5);
    for (const read of [asCopy, { as: 'shop', headers: shop }])
      expect(await server.data('GET /api/audit:verify', read)).toMatchObject({ valid: true });
    await server.stop();
  });

  test('a restore over a running server is refused', async () => {
    const store = await emptyStore();
    await runRestoreCommand([backup], config(store));
    const server = await open(store);
    await expect(runRestoreCommand(['--replace', 'all', backup], config(store))).rejects.toThrow(/in use/);
    expect(await read(server)).toEqual(original);
    await server.stop();
  });

  test('a damaged backup or one in a newer format is refused, and nothing is changed', async () => {
    const store = await emptyStore();
    const attempts: [RegExp, (folder: string, path: string) => void | Promise<void>][] = [
      [/has \d+ bytes instead of \d+/, (folder, path) => truncateSync(join(folder, path), 10)],
      [/is missing/, (folder, path) => rmSync(join(folder, path))],
      [/has different content/, (folder, path) => changeByte(join(folder, path))],
      [/backup\.json in .* is damaged/, (folder) => changeByte(join(folder, 'backup.json'))],
      [/contains no backup\.json/, (folder) => rmSync(join(folder, 'backup.json'))],
      [
        /has format 3.* This version reads format 2/,
        async (folder) => writeManifest(folder, { ...(await readManifest(folder)), format: 3 }),
      ],
      [
        /rows instead of|other rows/,
        async (folder) => {
          const manifest = await readManifest(folder);
          const tables = manifest.tables.map((table) => ({ ...table, rows: table.rows + 1 }));
          await writeManifest(folder, { ...manifest, tables });
        },
      ],
    ];
    for (const [message, damage] of attempts) {
      const folder = join(root, 'damaged');
      cpSync(backup, folder, { recursive: true });
      const { files } = await readManifest(folder);
      await damage(folder, files.find(({ path }) => /\.db$|\.zst$/.test(path))!.path);
      await expect(runVerifyCommand([folder], config(store))).rejects.toThrow(message);
      await expect(runRestoreCommand([folder], config(store))).rejects.toThrow(message);
      rmSync(folder, { recursive: true });
    }
    expect(existsSync(join(store.dataDir, 'applications'))).toBe(false);
    expect(existsSync(join(store.dataDir, partName))).toBe(false);
    await runRestoreCommand([backup], config(store));
  });

  test('kill -9 during a backup leaves no folder that looks complete; during a restore, it leaves the earlier data or all of the new data', async () => {
    const store = await emptyStore();
    await runRestoreCommand([backup], config(store));
    const server = await open(store);
    await server.data('POST /api/things:create', { body: { n: 50 } });
    const later = await read(server);
    await server.stop();
    const run = async (words: string[], milliseconds: number): Promise<void> => {
      const child = spawn(process.execPath, [program, ...words], {
        env: { ...process.env, ...settings(store) },
        stdio: 'ignore',
      });
      const timer = setTimeout(() => child.kill('SIGKILL'), milliseconds);
      await once(child, 'exit');
      clearTimeout(timer);
    };
    for (const milliseconds of [150, 250, 350]) {
      const target = join(root, `killed-${milliseconds}`);
      await run(['backup', target], milliseconds);
      if (existsSync(target)) await runVerifyCommand([target], config(store));
    }
    let expected = [later, original];
    for (const milliseconds of [300, 450, 600]) {
      await run(['restore', '--replace', 'all', backup], milliseconds);
      const found = await readStopping(store);
      expect(expected).toContainEqual(found);
      if (JSON.stringify(found) === JSON.stringify(original)) expected = [original];
    }
  }, 60_000);

  test.runIf(engine.name === 'sqlite')(
    'a restore whose files are complete is finished at the next start, wherever it was interrupted',
    async () => {
      for (const moved of [0, 1, 2]) {
        const store = await emptyStore();
        const dataDir = join(store.dataDir, 'data');
        cpSync(backup, join(dataDir, partName), { recursive: true });
        cpSync(backup, dataDir, { recursive: true });
        writeFileSync(join(dataDir, 'applications', 'earlier'), '');
        await decideRestore(dataDir, { keep: 'kept' });
        if (moved > 0)
          cpSync(join(dataDir, 'applications'), join(dataDir, 'kept', 'applications'), { recursive: true });
        if (moved > 0) rmSync(join(dataDir, 'applications'), { recursive: true });
        if (moved > 1)
          cpSync(join(dataDir, partName, 'applications'), join(dataDir, 'applications'), { recursive: true });
        if (moved > 1) rmSync(join(dataDir, partName, 'applications'), { recursive: true });
        expect(await finishRestore(dataDir)).toBe(join(dataDir, 'kept'));
        expect(readdirSync(join(dataDir, 'applications'))).not.toContain('earlier');
        expect(readdirSync(join(dataDir, 'kept', 'applications'))).toContain('earlier');
        expect(existsSync(join(dataDir, 'restore.json'))).toBe(false);
      }
    },
  );

  test.runIf(engine.name === 'sqlite')(
    'a restore of one application whose files are complete is finished at the next start, wherever it was interrupted',
    async () => {
      const application = (await readManifest(backup)).applications.find(({ name }) => name === 'shop')!;
      const newStore = '0190a7c0-0000-7000-8000-000000000000';
      for (const moved of [0, 1, 3]) {
        const store = await emptyStore();
        await runRestoreCommand([backup], config(store));
        let server = await open(store);
        await server.data('POST /api/things:create', { as: 'shop', headers: shop, body: { n: 50 } });
        await server.stop();
        const [part, stores] = [join(store.dataDir, partName, 'applications'), join(store.dataDir, 'applications')];
        for (const name of readdirSync(join(backup, 'applications')))
          if (name.startsWith(`${application.store}.`))
            cpSync(join(backup, 'applications', name), join(part, name.replace(application.store, newStore)), {
              recursive: true,
            });
        const at = new Date().toISOString();
        const intent = { ...application, store: newStore, replaced: application.store, mainStore: '1', at };
        await decideRestore(store.dataDir, { keep: 'kept', application: intent });
        for (const name of readdirSync(part).slice(0, moved)) renameSync(join(part, name), join(stores, name));
        server = await open(store);
        expect((await read(server)).shopThings).toEqual(original.shopThings);
        await server.stop();
        const own = (folder: string, name: string): string[] =>
          readdirSync(join(store.dataDir, folder)).filter((each) => each.startsWith(`${name}.`));
        expect([own('applications', application.store), own('kept/applications', newStore)]).toEqual([[], []]);
        expect(own('kept/applications', application.store)).toContain(`${application.store}.db`);
        expect(own('.', 'restore')).toEqual([]);
      }
    },
    60_000,
  );

  test('a backup that is refused leaves no folder', async () => {
    const store = await emptyStore();
    await runRestoreCommand([backup], config(store));
    const target = join(root, 'refused');
    await expect(runBackupCommand(['--app', 'nope', target], config(store))).rejects.toThrow('"nope"');
    expect([existsSync(target), existsSync(`${target}.part`)]).toEqual([false, false]);
  });

  test('files that an interrupted verification has left are removed by the next one', async () => {
    const store = await emptyStore();
    const ended = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
    await once(ended, 'exit');
    const leftover = join(tmpdir(), `tablinum-verify-${ended.pid}-abc`);
    const running = join(tmpdir(), `tablinum-verify-${process.pid}-abc`);
    for (const each of [leftover, running]) mkdirSync(each);
    const count = async (): Promise<number> => {
      const text = "SELECT count(*)::int FROM pg_namespace WHERE nspname LIKE 'app%'";
      return (await queryDatabase(store.databaseUrl!, text))[0]!['count'] as number;
    };
    if (store.databaseUrl !== null) await queryDatabase(store.databaseUrl, 'CREATE SCHEMA app_1_v0123abcd');
    await runVerifyCommand([backup], config(store));
    if (engine.name === 'sqlite') expect([existsSync(leftover), existsSync(running)]).toEqual([false, true]);
    else expect(await count()).toBe(0);
    for (const each of [leftover, running]) rmSync(each, { recursive: true, force: true });
  });
});

function changeByte(path: string): void {
  const bytes = readFileSync(path);
  const at = Math.floor(bytes.length / 2);
  bytes[at] = bytes[at]! ^ 1;
  writeFileSync(path, bytes);
}
