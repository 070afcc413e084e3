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
  body: { code: 'DEFINITION_INVALID', details },
});
const conflict = (message: string): Scenario['expect'] => ({
  status: 409,
  body: { message: expect.stringContaining(message) },
});

/** `people` has two records, `badges` three that name the first person twice. */
const scenarios: readonly Scenario[] = [
  {
    name: 'a required relation restricts unless it says otherwise',
    request: define,
    body: { name: 'orders', fields: [{ name: 'buyer', type: 'belongsTo', target: 'people', required: true }] },
    expect: { status: 200, events: made },
  },
  {
    name: 'so does one over an explicit required key',
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
    name: 'what says setNull of a required key is 422',
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
    name: 'a bill of two people',
    request: 'POST /api/bills:create',
    body: { payerId: 1, heirId: 2 },
    expect: { status: 200, events: ['bills.created'] },
  },
  {
    name: 'holds the one by whom it is required',
    request: 'POST /api/people:destroy?filterByTk=1',
    expect: { status: 409, body: { code: 'DEPENDANTS_EXIST' } },
  },
  {
    name: 'and the one who may not be null',
    request: 'POST /api/people:destroy?filterByTk=2',
    expect: { status: 409, body: { code: 'DEPENDANTS_EXIST' } },
  },
  {
    name: 'a key that becomes required restricts from then on',
    request: changeField,
    body: { collectionName: 'notes', name: 'ownerId', required: true },
    expect: { status: 200, body: { data: { required: true } }, events: ['fields.updated'] },
  },
  {
    name: 'as here',
    request: 'POST /api/people:destroy?filterByTk=3',
    expect: { status: 409, body: { code: 'DEPENDANTS_EXIST' } },
  },
  {
    name: 'and is set to null again once it is optional',
    request: changeField,
    body: { collectionName: 'notes', name: 'ownerId', required: false },
    expect: { status: 200, events: ['fields.updated'] },
  },
  {
    name: 'the relation and its key are required together',
    request: changeField,
    body: { collectionName: 'notes', name: 'owner', required: true },
    expect: { status: 200, body: { data: { required: true } }, events: ['fields.updated', 'fields.updated'] },
  },
  {
    name: 'so a record needs one',
    request: 'POST /api/notes:create',
    body: {},
    expect: { status: 422, body: { details: { ownerId: 'This field is required.' } } },
  },
  {
    name: 'and optional together',
    request: changeField,
    body: { collectionName: 'notes', name: 'ownerId', required: false },
    expect: { status: 200, events: ['fields.updated', 'fields.updated'] },
  },
  {
    name: 'as the relation says',
    request: 'GET /api/collections/notes/fields:get?filterByTk=owner',
    expect: { status: 200, body: { data: { required: false, foreignKey: 'ownerId' } } },
  },
  {
    name: 'as here, too',
    request: 'POST /api/people:destroy?filterByTk=3',
    expect: { status: 200, events: ['people.destroyed', 'notes.updated'] },
  },
  {
    name: 'unless a relation states setNull: 422',
    request: changeField,
    body: { collectionName: 'badges', name: 'personId', required: true },
    expect: invalid({ required: expect.stringContaining('badges.person has "onDelete": "setNull"') }),
  },
  {
    name: 'relations take the common properties that change nothing',
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
    name: 'a unique belongsTo is one to one',
    request: 'POST /api/cards:create',
    body: [{ holderId: 1 }, { holderId: 1 }],
    expect: { status: 409, body: { code: 'UNIQUE_CONFLICT' } },
  },
  {
    name: 'until the relation is not unique any more',
    request: changeField,
    body: { collectionName: 'cards', name: 'holder', unique: false },
    expect: { status: 200, body: { data: { foreignKey: 'holderId' } }, events: ['fields.updated', 'fields.updated'] },
  },
  {
    name: 'then a second record may name the same one',
    request: 'POST /api/cards:create',
    body: [{ holderId: 1 }, { holderId: 1 }],
    expect: { status: 200, events: ['cards.created', 'cards.created'] },
  },
  {
    name: 'the key keeps an index',
    request: 'GET /api/collections/cards/fields:get?filterByTk=holderId',
    expect: { status: 200, body: { data: { index: true } }, absent: ['"unique":true'] },
  },
  {
    name: 'unique: false again changes nothing of it',
    request: changeField,
    body: { collectionName: 'cards', name: 'holder', unique: false, title: 'Who holds it' },
    expect: { status: 200, events: ['fields.updated'] },
  },
  {
    name: 'unique again is 409 where values repeat',
    request: changeField,
    body: { collectionName: 'cards', name: 'holder', unique: true },
    expect: conflict('"holderId" cannot become unique: 1 of its values'),
  },
  {
    name: 'without the second',
    request: 'POST /api/cards:destroy?filter={"holderId":1}',
    expect: { status: 200, events: ['cards.destroyed', 'cards.destroyed'] },
  },
  {
    name: 'it becomes unique, and required in the same change',
    request: changeField,
    body: { collectionName: 'cards', name: 'holder', unique: true, required: true },
    expect: { status: 200, events: ['fields.updated', 'fields.updated'] },
  },
  {
    name: 'and its key with it',
    request: 'GET /api/collections/cards/fields:get?filterByTk=holderId',
    expect: { status: 200, body: { data: { unique: true, required: true } } },
  },
  {
    name: 'a hasOne over it',
    request: addField,
    body: { collectionName: 'people', name: 'card', type: 'hasOne', target: 'cards', foreignKey: 'holderId' },
    expect: { status: 200, events: ['fields.created'] },
  },
  {
    name: 'needs it unique: 409',
    request: changeField,
    body: { collectionName: 'cards', name: 'holder', unique: false },
    expect: conflict('"holderId" of "cards" must stay unique, because people.card refers to it'),
  },
  {
    name: 'without the hasOne',
    request: 'POST /api/fields:destroy',
    body: { collectionName: 'people', name: 'card' },
    expect: { status: 200, events: ['fields.destroyed'] },
  },
  {
    name: 'it is neither any more',
    request: changeField,
    body: { collectionName: 'cards', name: 'holder', unique: false, required: false },
    expect: { status: 200, events: ['fields.updated', 'fields.updated'] },
  },
  {
    name: 'they say nothing in fields:update either',
    request: changeField,
    body: { collectionName: 'cards', name: 'holder', allowNull: true, defaultValue: null, title: 'Holder' },
    expect: { status: 200, events: ['fields.updated'] },
  },
  {
    name: 'what a relation shows of itself can be sent back',
    request: changeField,
    body: { collectionName: 'cards', name: 'holder', foreignKey: 'holderId', targetKey: 'id', onDelete: 'setNull' },
    expect: { status: 200, events: ['fields.updated'] },
  },
  {
    name: 'other common properties are 422 with the reason',
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
    name: 'a hasOne over a foreign key with repeated values is 409 with how many',
    request: addField,
    body: { collectionName: 'people', name: 'badge', type: 'hasOne', target: 'badges', foreignKey: 'personId' },
    expect: conflict('"personId" cannot become unique: 1 of its values'),
  },
  {
    name: 'a unique belongsTo over it likewise',
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
    name: 'a plain field with repeated values likewise',
    request: addField,
    body: { collectionName: 'people', name: 'badge', type: 'hasOne', target: 'badges', foreignKey: 'plainId' },
    expect: conflict('"plainId" cannot become unique: 1 of its values'),
  },
  {
    name: 'without them',
    request: 'POST /api/badges:destroy?filterByTk=2',
    expect: { status: 200, events: ['badges.destroyed'] },
  },
  {
    name: 'the foreign key becomes unique',
    request: addField,
    body: { collectionName: 'people', name: 'badge', type: 'hasOne', target: 'badges', foreignKey: 'personId' },
    expect: { status: 200, events: ['fields.updated', 'fields.created'] },
  },
  {
    name: 'and the plain field, as the key of a hasOne',
    request: addField,
    body: { collectionName: 'people', name: 'plain', type: 'hasOne', target: 'badges', foreignKey: 'plainId' },
    expect: { status: 200, events: ['fields.updated', 'fields.created'] },
  },
  {
    name: 'which holds for both',
    request: 'POST /api/badges:create',
    body: { personId: 1, plainId: 1 },
    expect: { status: 409, body: { code: 'UNIQUE_CONFLICT' } },
  },
  {
    name: 'through with values that name nothing is 422',
    request: addField,
    body: { collectionName: 'people', name: 'teams', type: 'belongsToMany', target: 'teams', through: 'members' },
    expect: invalid({ foreignKey: expect.stringContaining('1 record of "members" cannot be linked by "teamsId"') }),
  },
  {
    name: 'and with a key of another type',
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
    name: 'without them',
    request: 'POST /api/members:destroy?filterByTk=2',
    expect: { status: 200, events: ['members.destroyed'] },
  },
  {
    name: 'through adopts the plain keys of a join that exists',
    request: addField,
    body: { collectionName: 'people', name: 'teams', type: 'belongsToMany', target: 'teams', through: 'members' },
    expect: { status: 200, events: ['fields.updated', 'fields.updated', 'fields.created'] },
  },
  {
    name: 'with its records',
    request: 'GET /api/people:get?filterByTk=1&appends=teams',
    expect: { status: 200, body: { data: { teams: [{ id: 1 }] } } },
  },
  {
    name: 'which fall with their ends',
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
    const before = await server.picture();
    await server.running.stop();
    await server.boot();
    expect(await server.picture()).toBe(before);
  });
});
