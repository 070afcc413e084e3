import type { Engine } from './engines.ts';
import { TestServer } from './scenario.ts';

export const staffPassword = 'correct horse battery';

/** Requests the identity and role of a caller. */
export const checkRole = (server: TestServer, as: string, role?: string): ReturnType<TestServer['call']> =>
  server.call('GET /api/auth:check', { as, ...(role !== undefined && { headers: { 'x-role': role } }) });

/**
 * A server with users of all kinds, and posts by some of them.
 * User 1 is the only administrator; 2 is the keeper, who may change definitions; 3 is the clerk, who may write users; 4
 * to 6 have no
 * special permissions; 7 may change definitions too.
 */
export async function startStaffServer(engine: Engine): Promise<TestServer> {
  const server = await TestServer.start(engine);
  await server.data('POST /api/roles:create', {
    body: [
      { name: 'keeper', allowConfigure: true },
      { name: 'clerk' },
      { name: 'selfWriter' },
      { name: 'warden', allowConfigure: true },
      { name: 'archivist' },
    ],
  });
  const person = (name: string, roles: readonly string[]): unknown => ({
    email: `${name}@example.com`,
    password: staffPassword,
    roles,
  });
  await server.data('POST /api/users:create', {
    body: [
      person('keeper', ['keeper']),
      person('clerk', ['clerk', 'archivist']),
      person('user4', ['selfWriter', 'viewer']),
      person('user5', ['viewer']),
      person('user6', ['editor']),
      person('warden', ['warden']),
    ],
  });
  await server.data('POST /api/permissions:create', {
    body: [
      { role: 'clerk', resource: 'users', actions: ['list', 'get', 'create', 'update'] },
      { role: 'clerk', resource: 'roles', actions: ['list', 'get'] },
      { role: 'selfWriter', resource: 'users', actions: 'view' },
      { role: 'selfWriter', resource: 'roles', actions: 'view' },
      {
        role: 'selfWriter',
        resource: 'users',
        actions: 'update',
        fields: ['nickname'],
        filter: { id: '{{$user.id}}' },
      },
    ],
  });
  const names = { keeper: 'keeper', clerk: 'clerk', selfWriter: 'user4' };
  for (const [as, name] of Object.entries(names))
    server.tokens.set(as, await server.signIn(`${name}@example.com`, staffPassword));
  await server.data('POST /api/collections:create', {
    body: { name: 'posts', fields: [{ name: 'writer', type: 'belongsTo', target: 'users' }] },
  });
  await server.data('POST /api/posts:create', { body: [{ writerId: 1 }, { writerId: 6 }] });
  await server.data('POST /api/permissions:create', {
    body: { role: 'clerk', resource: 'posts', actions: ['list', 'get', 'update'] },
  });
  const made = await server.data('POST /api/apiKeys:create', { as: 'clerk', body: { role: 'clerk' } });
  server.tokens.set('clerkKey', made.token);
  return server;
}
