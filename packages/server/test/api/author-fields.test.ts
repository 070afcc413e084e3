import { expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('authors', (engine) => {
  test('the users who created and last changed a record are stored, and are read like any relation', async () => {
    const server = await TestServer.start(engine);
    await server.data('POST /api/collections:create', {
      body: { name: 'notes', fields: [{ name: 'text', type: 'string' }], options: { authors: true } },
    });
    await server.data('POST /api/users:create', {
      body: { email: 'b@example.com', password: 'correct horse', nickname: 'Bea', roles: ['editor'] },
    });
    server.tokens.set('bea', await server.signIn('b@example.com', 'correct horse'));
    const made = await server.data('POST /api/notes:create', { as: 'bea', body: { text: 'x', createdById: 1 } });
    expect(made).toMatchObject({ createdById: 2, updatedById: 2 });
    expect(await server.data('POST /api/notes:update?filterByTk=1', { body: { text: 'y' } })).toMatchObject({
      createdById: 2,
      updatedById: 1,
    });
    const key = await server.data('POST /api/apiKeys:create', { as: 'bea', body: { role: { name: 'editor' } } });
    const byKey = await server.data('POST /api/notes:create', { as: key.token as string, body: { text: 'z' } });
    expect(byKey).toMatchObject({ createdById: 2 });
    expect(
      await server.data('GET /api/notes:list?appends=createdBy&fields=id,createdBy.nickname&sort=createdBy.nickname'),
    ).toEqual([
      { id: 1, createdBy: { nickname: 'Bea' } },
      { id: 2, createdBy: { nickname: 'Bea' } },
    ]);
    expect(await server.data('GET /api/notes:list?filter={"updatedBy.nickname":"Admin"}')).toHaveLength(1);
    await server.data('POST /api/permissions:create', {
      body: {
        role: 'viewer',
        resource: 'notes',
        actions: ['list', 'get'],
        filter: { createdById: '{{$user.id}}' },
      },
    });
    await server.createKey('viewer');
    expect(await server.data('GET /api/notes:list', { as: 'viewer' })).toEqual([]);
    await server.data('POST /api/apiKeys:destroy?filter={"creatorId":2}').catch(() => {});
    await server.data('POST /api/users:destroy?filterByTk=2');
    expect(await server.data('GET /api/notes:get?filterByTk=1&appends=createdBy')).toMatchObject({
      createdById: null,
      createdBy: null,
      updatedById: 1,
    });
    const shown = await server.data('GET /api/collections:get?filterByTk=notes&appends=fields');
    expect(shown.fields.find((field: { name: string }) => field.name === 'createdBy')).toMatchObject({
      type: 'belongsTo',
      target: 'users',
      readOnly: true,
    });
    await server.play({
      name: 'the relation of a server-managed field cannot be changed',
      request: 'POST /api/notes/1/updatedBy:remove',
      expect: { status: 403, code: 'SYSTEM_PROTECTED' },
    });
    await server.play({
      name: 'a server-managed field cannot be changed',
      request: 'POST /api/fields:update',
      body: { collectionName: 'notes', name: 'createdById', title: 'x' },
      expect: { status: 403, code: 'SYSTEM_PROTECTED' },
    });
    await server.stop();
  });
});
