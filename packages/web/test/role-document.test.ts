/** What pages know about collections from the OpenAPI document of a role, compared with the definitions. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sqlite } from '../../server/test/support/engines.ts';
import { TestServer } from '../../server/test/support/scenario.ts';
import { type DocumentPart, parseRoleDocument } from '../src/data/role-document.ts';

const types = [
  'string',
  'text',
  'email',
  'url',
  'integer',
  'bigInt',
  'double',
  'decimal',
  'boolean',
  'date',
  'time',
  'datetime',
  'json',
  'array',
  'uid',
  'password',
];

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start(sqlite);
  const fields = types.map((type) => ({ name: `${type}Field`, type, title: `A ${type}` }));
  await server.data('POST /api/collections:apply', {
    body: [
      { name: 'others', fields: [{ name: 'name', type: 'string' }] },
      {
        name: 'things',
        title: 'Things (*all*)',
        description: 'What is kept.',
        fields: [
          ...fields,
          { name: 'kind', type: 'select', enum: ['a', 'b'] },
          { name: 'kinds', type: 'select', enum: ['a', 'b'], multiple: true },
          { name: 'other', type: 'belongsTo', target: 'others' },
          { name: 'others', type: 'belongsToMany', target: 'others' },
        ],
        options: { paranoid: true },
      },
    ],
  });
  await server.data('POST /api/roles:create', { body: { name: 'clerk' } });
  const permit = (body: object): Promise<unknown> =>
    server.data('POST /api/permissions:create', { body: { role: 'clerk', ...body } });
  await permit({ resource: 'others', actions: ['list', 'get'] });
  await permit({ resource: 'things', actions: ['list', 'get'], exceptFields: ['jsonField'] });
  await permit({ resource: 'things', actions: ['create'] });
  await permit({ resource: 'things', actions: ['update'], exceptFields: ['textField', 'other'] });
  await server.data('POST /api/users:update?filterByTk=1', { body: { roles: ['admin', 'clerk'] } });
});
afterAll(() => server.stop());

test('the document of a role has the defined names, types, choices and links, and the granted permissions', async () => {
  const reply = await server.call('GET /api/docs:openapi', { headers: { 'x-role': 'clerk' } });
  const { collections, forms, rights } = parseRoleDocument(reply.body as unknown as DocumentPart);
  const things = collections.find(({ name }) => name === 'things')!;
  const field = (name: string) => things.fields.find((each) => each.name === name);
  expect(things.title).toBe('Things (*all*)');
  const given = forms.find(({ name }) => name === 'things')!;
  expect(field('passwordField')).toBeUndefined(); // passwords can be set, but are never shown
  expect(field('jsonField')).toBeUndefined();
  for (const type of types)
    expect(
      given.fields.find((each) => each.name === `${type}Field`),
      type,
    ).toMatchObject({ type: type === 'text' ? 'string' : type, title: `A ${type}` });
  expect(field('kind')).toMatchObject({ type: 'select', enum: ['a', 'b'] });
  expect(field('kinds')).toMatchObject({ type: 'select', enum: ['a', 'b'], multiple: true });
  expect(field('other')).toMatchObject({ type: 'belongsTo', target: 'others', foreignKey: 'otherId' });
  expect(field('createdAt')).toMatchObject({ readOnly: true });
  const may = ['list', 'create', 'update', 'destroy', 'restore'].map((action) => rights.may('things', action));
  expect(may).toEqual([true, true, true, false, false]);
  const writes = ['stringField', 'textField', 'otherId'].map((name) => rights.mayWrite('things', 'update', name));
  expect(writes).toEqual([true, false, false]);
  expect(rights.mayWrite('things', 'create', 'textField')).toBe(true);
  expect(rights.mayLink('things', 'others')).toBe(true);
  expect(rights.may('roles', 'list')).toBe(false);
});
