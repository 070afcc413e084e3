/** Stores of earlier versions are upgraded when the server starts; those of newer ones are refused. */
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, expect, inject, test, vi } from 'vitest';
import { systemCollections, systemRelations } from '../../src/applications/system-definitions.ts';
import { readConfig } from '../../src/base/config.ts';
import { runAdminCommand } from '../../src/cli-admin.ts';
import { printUpgradePlan } from '../../src/cli-upgrade.ts';
import { readStoreVersion, storeVersion } from '../../src/database/catalogue.ts';
import type { Database } from '../../src/database/database.ts';
import type { Migration } from '../../src/upgrades/migration.ts';
import { migrations } from '../../src/upgrades/migrations.ts';
import { planUpgrade, upgradeStore } from '../../src/upgrades/upgrade-store.ts';
import { describeEngines, type Engine, type Store, shareStore } from '../support/engines.ts';
import { queryDatabase } from '../support/query-database.ts';
import { TestServer } from '../support/scenario.ts';
import { serverSettings } from '../support/server-settings.ts';
import { shopHeaders } from '../support/shop-server.ts';
import {
  fillStore,
  listStoreFixtures,
  openStoreFixture,
  readStoreFixture,
  takeReadings,
  writeStoreFixture,
} from '../support/store-fixture.ts';

const made = process.env['MAKE_STORE_FIXTURE'];
const newest = migrations.at(-1)!.number;
afterEach(() => void vi.restoreAllMocks());

test('migrations are numbered without gaps', () => {
  expect(migrations.map(({ number }) => number)).toEqual(migrations.map((_, index) => index + 1));
  expect(storeVersion).toBe(newest);
});

test('a change of the system collections has a migration of its own, so that servers of the previous version notice it', async () => {
  const names = [
    ...systemCollections.flatMap(({ name, fields }) => fields.map((field) => `${name}.${field.name}: ${field.type}`)),
    ...systemRelations.map(({ collection, field }) => `${collection}.${field.name}: ${field.type}`),
  ];
  // If this differs from the file, add a numbered migration that names the new fields, then update the file.
  const text = [`migration ${newest}`, ...names.sort(), ''].join('\n');
  await expect(text).toMatchFileSnapshot('./golden/system-fields.txt');
});

