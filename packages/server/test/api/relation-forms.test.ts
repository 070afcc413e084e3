import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const define = 'POST /api/collections:create';
const addField = 'POST /api/fields:create';
const changeField = 'POST /api/fields:update';
const said = expect.any(String);
const made = ['collections.created'];
const invalid = (details: object): Scenario['expect'] => ({
  status: 422,
  code: 'DEFINITION_INVALID',
  body: { details },
});
const conflict = (
  message: string,
  code: 'UNIQUE_CONFLICT' | 'DEPENDANTS_EXIST' = 'UNIQUE_CONFLICT',
): Scenario['expect'] => ({
  status: 409,
  code,
  body: { message: expect.stringContaining(message) },
});

/** `people` has two records. `badges` has three, and two of them refer to the first person. */
const scenarios: readonly Scenario[] = [
  {
    name: 'a required relation has onDelete restrict by default',
    request: define,
    body: { name: 'orders', fields: [{ name: 'buyer', type: 'belongsTo', target: 'people', required: true }] },
    expect: { status: 200, events: made },
  },
  {
    name: 'a relation over an existing required key has onDelete restrict by default',
    request: define,
    body: {
      name: 'bills',
      fields: [
        { name: 'payerId', type: 'integer', required: true },
        { name: 'payer', type: 'belongsTo', target: 'people' },
        { name: 'heirId', type: 'integer', allowNull: false },
        { name: 'heir', type: 'belongsTo', target: 'people' },
      ],
    },
    expect: { status: 200, events: made },
  },
  {
    name: 'setNull with a required key is refused with 422',
    request: define,
    body: {
      name: 'x',
      fields: [{ name: 'buyer', type: 'belongsTo', target: 'people', required: true, onDelete: 'setNull' }],
    },
    expect: invalid({
      'fields[0].onDelete': '"buyerId" cannot be null, so "onDelete" must be "cascade" or "restrict".',
    }),
  },
  {
    name: 'a bill that refers to two people is created',
    request: 'POST /api/bills:create',
    body: { payerId: 1, heirId: 2 },
    expect: { status: 200, events: ['bills.created'] },
  },
  {
    name: 'a person whom a required key refers to cannot be destroyed',
    request: 'POST /api/people:destroy?filterByTk=1',
    expect: { status: 409, code: 'DEPENDANTS_EXIST' },
  },
  {
    name: 'a person whom a non-null key refers to cannot be destroyed',
    request: 'POST /api/people:destroy?filterByTk=2',
    expect: { status: 409, code: 'DEPENDANTS_EXIST' },
  },
  {
    name: 'making a key required also changes its onDelete to restrict',
    request: changeField,
    body: { collectionName: 'notes', name: 'ownerId', required: true },
    expect: { status: 200, body: { data: { required: true } }, events: ['fields.updated'] },
  },
  {
    name: 'a person whom the newly required key refers to cannot be destroyed',
    request: 'POST /api/people:destroy?filterByTk=3',
    expect: { status: 409, code: 'DEPENDANTS_EXIST' },
  },
  {
    name: 'making the key optional changes its onDelete back',
    request: changeField,
    body: { collectionName: 'notes', name: 'ownerId', required: false },
    expect: { status: 200, events: ['fields.updated'] },
  },
  {
    name: 'making a relation required also makes its key required',
    request: changeField,
    body: { collectionName: 'notes', name: 'owner', required: true },
    expect: { status: 200, body: { data: { required: true } }, events: ['fields.updated', 'fields.updated'] },
  },
  {
    name: 'a record without the required key is refused',
    request: 'POST /api/notes:create',
    body: {},
    expect: { status: 422, code: 'VALUE_INVALID', body: { details: { ownerId: 'This field is required.' } } },
  },
  {
    name: 'making the key optional also makes the relation optional',
    request: changeField,
    body: { collectionName: 'notes', name: 'ownerId', required: false },
    expect: { status: 200, events: ['fields.updated', 'fields.updated'] },
  },
  {
    name: 'the relation shows that it is optional',
    request: 'GET /api/collections/notes/fields:get?filterByTk=owner',
    expect: { status: 200, body: { data: { required: false, foreignKey: 'ownerId' } } },
  },
  {
    name: 'destroying the person sets the optional key to null',
    request: 'POST /api/people:destroy?filterByTk=3',
    expect: { status: 200, events: ['people.destroyed', 'notes.updated'] },
  },
  {
    name: 'making a key required is refused with 422 if a relation states setNull',
    request: changeField,
    body: { collectionName: 'badges', name: 'personId', required: true },
    expect: invalid({ required: expect.stringContaining('badges.person has "onDelete": "setNull"') }),
  },
  {
    name: 'relations accept common properties that have no effect',
    request: define,
    body: {
      name: 'cards',
      fields: [
        {
          name: 'holder',
          type: 'belongsTo',
          target: 'people',
          unique: true,
          defaultValue: null,
          allowNull: true,
          primaryKey: false,
          autoIncrement: false,
        },
        ...['hasMany', 'hasOne', 'belongsToMany'].map((type) => ({
          name: `by${type}`,
          type,
          target: 'people',
          ...(type !== 'belongsToMany' && { foreignKey: `${type}Key` }),
          required: false,
          unique: false,
          index: true,
          defaultValue: null,
          allowNull: true,
          primaryKey: false,
          autoIncrement: false,
        })),
      ],
      options: { timestamps: false },
    },
    expect: { status: 200, events: ['collections.created', 'collections.created', 'fields.created', 'fields.created'] },
  },
  {
    name: 'a unique belongsTo accepts each target once',
    request: 'POST /api/cards:create',
    body: [{ holderId: 1 }, { holderId: 1 }],
    expect: { status: 409, code: 'UNIQUE_CONFLICT' },
  },
  {
    name: 'the relation is changed to not unique',
    request: changeField,
    body: { collectionName: 'cards', name: 'holder', unique: false },
    expect: { status: 200, body: { data: { foreignKey: 'holderId' } }, events: ['fields.updated', 'fields.updated'] },
  },
  {
    name: 'two records may refer to the same target after unique is removed',
    request: 'POST /api/cards:create',
    body: [{ holderId: 1 }, { holderId: 1 }],
    expect: { status: 200, events: ['cards.created', 'cards.created'] },
  },
  {
    name: 'the foreign key keeps an index',
    request: 'GET /api/collections/cards/fields:get?filterByTk=holderId',
    expect: { status: 200, body: { data: { index: true } }, absent: ['"unique":true'] },
  },
  {
    name: 'setting unique to false again changes nothing but the title',
    request: changeField,
    body: { collectionName: 'cards', name: 'holder', unique: false, title: 'Who holds it' },
    expect: { status: 200, events: ['fields.updated'] },
  },
  {
    name: 'setting unique to true is refused with 409 if values repeat',
    request: changeField,
    body: { collectionName: 'cards', name: 'holder', unique: true },
    expect: conflict('"holderId" cannot become unique: 1 of its values'),
  },
  {
    name: 'the records with the repeated value are destroyed',
    request: 'POST /api/cards:destroy?filter={"holderId":1}',
    expect: { status: 200, events: ['cards.destroyed', 'cards.destroyed'] },
  },
  {
    name: 'the relation becomes unique and required in one change',
    request: changeField,
    body: { collectionName: 'cards', name: 'holder', unique: true, required: true },
    expect: { status: 200, events: ['fields.updated', 'fields.updated'] },
  },
  {
    name: 'its key becomes unique and required too',
    request: 'GET /api/collections/cards/fields:get?filterByTk=holderId',
    expect: { status: 200, body: { data: { unique: true, required: true } } },
  },
  {
    name: 'a hasOne over the unique key is added',
    request: addField,
    body: { collectionName: 'people', name: 'card', type: 'hasOne', target: 'cards', foreignKey: 'holderId' },
    expect: { status: 200, events: ['fields.created'] },
  },
  {
    name: 'unique cannot be removed while a hasOne needs it, and is refused with 409',
    request: changeField,
    body: { collectionName: 'cards', name: 'holder', unique: false },
    expect: conflict('"holderId" of "cards" must stay unique, because people.card refers to it', 'DEPENDANTS_EXIST'),
  },
  {
    name: 'the hasOne is destroyed',
    request: 'POST /api/fields:destroy',
    body: { collectionName: 'people', name: 'card' },
    expect: { status: 200, events: ['fields.destroyed'] },
  },
  {
    name: 'the relation becomes optional and not unique',
    request: changeField,
    body: { collectionName: 'cards', name: 'holder', unique: false, required: false },
    expect: { status: 200, events: ['fields.updated', 'fields.updated'] },
  },
  {
    name: 'fields:update accepts common properties that have no effect',
    request: changeField,
    body: { collectionName: 'cards', name: 'holder', allowNull: true, defaultValue: null, title: 'Holder' },
    expect: { status: 200, events: ['fields.updated'] },
  },
  {
    name: 'the properties that a relation shows can be sent back',
    request: changeField,
    body: { collectionName: 'cards', name: 'holder', foreignKey: 'holderId', targetKey: 'id', onDelete: 'setNull' },
    expect: { status: 200, events: ['fields.updated'] },
  },
  {
    name: 'other common properties are refused with 422 and the reason',
    request: define,
    body: {
      name: 'x',
      fields: [
        { name: 'a', type: 'belongsTo', target: 'people', defaultValue: 1, allowNull: false, autoIncrement: true },
        { name: 'b', type: 'hasMany', target: 'people', unique: true, required: true, primaryKey: true },
      ],
    },
    expect: invalid({
      'fields[0].defaultValue': said,
      'fields[0].allowNull': said,
      'fields[0].autoIncrement': said,
      'fields[1].unique': said,
      'fields[1].required': said,
      'fields[1].primaryKey': said,
    }),
  },
  {
    name: 'a hasOne over a foreign key with repeated values is refused with 409 and their number',
    request: addField,
    body: { collectionName: 'people', name: 'badge', type: 'hasOne', target: 'badges', foreignKey: 'personId' },
    expect: conflict('"personId" cannot become unique: 1 of its values'),
  },
  {
    name: 'a unique belongsTo over a foreign key with repeated values is refused with 409',
    request: addField,
    body: {
      collectionName: 'badges',
      name: 'only',
      type: 'belongsTo',
      target: 'people',
      foreignKey: 'personId',
      unique: true,
    },
    expect: conflict('"personId" cannot become unique: 1 of its values'),
  },
  {
    name: 'a hasOne over a plain field with repeated values is refused with 409',
    request: addField,
    body: { collectionName: 'people', name: 'badge', type: 'hasOne', target: 'badges', foreignKey: 'plainId' },
    expect: conflict('"plainId" cannot become unique: 1 of its values'),
  },
  {
    name: 'the record with the repeated value is destroyed',
    request: 'POST /api/badges:destroy?filterByTk=2',
    expect: { status: 200, events: ['badges.destroyed'] },
  },
  {
    name: 'a hasOne makes its foreign key unique',
    request: addField,
    body: { collectionName: 'people', name: 'badge', type: 'hasOne', target: 'badges', foreignKey: 'personId' },
    expect: { status: 200, events: ['fields.updated', 'fields.created'] },
  },
  {
    name: 'a hasOne over a plain field makes it a unique foreign key',
    request: addField,
    body: { collectionName: 'people', name: 'plain', type: 'hasOne', target: 'badges', foreignKey: 'plainId' },
    expect: { status: 200, events: ['fields.updated', 'fields.created'] },
  },
  {
    name: 'both keys refuse a repeated value',
    request: 'POST /api/badges:create',
    body: { personId: 1, plainId: 1 },
    expect: { status: 409, code: 'UNIQUE_CONFLICT' },
  },
  {
    name: 'a join with values that refer to nothing is refused with 422',
    request: addField,
    body: { collectionName: 'people', name: 'teams', type: 'belongsToMany', target: 'teams', through: 'members' },
    expect: invalid({ foreignKey: expect.stringContaining('1 record of "members" cannot be linked by "teamsId"') }),
  },
  {
    name: 'a join with a key of another type is refused with 422',
    request: addField,
    body: {
      collectionName: 'people',
      name: 'teams',
      type: 'belongsToMany',
      target: 'teams',
      through: 'members',
      otherKey: 'role',
    },
    expect: invalid({
      foreignKey: expect.stringContaining(
        '"role" has the type "string", but the key that it refers to has the type "integer".',
      ),
    }),
  },
  {
    name: 'the join record that refers to nothing is destroyed',
    request: 'POST /api/members:destroy?filterByTk=2',
    expect: { status: 200, events: ['members.destroyed'] },
  },
  {
    name: 'an existing join with plain keys is used, and its fields become foreign keys',
    request: addField,
    body: { collectionName: 'people', name: 'teams', type: 'belongsToMany', target: 'teams', through: 'members' },
    expect: { status: 200, events: ['fields.updated', 'fields.updated', 'fields.created'] },
  },
  {
    name: 'the relation shows the existing links',
    request: 'GET /api/people:get?filterByTk=1&appends=teams',
    expect: { status: 200, body: { data: { teams: [{ id: 1 }] } } },
  },
  {
    name: 'the join records are deleted with their targets',
    request: 'POST /api/teams:destroy?filterByTk=1',
    expect: { status: 200, events: ['teams.destroyed', 'members.destroyed'] },
  },
];

