import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('an interrupted type change', (engine) => {
  let server: TestServer;
  const changed = async (collectionName: string, name: string, type: string): Promise<number> =>
    (await server.call('POST /api/fields:update', { body: { collectionName, name, type } })).status;

  /** The number of columns of the field `n` of `things`, including unfinished ones. */
  const columns = async (): Promise<number> => {
    const { database } = server.running.applications.main;
    const text = database.multiNode
      ? "SELECT count(*) FROM information_schema.columns WHERE table_schema=current_schema() AND table_name LIKE 'things%' AND column_name ~ '(^|_)n_'"
      : "SELECT count(*) FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.name LIKE 'things%' AND (c.name GLOB '*_n_*' OR c.name GLOB 'n_*')";
    const [rows] = await database.read([{ text, values: [] }]);
    return Number(rows![0]![0]);
  };

  beforeAll(async () => {
    server = await TestServer.start(engine);
    const fields = [{ name: 'n', type: 'integer', required: true, unique: true }];
    await server.data('POST /api/collections:create', { body: { name: 'things', fields } });
    await server.data('POST /api/things:create', { body: [{ n: 1 }, { n: 2 }] });
    const badge = { collectionName: 'users', name: 'badge', type: 'integer' };
    await server.data('POST /api/fields:create', { body: badge });
    await server.data('POST /api/users:update?filterByTk=1', { body: { badge: 7 } });
  });
  afterAll(() => server.stop());

  test('keeps the converted values if it is interrupted after its commit, also in system collections', async () => {
    for (const [collection, name, value] of [
      ['things', 'n', '1'],
      ['users', 'badge', '7'],
    ] as const) {
      const refresh = vi.spyOn(server.running.applications.main, 'refresh').mockRejectedValueOnce(new Error('lost'));
      expect(await changed(collection, name, 'string')).toBe(500);
      refresh.mockRestore();
      await server.running.applications.main.refresh();
      expect(await server.data(`GET /api/${collection}:get?filterByTk=1`)).toMatchObject({ [name]: value });
    }
  });

  test('leaves no column if a value cannot be converted', async () => {
    await server.data('POST /api/things:create', { body: { n: 'x' } });
    expect([await changed('things', 'n', 'integer'), await columns()]).toEqual([422, 1]);
    await server.data('POST /api/things:destroy?filter={"n":"x"}');
  });

  test('leaves nothing that affects later changes if it is interrupted before its commit', async () => {
    const { database } = server.running.applications.main;
    const plainly = Object.getPrototypeOf(database).write.bind(database) as typeof database.write;
    let isKilled = false;
    // On PostgreSQL, the new column is created in a transaction of its own. Everything after that fails.
    const write = vi.spyOn(database, 'write').mockImplementation((work, options) => {
      isKilled ||= options?.rebuild ?? false;
      return isKilled ? Promise.reject(new Error('killed')) : plainly(work, options);
    });
    expect(await changed('things', 'n', 'bigInt')).toBe(500);
    write.mockRestore();
    expect(await columns()).toBe(database.multiNode ? 2 : 1);
    expect(await server.data('GET /api/things:get?filterByTk=2')).toMatchObject({ n: '2' });
    await server.data('POST /api/things:create', { body: { n: '3' } });
    expect(await changed('things', 'n', 'integer')).toBe(200);
    expect(await changed('things', 'n', 'bigInt')).toBe(200);
    const more = { name: 'm', type: 'string', defaultValue: 'x' };
    const applied = { name: 'things', fields: [{ name: 'n', type: 'bigInt', required: true, unique: true }, more] };
    await server.data('POST /api/collections:apply', { body: [applied] });
    expect(await server.data('GET /api/things:list?fields=n&sort=n')).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    await server.data('POST /api/fields:destroy', { body: { collectionName: 'things', name: 'n' } });
    await server.data('POST /api/collections:destroy?filterByTk=things');
  });
});
