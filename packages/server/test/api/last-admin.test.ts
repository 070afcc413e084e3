import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';
import { checkRole, staffPassword, startStaffServer } from '../support/staff-server.ts';

const lockouts: readonly Scenario[] = (
  [
    ['destroyed', 'users:destroy?filterByTk=1', undefined],
    ['destroyed with others', 'users:destroy?filterByTk=[1,4]', undefined],
    ['destroyed by filter', 'users:destroy?filter={"id":{"$lt":3}}', undefined],
    ['suspended', 'users:update?filterByTk=1', { status: 'suspended' }],
    ['suspended with others', 'users:update?filterByTk=[4,1]', { status: 'suspended' }],
    ['suspended by filter', 'users:update?filter={"id":{"$gt":0}}', { status: 'suspended' }],
    ['deprived of the role by an update', 'users:update?filterByTk=1', { roles: ['viewer'] }],
    ['deprived of the role by an empty list', 'users:update?filterByTk=1', { roles: [] }],
    ['deprived of the role by null', 'users:update?filterByTk=1', { roles: null }],
    ['deprived of the role by roles:remove', 'users/1/roles:remove', ['admin']],
    ['deprived of the role by roles:set', 'users/1/roles:set', ['viewer']],
    ['deprived of the role by roles:toggle', 'users/1/roles:toggle', ['admin']],
    ['left without a password', 'users:update?filterByTk=1', { password: null }],
    ['left without a name', 'users:update?filterByTk=1', { email: null, username: null }],
    [
      'suspended by updateOrCreate',
      'users:updateOrCreate?filterKeys=email',
      { email: 'root@example.com', status: 'suspended' },
    ],
    [
      'suspended by a nested value',
      'posts:create?updateAssociationValues=writer',
      { writer: { id: 1, status: 'suspended' } },
    ],
    ['destroyed by a relation', 'posts/1/writer:destroy', undefined],
    ['suspended by a relation', 'posts/1/writer:update', { status: 'suspended' }],
    ['left without the role, when that is destroyed', 'roles:destroy?filterByTk=admin', undefined],
    [
      'left without the role, when that is destroyed by filter',
      'roles:destroy?filter={"allowConfigure":true}',
      undefined,
    ],
    ['deprived by a change of the role', 'roles:update?filterByTk=admin', { allowConfigure: false }],
    ['renamed away from the role', 'roles:update?filterByTk=admin', { name: 'nobody' }],
  ] as const
).map(
  ([how, path, body]): Scenario => ({
    name: `the last administrator cannot be ${how}`,
    request: `POST /api/${path}`,
    ...(body !== undefined && { body }),
    expect:
      path === 'roles:update?filterByTk=admin' && 'name' in body
        ? { status: 400, code: 'BODY_INVALID' }
        : { status: 403, code: 'SYSTEM_PROTECTED', body: { error: 'Forbidden' } },
  }),
);

describeEngines('the last admin', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startStaffServer(engine);
  });
  afterAll(() => server?.stop());

  test.each(lockouts)('$name', async (scenario) => {
    await server.play(scenario);
  });

  test('an administrator can be removed while another one who can sign in remains', async () => {
    const make = (body: object): Promise<{ id: number }> =>
      server.data('POST /api/users:create', { body: { roles: ['admin'], ...body } });
    const destroy = (id: number): Promise<number> =>
      server.call(`POST /api/users:destroy?filterByTk=${id}`).then((reply) => reply.status);
    const mute = await make({ email: 'mute@example.com' });
    expect(await destroy(1)).toBe(403);
    const other = await make({ email: 'other@example.com', password: staffPassword });
    await server.data(`POST /api/users:update?filterByTk=${other.id}`, { body: { status: 'suspended' } });
    expect(await destroy(1)).toBe(403);
    await server.data(`POST /api/users:update?filterByTk=${other.id}`, { body: { status: 'active' } });
    const both = await server.call(`POST /api/users:destroy?filterByTk=[1,${other.id}]`);
    expect(both.body).toMatchObject({ error: 'Forbidden', code: 'SYSTEM_PROTECTED' });
    expect(await destroy(mute.id)).toBe(200);
    const some = await make({ email: 'some@example.com', password: staffPassword });
    const one = await server.data('POST /api/users:create', { body: { email: 'one@example.com' } });
    const two = await server.data('POST /api/users:create', { body: { email: 'two@example.com' } });
    const gone = await server.data(`POST /api/users:destroy?filterByTk=[${some.id},${one.id},${two.id}]`);
    expect(gone).toBe(3);
    await server.data(`POST /api/users:destroy?filterByTk=${other.id}`);
  });

  test('of administrators who remove each other in parallel, one remains', async () => {
    const second = await server.data('POST /api/users:create', {
      body: { email: 'second@example.com', password: staffPassword, roles: ['admin'] },
    });
    const login = await server.signIn('second@example.com', staffPassword);
    const strip = (id: number, as: string): ReturnType<TestServer['call']> =>
      server.call(`POST /api/users:update?filterByTk=${id}`, { as, body: { roles: ['viewer'] } });
    const replies = await Promise.all([strip(1, login), strip(second.id, 'admin')]);
    expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1);
    const winner = replies[0]!.status === 200 ? login : 'admin';
    expect((await checkRole(server, winner)).body.data.roles).toContain('admin');
    await server.data('POST /api/users:update?filterByTk=1', { as: winner, body: { roles: ['admin'] } });
    await server.data(`POST /api/users:destroy?filterByTk=${second.id}`);
  });
});
