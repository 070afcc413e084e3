import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

/** Each connection of PostgreSQL keeps its prepared statements until it ends, on the server and in the driver. */
describeEngines('statements of many different shapes', ({ name, ...engine }) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start({ name, ...engine });
  });
  afterAll(() => server.stop());

  test.runIf(name === 'postgres')('do not accumulate as prepared statements', async () => {
    const { database } = server.running.applications.main;
    const count = 'SELECT count(*) FROM pg_prepared_statements';
    let found = 0;
    for (let shape = 0; shape < 2000; shape += 1) {
      const text = `SELECT ${shape} AS number_${shape}`;
      for (let time = 0; time < 5; time += 1) expect(await database.read([{ text, values: [] }])).toEqual([[[shape]]]);
      if (shape % 100 === 0)
        found = Math.max(found, Number((await database.read([{ text: count, values: [] }]))[0]![0]![0]));
    }
    expect(found).toBeGreaterThan(100);
    expect(found).toBeLessThanOrEqual(1001);
  });

  test('of a megabyte run and are not cached', async () => {
    const { database } = server.running.applications.main;
    const values = Array.from({ length: 100 }, (_, index) => `'${String(index).padEnd(10_000, 'x')}'`).join();
    for (let time = 0; time < 5; time += 1)
      expect(await database.read([{ text: `SELECT 1 WHERE '${time}' NOT IN (${values})`, values: [] }])).toEqual([
        [[1]],
      ]);
  });
});
