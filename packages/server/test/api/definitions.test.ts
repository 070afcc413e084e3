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
    name: 'a collection gets its key and timestamps',
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
    name: 'its endpoints are there with the reply',
    request: 'POST /api/plain:create',
    body: {},
    expect: { status: 200, body: { data: { id: 1 } }, events: ['plain.created'] },
  },
  {
    name: 'a name that exists is 409',
    request: create,
    body: { name: 'plain' },
    expect: { status: 409, body: { code: 'COLLECTION_EXISTS' } },
  },
  {
    name: 'names differ by case',
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
    name: 'and so do their records',
    request: 'POST /api/Plain:create',
    body: { code: 'a', Code: 'b' },
    expect: { status: 200, body: { data: { id: 1, code: 'a', Code: 'b' } }, events: ['Plain.created'] },
  },
  {
    name: 'a bad name is 422',
    request: create,
    body: { name: '1st' },
    expect: { status: 422, body: invalid({ name: said }) },
  },
  { name: 'a name with an underscore in front is 422', request: create, body: { name: '_x' }, expect: { status: 422 } },
  {
    name: 'a system resource is 422',
    request: create,
    body: { name: 'webhooks' },
    expect: { status: 422, body: invalid({ name: said }) },
  },
  {
    name: 'a reserved word is 422 in any case',
    request: create,
    body: { name: 'Select' },
    expect: { status: 422, body: invalid({ name: said }) },
  },
  {
    name: 'an injection in a name is 422',
    request: create,
    body: { name: 'x"; DROP TABLE users; --' },
    expect: { status: 422, body: invalid({ name: said }) },
  },
  {
    name: 'an unknown property is 422',
    request: create,
    body: { name: 'x', colour: 'red' },
    expect: { status: 422, body: invalid({ colour: said }) },
  },
  {
    name: 'an unknown field type is 422',
    request: create,
    body: { name: 'x', fields: [{ name: 'a', type: 'blob' }] },
    expect: { status: 422, body: invalid({ 'fields[0].type': said }) },
  },
  {
    name: 'an unknown field property is 422',
    request: create,
    body: { name: 'x', fields: [{ name: 'a', type: 'string', length: 5 }] },
    expect: { status: 422, body: invalid({ 'fields[0].length': said }) },
  },
  {
    name: 'a property of another type is 422',
    request: create,
    body: { name: 'x', fields: [{ name: 'a', type: 'boolean', maxLength: 5 }] },
    expect: { status: 422 },
  },
  {
    name: 'a field name twice is 422',
    request: create,
    body: {
      name: 'x',
      fields: [
        { name: 'a', type: 'string' },
        { name: 'a', type: 'text' },
      ],
    },
    expect: { status: 422, body: invalid({ fields: said }) },
  },
  {
    name: 'a default of the wrong type is 422',
    request: create,
    body: { name: 'x', fields: [{ name: 'a', type: 'integer', defaultValue: 'one' }] },
    expect: { status: 422, body: invalid({ 'fields[0].defaultValue': said }) },
  },
  {
    name: 'a pattern with look-around is 422',
    request: create,
    body: { name: 'x', fields: [{ name: 'a', type: 'string', pattern: '(?=a)' }] },
    expect: { status: 422, body: invalid({ 'fields[0].pattern': said }) },
  },
  {
    name: 'a relation to nothing is 422',
    request: create,
    body: { name: 'x', fields: [{ name: 'a', type: 'belongsTo', target: 'nothing' }] },
    expect: { status: 422, body: invalid({ 'fields[0].target': said }) },
  },
  {
    name: 'a relation to a key that is not unique is 422',
    request: create,
    body: { name: 'x', fields: [{ name: 'a', type: 'belongsTo', target: 'Plain', targetKey: 'code' }] },
    expect: { status: 422, body: invalid({ 'fields[0].targetKey': said }) },
  },
  {
    name: 'all problems come at once',
    request: create,
    body: {
      name: 'x',
      fields: [
        { name: '', type: 'string' },
        { name: 'b', type: 'nope' },
      ],
      options: { fast: true },
    },
    expect: { status: 422, body: invalid({ 'fields[0].name': said, 'fields[1].type': said, 'options.fast': said }) },
  },
  {
    name: 'every type of the slice',
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
    name: 'defaults, generated values and order of keys',
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
    name: 'limits of a field',
    request: 'POST /api/typed:create',
    body: { s: 'abcd', i: 11, u: 'x', d: '2026-02-30', b: 'yes', f: '1' },
    expect: { status: 422, body: { details: { s: said, i: said, u: said, d: said, b: said, f: said } } },
  },
  {
    name: 'json nested too deep is 422',
    request: 'POST /api/typed:create',
    body: { j: deep(101) },
    expect: { status: 422, body: { details: { j: said } } },
  },
  {
    name: 'json nested as deep as allowed',
    request: 'POST /api/typed:create',
    body: { j: deep(100) },
    expect: { status: 200, events: ['typed.created'] },
  },
  {
    name: 'a cascade goes with its parent',
    request: 'POST /api/typed:create',
    body: { s: 'c', selfId: 1 },
    expect: { status: 200, body: { data: { id: 3 } }, events: ['typed.created'] },
  },
  {
    name: 'destroying the parent',
    request: 'POST /api/typed:destroy?filterByTk=1',
    expect: { status: 200, events: ['typed.destroyed', 'typed.destroyed'] },
  },
  { name: 'took the child', request: 'GET /api/typed:get?filterByTk=3', expect: { status: 404 } },
  {
    name: 'ids are not reused',
    request: 'POST /api/typed:create',
    body: {},
    expect: { status: 200, body: { data: { id: 4 } }, events: ['typed.created'] },
  },
  {
    name: 'a field is added',
    request: 'POST /api/fields:create',
    body: { collectionName: 'typed', name: 'extra', type: 'string', required: true, defaultValue: 'x', index: true },
    expect: { status: 200, body: { data: { name: 'extra', type: 'string' } }, events: ['fields.created'] },
  },
  {
    name: 'with its default in the records that are there',
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
    name: 'a required field without default on records is 422',
    request: 'POST /api/fields:create',
    body: { collectionName: 'typed', name: 'more', type: 'string', required: true },
    expect: { status: 422, body: invalid({ defaultValue: said }) },
  },
  {
    name: 'a unique field with a default on records is 409',
    request: 'POST /api/fields:create',
    body: { collectionName: 'typed', name: 'more', type: 'string', unique: true, defaultValue: 'same' },
    expect: { status: 409 },
  },
  {
    name: 'a field that exists is 409',
    request: 'POST /api/fields:create',
    body: { collectionName: 'typed', name: 'extra', type: 'string' },
    expect: { status: 409, body: { code: 'FIELD_EXISTS' } },
  },
  {
    name: 'a record under an index over several fields',
    request: 'POST /api/typed:create',
    body: { i: 7, f: 2 },
    expect: { status: 200, events: ['typed.created'] },
  },
  {
    name: 'an index over several fields is unique',
    request: 'POST /api/typed:create',
    body: { s: 'a', i: 7, f: 2 },
    expect: { status: 409, body: { details: { i: said, f: said } } },
  },
  {
    name: 'a field of nothing is 404',
    request: 'POST /api/fields:create',
    body: { collectionName: 'nothing', name: 'a', type: 'string' },
    expect: { status: 404 },
  },
  {
    name: 'a system collection takes a custom field',
    request: 'POST /api/fields:create',
    body: { collectionName: 'users', name: 'team', type: 'string' },
    expect: { status: 200, events: ['fields.created'] },
  },
  {
    name: 'which is written and read',
    request: 'POST /api/users:update?filterByTk=1',
    body: { team: 'blue' },
    expect: { status: 200, body: { data: { id: 1, team: 'blue' } }, events: ['users.updated'] },
  },
  {
    name: 'a restricting relation',
    request: create,
    body: { name: 'guards', fields: [{ name: 'typed', type: 'belongsTo', target: 'typed', onDelete: 'restrict' }] },
    expect: { status: 200, events: ['collections.created'] },
  },
  {
    name: 'with a record',
    request: 'POST /api/guards:create',
    body: { typedId: 2 },
    expect: { status: 200, events: ['guards.created'] },
  },
  {
    name: 'holds its target: 409',
    request: 'POST /api/typed:destroy?filterByTk=2',
    expect: { status: 409, body: { code: 'DEPENDANTS_EXIST' } },
  },
  {
    name: 'a collection that others point to is 409 and names them',
    request: 'POST /api/collections:destroy?filterByTk=typed',
    expect: { status: 409, body: { message: expect.stringContaining('guards.typed') } },
  },
  {
    name: 'cascade takes relation and foreign key along',
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
    name: 'and goes on',
    request: 'POST /api/guards:create',
    body: {},
    expect: { status: 200, body: { data: { id: 2 } }, events: ['guards.created'] },
  },
  {
    name: 'the destroyed one is gone',
    request: 'GET /api/typed:list',
    expect: { status: 404, body: { code: 'COLLECTION_UNKNOWN' } },
  },
  {
    name: 'a destroyed collection is made again, empty',
    request: create,
    body: { name: 'typed' },
    expect: { status: 200, events: ['collections.created'] },
  },
  {
    name: 'collections:get names what is missing',
    request: 'GET /api/collections:get?filterByTk=nothing',
    expect: { status: 404 },
  },
];

describeEngines('definitions', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario));

  test('twenty parallel creations of one name make one', async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => server.call(create, { body: { name: 'single' } })),
    );
    expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1);
    expect(
      replies.filter((reply) => reply.status !== 200).every((reply) => reply.status === 409 || reply.status === 503),
    ).toBe(true);
  });

  test('definitions survive a restart', async () => {
    const before = await server.picture();
    await server.running.stop();
    await server.boot();
    expect(await server.picture()).toBe(before);
  });
});
