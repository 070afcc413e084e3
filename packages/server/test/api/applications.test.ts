import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';
import { openShop, orders, shop } from '../support/shop.ts';

const unauthorized = { error: 'Unauthorized', message: expect.stringContaining('invalid or missing token') };
const record = {
  name: 'shop',
  displayName: 'The shop',
  description: null,
  options: {},
  status: 'running',
  createdAt: expect.stringMatching(/Z$/),
  updatedAt: expect.stringMatching(/Z$/),
};
const invalid = (details: object): object => ({ status: 422, body: { error: 'Validation Error', details } });

/** `shop` is there, with a collection `orders`; `shopAdmin` is signed in to it, `shopKey` and `key` are keys. */
const scenarios: readonly Scenario[] = [
  {
    name: 'get shows an application',
    request: 'GET /api/applications:get?filterByTk=shop',
    expect: { status: 200, body: { data: record } },
  },
  {
    name: 'get with its error log',
    request: 'GET /api/applications:get?filterByTk=shop&appends=errorLog',
    expect: { status: 200, body: { data: { ...record, errorLog: [] } } },
  },
  {
    name: 'list takes filters and is whole',
    request: 'GET /api/applications:list?filter={"name":{"$ne":"main"}}&fields=name',
    expect: { status: 200, body: { data: [{ name: 'shop' }] } },
  },
  {
    name: 'where the store lies is told to nobody',
    request: 'GET /api/applications:list?fields=store',
    expect: { status: 403 },
  },
  {
    name: 'create without a credential is 401',
    request: 'POST /api/applications:create',
    as: 'nobody',
    body: { name: 'other' },
    expect: { status: 401, body: unauthorized },
  },
  {
    name: 'a role that may not configure creates none',
    request: 'POST /api/applications:create',
    as: 'developer',
    body: { name: 'other' },
    expect: { status: 403, body: { error: 'No permissions' } },
  },
  {
    name: 'a name that is taken is 409',
    request: 'POST /api/applications:create',
    body: { name: 'shop' },
    expect: { status: 409, body: { error: 'Conflict', code: 'APPLICATION_EXISTS' } },
  },
  {
    name: 'main is taken too',
    request: 'POST /api/applications:create',
    body: { name: 'main' },
    expect: { status: 409 },
  },
  ...['1st', '', 'a b', 'ä', 'x'.repeat(61), '../up', '-a'].map((name) => ({
    name: `the name "${name.slice(0, 8)}" is 422`,
    request: 'POST /api/applications:create',
    body: { name },
    expect: { status: 422, body: { details: { name: expect.stringContaining('starts with a letter') } } },
  })),
  {
    name: 'an unknown option is 422',
    request: 'POST /api/applications:create',
    body: { name: 'other', options: { autoStart: 'yes', speed: 1 } },
    expect: invalid({
      'options.autoStart': 'Give true or false.',
      'options.speed': 'Applications have no such option; give autoStart or metadata.',
    }) as never,
  },
  {
    name: 'an unknown property is 400',
    request: 'POST /api/applications:create',
    body: { name: 'other', store: '1' },
    expect: { status: 400, body: { code: 'FIELD_UNKNOWN' } },
  },
  {
    name: 'several at once are 400',
    request: 'POST /api/applications:create',
    body: [{ name: 'other' }],
    expect: { status: 400 },
  },
  {
    name: 'update changes words and options',
    request: 'POST /api/applications:update?filterByTk=shop',
    body: { description: 'Sells things', options: { metadata: { colour: 'red' } }, status: 'stopped' },
    expect: {
      status: 200,
      body: { data: { description: 'Sells things', options: { metadata: { colour: 'red' } }, status: 'running' } },
      events: ['applications.updated'],
    },
  },
  {
    name: 'a name does not change',
    request: 'POST /api/applications:update?filterByTk=shop',
    body: { name: 'store' },
    expect: { status: 400 },
  },
  {
    name: 'update of an unknown one is 404',
    request: 'POST /api/applications:update?filterByTk=nope',
    body: { description: 'x' },
    expect: { status: 404 },
  },
  {
    name: 'start of a running one changes nothing',
    request: 'POST /api/applications:start?filterByTk=shop',
    expect: { status: 200, body: { data: { status: 'running' } } },
  },
  {
    name: 'start of an unknown one is 404',
    request: 'POST /api/applications:start?filterByTk=nope',
    expect: { status: 404, body: { code: 'APPLICATION_UNKNOWN' } },
  },
  { name: 'start needs a name', request: 'POST /api/applications:start', expect: { status: 400 } },
  {
    name: 'start by GET is 405',
    request: 'GET /api/applications:start?filterByTk=shop',
    expect: { status: 405 },
  },
  {
    name: 'main does not stop',
    request: 'POST /api/applications:stop?filterByTk=main',
    expect: { status: 403, body: { code: 'SYSTEM_PROTECTED' } },
  },
  {
    name: 'main is not destroyed',
    request: 'POST /api/applications:destroy?filterByTk=main&confirm=main',
    expect: { status: 403, body: { code: 'SYSTEM_PROTECTED' } },
  },
  {
    name: 'destroy without confirm is 400',
    request: 'POST /api/applications:destroy?filterByTk=shop',
    expect: { status: 400, body: { message: expect.stringContaining('"confirm"') } },
  },
  {
    name: 'destroy with another confirm is 400',
    request: 'POST /api/applications:destroy?filterByTk=shop&confirm=Shop',
    expect: { status: 400 },
  },
  {
    name: 'destroy of an unknown one is 404',
    request: 'POST /api/applications:destroy?filterByTk=nope&confirm=nope',
    expect: { status: 404 },
  },
  {
    name: 'destroy by a developer is 403',
    request: 'POST /api/applications:destroy?filterByTk=shop&confirm=shop',
    as: 'developer',
    expect: { status: 403 },
  },
  ...['list', 'create', 'enter', 'destroy'].map((action) => ({
    name: `applications:${action} elsewhere than in main is 403`,
    request: `POST /api/applications:${action}?filterByTk=shop`,
    as: 'shopAdmin',
    headers: shop,
    body: {},
    expect: { status: 403, body: { code: 'SYSTEM_PROTECTED' } },
  })),
  {
    name: 'a key of shop is 403 in main',
    request: 'GET /api/users:list',
    as: 'shopKey',
    expect: { status: 403, body: { error: 'Forbidden', code: 'APPLICATION_MISMATCH' } },
  },
  {
    name: 'a key of main is 403 in shop',
    request: 'GET /api/orders:list',
    as: 'key',
    headers: shop,
    expect: { status: 403, body: { error: 'Forbidden', code: 'APPLICATION_MISMATCH' } },
  },
  {
    name: 'a key of shop writes nothing in main',
    request: 'POST /api/users:create',
    as: 'shopKey',
    body: { email: 'x@example.com' },
    expect: { status: 403, body: { code: 'APPLICATION_MISMATCH' } },
  },
  {
    name: 'a login of main is 401 in shop',
    request: 'GET /api/orders:list',
    headers: shop,
    expect: { status: 401, body: unauthorized },
  },
  {
    name: 'a login of shop is 401 in main',
    request: 'GET /api/users:list',
    as: 'shopAdmin',
    expect: { status: 401, body: unauthorized },
  },
  {
    name: 'a revoked key of shop is 401 everywhere',
    request: 'GET /api/users:list',
    as: 'revoked',
    expect: { status: 401, body: unauthorized },
  },
  {
    name: 'a bad credential with an unknown application is 401',
    request: 'GET /api/orders:list',
    as: 'tbs_nothing',
    headers: { 'x-app': 'nope' },
    expect: { status: 401 },
  },
  {
    name: 'a good credential with an unknown application is 404',
    request: 'GET /api/orders:list',
    headers: { 'x-app': 'nope' },
    expect: { status: 404, body: { code: 'APPLICATION_UNKNOWN' } },
  },
  {
    name: 'a key of another application with an unknown one is 404',
    request: 'GET /api/orders:list',
    as: 'shopKey',
    headers: { 'x-app': 'nope' },
    expect: { status: 404, body: { code: 'APPLICATION_UNKNOWN' } },
  },
  {
    name: 'signing in to an unknown application is 404',
    request: 'POST /api/auth:signIn',
    as: 'nobody',
    headers: { 'x-app': 'nope' },
    body: { email: 'root@example.com', password: 'correct horse battery' },
    expect: { status: 404 },
  },
  {
    name: 'names are case-sensitive',
    request: 'GET /api/orders:list',
    headers: { 'x-app': 'Shop' },
    expect: { status: 404 },
  },
  {
    name: 'auth:check names the application',
    request: 'GET /api/auth:check',
    as: 'shopKey',
    headers: shop,
    expect: {
      status: 200,
      body: { data: { application: 'shop', applicationDisplayName: 'The shop', email: 'root@example.com' } },
    },
  },
  {
    name: 'auth:check of main has the display name of main',
    request: 'GET /api/auth:check',
    expect: { status: 200, body: { data: { application: 'main', applicationDisplayName: 'Main' } } },
  },
];

