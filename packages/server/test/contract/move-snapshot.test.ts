/**
 * The changes since the snapshot of a move, applied to its rows, give exactly the present rows, whatever was written.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { readConfig } from '../../src/base/config.ts';
import { openLocation } from '../../src/cli-move-locations.ts';
import type { MoveReader, MoveSnapshot } from '../../src/database/move/move-stores.ts';
import { findPlainKey, type MovedRow, type MovedTable, readRowKey } from '../../src/database/move/moved-table.ts';
import { findLocations, schemaName } from '../../src/open-stores.ts';
import { planTables } from '../../src/transfer/move/plan-tables.ts';
import { locateSchema } from '../support/citus-cluster.ts';
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

  /**
   * Applies the changes to the rows of the snapshot, and compares the result with the present rows.
   *
   * @returns the tables that changed.
   */
  const compare = async (snapshot: MoveSnapshot, before: ReadonlyMap<string, MovedRow[]>): Promise<string[]> => {
    // The audit journal is written in the background.
    await server.data('POST /api/applications:stop?filterByTk=shop');
    const changed: string[] = [];
    await snapshot.advance();
    for (const table of (await planTables(source.reader)).tables) {
      const changes = await snapshot.changes(table);
      if (changes === null) {
        expect(findPlainKey(table) === null || table.isJournal, table.table).toBe(true);
        continue;
      }
      const keyOf = (row: MovedRow): string => String(readRowKey(table, row)[0]);
      const rows = new Map((before.get(table.table) ?? []).map((row) => [keyOf(row), row]));
      let [pieces, longest] = [0, 0];
      for await (const { removed, added } of changes) {
        for (const row of removed) rows.delete(keyOf(row));
        for (const row of added) {
          expect(rows.has(keyOf(row)), table.table).toBe(false);
          rows.set(keyOf(row), row);
        }
        pieces += 1;
        longest = Math.max(longest, removed.length + added.length);
      }
      // A large number of changes is never in memory as a whole.
      expect(longest).toBeLessThanOrEqual(2000);
      const present = await readAll(source.reader, table);
      expect(rows.size, table.table).toBe(present.length);
      for (const row of present) expect(rows.get(keyOf(row)), table.table).toEqual(row);
      if (pieces > 0) changed.push(table.table.replace(/_\d+$/, ''));
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

  /**
   * PostgreSQL also reports unchanged rows that were written while any other transaction of the database server was
   * running,
   * here also transactions of other tests. This waits until there are none.
   */
  const untilOthersEnd = async (): Promise<void> => {
    if (engine.name === 'sqlite') return;
    const url = await locateSchema(schemaName(store), server.store.databaseUrl ?? '', inject('clusterNodes'));
    const client = await connectDatabase(url);
    const last = (await client.query('SELECT pg_current_xact_id()::text AS id')).rows[0].id;
    const isOver = 'SELECT pg_snapshot_xmin(pg_current_snapshot()) > $1::xid8 AS over';
    await expect.poll(async () => (await client.query(isOver, [last])).rows[0].over).toBe(true);
    await client.end();
  };

  /** A search for changes ends at its deadline, so that it does not block the process. */
  const expectDeadline = async (): Promise<void> => {
    const snapshot = await source.reader.snapshot();
    await snapshot.advance(performance.now() - 1);
    const things = (await planTables(source.reader)).tables.find(({ table }) => table.startsWith('things_'));
    await expect(snapshot.changes(things!)).rejects.toThrow('took too long');
    await snapshot.close();
  };

  test('nothing is reported if nothing has changed', async () => {
    const { snapshot, before } = await begin();
    await compare(snapshot, before);
    await snapshot.close();
  });

  test('changes of records, links, definitions of roles, and rows without events are found', async () => {
    await untilOthersEnd();
    const { snapshot, before } = await begin();
    await make('things:create', [{ n: 1000 }, { n: 1001, text: 'ö' }]);
    await make('things:destroy?filterByTk=5');
    await make('things:destroy?filter={"n":{"$between":[100,120]}}');
    // Long values of the same length, of which only a part differs.
    await make('things:update?filterByTk=8', { text: `${'7'.repeat(19_999)}x` });
    await make('things:update?filterByTk=1', { text: null });
    // Unique values that are swapped.
    await make('things:update?filterByTk=2', { n: 5000 });
    await make('things:update?filterByTk=3', { n: 1 });
    await make('things:update?filterByTk=2', { n: 2 });
    // A row that is changed and changed back.
    await make('things:update?filterByTk=4', { n: 777 });
    await make('things:update?filterByTk=4', { n: 3 });
    await make('tags:create', { name: 'newest' });
    await make('tags:destroy?filterByTk=1');
    await make('roles:create', { name: 'later' });
    await enterApplication(server);
    // The snapshot still shows the state at its own time.
    for (const table of (await planTables(snapshot)).tables)
      expect(await readAll(snapshot, table), table.table).toEqual(before.get(table.table));
    await untilOthersEnd();
    const changed = await compare(snapshot, before);
    expect(changed).toEqual(expect.arrayContaining(['_events', 'things', 'tags', 'roles', 'logins']));
    expect(changed).not.toContain('samples');
    // The comparison continues from there: only later writes are changes.
    const then = new Map<string, MovedRow[]>();
    for (const table of (await planTables(source.reader)).tables)
      then.set(table.table, await readAll(source.reader, table));
    await make(
      'things:create',
      Array.from({ length: 900 }, (_, n) => ({ n: 10_000 + n, text: 'x'.repeat(9000) })),
    );
    await make('things:destroy?filter={"n":{"$between":[130,150]}}');
    if (engine.name === 'sqlite') await expectDeadline();
    const later = await compare(snapshot, then);
    expect(later).toContain('things');
    expect(later).not.toContain('tags');
    await snapshot.close();
  });

  test.skipIf(engine.name !== 'sqlite')('an audit journal that is created during the move is read', async () => {
    await server.data('POST /api/applications:create', { body: { name: 'silent' } });
    await server.data('POST /api/applications:stop?filterByTk=silent');
    const settings = { ...serverSettings, DATA_DIR: server.store.dataDir };
    const location = await openLocation(readConfig(settings));
    const name = (await location.findStore('silent')) ?? '';
    const journal = join(server.store.dataDir, 'applications', `${name}.audit.db`);
    for (const ending of ['', '-wal', '-shm']) rmSync(journal + ending, { force: true });
    const opened = await location.openSource(name);
    const snapshot = await opened.reader.snapshot();
    const audit = (await planTables(opened.reader)).tables.find((table) => table.table === '_audit')!;
    expect(await readAll(opened.reader, audit)).toEqual([]);
    await server.data('POST /api/applications:start?filterByTk=silent');
    const entered = await server.data('POST /api/applications:enter?filterByTk=silent');
    await server.data('POST /api/roles:create', {
      as: `header:Bearer ${entered.token}`,
      headers: { 'x-app': 'silent' },
      body: { name: 'first' },
    });
    await server.data('POST /api/applications:stop?filterByTk=silent');
    expect((await readAll(opened.reader, audit)).length).toBeGreaterThan(0);
    await snapshot.advance();
    expect(await snapshot.changes(audit)).toBe(null);
    await snapshot.close();
    await opened.close();
  });

  test.skipIf(engine.name !== 'postgres')(
    'time limits that the operator has set do not end a snapshot, and copies use the connections of the server',
    async () => {
      const url = server.store.databaseUrl ?? '';
      const database = new URL(url).pathname.slice(1);
      const limits = ['idle_in_transaction_session_timeout', 'idle_session_timeout', 'statement_timeout'];
      const client = await connectDatabase(url);
      for (const each of limits) await client.query(`ALTER DATABASE "${database}" SET ${each}='200ms'`);
      const config = readConfig({ ...serverSettings, DATA_DIR: server.store.dataDir, DATABASE_URL: url });
      const locations = await findLocations(config, url);
      const { budget } = await locations.find('any');
      const before = budget.free;
      const location = await openLocation(config, locations);
      const snapshot = await source.reader.snapshot();
      await pause(500);
      expect((await planTables(snapshot)).tables.length).toBeGreaterThan(20);
      await snapshot.close();
      for (const each of limits) await client.query(`ALTER DATABASE "${database}" RESET ${each}`);

      const target = await location.openTarget('00-1');
      expect(budget.free).toBeLessThanOrEqual(before - 2);
      await target.close();
      await expect.poll(() => budget.free).toBe(before);
      // A target that cannot be opened leaves no connection open.
      await client.query(`CREATE SCHEMA app_002_part; CREATE VIEW app_002_part._events AS SELECT 1`);
      await expect(location.openTarget('00-2')).rejects.toThrow();
      await expect.poll(() => budget.free).toBe(before);
      await client.query('DROP SCHEMA app_001_part CASCADE; DROP SCHEMA app_002_part CASCADE');
      await client.end();
    },
  );

  test.skipIf(engine.name !== 'postgres')(
    'writes of a transaction with savepoints that was running at the time of the snapshot are found',
    async () => {
      const url = await locateSchema(schemaName(store), server.store.databaseUrl ?? '', inject('clusterNodes'));
      const client = await connectDatabase(url);
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
