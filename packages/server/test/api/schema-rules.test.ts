/** Which schema documents are refused: by the rules of roles and webhooks, and for their form. Also fields of system collections. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { type Reply, TestServer } from '../support/scenario.ts';

describeEngines('rules of schema documents', (engine) => {
  let server: TestServer;
  let empty: Json;
  const pull = async (): Promise<Json> => (await server.data('POST /api/schema:pull', { body: {} })).schema;
  const apply = (schema: Json): Promise<Json> =>
    server.data('POST /api/schema:apply', { body: { schema, allowDestructive: true } });
  const undo = (): Promise<Json> => server.data('POST /api/schema:rollback', { body: { allowDestructive: true } });
  const findRole = (schema: Json, name: string): Json => schema.roles.find((each: Json) => each.name === name);
  /** Applies a document that is refused, and checks that nothing has changed. */
  const refuse = async (
    schema: Json,
    status: number,
    more: { as?: string; headers?: Record<string, string> } = {},
  ): Promise<Reply> => {
    const before = await pull();
    const reply = await server.call('POST /api/schema:apply', { ...more, body: { schema, allowDestructive: true } });
    expect({ status: reply.status, text: reply.text }).toMatchObject({ status });
    expect(await pull()).toEqual(before);
    return reply;
  };

  beforeAll(async () => {
    server = await TestServer.start(engine, { env: { WEBHOOKS: 'off' } });
    empty = await pull();
  });
  afterAll(() => server.stop());
  beforeEach(() => apply(empty));

  test('only an admin renames a role that may configure, and a swap of names gives no rights', async () => {
    for (const [name, allowConfigure] of [
      ['owner', true],
      ['other', true],
      ['mine', false],
      ['strong', false],
    ] as const)
      await server.data('POST /api/roles:create', { body: { name, allowConfigure } });
    const [email, password] = ['olga@example.com', 'a long password'];
    const roles = [{ name: 'owner' }, { name: 'mine' }];
    const user = await server.data('POST /api/users:create', { body: { email, password, roles } });
    server.tokens.set('olga', await server.signIn(email, password));
    const olga = { as: 'olga', headers: { 'x-role': 'owner' } };

    const renamed = await pull();
    findRole(renamed, 'other').name = 'another';
    expect((await refuse(renamed, 403, olga)).body).toMatchObject({ code: 'SYSTEM_PROTECTED' });

    const webhook = { url: 'https://example.com/hook', events: ['*'], role: 'mine', enabled: true };
    const swapped = await pull();
    const [mine, strong] = [findRole(swapped, 'mine'), findRole(swapped, 'strong')];
    [mine.name, strong.name] = ['strong', 'mine'];
    expect((await refuse({ ...swapped, webhooks: [webhook] }, 403, olga)).body).toMatchObject({
      code: 'ROLE_NOT_HELD',
    });
    const own = { ...swapped, webhooks: [{ ...webhook, role: 'strong' }] };
    await server.data('POST /api/schema:apply', { ...olga, body: { schema: own } });
    expect((await pull()).webhooks).toMatchObject([{ role: 'strong' }]);
    expect((await server.data(`GET /api/users:get?filterByTk=${user.id}&appends=roles`)).roles).toMatchObject(
      expect.arrayContaining([expect.objectContaining({ name: 'strong' })]),
    );
    await apply(renamed);
    expect(findRole(await pull(), 'another')).toMatchObject({ allowConfigure: true });
    await server.data(`POST /api/users:destroy?filterByTk=${user.id}`);
  });

  test('the only custom field of a system collection can be added and removed, and both changes can be undone', async () => {
    const users = { name: 'users', system: true, fields: [{ name: 'phone', type: 'string' }] };
    const { steps } = await apply({ ...empty, collections: [users] });
    expect(steps).toMatchObject([{ action: 'create', kind: 'field', of: 'users', name: 'phone' }]);
    await server.data('POST /api/users:update?filterByTk=1', { body: { phone: '12345' } });
    expect((await apply(empty)).steps).toMatchObject([
      { action: 'destroy', kind: 'field', of: 'users', name: 'phone' },
    ]);
    expect(await pull()).toEqual(empty);
    expect((await undo()).restored).toEqual(['users.phone']);
    expect((await server.data('GET /api/users:get?filterByTk=1')).phone).toBe('12345');
    await undo();
    expect(await pull()).toEqual(empty);
  });

  test('a member that is null is refused or treated as absent', async () => {
    const webhook = { url: 'https://example.com/hook', events: ['*'], role: 'viewer', enabled: true };
    await apply({
      ...empty,
      collections: [
        {
          name: 'notes',
          title: 'Notes',
          options: { indexes: [{ fields: ['text'] }], search: ['text'] },
          fields: [{ name: 'text', type: 'string', maxLength: 10 }],
        },
      ],
      roles: [
        ...empty.roles,
        {
          name: 'clerk',
          permissions: [{ resource: 'notes', actions: ['list'], fields: ['text'], filter: { text: 'a' } }],
        },
      ],
      webhooks: [webhook],
    });
    const schema = await pull();
    const texts: Json = {};
    const visit = async (members: Json, path: string): Promise<void> => {
      for (const name of Object.keys(members)) {
        const value = members[name];
        members[name] = null;
        const { status, body } = await server.call('POST /api/schema:diff', { body: { schema } });
        texts[`${path}${name}`] = status === 422 ? Object.keys(body.details) : status;
        members[name] = value;
        if (value !== null && typeof value === 'object') await visit(value, `${path}${name}.`);
      }
    };
    await visit(schema, '');
    expect([200, 422, ...Object.values(texts).filter((each) => typeof each === 'number')].sort()).not.toContain(500);
    expect(texts).toMatchObject({
      collections: ['collections'],
      roles: ['roles'],
      'collections.0.fields': ['collections[0].fields'],
      'collections.0.title': 200,
      'collections.0.options': ['collections[0].options'],
      'collections.0.options.indexes': ['collections[0].options.indexes'],
      'collections.0.options.search': ['collections[0].options.search'],
    });
    expect(await pull()).toEqual(schema);
  });

  test('no collection can have the id of a system collection', async () => {
    for (const id of ['emails', 'users', 'usersRoles']) {
      const reply = await refuse({ ...empty, collections: [{ id, name: 'mine', fields: [] }] }, 422);
      expect(Object.keys(reply.body.details)).toEqual(['collections[0].id']);
    }
    const users = { id: 'emails', name: 'users', system: true, fields: [] };
    await refuse({ ...empty, collections: [users] }, 422);
  });

  test('an action refuses members that only other actions have', async () => {
    const before = await pull();
    for (const [action, body] of [
      ['pull', { x: 1 }],
      ['diff', { schema: empty, summary: 'x' }],
      ['apply', { to: 0, allowDestructive: true }],
      ['rollback', { schema: empty, allowDestructive: true }],
    ] as const) {
      const { status, body: reply } = await server.call(`POST /api/schema:${action}`, { body });
      expect([action, status, reply.code]).toEqual([action, 400, 'BODY_INVALID']);
    }
    expect(await pull()).toEqual(before);
  });
});
