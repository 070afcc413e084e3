/**
 * `tablinum backup` of PostgreSQL while a server is running: each application is saved as of one moment, with its
 * definition.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { readConfig } from '../../src/base/config.ts';
import { runBackupCommand } from '../../src/cli-backup.ts';
import { runRestoreCommand } from '../../src/cli-restore.ts';
import { runVerifyCommand } from '../../src/cli-verify.ts';
import { checkFiles, readManifest } from '../../src/database/backup-manifest.ts';
import type { SavedSchema } from '../../src/database/postgres/save-application.ts';
import { postgres, type Store } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';
import { dumpDatabase, listStoreFixtures, openStoreFixture, readStoreFixture } from '../support/store-fixture.ts';

const root = mkdtempSync(join(tmpdir(), 'tablinum-schemas-'));

describe.skipIf(inject('postgresSkipped') !== null)('backup of PostgreSQL', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(postgres);
    const fields = [
      { name: 'n', type: 'integer', unique: true },
      { name: 'text', type: 'text' },
    ];
    await server.data('POST /api/collections:create', { body: { name: 'firsts', fields } });
    await server.data('POST /api/collections:create', { body: { name: 'seconds', fields } });
  });
  test('a restored database has the same tables, rows, indexes, constraints and sequences', async () => {
    const fixture = readStoreFixture(listStoreFixtures(postgres).at(-1)!, postgres);
    const original = await openStoreFixture(postgres, fixture).store();
    const restored = await postgres.store();
    const configOf = ({ dataDir, databaseUrl }: Store): ReturnType<typeof readConfig> =>
      readConfig({ DATA_DIR: dataDir, DATABASE_URL: databaseUrl! });
    const target = join(root, 'fixture');
    await runBackupCommand([target], configOf(original));
    await runRestoreCommand([target], configOf(restored));
    const [before, after] = [original, restored].map(({ databaseUrl }) => withoutEpochs(dumpDatabase(databaseUrl!)));
    expect(after).toEqual(before);
    expect(before!.length).toBeGreaterThan(1000);
    for (const store of [original, restored]) await store.remove();
  });

  test('a change of definitions during the copy does not damage it', async () => {
    const target = join(root, 'changed');
    const store = await postgres.store();
    const configOf = (databaseUrl: string): ReturnType<typeof readConfig> =>
      readConfig({ DATA_DIR: store.dataDir, DATABASE_URL: databaseUrl });
    await server.data('POST /api/collections:create', { body: { name: 'changing', fields: [] } });
    let ended = false;
    const copy = runBackupCommand([target], configOf(server.store.databaseUrl!)).finally(() => {
      ended = true;
    });
    const change = async (): Promise<void> => {
      for (let n = 0; n < 3 && !ended; n += 1) {
        const field = { name: `f${n}`, type: 'string' };
        await server.data('POST /api/fields:create?collectionName=changing', { body: field });
        await server.data('POST /api/changing:create', { body: { [field.name]: 'x' } });
        await server.data('POST /api/fields:destroy?collectionName=changing', { body: { name: field.name } });
      }
    };
    await Promise.all([copy, change()]);
    await runVerifyCommand([target], configOf(store.databaseUrl!));
    await store.remove();
  });

  afterAll(async () => {
    await server.stop();
    rmSync(root, { recursive: true });
  });

  test('all tables are saved as of one moment while records are written', async () => {
    let ended = false;
    await server.data('POST /api/firsts:create', { body: { n: 0 } });
    await server.data('POST /api/seconds:create', { body: { n: 0 } });
    const writer = (async () => {
      for (let n = 1; !ended; n += 1) {
        await server.data('POST /api/firsts:create', { body: { n, text: 'a\tb\nc\\.' } });
        await server.data('POST /api/seconds:create', { body: { n } });
      }
    })();
    const target = join(root, 'live');
    const config = readConfig({ DATA_DIR: server.store.dataDir, DATABASE_URL: server.store.databaseUrl! });
    await runBackupCommand([target], config).finally(() => {
      ended = true;
    });
    await writer;
    const manifest = await readManifest(target);
    await checkFiles(target, manifest);
    expect(manifest).toMatchObject({ format: 1, engine: 'postgres', scope: 'all', applications: [{ name: 'main' }] });
    const saved = JSON.parse(readFileSync(join(target, 'schemas/1/schema.json'), 'utf8')) as SavedSchema;
    const rows = (name: string): number => saved.tables.find(({ table }) => table.includes(name))!.rows;
    expect(rows('firsts')).toBeGreaterThan(0);
    expect([0, 1]).toContain(rows('firsts') - rows('seconds'));
    expect([...saved.create, ...saved.index, ...saved.relate].join()).not.toContain('app_1');
  });
});

/** The lines of a dump. The epoch is the only UUID that follows two numbers. */
function withoutEpochs(dump: string): string[] {
  return dump
    .replaceAll(/(\._meta VALUES\s+\(\d+, \d+, )'[^']+'/g, "$1'epoch'")
    .split('\n')
    .sort();
}
