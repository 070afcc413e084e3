import { expect, test } from 'vitest';
import { DatabaseFault } from '../../src/database/database.ts';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('a connection that breaks between two statements of a transaction', (engine) => {
  // SQLite has no connections.
  test.runIf(engine.name === 'postgres')('only ends that transaction', async () => {
    const server = await TestServer.start(engine);
    const { database } = server.running.applications.main;
    const one = { text: 'SELECT pg_backend_pid()', values: [] };
    const lost = database.write(async (transaction) => {
      const [[pid] = []] = await transaction.run(one);
      await database.read([{ text: `SELECT pg_terminate_backend(${Number(pid)})`, values: [] }]);
      await new Promise((resolve) => setTimeout(resolve, 200));
      return transaction.run(one);
    });
    await expect(lost).rejects.toBeInstanceOf(DatabaseFault);
    expect((await server.call('GET /api/users:list')).status).toBe(200);
    await server.stop();
  });
});