describeEngines('applications', (engine) => {
  describe('rows', () => {
    let server: TestServer;
    beforeAll(async () => {
      server = await openShop(engine);
      await server.key('developer');
      const key = async (name: string, as: string, headers: Record<string, string>): Promise<number> => {
        const made = await server.data('POST /api/apiKeys:create', { as, headers, body: { role: { name: 'admin' } } });
        server.tokens.set(name, made.token as string);
        return made.id as number;
      };
      await key('key', 'admin', {});
      await key('shopKey', 'shopAdmin', shop);
      const id = await key('revoked', 'shopAdmin', shop);
      await server.data(`POST /api/apiKeys:destroy?filterByTk=${id}`, { as: 'shopAdmin', headers: shop });
      server.pictured.set('shop', 'shopAdmin');
    });
    afterAll(() => server.stop());
    for (const scenario of scenarios) test(scenario.name, async () => void (await server.play(scenario)));
  });

  test('the creator is its first admin, by the same e-mail and password; nothing else is shared', async () => {
    const server = await openShop(engine);
    const users = await server.data('GET /api/users:list', { as: 'shopAdmin', headers: shop });
    expect(users).toMatchObject([{ id: 1, email: 'root@example.com', status: 'active' }]);
    const names = async (as: string, headers: Record<string, string>): Promise<string[]> =>
      (await server.data('GET /api/collections:list', { as, headers })).map((each: { name: string }) => each.name);
    expect(await names('shopAdmin', shop)).toContain('orders');
    expect(await names('shopAdmin', shop)).not.toContain('applications');
    expect(await names('admin', {})).not.toContain('orders');
    await server.data('POST /api/collections:create', { body: { name: 'orders' } });
    expect(await server.data('GET /api/orders:list')).toEqual([]);
    await server.stop();
  });

  test('Shop and shop are two', async () => {
    const server = await openShop(engine);
    await server.data('POST /api/applications:create', { body: { name: 'Shop' } });
    const body = { email: 'root@example.com', password: 'correct horse battery' };
    const { token } = await server.data('POST /api/auth:signIn', { as: 'nobody', headers: { 'x-app': 'Shop' }, body });
    const other = await server.call('GET /api/orders:list', { as: token, headers: { 'x-app': 'Shop' } });
    expect(other.status).toBe(404);
    expect((await orders(server)).body.meta.count).toBe(2);
    await server.stop();
  });

  test('twenty parallel creates of one name make one', async () => {
    const server = await TestServer.start(engine);
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => server.call('POST /api/applications:create', { body: { name: 'one' } })),
    );
    const statuses = replies.map((reply) => reply.status).sort();
    expect(statuses).toEqual([200, ...Array.from({ length: 19 }, () => 409)]);
    await server.stop();
  });

  test('enter gives an admin of main a login in it, made where it is not there', async () => {
    const server = await openShop(engine);
    await server.data('POST /api/users:create', {
      body: { email: 'second@example.com', password: 'correct horse', roles: ['admin'] },
    });
    const second = await server.signIn('second@example.com', 'correct horse');
    const entered = await server.data('POST /api/applications:enter?filterByTk=shop', { as: second });
    expect(entered.user).toMatchObject({ email: 'second@example.com', roles: ['admin'] });
    expect((await orders(server, entered.token as string)).status).toBe(200);
    const again = await server.data('POST /api/applications:enter?filterByTk=shop', { as: second });
    expect(again.user.id).toBe(entered.user.id);
    await server.stop();
  });

  test('who enters as a user that was no admin there shuts out whoever had taken the name', async () => {
    const server = await openShop(engine);
    const boss = { email: 'boss@example.com', password: 'correct horse' };
    await server.data('POST /api/users:create', { body: { ...boss, roles: ['admin'] } });
    const stranger = { email: boss.email, password: 'a stranger knows this' };
    await server.data('POST /api/users:create', {
      as: 'shopAdmin',
      headers: shop,
      body: { ...stranger, roles: ['viewer'] },
    });
    const signIn = (body: object): ReturnType<TestServer['call']> =>
      server.call('POST /api/auth:signIn', { as: 'nobody', headers: shop, body });
    const session = (await signIn(stranger)).body.data.token;
    const as = await server.signIn(boss.email, boss.password);
    const entered = await server.data('POST /api/applications:enter?filterByTk=shop', { as });
    expect(entered.user).toMatchObject({ email: boss.email, roles: ['viewer', 'admin'] });
    expect((await server.call('GET /api/auth:check', { as: `header:Bearer ${session}`, headers: shop })).status).toBe(
      401,
    );
    expect((await signIn(stranger)).status).toBe(401);
    const known = await signIn(boss);
    expect(known.status).toBe(200);
    await server.data('POST /api/applications:enter?filterByTk=shop', { as });
    expect(
      (await server.call('GET /api/auth:check', { as: `header:Bearer ${known.body.data.token}`, headers: shop }))
        .status,
    ).toBe(200);
    await server.stop();
  });

  test('an API key enters nothing', async () => {
    const server = await openShop(engine);
    await server.data('POST /api/roles:create', { body: { name: 'keeper', allowConfigure: true } });
    await server.key('keeper');
    const refused = await server.call('POST /api/applications:enter?filterByTk=shop', { as: 'keeper' });
    expect(refused.status).toBe(403);
    await server.stop();
  });
});
