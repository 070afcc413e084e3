import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('lists of system collections', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
  });
  afterAll(() => server.stop());

  // `TestServer.data` compares each reply with the document; snapshots, which read the same lists, do not.
  test('are as documented for an administrator', async () => {
    const collections: { name: string }[] = await server.data('GET /api/collections:list');
    expect(collections.length).toBeGreaterThan(20);
    for (const { name } of collections)
      expect(await server.data(`GET /api/${name}:list?pageSize=1000&versions=true`), name).toBeInstanceOf(Array);
  });
});
