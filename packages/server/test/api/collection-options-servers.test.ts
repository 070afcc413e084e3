import { expect, test } from 'vitest';
import { describeSharedStores, shareStore } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

const update = 'POST /api/collections:update?filterByTk=notes';
const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
const all = { timestamps: true, paranoid: true, logging: true, authors: true };

describeSharedStores('options of collections on two servers', (engine) => {
  test('a change on one server takes effect immediately on the other, also for writes', async () => {
    const store = await engine.store(true);
    const shared = shareStore(engine, store);
    const [first, second] = [await TestServer.start(shared), await TestServer.start(shared)];
    await first.data('POST /api/collections:create', { body: { name: 'notes', options: { timestamps: false } } });
    await second.data('POST /api/notes:create', { body: {} });
    await first.data(update, { body: all });
    expect(await second.data('POST /api/notes:create', { body: {} })).toMatchObject({
      createdAt: moment,
      createdById: 1,
    });
    await second.data('POST /api/notes:destroy?filterByTk=2', { body: {} });
    expect(await first.data('GET /api/notes:history?filterByTk=2')).toHaveLength(2);
    await second.data(`${update}&force=true`, { body: { ...all, paranoid: false } });
    expect(await first.data('GET /api/notes:list?fields=id')).toEqual([{ id: 1 }]);
    expect(await first.data('POST /api/notes:destroy?filterByTk=1', { body: {} })).toBe(1);
    for (const node of [first, second]) await node.running.stop();
    await store.remove();
  });
});
