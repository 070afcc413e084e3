import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('names of fields in permissions', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
  });
  afterAll(() => server.stop());

  test('filters follow a renamed field through relations, and deny for ever once it is destroyed', async () => {
    const make = (action: string, body: unknown): Promise<unknown> => server.data(`POST /api/${action}`, { body });
    await make('collections:apply', [
      {
        name: 'cities',
        fields: [
          { name: 'state', type: 'string' },
          { name: 'open', type: 'boolean' },
        ],
      },
      { name: 'shops', fields: [{ name: 'city', type: 'belongsTo', target: 'cities' }] },
      { name: 'sales', fields: [{ name: 'shop', type: 'belongsTo', target: 'shops' }] },
    ]);
    await make('cities:create', [
      { state: 'BY', open: true },
      { state: 'NW', open: true },
    ]);
    await make('shops:create', [{ cityId: 1 }, { cityId: 2 }]);
    await make('sales:create', [{ shopId: 1 }, { shopId: 2 }]);
    await make('roles:create', { name: 'seller' });
    const filter = { $or: [{ 'shop.city.state': 'BY' }, { shop: { city: { $and: [{ state: 'XX' }] } } }] };
    await make('permissions:create', { role: 'seller', resource: 'sales', actions: ['list'], filter });
    await server.key('seller');
    const seen = async (): Promise<unknown> =>
      (await server.data('GET /api/sales:list?fields=id', { as: 'seller' })).map((each: { id: number }) => each.id);
    expect(await seen()).toEqual([1]);
    await make('fields:update', { collectionName: 'cities', name: 'state', newName: 'land' });
    await make('fields:update', { collectionName: 'shops', name: 'city', newName: 'town' }).catch(() => {});
    expect(await seen()).toEqual([1]);
    await make('fields:destroy', { collectionName: 'cities', name: 'land' });
    expect(await seen()).toEqual([]);
    await make('fields:create', { collectionName: 'cities', name: 'land', type: 'string', defaultValue: 'BY' });
    expect(await seen()).toEqual([]);
  });
});
