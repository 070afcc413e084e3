import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('names of fields in permissions', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
  });
  afterAll(() => server.stop());

  test('filters follow a renamed field through relations, and admit nothing after it is destroyed', async () => {
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
    await server.createKey('seller');
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

  test('user fields in a filter must exist and be readable, and are followed when they are renamed', async () => {
    const make = (action: string, body: unknown): Promise<Json> => server.data(`POST /api/${action}`, { body });
    await make('collections:create', { name: 'notes', fields: [{ name: 'team', type: 'string' }] });
    await make('notes:create', [{ team: 'red' }, { team: 'blue' }]);
    await make('fields:create', { collectionName: 'users', name: 'team', type: 'string' });
    await make('roles:create', { name: 'member' });
    const body = (value: unknown): object => ({
      role: 'member',
      resource: 'notes',
      actions: ['list'],
      filter: { $or: [{ team: { $eq: value } }] },
    });
    for (const name of ['password', 'nope', 'sessions', 'rolesOf', 'toString', 'team.name', '__proto__'])
      for (const spelling of [`{{$user.${name}}}`, `{{ $user.${name} }}`, `{{ctx.state.currentUser.${name}}}`])
        await server.play({
          name: spelling,
          request: 'POST /api/permissions:create',
          body: body(spelling),
          expect: {
            status: 422,
            code: 'DEFINITION_INVALID',
            body: { details: { filter: expect.stringContaining(name) } },
          },
        });
    const { id } = await make('permissions:create', body('{{ ctx.state.currentUser.team }}'));
    await make('users:create', { email: 'ann@example.com', password: 'correct horse', team: 'red', roles: ['member'] });
    server.tokens.set('ann', await server.signIn('ann@example.com', 'correct horse'));
    const seen = async (): Promise<Json> =>
      (await server.call('GET /api/notes:list?fields=team', { as: 'ann' })).body.data;
    expect(await seen()).toEqual([{ team: 'red' }]);
    await make('fields:update', { collectionName: 'users', name: 'team', newName: 'group' });
    expect(await seen()).toEqual([{ team: 'red' }]);
    expect((await server.data(`GET /api/permissions:get?filterByTk=${id}`)).filter).toEqual({
      $or: [{ team: { $eq: '{{$user.group}}' } }],
    });
    await make('fields:destroy', { collectionName: 'users', name: 'group' });
    expect(await seen()).toEqual([]);
    await make('fields:create', { collectionName: 'users', name: 'group', type: 'string', defaultValue: 'red' });
    expect(await seen()).toEqual([]);
  });
});