describeEngines('a store of an earlier version', (engine) => {
  test.runIf(made !== undefined)('is written as a fixture', async () => {
    const store = await engine.store(true);
    const server = await TestServer.start(shareStore(engine, store));
    const token = await fillStore(server);
    const replies = await takeReadings(server);
    await server.stop();
    writeStoreFixture(made!, engine, store, { token, replies });
    await store.remove();
  });

  test.each(listStoreFixtures(engine))('of version %s replies as before, and so does its copy', async (version) => {
    const fixture = readStoreFixture(version, engine);
    const store = await openStoreFixture(engine, fixture).store();
    const shared = shareStore(engine, store);
    expect(await plan(store)).toMatch(/^main: store version 0, upgraded to \d+:\n {2}migration 1: /);
    let server = await TestServer.start(shared);
    const check = async (): Promise<void> => {
      expect(await takeReadings(server)).toEqual(fixture.replies);
      server.tokens.set('key', fixture.token);
      expect(await server.data('GET /api/albums:list?fields=id', { as: 'key' })).toHaveLength(2);
      expect(await server.data('GET /api/audit:verify')).toMatchObject({ valid: true });
    };
    await check();
    await server.data('POST /api/albums:destroy?filterByTk=2');
    await server.stop();
    expect(await plan(store)).toBe(
      `main: store version ${newest}. Nothing changes.\nshop: store version ${newest}. Nothing changes.`,
    );
    await useCopy(engine, store);
    server = await TestServer.start(shared);
    await check();
    // New records of the copy get the same numbers as those of the original.
    expect(await server.data('POST /api/albums:create', { body: { title: 'New' } })).toMatchObject({ id: 4 });
    await server.stop();
    await store.remove();
  });

  test('is not copied if the operator has switched that off', async () => {
    const [version] = listStoreFixtures(engine);
    const store = await openStoreFixture(engine, readStoreFixture(version!, engine)).store();
    const server = await TestServer.start(shareStore(engine, store), { env: { UPGRADE_BACKUP: 'off' } });
    await server.stop();
    expect(existsSync(join(store.dataDir, 'upgrade-backups'))).toBe(false);
    if (store.databaseUrl !== null) expect(await listCopies(store.databaseUrl)).toEqual([]);
    await store.remove();
  });

  test('is refused unchanged if users have a collection with a name that this version needs', async () => {
    const [version] = listStoreFixtures(engine);
    const fixture = readStoreFixture(version!, engine);
    const store = await openStoreFixture(engine, fixture).store();
    await runIn(store, "UPDATE _collections SET name='mailTemplates' WHERE name='tags'");
    const before = await readMain(store);
    for (const attempt of [() => TestServer.start(shareStore(engine, store)), () => plan(store)])
      await expect(attempt()).rejects.toThrow('has a collection "mailTemplates", and this version of the server needs');
    expect(await readMain(store)).toEqual(before);
    // Commands other than `start` do not upgrade a store.
    const settings = {
      ...serverSettings,
      DATA_DIR: store.dataDir,
      ...(store.databaseUrl && { DATABASE_URL: store.databaseUrl }),
    };
    await runIn(store, "UPDATE _collections SET name='tags' WHERE name='mailTemplates'");
    await expect(runAdminCommand('app', ['list'], readConfig(settings))).rejects.toThrow(
      'Start the server, which upgrades it',
    );
    await runIn(store, "UPDATE _collections SET name='mailTemplates' WHERE name='tags'");
    expect(await readMain(store)).toEqual(before);
    await runIn(store, "UPDATE _collections SET name='tags' WHERE name='mailTemplates'");
    const server = await TestServer.start(shareStore(engine, store));
    expect(await takeReadings(server)).toEqual(fixture.replies);
    expect(await countCopies(store)).toBe(2);
    await server.data('POST /api/applications:destroy?filterByTk=shop&confirm=shop');
    await expect.poll(() => countCopies(store)).toBe(1);
    await server.stop();
    await store.remove();
  });

  test('the upgrade continues after a migration that failed, and never runs a migration twice', async () => {
    const server = await TestServer.start(engine);
    const { database } = server.running.applications.main;
    const calls: number[] = [];
    const next = (number: number, fails = false): Migration => ({
      number,
      title: `number ${number}`,
      run: async (_, transaction) => {
        calls.push(number);
        await transaction.run({ text: `UPDATE _meta SET application='v${number}'`, values: [] });
        if (fails) throw new Error('the disk is full');
      },
    });
    const [first, second] = [newest + 1, newest + 2];
    const run = async (all: readonly Migration[]): Promise<void> =>
      upgradeStore(database, await planUpgrade(database, 'main', all), '2026-01-01T00:00:00.000Z');
    const old = [...migrations, next(first)];
    await expect(run([...old, next(second, true)])).rejects.toThrow('the disk is full');
    expect([await readStoreVersion(database), await readName(database)]).toEqual([first, `v${first}`]);
    await run([...old, next(second)]);
    await run([...old, next(second)]);
    expect([await readStoreVersion(database), await readName(database)]).toEqual([second, `v${second}`]);
    expect(calls).toEqual([first, second, second]);
    await server.stop();
  });
});

describeEngines('a store of a newer version', (engine) => {
  // The test looks for the schema of the application in the database of `main`.
  test.skipIf(inject('clusterNodes') !== null)('is refused, and is not changed', async () => {
    const store = await engine.store(true);
    const shared = shareStore(engine, store);
    let server = await TestServer.start(shared);
    await server.data('POST /api/applications:create', { body: { name: 'shop' } });
    const { token } = await server.data('POST /api/applications:enter?filterByTk=shop');
    await server.stop();
    await addMigration(store, (name) => !isMain(name), 1000);
    server = await TestServer.start(shared);
    server.tokens.set('shop', token);
    const reply = await server.call('GET /api/collections:list', { as: 'shop', headers: shopHeaders });
    expect([reply.status, reply.body.code]).toEqual([500, 'APPLICATION_FAILED']);
    expect(reply.body.message).toContain('written by a newer version of the server: its store has version 1000');
    expect((await server.call('GET /api/collections:list')).status).toBe(200);
    await server.stop();
    await addMigration(store, isMain, 1001);
    const message = `the application "main" was written by a newer version of the server: its store has version 1001, and this server knows versions up to ${newest}.`;
    await expect(TestServer.start(shared)).rejects.toThrow(message);
    await expect(plan(store)).rejects.toThrow(message);
    await store.remove();
  });
});

