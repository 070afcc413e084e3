/** Stores of earlier versions are upgraded when the server starts. */
import { expect, test } from 'vitest';
import { describeEngines, shareStore } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';
import {
  fillStore,
  listStoreFixtures,
  openStoreFixture,
  readStoreFixture,
  takeReadings,
  writeStoreFixture,
} from '../support/store-fixture.ts';

const made = process.env['MAKE_STORE_FIXTURE'];

describeEngines('a store of an earlier version', (engine) => {
  test.runIf(made !== undefined)('is written as a fixture', async () => {
    const store = await engine.store(true);
    const server = await TestServer.start(shareStore(engine, store));
    const token = await fillStore(server);
    const replies = await takeReadings(server);
    await server.stop();
    writeStoreFixture(made!, engine, store, { token, replies });
    await store.remove();
  });

  test.each(listStoreFixtures(engine))('of version %s replies as before', async (version) => {
    const fixture = readStoreFixture(version, engine);
    const server = await TestServer.start(openStoreFixture(engine, fixture));
    expect(await takeReadings(server)).toEqual(fixture.replies);
    server.tokens.set('key', fixture.token);
    expect(await server.data('GET /api/albums:list?fields=id', { as: 'key' })).toHaveLength(2);
    expect(await server.data('GET /api/audit:verify')).toMatchObject({ valid: true });
    await server.stop();
  });
});
