import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';
import { listOrders, shopHeaders, startShopServer } from '../support/shop-server.ts';

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
const invalid = (details: object): Scenario['expect'] => ({
  status: 422,
  code: 'DEFINITION_INVALID',
  body: { error: 'Validation Error', details },
});

/** Actions that need a Citus cluster; `contract/citus.test.ts` tests them on one. */
const withoutNodes: readonly Scenario[] = [
  {
    name: 'a server without a Citus cluster has no nodes',
    request: 'GET /api/applications:nodes',
    expect: { status: 200, body: { data: [] } },
  },
  {
    name: 'a move to a node is refused with 409 by a server without a Citus cluster',
    request: 'POST /api/applications:move?filterByTk=shop',
    body: { node: 'worker2:5432' },
    expect: { status: 409, code: 'MOVE_REFUSED' },
  },
  {
    name: 'a new application with a node is refused with 400 by a server without a Citus cluster',
    request: 'POST /api/applications:create',
    body: { name: 'other', node: 'worker2:5432' },
    expect: { status: 400, code: 'BODY_INVALID' },
  },
];

/** `shop` exists and has a collection `orders`; `shopAdmin` is signed in to it, `shopKey` and `key` are API keys. */
const scenarios: readonly Scenario[] = [
  {
    name: 'get shows an application',
    request: 'GET /api/applications:get?filterByTk=shop',
    expect: { status: 200, body: { data: record } },
  },
  {
    name: 'get shows the error log on request',
    request: 'GET /api/applications:get?filterByTk=shop&appends=errorLog',
    expect: { status: 200, body: { data: { ...record, errorLog: [] } } },
  },
  {
    name: 'list accepts filters and returns all applications',
    request: 'GET /api/applications:list?filter={"name":{"$ne":"main"}}&fields=name',
    expect: { status: 200, body: { data: [{ name: 'shop' }] } },
  },
  {
    name: 'the location of the store is never shown',
    request: 'GET /api/applications:list?fields=store',
    expect: { status: 403, code: 'FIELD_DENIED' },
  },
  ...(inject('clusterNodes') === null ? withoutNodes : []),
  {
    name: 'a role that may not configure cannot see the nodes',
    request: 'GET /api/applications:nodes',
    as: 'developer',
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'create without a credential is refused with 401',
    request: 'POST /api/applications:create',
    as: 'nobody',
    body: { name: 'other' },
    expect: { status: 401, code: 'TOKEN_MISSING', body: unauthorized },
  },
  {
    name: 'a role that may not configure cannot create an application',
    request: 'POST /api/applications:create',
    as: 'developer',
    body: { name: 'other' },
    expect: { status: 403, code: 'NO_PERMISSION', body: { error: 'No permissions' } },
  },
  {
    name: 'an existing name is refused with 409',
    request: 'POST /api/applications:create',
    body: { name: 'shop' },
    expect: { status: 409, code: 'APPLICATION_EXISTS', body: { error: 'Conflict', code: 'APPLICATION_EXISTS' } },
  },
  {
    name: 'the name main is refused with 409',
    request: 'POST /api/applications:create',
    body: { name: 'main' },
    expect: { status: 409, code: 'APPLICATION_EXISTS' },
  },
  ...['1st', '', 'a b', 'ä', 'x'.repeat(61), '../up', '-a'].map(
    (name): Scenario => ({
      name: `the name "${name.slice(0, 8)}" is refused with 422`,
      request: 'POST /api/applications:create',
      body: { name },
      expect: {
        status: 422,
        code: 'DEFINITION_INVALID',
        body: { details: { name: expect.stringContaining('starts with a letter') } },
      },
    }),
  ),
  {
    name: 'an unknown option is refused with 422',
    request: 'POST /api/applications:create',
    body: { name: 'other', options: { autoStart: 'yes', speed: 1 } },
    expect: invalid({
      'options.autoStart': 'Give true or false.',
      'options.speed': 'Applications have no such option. The options are autoStart and metadata.',
    }),
  },
  {
    name: 'an unknown property is refused with 400',
    request: 'POST /api/applications:create',
    body: { name: 'other', store: '1' },
    expect: { status: 400, code: 'FIELD_UNKNOWN' },
  },
  {
    name: 'several applications in one request are refused with 400',
    request: 'POST /api/applications:create',
    body: [{ name: 'other' }],
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'update changes labels and options',
    request: 'POST /api/applications:update?filterByTk=shop',
    body: { description: 'Sells things', options: { metadata: { colour: 'red' } }, status: 'stopped' },
    expect: {
      status: 200,
      body: { data: { description: 'Sells things', options: { metadata: { colour: 'red' } }, status: 'running' } },
      events: ['applications.updated'],
    },
  },
  {
    name: 'the name of an application cannot change',
    request: 'POST /api/applications:update?filterByTk=shop',
    body: { name: 'store' },
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'update of an unknown application is refused with 404',
    request: 'POST /api/applications:update?filterByTk=nope',
    body: { description: 'x' },
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'start of a running application changes nothing',
    request: 'POST /api/applications:start?filterByTk=shop',
    expect: { status: 200, body: { data: { status: 'running' } } },
  },
  {
    name: 'start of an unknown application is refused with 404',
    request: 'POST /api/applications:start?filterByTk=nope',
    expect: { status: 404, code: 'APPLICATION_UNKNOWN' },
  },
  {
    name: 'start without a name is refused',
    request: 'POST /api/applications:start',
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'start by GET is refused with 405',
    request: 'GET /api/applications:start?filterByTk=shop',
    expect: { status: 405, code: 'METHOD_NOT_ALLOWED' },
  },
  {
    name: 'main cannot be stopped',
    request: 'POST /api/applications:stop?filterByTk=main',
    expect: { status: 403, code: 'SYSTEM_PROTECTED' },
  },
  {
    name: 'main cannot be destroyed',
    request: 'POST /api/applications:destroy?filterByTk=main&confirm=main',
    expect: { status: 403, code: 'SYSTEM_PROTECTED' },
  },
  {
    name: 'destroy without "confirm" is refused with 400',
    request: 'POST /api/applications:destroy?filterByTk=shop',
    expect: { status: 400, code: 'PARAMETER_INVALID', body: { message: expect.stringContaining('"confirm"') } },
  },
  {
    name: 'destroy with a wrong "confirm" is refused with 400',
    request: 'POST /api/applications:destroy?filterByTk=shop&confirm=Shop',
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'destroy of an unknown application is refused with 404',
    request: 'POST /api/applications:destroy?filterByTk=nope&confirm=nope',
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'destroy by a developer is refused with 403',
    request: 'POST /api/applications:destroy?filterByTk=shop&confirm=shop',
    as: 'developer',
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  ...['list', 'create', 'enter', 'destroy'].map(
    (action): Scenario => ({
      name: `applications:${action} outside of main is refused with 403`,
      request: `POST /api/applications:${action}?filterByTk=shop`,
      as: 'shopAdmin',
      headers: shopHeaders,
      body: {},
      expect: { status: 403, code: 'SYSTEM_PROTECTED' },
    }),
  ),
  {
    name: 'an API key of shop is refused with 403 in main',
    request: 'GET /api/users:list',
    as: 'shopKey',
    expect: { status: 403, code: 'APPLICATION_MISMATCH', body: { error: 'Forbidden' } },
  },
  {
    name: 'an API key of main is refused with 403 in shop',
    request: 'GET /api/orders:list',
    as: 'key',
    headers: shopHeaders,
    expect: { status: 403, code: 'APPLICATION_MISMATCH', body: { error: 'Forbidden' } },
  },
  {
    name: 'an API key of shop cannot write in main',
    request: 'POST /api/users:create',
    as: 'shopKey',
    body: { email: 'x@example.com' },
    expect: { status: 403, code: 'APPLICATION_MISMATCH' },
  },
  {
    name: 'a session of main is refused with 401 in shop',
    request: 'GET /api/orders:list',
    headers: shopHeaders,
    expect: { status: 401, code: 'TOKEN_INVALID', body: unauthorized },
  },
  {
    name: 'a session of shop is refused with 401 in main',
    request: 'GET /api/users:list',
    as: 'shopAdmin',
    expect: { status: 401, code: 'TOKEN_INVALID', body: unauthorized },
  },
  {
    name: 'a revoked API key of shop is refused with 401 everywhere',
    request: 'GET /api/users:list',
    as: 'revoked',
    expect: { status: 401, code: 'TOKEN_INVALID', body: unauthorized },
  },
  {
    name: 'an invalid credential with an unknown application is refused with 401',
    request: 'GET /api/orders:list',
    as: 'tbs_nothing',
    headers: { 'x-app': 'nope' },
    expect: { status: 401, code: 'TOKEN_INVALID' },
  },
  {
    name: 'a valid credential with an unknown application is refused with 404',
    request: 'GET /api/orders:list',
    headers: { 'x-app': 'nope' },
    expect: { status: 404, code: 'APPLICATION_UNKNOWN' },
  },
  {
    name: 'an API key of another application with an unknown application is refused with 404',
    request: 'GET /api/orders:list',
    as: 'shopKey',
    headers: { 'x-app': 'nope' },
    expect: { status: 404, code: 'APPLICATION_UNKNOWN' },
  },
  {
    name: 'signing in to an unknown application is refused with 404',
    request: 'POST /api/auth:signIn',
    as: 'nobody',
    headers: { 'x-app': 'nope' },
    body: { email: 'root@example.com', password: 'correct horse battery' },
    expect: { status: 404, code: 'APPLICATION_UNKNOWN' },
  },
  {
    name: 'application names are case-sensitive',
    request: 'GET /api/orders:list',
    headers: { 'x-app': 'Shop' },
    expect: { status: 404, code: 'APPLICATION_UNKNOWN' },
  },
  {
    name: 'auth:check names the application',
    request: 'GET /api/auth:check',
    as: 'shopKey',
    headers: shopHeaders,
    expect: {
      status: 200,
      body: { data: { application: 'shop', applicationDisplayName: 'The shop', email: 'root@example.com' } },
    },
  },
  {
    name: 'auth:check of main returns the display name of main',
    request: 'GET /api/auth:check',
    expect: { status: 200, body: { data: { application: 'main', applicationDisplayName: 'Main' } } },
  },
];

describeEngines('applications', (engine) => {
  describe('scenarios', () => {
    let server: TestServer;
    beforeAll(async () => {
      server = await startShopServer(engine);
      await server.createKey('developer');
      const key = async (name: string, as: string, headers: Record<string, string>): Promise<number> => {
        const made = await server.data('POST /api/apiKeys:create', { as, headers, body: { role: { name: 'admin' } } });
        server.tokens.set(name, made.token as string);
        return made.id as number;
      };
      await key('key', 'admin', {});
      await key('shopKey', 'shopAdmin', shopHeaders);
      const id = await key('revoked', 'shopAdmin', shopHeaders);
      await server.data(`POST /api/apiKeys:destroy?filterByTk=${id}`, { as: 'shopAdmin', headers: shopHeaders });
      server.snapshotTokens.set('shop', 'shopAdmin');
    });
    afterAll(() => server.stop());
    for (const scenario of scenarios) test(scenario.name, async () => void (await server.play(scenario)));
  });

  test('the creator is the first administrator with the same e-mail and password, and nothing else is shared', async () => {
    const server = await startShopServer(engine);
    const users = await server.data('GET /api/users:list', { as: 'shopAdmin', headers: shopHeaders });
    expect(users).toMatchObject([{ id: 1, email: 'root@example.com', status: 'active' }]);
    const names = async (as: string, headers: Record<string, string>): Promise<string[]> =>
      (await server.data('GET /api/collections:list', { as, headers })).map((each: { name: string }) => each.name);
    expect(await names('shopAdmin', shopHeaders)).toContain('orders');
    expect(await names('shopAdmin', shopHeaders)).not.toContain('applications');
    expect(await names('admin', {})).not.toContain('orders');
    await server.data('POST /api/collections:create', { body: { name: 'orders' } });
    expect(await server.data('GET /api/orders:list')).toEqual([]);
    await server.stop();
  });

  test('Shop and shop are different applications', async () => {
    const server = await startShopServer(engine);
    await server.data('POST /api/applications:create', { body: { name: 'Shop' } });
    const body = { email: 'root@example.com', password: 'correct horse battery' };
    const { token } = await server.data('POST /api/auth:signIn', { as: 'nobody', headers: { 'x-app': 'Shop' }, body });
    const other = await server.call('GET /api/orders:list', { as: token, headers: { 'x-app': 'Shop' } });
    expect(other.status).toBe(404);
    expect((await listOrders(server)).body.meta.count).toBe(2);
    await server.stop();
  });

  test('twenty parallel creates of one name create one application', async () => {
    const server = await TestServer.start(engine);
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => server.call('POST /api/applications:create', { body: { name: 'one' } })),
    );
    const statuses = replies.map((reply) => reply.status).sort();
    expect(statuses).toEqual([200, ...Array.from({ length: 19 }, () => 409)]);
    await server.stop();
  });

  test('enter gives an administrator of main a session in the application, and creates the user if necessary', async () => {
    const server = await startShopServer(engine);
    await server.data('POST /api/users:create', {
      body: { email: 'second@example.com', password: 'correct horse', roles: ['admin'] },
    });
    const second = await server.signIn('second@example.com', 'correct horse');
    const entered = await server.data('POST /api/applications:enter?filterByTk=shop', { as: second });
    expect(entered.user).toMatchObject({ email: 'second@example.com', roles: ['admin'] });
    expect((await listOrders(server, entered.token as string)).status).toBe(200);
    const again = await server.data('POST /api/applications:enter?filterByTk=shop', { as: second });
    expect(again.user.id).toBe(entered.user.id);
    await server.stop();
  });

  test('entering as a user who is not an administrator there ends the former sessions and password of that user', async () => {
    const server = await startShopServer(engine);
    const boss = { email: 'boss@example.com', password: 'correct horse' };
    await server.data('POST /api/users:create', { body: { ...boss, roles: ['admin'] } });
    const stranger = { email: boss.email, password: 'a stranger knows this' };
    await server.data('POST /api/users:create', {
      as: 'shopAdmin',
      headers: shopHeaders,
      body: { ...stranger, roles: ['viewer'] },
    });
    const signIn = (body: object): ReturnType<TestServer['call']> =>
      server.call('POST /api/auth:signIn', { as: 'nobody', headers: shopHeaders, body });
    const session = (await signIn(stranger)).body.data.token;
    const as = await server.signIn(boss.email, boss.password);
    const entered = await server.data('POST /api/applications:enter?filterByTk=shop', { as });
    expect(entered.user).toMatchObject({ email: boss.email, roles: ['viewer', 'admin'] });
    expect(
      (await server.call('GET /api/auth:check', { as: `header:Bearer ${session}`, headers: shopHeaders })).status,
    ).toBe(401);
    expect((await signIn(stranger)).status).toBe(401);
    const known = await signIn(boss);
    expect(known.status).toBe(200);
    await server.data('POST /api/applications:enter?filterByTk=shop', { as });
    expect(
      (await server.call('GET /api/auth:check', { as: `header:Bearer ${known.body.data.token}`, headers: shopHeaders }))
        .status,
    ).toBe(200);
    await server.stop();
  });

  test('a role that may manage applications but is not admin can neither enter one nor choose its node', async () => {
    const server = await startShopServer(engine);
    await server.data('POST /api/roles:create', { body: { name: 'keeper', allowConfigure: true } });
    await server.createKey('keeper');
    const refused = await server.call('POST /api/applications:enter?filterByTk=shop', { as: 'keeper' });
    expect(refused.status).toBe(403);
    const body = { node: 'worker2:5432' };
    const moved = await server.call('POST /api/applications:move?filterByTk=shop', { as: 'keeper', body });
    const created = await server.call('POST /api/applications:create', {
      as: 'keeper',
      body: { name: 'new', ...body },
    });
    expect([moved.status, created.status]).toEqual([403, 403]);
    expect(await server.data('GET /api/applications:list?fields=name')).toHaveLength(2);
    await server.stop();
  });
});
