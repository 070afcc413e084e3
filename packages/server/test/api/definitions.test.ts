import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const create = 'POST /api/collections:create';
const invalid = (details: Record<string, unknown>): object => ({
  error: 'Validation Error',
  code: 'DEFINITION_INVALID',
  details,
});
const said = expect.any(String);
const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);

const scenarios: readonly Scenario[] = [
  {
    name: 'a collection gets a primary key and timestamps',
    request: create,
    body: { name: 'plain', title: 'Plain' },
    expect: {
      status: 200,
      body: {
        data: {
          name: 'plain',
          title: 'Plain',
          fields: [{ name: 'id', primaryKey: true, autoIncrement: true }, { name: 'createdAt' }, { name: 'updatedAt' }],
          options: { timestamps: true, paranoid: false, logging: false },
        },
      },
      events: ['collections.created'],
    },
  },
  {
    name: 'the endpoints of a new collection exist as soon as the reply arrives',
    request: 'POST /api/plain:create',
    body: {},
    expect: { status: 200, body: { data: { id: 1 } }, events: ['plain.created'] },
  },
  {
    name: 'an existing name is refused with 409',
    request: create,
    body: { name: 'plain' },
    expect: { status: 409, code: 'COLLECTION_EXISTS' },
  },
  {
    name: 'collection names are case-sensitive',
    request: create,
    body: {
      name: 'Plain',
      fields: [
        { name: 'code', type: 'string' },
        { name: 'Code', type: 'string' },
      ],
    },
    expect: { status: 200, events: ['collections.created'] },
  },
  {
    name: 'collections whose names differ by case have separate records',
    request: 'POST /api/Plain:create',
    body: { code: 'a', Code: 'b' },
    expect: { status: 200, body: { data: { id: 1, code: 'a', Code: 'b' } }, events: ['Plain.created'] },
  },
  {
    name: 'an invalid name is refused with 422',
    request: create,
    body: { name: '1st' },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: invalid({ name: said }) },
  },
  {
    name: 'a name with a leading underscore is refused with 422',
    request: create,
    body: { name: '_x' },
    expect: { status: 422, code: 'DEFINITION_INVALID' },
  },
  {
    name: 'the name of a system resource is refused with 422',
    request: create,
    body: { name: 'webhooks' },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: invalid({ name: said }) },
  },
  {
    name: 'a reserved word is refused with 422 in any case',
    request: create,
    body: { name: 'Select' },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: invalid({ name: said }) },
  },
  {
    name: 'an SQL injection in a name is refused with 422',
    request: create,
    body: { name: 'x"; DROP TABLE users; --' },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: invalid({ name: said }) },
  },
  {
    name: 'an unknown property is refused with 422',
    request: create,
    body: { name: 'x', colour: 'red' },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: invalid({ colour: said }) },
  },
  {
    name: 'an unknown field type is refused with 422',
    request: create,
    body: { name: 'x', fields: [{ name: 'a', type: 'blob' }] },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: invalid({ 'fields[0].type': said }) },
  },
  {
    name: 'an unknown field property is refused with 422',
    request: create,
    body: { name: 'x', fields: [{ name: 'a', type: 'string', length: 5 }] },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: invalid({ 'fields[0].length': said }) },
  },
  {
    name: 'a property of another field type is refused with 422',
    request: create,
    body: { name: 'x', fields: [{ name: 'a', type: 'boolean', maxLength: 5 }] },
    expect: { status: 422, code: 'DEFINITION_INVALID' },
  },
  {
    name: 'a duplicate field name is refused with 422',
    request: create,
    body: {
      name: 'x',
      fields: [
        { name: 'a', type: 'string' },
        { name: 'a', type: 'text' },
      ],
    },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: invalid({ fields: said }) },
  },
  {
    name: 'a default of the wrong type is refused with 422',
    request: create,
    body: { name: 'x', fields: [{ name: 'a', type: 'integer', defaultValue: 'one' }] },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: invalid({ 'fields[0].defaultValue': said }) },
  },
  {
    name: 'a pattern with look-around is refused with 422',
    request: create,
    body: { name: 'x', fields: [{ name: 'a', type: 'string', pattern: '(?=a)' }] },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: invalid({ 'fields[0].pattern': said }) },
  },
  {
    name: 'a relation to an unknown collection is refused with 422',
    request: create,
    body: { name: 'x', fields: [{ name: 'a', type: 'belongsTo', target: 'nothing' }] },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: invalid({ 'fields[0].target': said }) },
  },
  {
    name: 'a relation to a key that is not unique is refused with 422',
    request: create,
    body: { name: 'x', fields: [{ name: 'a', type: 'belongsTo', target: 'Plain', targetKey: 'code' }] },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: invalid({ 'fields[0].targetKey': said }) },
  },
  {
    name: 'all problems are reported together',
    request: create,
    body: {
      name: 'x',
      fields: [
        { name: '', type: 'string' },
        { name: 'b', type: 'nope' },
      ],
      options: { fast: true },
    },
    expect: {
      status: 422,
      code: 'DEFINITION_INVALID',
      body: invalid({ 'fields[0].name': said, 'fields[1].type': said, 'options.fast': said }),
    },
  },
  {
    name: 'a collection with many field types is created',
    request: create,
    body: {
      name: 'typed',
      fields: [
        { name: 's', type: 'string', maxLength: 3, pattern: '^[a-c]+$', unique: true },
        { name: 't', type: 'text' },
        { name: 'i', type: 'integer', min: 0, options: { max: 10 } },
        { name: 'f', type: 'float' },
        { name: 'b', type: 'boolean', defaultValue: true },
        { name: 'd', type: 'datetime', autoNow: true },
        { name: 'j', type: 'json' },
        { name: 'u', type: 'uid' },
        { name: 'self', type: 'belongsTo', target: 'typed', onDelete: 'cascade' },
      ],
      options: { timestamps: false, indexes: [{ fields: ['i', 'f'], unique: true }] },
    },
    expect: { status: 200, events: ['collections.created'] },
  },
  {
    name: 'defaults and generated values are set, and members keep their order',
    request: 'POST /api/typed:create',
    body: { s: 'abc', j: { b: [1, { a: null }], a: 'x' }, i: 5, f: 1 },
    expect: {
      status: 200,
      body: {
        data: {
          id: 1,
          s: 'abc',
          b: true,
          j: { b: [1, { a: null }], a: 'x' },
          u: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
          d: expect.stringMatching(/Z$/),
        },
      },
      events: ['typed.created'],
    },
  },
  {
    name: 'limits of a field are checked',
    request: 'POST /api/typed:create',
    body: { s: 'abcd', i: 11, u: 'x', d: '2026-02-30', b: 'yes', f: '1' },
    expect: {
      status: 422,
      code: 'VALUE_INVALID',
      body: { details: { s: said, i: said, u: said, d: said, b: said, f: said } },
    },
  },
  {
    name: 'json nested too deeply is refused with 422',
    request: 'POST /api/typed:create',
    body: { j: deep(101) },
    expect: { status: 422, code: 'VALUE_INVALID', body: { details: { j: said } } },
  },
  {
    name: 'json at the maximum depth is accepted',
    request: 'POST /api/typed:create',
    body: { j: deep(100) },
    expect: { status: 200, events: ['typed.created'] },
  },
  {
    name: 'a child with a cascading relation is created',
    request: 'POST /api/typed:create',
    body: { s: 'c', selfId: 1 },
    expect: { status: 200, body: { data: { id: 3 } }, events: ['typed.created'] },
  },
  {
    name: 'destroying the parent deletes the child',
    request: 'POST /api/typed:destroy?filterByTk=1',
    expect: { status: 200, events: ['typed.destroyed', 'typed.destroyed'] },
  },
  {
    name: 'the child no longer exists',
    request: 'GET /api/typed:get?filterByTk=3',
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'ids are not reused',
    request: 'POST /api/typed:create',
    body: {},
    expect: { status: 200, body: { data: { id: 4 } }, events: ['typed.created'] },
  },
  {
    name: 'a field with a default is added',
    request: 'POST /api/fields:create',
    body: { collectionName: 'typed', name: 'extra', type: 'string', required: true, defaultValue: 'x', index: true },
    expect: { status: 200, body: { data: { name: 'extra', type: 'string' } }, events: ['fields.created'] },
  },
  {
    name: 'existing records have the default of the added field',
    request: 'GET /api/typed:list?fields=id,extra',
    expect: {
      status: 200,
      body: {
        data: [
          { id: 2, extra: 'x' },
          { id: 4, extra: 'x' },
        ],
      },
    },
  },
  {
    name: 'a required field without a default on existing records is refused with 422',
    request: 'POST /api/fields:create',
    body: { collectionName: 'typed', name: 'more', type: 'string', required: true },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: invalid({ defaultValue: said }) },
  },
  {
    name: 'a unique field with a default on several records is refused with 409',
    request: 'POST /api/fields:create',
    body: { collectionName: 'typed', name: 'more', type: 'string', unique: true, defaultValue: 'same' },
    expect: { status: 409, code: 'UNIQUE_CONFLICT' },
  },
  {
    name: 'an existing field name is refused with 409',
    request: 'POST /api/fields:create',
    body: { collectionName: 'typed', name: 'extra', type: 'string' },
    expect: { status: 409, code: 'FIELD_EXISTS' },
  },
  {
    name: 'a record under an index over several fields is created',
    request: 'POST /api/typed:create',
    body: { i: 7, f: 2 },
    expect: { status: 200, events: ['typed.created'] },
  },
  {
    name: 'a unique index over several fields is checked',
    request: 'POST /api/typed:create',
    body: { s: 'a', i: 7, f: 2 },
    expect: { status: 409, code: 'UNIQUE_CONFLICT', body: { details: { i: said, f: said } } },
  },
  {
    name: 'a field of an unknown collection is refused with 404',
    request: 'POST /api/fields:create',
    body: { collectionName: 'nothing', name: 'a', type: 'string' },
    expect: { status: 404, code: 'COLLECTION_UNKNOWN' },
  },
  {
    name: 'a system collection accepts a custom field',
    request: 'POST /api/fields:create',
    body: { collectionName: 'users', name: 'team', type: 'string' },
    expect: { status: 200, events: ['fields.created'] },
  },
  {
    name: 'a custom field of a system collection is written and read',
    request: 'POST /api/users:update?filterByTk=1',
    body: { team: 'blue' },
    expect: { status: 200, body: { data: { id: 1, team: 'blue' } }, events: ['users.updated'] },
  },
  {
    name: 'a relation with onDelete restrict is created',
    request: create,
    body: { name: 'guards', fields: [{ name: 'typed', type: 'belongsTo', target: 'typed', onDelete: 'restrict' }] },
    expect: { status: 200, events: ['collections.created'] },
  },
  {
    name: 'a record that refers to its target is created',
    request: 'POST /api/guards:create',
    body: { typedId: 2 },
    expect: { status: 200, events: ['guards.created'] },
  },
  {
    name: 'a restricted target cannot be destroyed and is refused with 409',
    request: 'POST /api/typed:destroy?filterByTk=2',
    expect: { status: 409, code: 'DEPENDANTS_EXIST' },
  },
  {
    name: 'a collection that others refer to is refused with 409, which names them',
    request: 'POST /api/collections:destroy?filterByTk=typed',
    expect: { status: 409, code: 'DEPENDANTS_EXIST', body: { message: expect.stringContaining('guards.typed') } },
  },
  {
    name: 'destroy with cascade also removes the relation and its foreign key',
    request: 'POST /api/collections:destroy?filterByTk=typed&cascade=true',
    expect: {
      status: 200,
      body: { data: 1 },
      events: ['fields.destroyed', 'fields.destroyed', 'collections.destroyed'],
    },
  },
  {
    name: 'the other collection keeps its records',
    request: 'GET /api/guards:list',
    expect: { status: 200, body: { data: [{ id: 1 }] }, absent: ['typedId'] },
  },
  {
    name: 'the other collection accepts new records',
    request: 'POST /api/guards:create',
    body: {},
    expect: { status: 200, body: { data: { id: 2 } }, events: ['guards.created'] },
  },
  {
    name: 'the destroyed collection no longer exists',
    request: 'GET /api/typed:list',
    expect: { status: 404, code: 'COLLECTION_UNKNOWN' },
  },
  {
    name: 'a destroyed collection is created again without records',
    request: create,
    body: { name: 'typed' },
    expect: { status: 200, events: ['collections.created'] },
  },
  {
    name: 'collections:get with an unknown name is refused and names it',
    request: 'GET /api/collections:get?filterByTk=nothing',
    expect: { status: 404, code: 'COLLECTION_UNKNOWN' },
  },
];

describeEngines('definitions', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario));

  test('twenty parallel creates of one name create one collection', async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => server.call(create, { body: { name: 'single' } })),
    );
    expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1);
    expect(
      replies.filter((reply) => reply.status !== 200).every((reply) => reply.status === 409 || reply.status === 503),
    ).toBe(true);
  });

  test('definitions survive a restart', async () => {
    const before = await server.readSnapshot();
    await server.running.stop();
    await server.boot();
    expect(await server.readSnapshot()).toBe(before);
  });
});
