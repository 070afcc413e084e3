import { expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('a store of an older version whose users have taken the name of a new system collection', (engine) => {
  test('is not opened, and the error names the collection and the cure', async () => {
    const server = await TestServer.start(engine);
    await server.data('POST /api/collections:create', { body: { name: 'shelves', fields: [] } });
    const { database } = server.running.applications.main;
    await database.write(async (transaction) => {
      for (const text of [
        `DELETE FROM _fields WHERE collection_id=(SELECT id FROM _collections WHERE name='importRefusedRows')`,
        `DELETE FROM _collections WHERE name='importRefusedRows'`,
        `UPDATE _collections SET name='importRefusedRows' WHERE name='shelves'`,
      ])
        await transaction.run({ text, values: [] });
    });
    await server.running.stop();
    await expect(server.boot()).rejects.toThrow(/has a collection "importRefusedRows".*another name/);
    await server.store.remove();
  });
});