describeEngines('forms of relations', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    const make = (action: string, body: unknown): Promise<unknown> => server.data(`POST /api/${action}`, { body });
    const plain = { options: { timestamps: false } };
    await make('collections:apply', [
      { name: 'people', ...plain },
      { name: 'teams', ...plain },
      {
        name: 'badges',
        ...plain,
        fields: [
          { name: 'person', type: 'belongsTo', target: 'people', onDelete: 'setNull' },
          { name: 'plainId', type: 'integer' },
        ],
      },
      { name: 'notes', ...plain, fields: [{ name: 'owner', type: 'belongsTo', target: 'people' }] },
      {
        name: 'members',
        ...plain,
        fields: [
          { name: 'peopleId', type: 'integer' },
          { name: 'teamsId', type: 'integer' },
          { name: 'role', type: 'string' },
        ],
      },
    ]);
    await make('people:create', [{}, {}, {}]);
    await make('teams:create', [{}]);
    await make('badges:create', [{ personId: 1, plainId: 1 }, { personId: 1, plainId: 1 }, { personId: 2 }]);
    await make('notes:create', { ownerId: 3 });
    await make('members:create', [
      { peopleId: 1, teamsId: 1 },
      { peopleId: 1, teamsId: 7 },
    ]);
  });
  afterAll(() => server.stop());

  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario).then(() => {}));

  test('definitions and data are the same after a restart', async () => {
    const before = await server.readSnapshot();
    await server.running.stop();
    await server.boot();
    expect(await server.readSnapshot()).toBe(before);
  });
});
