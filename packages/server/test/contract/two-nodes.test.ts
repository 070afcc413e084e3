import { afterAll, beforeAll, expect, test } from 'vitest';
import { anonymous } from '../../src/identity/authenticator.ts';
import { createReset } from '../../src/records/system/own-account.ts';
import { describeEngines, type Store, shareStore } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('two servers on one store', (engine) => {
  if (engine.name === 'sqlite') {
    test('one process serves a SQLite file', () => expect(engine.name).toBe('sqlite'));
    return;
  }
  let store: Store;
  let nodes: TestServer[];
  beforeAll(async () => {
    store = await engine.store();
    const shared = shareStore(engine, store);
    nodes = await Promise.all([TestServer.start(shared), TestServer.start(shared), TestServer.start(shared)]);
  });
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await store.remove();
  });

  test('that start at the same time on an empty store create it once', async () => {
    const [first] = nodes;
    const roles = (await first!.data('GET /api/roles:list')) as unknown[];
    const users = (await first!.data('GET /api/users:list')) as unknown[];
    expect([roles.length, users.length]).toEqual([5, 1]);
  });

  test('serve a definition that was created on one server on the other, as soon as the reply has arrived', async () => {
    const [first, second] = nodes;
    await first!.data('POST /api/collections:create', {
      body: { name: 'things', fields: [{ name: 'n', type: 'integer' }] },
    });
    await second!.data('POST /api/things:create', { body: { n: 1 } });
    await first!.data('POST /api/fields:create', { body: { collectionName: 'things', name: 'm', type: 'string' } });
    expect(await second!.data('POST /api/things:create', { body: { n: 2, m: 'x' } })).toMatchObject({ n: 2, m: 'x' });
    expect(await second!.data('GET /api/things:list?fields=m')).toEqual([{ m: null }, { m: 'x' }]);
  });

  test('refuse an API key that was revoked on one server at the next request to the other', async () => {
    const [first, second] = nodes;
    const key = (await first!.data('POST /api/apiKeys:create', { body: { role: { name: 'viewer' } } })) as {
      id: number;
      token: string;
    };
    const list = (): ReturnType<TestServer['call']> => second!.call('GET /api/things:list', { as: key.token });
    expect((await list()).status).toBe(200);
    await first!.data(`POST /api/apiKeys:destroy?filterByTk=${key.id}`);
    expect((await list()).status).toBe(401);
  });

  test('refuse an API key whose creator lost the role on one server at the next request to the other', async () => {
    const [first, second] = nodes;
    const body = { email: 'maker@example.com', password: 'correct horse', roles: ['viewer'] };
    const { id } = await first!.data('POST /api/users:create', { body });
    const as = await first!.signIn(body.email, body.password);
    const { token } = await first!.data('POST /api/apiKeys:create', { as, body: { role: 'viewer' } });
    const list = async (): Promise<number> => (await second!.call('GET /api/things:list', { as: token })).status;
    const holds = (roles: string[]): Promise<unknown> =>
      first!.data(`POST /api/users:update?filterByTk=${id}`, { body: { roles } });
    expect(await list()).toBe(200);
    await holds([]);
    expect(await list()).toBe(401);
    await holds(['viewer']);
    expect(await list()).toBe(200);
    await first!.data(`POST /api/users:destroy?filterByTk=${id}`);
    expect(await list()).toBe(401);
  });

  test('after the overlap, refuse an API key on one server that was rotated on the other', async () => {
    const [first, second] = nodes;
    const key = await first!.data('POST /api/apiKeys:create', { body: { role: { name: 'viewer' } } });
    const check = (token: string): Promise<number> =>
      second!.call('GET /api/things:list', { as: token }).then((reply) => reply.status);
    expect(await check(key.token)).toBe(200);
    const rotate = `POST /api/apiKeys:rotate?filterByTk=${key.id}`;
    const replies = await Promise.all(nodes.map((node) => node.call(rotate, { body: { overlap: 'none' } })));
    expect(replies.map((reply) => reply.status).sort()).toEqual([200, 409, 409]);
    const next = replies.find((reply) => reply.status === 200)!.body.data;
    expect([await check(key.token), await check(next.token)]).toEqual([401, 200]);
  });

  test('refuse sessions that were ended on one server in any way at the next request to the other', async () => {
    const [first, second] = nodes;
    const body = { email: 'ann@example.com', password: 'correct horse', roles: ['viewer'] };
    const { id } = await first!.data('POST /api/users:create', { body });
    const ends: readonly [string, (token: string) => Promise<unknown>][] = [
      ['signed out', (as) => first!.data('POST /api/auth:signOut', { as })],
      ['ended by another', async () => first!.data('POST /api/auth:endOtherSessions', { as: await enter() })],
      ['suspended', () => first!.data(`POST /api/users:update?filterByTk=${id}`, { body: { status: 'suspended' } })],
      [
        'another password',
        () => first!.data(`POST /api/users:update?filterByTk=${id}`, { body: { password: body.password } }),
      ],
      [
        'changed password',
        async () => first!.data('POST /api/auth:changePassword', { as: await enter(), body: change }),
      ],
    ];
    const change = { oldPassword: body.password, newPassword: 'another horse' };
    const enter = (): Promise<string> => first!.signIn(body.email, body.password);
    for (const [how, end] of ends) {
      await first!.data(`POST /api/users:update?filterByTk=${id}`, { body: { status: 'active' } });
      const token = await enter();
      const seen = (): Promise<number> =>
        second!.call('GET /api/things:list', { as: token }).then(({ status }) => status);
      expect([how, await seen()]).toEqual([how, 200]);
      await end(token);
      expect([how, await seen()]).toEqual([how, 401]);
    }
  });

  test('accept a password token only once if it is used on both at the same time', async () => {
    const [first] = nodes;
    const body = { email: 'ben@example.com', password: 'correct horse' };
    await first!.data('POST /api/users:create', { body });
    const { main } = first!.running.applications;
    const { token } = (await createReset(main.recordContext(anonymous, null), body.email))!;
    const replies = await Promise.all(
      nodes.map((node, index) =>
        node.call('POST /api/auth:resetPassword', {
          as: 'nobody',
          body: { token, password: `a new password ${index}` },
        }),
      ),
    );
    expect(replies.map((reply) => reply.status).sort()).toEqual([200, 400, 400]);
  });

  test('keep one of two administrators who remove each other on both servers at the same time', async () => {
    const [first, second] = nodes;
    const body = { email: 'second@example.com', password: 'correct horse', roles: ['admin'] };
    const other = await first!.data('POST /api/users:create', { body });
    const login = await first!.signIn(body.email, body.password);
    const strip = { roles: ['viewer'] };
    const replies = await Promise.all([
      first!.call('POST /api/users:update?filterByTk=1', { as: login, body: strip }),
      second!.call(`POST /api/users:update?filterByTk=${other.id}`, { body: strip }),
    ]);
    expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1);
    if (replies[0]!.status === 200) {
      await first!.data('POST /api/users:update?filterByTk=1', { as: login, body: { roles: ['admin'] } });
      await first!.data(`POST /api/users:update?filterByTk=${other.id}`, { body: strip });
    }
  });

  test('apply the removal of a permission on one server to reads and writes on the other', async () => {
    const [first, second] = nodes;
    await first!.data('POST /api/roles:create', { body: { name: 'brief' } });
    const row = (await first!.data('POST /api/permissions:create', {
      body: { role: 'brief', resource: 'things', actions: ['list', 'get', 'create', 'update'] },
    })) as { id: number };
    const key = (await first!.data('POST /api/apiKeys:create', { body: { role: { name: 'brief' } } })) as {
      token: string;
    };
    const update = (): ReturnType<TestServer['call']> =>
      second!.call('POST /api/things:update?filterByTk=1', { as: key.token, body: { n: 5 } });
    expect((await update()).status).toBe(200);
    await first!.data(`POST /api/permissions:destroy?filterByTk=${row.id}`);
    expect((await update()).status).toBe(403);
    expect((await second!.call('GET /api/things:list', { as: key.token })).status).toBe(403);
  });

  test('create the users of many parallel requests completely, or refuse the requests with 503', async () => {
    const [first] = nodes;
    const count = async (): Promise<number> => (await first!.call('GET /api/users:list?pageSize=1')).body.meta.count;
    const before = await count();
    const statuses = await Promise.all(
      Array.from({ length: 48 }, async (_, index) => {
        const body = { email: `u${index}@example.com`, roles: ['viewer'] };
        return (await nodes[index % 3]!.call('POST /api/users:create', { body })).status;
      }),
    );
    const made = statuses.filter((status) => status === 200).length;
    expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
    expect(made).toBeGreaterThan(24);
    expect((await count()) - before).toBe(made);
  });

  test('return one snapshot for statements that are read together', async () => {
    // Definitions are read by several statements: a new collection must not be seen without its fields.
    const { database } = nodes[0]!.running.applications.main;
    const begun = { text: 'SELECT now()::text', values: [] };
    const [first, second] = await database.read([begun, begun]);
    expect(first).toEqual(second);
  });

  test('return correct results or clear errors while a collection is destroyed and created again', async () => {
    const [first, second, third] = nodes;
    let going = true;
    const seen = new Set<number>();
    const busy = async (node: TestServer): Promise<void> => {
      while (going) {
        const created = await node.call('POST /api/moving:create', { body: { n: 1 } });
        const listed = await node.call('GET /api/moving:list?pageSize=2');
        for (const { status } of [created, listed]) seen.add(status);
      }
    };
    const others = [busy(second!), busy(third!)];
    for (let round = 0; round < 6; round += 1) {
      await first!.data('POST /api/collections:create', {
        body: { name: 'moving', fields: [{ name: 'n', type: 'integer' }] },
      });
      await new Promise((resolve) => setTimeout(resolve, 40));
      await first!.data('POST /api/collections:destroy?filterByTk=moving&cascade=true');
    }
    going = false;
    await Promise.all(others);
    expect([...seen].filter((status) => ![200, 404, 503].includes(status))).toEqual([]);
    expect(seen.has(200)).toBe(true);
  });

  test('apply create, stop, start and destroy of an application on both servers', async () => {
    const [first, second] = nodes;
    const app = { 'x-app': 'shop' };
    await first!.data('POST /api/applications:create', { body: { name: 'shop' } });
    const body = { email: 'root@example.com', password: 'correct horse battery' };
    const { token } = await second!.data('POST /api/auth:signIn', { as: 'nobody', headers: app, body });
    const list = (node: TestServer): ReturnType<TestServer['call']> =>
      node.call('GET /api/users:list', { as: token as string, headers: app });
    expect([(await list(first!)).status, (await list(second!)).status]).toEqual([200, 200]);
    await first!.data('POST /api/applications:stop?filterByTk=shop');
    expect([(await list(first!)).status, (await list(second!)).status]).toEqual([503, 503]);
    await second!.data('POST /api/applications:start?filterByTk=shop');
    expect([(await list(first!)).status, (await list(second!)).status]).toEqual([200, 200]);
    await first!.data('POST /api/applications:destroy?filterByTk=shop&confirm=shop');
    // The second server has closed the application too, so its login is unknown now.
    expect([(await list(second!)).status, (await list(second!)).status]).toEqual([401, 401]);
    const known = await second!.call('GET /api/users:list', { headers: app });
    expect(known.status).toBe(404);
  });

  test('bootstrap an application once for parallel first requests to both servers', async () => {
    const [first] = nodes;
    const made = await Promise.all(
      nodes.map((node) => node.call('POST /api/applications:create', { body: { name: 'born' } })),
    );
    expect(made.map((reply) => reply.status).sort()).toEqual([200, 409, 409]);
    const body = { email: 'root@example.com', password: 'correct horse battery' };
    const headers = { 'x-app': 'born' };
    const replies = await Promise.all(
      nodes.map((node) => node.call('POST /api/auth:signIn', { as: 'nobody', headers, body })),
    );
    expect(replies.map((reply) => reply.status)).toEqual([200, 200, 200]);
    const { token } = replies[0]!.body.data;
    expect(await first!.data('GET /api/users:list', { as: token as string, headers })).toHaveLength(1);
  });
});
