import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

const entries = 100_000;

describeEngines('a record with a hundred thousand history entries', (engine) => {
  let server: TestServer;

  beforeAll(async () => {
    server = await TestServer.start(engine);
    const fields = [{ name: 'n', type: 'integer' }];
    await server.data('POST /api/collections:create', { body: { name: 'things', fields, options: { logging: true } } });
    await server.data('POST /api/things:create', { body: { n: 0 } });
    await server.data('POST /api/things:update?filterByTk=1', { body: { n: 1 } });
    const { database } = server.running.applications.main;
    const numbers = database.multiNode
      ? `generate_series(1,${entries}) i`
      : `(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM s WHERE i<${entries}) SELECT i FROM s)`;
    const text = `INSERT INTO _history (collection_id,tk,at,action,changes) SELECT collection_id,tk,at,action,changes FROM _history,${numbers} WHERE action='updated'`;
    await database.write((transaction) => transaction.run({ text, values: [] }), { heavy: true, longRunning: true });
  });
  afterAll(() => server.stop());

  test('is read and reverted off the event loop', async () => {
    const { database } = server.running.applications.main;
    const read = vi.spyOn(database, 'read');
    const write = vi.spyOn(database, 'write');
    const { body } = await server.call('GET /api/things:history?filterByTk=1&pageSize=1');
    expect(body.meta.count).toBe(entries + 2);
    // Statements that stay on the event loop return their result synchronously.
    const left = read.mock.results.some(({ value }) => value instanceof Promise);
    const first = body.data[0].id - entries - 1;
    expect(await server.data(`POST /api/things:revert?filterByTk=1&entry=${first}`)).toMatchObject({ n: 0 });
    expect([left, write.mock.calls.some(([, options]) => options?.heavy)]).toEqual([true, true]);
    vi.restoreAllMocks();
  });
});
