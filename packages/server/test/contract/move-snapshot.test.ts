/** The changes since a snapshot of a move lead from its rows exactly to those of the present, whatever was written. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../src/base/config.ts';
import { openLocation } from '../../src/cli-move-locations.ts';
import type { MoveReader, MoveSnapshot } from '../../src/database/move/move-stores.ts';
import { findPlainKey, type MovedRow, type MovedTable, readRowKey } from '../../src/database/move/moved-table.ts';
import { schemaName } from '../../src/open-stores.ts';
import { planTables } from '../../src/transfer/move/plan-tables.ts';
import { describeEngines } from '../support/engines.ts';
import { enterApplication, fillApplication } from '../support/moved-application.ts';
import { connectDatabase } from '../support/query-database.ts';
import { TestServer } from '../support/scenario.ts';
import { serverSettings } from '../support/server-settings.ts';
import { shopHeaders } from '../support/shop-server.ts';

const shop = { as: 'shop', headers: shopHeaders };

async function readAll(reader: MoveReader, table: MovedTable): Promise<MovedRow[]> {
  const rows: MovedRow[] = [];
  for await (const batch of reader.rows(table)) rows.push(...batch);
  return rows;
}

describeEngines('snapshots of moves', (engine) => {
  let server: TestServer;
  let store: string;
  let source: Awaited<ReturnType<Awaited<ReturnType<typeof openLocation>>['openSource']>>;
  const make = (action: string, body?: unknown): Promise<unknown> =>
    server.data(`POST /api/${action}`, { ...shop, body });

  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/applications:create', { body: { name: 'shop' } });
    await enterApplication(server);
    await fillApplication(server);
    const fields = [
      { name: 'n', type: 'integer', unique: true },
      { name: 'text', type: 'text' },
    ];
    await make('collections:create', { name: 'things', fields });
    await make(
      'things:create',
      Array.from({ length: 300 }, (_, n) => ({ n, text: String(n % 10).repeat(n % 7 === 0 ? 20_000 : 20) })),
    );
    const { dataDir, databaseUrl } = server.store;
    const settings = { ...serverSettings, DATA_DIR: dataDir, ...(databaseUrl && { DATABASE_URL: databaseUrl }) };
    const location = await openLocation(readConfig(settings));
    store = (await location.findStore('shop')) ?? '';
    source = await location.openSource(store);
  });
  afterAll(async () => {
    await source.close();
    await server.stop();
  });

  /** Applies the changes to the rows of the snapshot, and compares them with the present rows. @returns the tables that changed. */
  const compare = async (snapshot: MoveSnapshot, before: ReadonlyMap<string, MovedRow[]>): Promise<string[]> => {
    // The audit journal is written in the background.
    await server.data('POST /api/applications:stop?filterByTk=shop');
    const changed: string[] = [];
    for (const table of (await planTables(snapshot)).tables) {
      const changes = await snapshot.changes(table);
      if (changes === null) {
        expect(findPlainKey(table) === null || table.isJournal, table.table).toBe(true);
        continue;
      }
      const keyOf = (row: MovedRow): string => String(readRowKey(table, row)[0]);
      const rows = new Map((before.get(table.table) ?? []).map((row) => [keyOf(row), row]));
      for (const row of changes.removed) rows.delete(keyOf(row));
      for (const row of changes.added) {
        expect(rows.has(keyOf(row)), table.table).toBe(false);
        rows.set(keyOf(row), row);
      }
      const present = await readAll(source.reader, table);
      expect(rows.size, table.table).toBe(present.length);
      for (const row of present) expect(rows.get(keyOf(row)), table.table).toEqual(row);
      if (changes.removed.length + changes.added.length > 0) changed.push(table.table.replace(/_\d+$/, ''));
    }
    await server.data('POST /api/applications:start?filterByTk=shop');
    return changed;
  };
  const begin = async (): Promise<{ snapshot: MoveSnapshot; before: Map<string, MovedRow[]> }> => {
    const snapshot = await source.reader.snapshot();
    const before = new Map<string, MovedRow[]>();
    for (const table of (await planTables(snapshot)).tables) before.set(table.table, await readAll(snapshot, table));
    return { snapshot, before };
  };

  test('nothing has changed', async () => {
    const { snapshot, before } = await begin();
    await compare(snapshot, before);
    await snapshot.close();
  });

  test('records, links, definitions of roles, and rows without events', async () => {
    const { snapshot, before } = await begin();
    await make('things:create', [{ n: 1000 }, { n: 1001, text: 'ö' }]);
    await make('things:destroy?filterByTk=5');
    await make('things:destroy?filter={"n":{"$between":[100,120]}}');
    // Long values of the same length, of which only a part differs.
    await make('things:update?filterByTk=8', { text: `${'7'.repeat(19_999)}x` });
    await make('things:update?filterByTk=1', { text: null });
    // Unique values that change places.
    await make('things:update?filterByTk=2', { n: 5000 });
    await make('things:update?filterByTk=3', { n: 1 });
    await make('things:update?filterByTk=2', { n: 2 });
    // A row that is as before.
    await make('things:update?filterByTk=4', { n: 777 });
    await make('things:update?filterByTk=4', { n: 3 });
    await make('tags:create', { name: 'newest' });
    await make('tags:destroy?filterByTk=1');
    await make('roles:create', { name: 'later' });
    await enterApplication(server);
    const changed = await compare(snapshot, before);
    expect(changed).toEqual(expect.arrayContaining(['_events', 'things', 'tags', 'roles', 'logins']));
    expect(changed).not.toContain('samples');
    // The snapshot still shows its own moment.
    for (const table of (await planTables(snapshot)).tables)
      expect(await readAll(snapshot, table), table.table).toEqual(before.get(table.table));
    await snapshot.close();
  });

  test.skipIf(engine.name !== 'postgres')(
    'a transaction with savepoints that was running at the snapshot',
    async () => {
      const client = await connectDatabase(server.store.databaseUrl ?? '');
      const table = (await planTables(source.reader)).tables.find((each) => each.table.startsWith('things_'));
      const name = `${schemaName(store)}."${table?.table}"`;
      const id = `"${table?.key[0]?.name}"`;
      const text = `"${table?.columns.find((each) => each.name.startsWith('text'))?.name}"`;
      await client.query('BEGIN');
      await client.query(`SAVEPOINT a; UPDATE ${name} SET ${text}='in a savepoint' WHERE ${id}=20; RELEASE a`);
      await client.query(`SAVEPOINT b; DELETE FROM ${name} WHERE ${id}=21; RELEASE b`);
      await client.query(`SAVEPOINT c; UPDATE ${name} SET ${text}='undone' WHERE ${id}=22; ROLLBACK TO c`);
      // A later transaction ends before the snapshot.
      await make('things:update?filterByTk=30', { text: 'earlier' });
      const { snapshot, before } = await begin();
      await client.query(`SELECT 1 FROM ${name} WHERE ${id}=23 FOR UPDATE`);
      await client.query('COMMIT');
      await make('things:destroy?filterByTk=24');
      expect(await compare(snapshot, before)).toContain('things');
      await snapshot.close();
      await client.end();
    },
  );
});