/** Records a migration of a later version in the chosen stores. */
async function addMigration(store: Store, isChosen: (name: string) => boolean, number: number): Promise<void> {
  await runIn(store, `INSERT INTO _migrations (number,title,at) VALUES (${number},'of a later version','')`, isChosen);
}

const isMain = (name: string): boolean => /^(app_)?1$/.test(name);

/** Runs a statement in one store, while no server uses it. @returns its rows. */
async function runIn(
  { dataDir, databaseUrl }: Store,
  statement: string,
  isChosen: (name: string) => boolean = isMain,
): Promise<object[]> {
  if (databaseUrl !== null) {
    const schemas = await queryDatabase(databaseUrl, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'app%'");
    const chosen = schemas.map(({ nspname }) => nspname as string).filter(isChosen);
    expect(chosen).toHaveLength(1);
    const url = new URL(databaseUrl);
    url.searchParams.set('options', `-c search_path=${chosen[0]}`);
    return queryDatabase(url.href, statement);
  }
  const folder = join(dataDir, 'applications');
  const chosen = readdirSync(folder).filter((name) => /^[^.]+\.db$/.test(name) && isChosen(name.slice(0, -3)));
  expect(chosen).toHaveLength(1);
  const database = new DatabaseSync(join(folder, chosen[0]!));
  const rows = database.prepare(statement).all();
  database.close();
  return rows;
}

/** The tables and definitions of `main`, which a refused upgrade must not change, and the copies. */
async function readMain(store: Store): Promise<unknown> {
  const tables =
    store.databaseUrl === null
      ? "SELECT name FROM sqlite_master WHERE type='table' ORDER BY 1"
      : 'SELECT schemaname,tablename FROM pg_tables ORDER BY 1,2';
  const copies = join(store.dataDir, 'upgrade-backups');
  return [
    await runIn(store, tables),
    await runIn(store, 'SELECT * FROM _collections ORDER BY id'),
    existsSync(copies) ? readdirSync(copies) : [],
  ];
}

async function readName(database: Database): Promise<unknown> {
  const [rows] = await database.read([{ text: 'SELECT application FROM _meta', values: [] }]);
  return rows![0]![0];
}

/** What `tablinum start --dry-run` prints. */
async function plan({ dataDir, databaseUrl }: Store): Promise<string> {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  const settings = { ...serverSettings, DATA_DIR: dataDir, ...(databaseUrl !== null && { DATABASE_URL: databaseUrl }) };
  await printUpgradePlan(readConfig(settings));
  const lines = log.mock.calls.map(([line]) => line as string);
  log.mockRestore();
  return lines.join('\n');
}

/** Restores the copies that were made before the upgrade, as docs/operations.md describes. */
async function useCopy(engine: Engine, { dataDir, databaseUrl }: Store): Promise<void> {
  if (databaseUrl !== null) {
    const copies = await listCopies(databaseUrl);
    expect(copies).toHaveLength(2);
    await queryDatabase(
      databaseUrl,
      copies
        .map((copy) => {
          const source = copy.replace(/_version_0$/, '');
          return `DROP SCHEMA ${source} CASCADE; ALTER SCHEMA ${copy} RENAME TO ${source};`;
        })
        .join('\n'),
    );
    return;
  }
  const folder = join(dataDir, 'upgrade-backups');
  const copies = readdirSync(folder);
  expect([engine.name, copies.length]).toEqual(['sqlite', 2]);
  for (const copy of copies)
    for (const file of readdirSync(join(folder, copy))) {
      for (const end of ['-wal', '-shm']) rmSync(join(dataDir, 'applications', `${file}${end}`), { force: true });
      renameSync(join(folder, copy, file), join(dataDir, 'applications', file));
    }
}

async function countCopies({ dataDir, databaseUrl }: Store): Promise<number> {
  return (databaseUrl === null ? readdirSync(join(dataDir, 'upgrade-backups')) : await listCopies(databaseUrl)).length;
}

async function listCopies(url: string): Promise<string[]> {
  const rows = await queryDatabase(url, `SELECT nspname FROM pg_namespace WHERE nspname LIKE 'app%version%'`);
  return rows.map(({ nspname }) => nspname as string);
}
