import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { countPasswordHashes } from '../support/password-hashes.ts';
import type { TestServer } from '../support/scenario.ts';
import { checkRole, staffPassword, startStaffServer } from '../support/staff-server.ts';

describeEngines('users', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startStaffServer(engine);
  });
  afterAll(() => server?.stop());
  const check = (as: string, role?: string): ReturnType<TestServer['call']> => checkRole(server, as, role);

  describe('roles of a session', () => {
    test('the session starts in the default role, and X-Role chooses another held role', async () => {
      const body = {
        email: 'two-roles@example.com',
        password: staffPassword,
        roles: ['viewer', 'editor'],
        defaultRole: 'editor',
      };
      const { id } = await server.data('POST /api/users:create', { body });
      const login = await server.signIn(body.email, staffPassword);
      expect((await check(login)).body.data).toMatchObject({ currentRole: 'editor', roles: ['viewer', 'editor'] });
      expect((await check(login, 'viewer')).body.data.currentRole).toBe('viewer');
      for (const other of ['admin', 'clerk', 'public', 'nobody', 'Viewer', '', 'viewer,editor'])
        expect(await check(login, other)).toMatchObject({ status: 403, body: { code: 'ROLE_NOT_HELD' } });
      await server.data(`POST /api/users:update?filterByTk=${id}`, { body: { roles: ['viewer'] } });
      expect((await check(login)).body.data.currentRole).toBe('viewer');
      expect((await check(login, 'editor')).status).toBe(403);
      await server.data(`POST /api/users:update?filterByTk=${id}`, { body: { roles: [] } });
      expect((await check(login)).body.data).toMatchObject({
        currentRole: 'public',
        roles: [],
        roleTitles: { public: 'Without a credential' },
      });
      expect((await server.call('GET /api/posts:list', { as: login })).status).toBe(403);
    });

    test('auth:check returns the current titles of the held roles, and of no others', async () => {
      await server.data('POST /api/roles:create', {
        body: [{ name: 'shopWindow', title: 'Shop window' }, { name: 'bare' }],
      });
      const body = { email: 'titled@example.com', password: staffPassword, roles: ['shopWindow', 'bare'] };
      await server.data('POST /api/users:create', { body });
      const login = await server.signIn(body.email, staffPassword);
      const titles = async (as: string): Promise<unknown> => (await check(as)).body.data.roleTitles;
      expect(await titles(login)).toEqual({ shopWindow: 'Shop window', bare: null });
      await server.data('POST /api/roles:update?filterByTk=shopWindow', { body: { title: 'Show case' } });
      expect(await titles(login)).toEqual({ shopWindow: 'Show case', bare: null });
      expect(await titles(await server.createKey('viewer'))).toEqual({ viewer: 'Viewer' });
    });

    test('an API key ignores X-Role', async () => {
      const token = await server.createKey('viewer');
      expect((await check(token, 'admin')).body.data.currentRole).toBe('viewer');
    });

    test('users without roles get exactly the default roles', async () => {
      await server.data('POST /api/roles:create', { body: { name: 'everyone', default: true } });
      const make = async (body: object): Promise<unknown> => {
        const { id } = await server.data('POST /api/users:create', { body });
        const user = await server.data(`GET /api/users:get?filterByTk=${id}&appends=roles`);
        return user.roles.map(({ name }: { name: string }) => name);
      };
      expect(await make({ email: 'd1@example.com' })).toEqual(['everyone']);
      expect(await make({ email: 'd2@example.com', roles: ['viewer'] })).toEqual(['viewer']);
      expect(await make({ email: 'd3@example.com', roles: [] })).toEqual([]);
      await server.data('POST /api/roles:update?filterByTk=everyone', { body: { default: false } });
      expect(await make({ email: 'd4@example.com' })).toEqual([]);
    });
  });

  test('nested passwords are hashed before the transaction', async () => {
    await server.data('POST /api/fields:create', {
      body: { collectionName: 'posts', name: 'readers', type: 'belongsToMany', target: 'users' },
    });
    const people = (part: string): unknown =>
      Array.from({ length: 12 }, (_, index) => ({ email: `${part}${index}@example.com`, password: staffPassword }));
    const hashes = await countPasswordHashes(server, async () => {
      await server.data('POST /api/posts:create', { body: { readers: people('a') } });
      const { id } = await server.data('POST /api/posts:create', { body: {} });
      await server.data(`POST /api/posts:update?filterByTk=${id}`, { body: { readers: people('b') } });
      await server.data(`POST /api/posts/${id}/readers:create`, { body: people('c') });
      await server.data('POST /api/posts:create?dryRun=true', { body: { readers: people('n') } });
    });
    expect(hashes).toEqual({ all: 48, withinTransactions: 0 });
    for (const name of ['a0', 'a11', 'b3', 'c7'])
      expect(await server.signIn(`${name}@example.com`, staffPassword)).toMatch(/^tbs_/);
    const [rows] = await server.running.applications.main.database.read([
      { text: "SELECT count(DISTINCT password) FROM users WHERE email LIKE 'a%'", values: [] },
    ]);
    expect(Number(rows![0]![0])).toBe(12);
  });
});
