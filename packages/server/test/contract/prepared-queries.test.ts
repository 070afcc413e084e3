/** The first runs of a statement use pg, later ones our own query class. Callers see no difference. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type Database, DatabaseFault, type Row, StaleVersion } from '../../src/database/database.ts';
import { ConnectionBudget } from '../../src/database/postgres/connection-budget.ts';
import { openPostgres } from '../../src/database/postgres/postgres-open.ts';
import { describeEngines, type Store } from '../support/engines.ts';

/** Enough runs to include those before the statement is prepared, and the first run of the prepared statement. */
const runs = 8;

describeEngines('runs of a prepared statement', (engine) => {
  if (engine.name === 'sqlite') {
    test('SQLite prepares statements in another way', () => expect(engine.name).toBe('sqlite'));
    return;
  }
  let store: Store;
  let database: Database;
  beforeAll(async () => {
    store = await engine.store();
    const settings = inject('clusterNodes') === null ? null : '-c citus.enable_schema_based_sharding=off';
    const budget = new ConnectionBudget(1, settings);
    const options = { url: store.databaseUrl!, schema: 'prepared_queries', budget, poolSize: 1, requireDurable: false };
    database = await openPostgres(options, true);
  });
  afterAll(async () => {
    await database.close();
    await store.remove();
  });
  const read = async (text: string, ...values: unknown[]): Promise<Row[]> =>
    (await database.read([{ text, values }]))[0]!;
  const readPid = async (): Promise<unknown> => (await read('SELECT pg_backend_pid()'))[0]![0];

  test('return the same values as the first run, for each type of values and columns', async () => {
    const text =
      'SELECT $1::text,$2::int8,$3::int4,$4::bool,$5::float8,$6::bytea,$7::text[],$8::json,$9::timestamptz,' +
      '$2::int2,$5::float4,$1::text IS NULL,$5::numeric,octet_length($6::bytea)';
    const bytes = Buffer.from([0, 255, 1]);
    const ordinary = ['Zoë 😀', 42, -7, true, 1.5, bytes, ['a"b', null, '{}'], { a: [1] }, '2026-01-02T03:04:05Z'];
    const sets = [
      ordinary,
      ordinary.map(() => null),
      ['', 0, 0, false, -0.25, new Uint8Array(0), [], '[]', '0001-01-01T00:00:00Z'],
      ['x'.repeat(100_000), 3, 2_147_483_647, true, 0.1, Buffer.alloc(100_000, 7), ['é'], '"text"', null],
    ];
    const first = await Promise.all(
      sets.map((values, index) => read(`${text},${index}`, ...values).then(([row]) => row!.slice(0, -1))),
    );
    expect(first[0]!.slice(0, 5)).toEqual(['Zoë 😀', 42, -7, true, 1.5]);
    expect(first[1]!.slice(0, 9)).toEqual(ordinary.map(() => null));
    for (let run = 0; run < runs; run += 1)
      for (const [index, values] of sets.entries()) expect(await read(text, ...values)).toEqual([first[index]]);
    expect(await read('SELECT count(*) FROM pg_prepared_statements WHERE statement=$1', text)).toEqual([[1]]);
  });

  test('return unsafe integers as text, empty results, and many rows in order', async () => {
    const text = 'SELECT n,(n+9007199254740990)::int8 FROM generate_series(1,$1::int4) n ORDER BY n';
    for (let run = 0; run < runs; run += 1) {
      expect(await read(text, 0)).toEqual([]);
      expect(await read(text, 2)).toEqual([
        [1, 9007199254740991],
        [2, '9007199254740992'],
      ]);
      expect((await read(text, 20_000)).map(([number]) => number)).toEqual(
        Array.from({ length: 20_000 }, (_, index) => index + 1),
      );
    }
  });

  test('that fail at their first row, at a later row, or because of a parameter leave the connection usable', async () => {
    const pid = await readPid();
    const text = 'SELECT 10/(n-$1::int4) FROM generate_series(1,5000) n';
    for (let run = 0; run < runs; run += 1) {
      await expect(read(text, 1)).rejects.toBeInstanceOf(DatabaseFault);
      await expect(read(text, 4000)).rejects.toBeInstanceOf(DatabaseFault);
      await expect(read(text, 'no number')).rejects.toBeInstanceOf(DatabaseFault);
      expect(await read(text, 0)).toHaveLength(5000);
      await expect(read(text, { toJSON: () => 1n })).rejects.toMatchObject({ kind: 'other' });
    }
    expect(await readPid()).toBe(pid);
  });

  test('in a transaction that fails are rolled back with it', async () => {
    await database.writeOne({ text: 'CREATE TABLE t (n int4 PRIMARY KEY)', values: [] }, []);
    const insert = 'INSERT INTO t VALUES ($1::int4)';
    for (let run = 0; run < runs; run += 1) await database.writeOne({ text: insert, values: [run] }, []);
    const failed = database.write(async (transaction) => {
      await transaction.run({ text: insert, values: [100] });
      await transaction.run({ text: insert, values: [0] });
    });
    await expect(failed).rejects.toMatchObject({ kind: 'unique' });
    await expect(database.writeOne({ text: insert, values: [1] }, [])).rejects.toMatchObject({ kind: 'unique' });
    expect(await read('SELECT max(n),count(*) FROM t')).toEqual([[runs - 1, runs]]);
  });

  test('whose columns have changed are refused as stale', async () => {
    await database.writeOne({ text: 'CREATE TABLE u AS SELECT 1 AS n', values: [] }, []);
    for (let run = 0; run < runs; run += 1) expect(await read('SELECT * FROM u')).toEqual([[1]]);
    await database.writeOne({ text: "ALTER TABLE u ADD COLUMN word text DEFAULT 'a'", values: [] }, []);
    await expect(read('SELECT * FROM u')).rejects.toBeInstanceOf(StaleVersion);
    expect(await read('SELECT u.n,u.word FROM u')).toEqual([[1, 'a']]);
  });

  test('fail if the connection is lost, and succeed on the next connection', async () => {
    const text = 'SELECT pg_sleep($1::float8),pg_backend_pid()';
    for (let run = 0; run < runs; run += 1) await read(text, 0);
    const kill = 'SELECT pg_terminate_backend(pg_backend_pid()) WHERE $1::bool';
    for (let run = 0; run < runs; run += 1) expect(await read(kill, false)).toEqual([]);
    const pid = await readPid();
    await expect(read(kill, true)).rejects.toMatchObject({ kind: 'unavailable' });
    for (let run = 0; run < runs; run += 1) expect((await read(text, 0))[0]![1]).not.toBe(pid);
  });
});
