import { afterAll, beforeAll, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

/** Defects that a comparison of random reads with the oracle has found. */
const scenarios: readonly Scenario[] = [
  {
    name: 'a relation of a collection to itself may refer to a unique field',
    request: 'GET /api/people:get?filterByTk=2&appends=boss',
    expect: { status: 200, body: { data: { bossCode: 10, boss: { id: 1 } } } },
  },
  {
    name: 'a condition may contain a whole number that is out of range',
    request: 'GET /api/people:list?filter={"code":{"$lt":3000000000},"id":{"$ne":-9007199254740991}}',
    expect: { status: 200, body: { meta: { count: 3 } } },
  },
  {
    name: 'the latest possible time is in the last year',
    request: 'GET /api/people:list?filter={"seen":{"$dateOn":"9999"}}',
    expect: { status: 200, body: { data: [{ id: 2 }], meta: { count: 1 } } },
  },
  {
    name: 'the latest possible time is on itself and not after itself',
    request:
      'GET /api/people:list?filter={"seen":{"$dateOn":"9999-12-31T23:59:59.999Z","$dateNotAfter":"9999-12-31T23:59:59.999Z"}}',
    expect: { status: 200, body: { data: [{ id: 2 }], meta: { count: 1 } } },
  },
  {
    name: 'a date before the first year is counted to its first day',
    request: 'POST /api/people:query',
    headers: { 'x-timezone': 'America/New_York' },
    body: { dimensions: [{ field: 'seen', format: 'YYYY-MM-DD' }], filter: { id: 1 } },
    expect: { status: 200, body: { data: [{ seen: '0001-01-01' }] } },
  },
  {
    name: 'a date after the last year is counted to its last day',
    request: 'POST /api/people:query',
    headers: { 'x-timezone': 'Asia/Tokyo' },
    body: { dimensions: [{ field: 'seen', format: 'YYYY-MM-DD' }], filter: { id: 2 } },
    expect: { status: 200, body: { data: [{ seen: '9999-12-31' }] } },
  },
  {
    name: '$isFalsy includes null',
    request: 'GET /api/people:list?filter={"on":{"$isFalsy":true}}',
    expect: { status: 200, body: { data: [{ id: 1 }, { id: 3 }], meta: { count: 2 } } },
  },
  {
    name: 'a variable may stand for a whole list',
    request: 'GET /api/people:list?filter={"name":{"$in":"{{$user.tags}}"}}',
    expect: { status: 200, body: { data: [{ name: 'ann' }], meta: { count: 1 } } },
  },
  {
    name: 'a variable may stand next to elements of a list',
    request: 'GET /api/people:list?filter={"tags":{"$anyOf":"{{$user.tags}}"}}',
    expect: { status: 200, body: { data: [{ id: 3 }], meta: { count: 1 } } },
  },
  {
    name: 'other text instead of a list is refused with 400',
    request: 'GET /api/people:list?filter={"name":{"$in":"{{tags}}"}}',
    expect: { status: 400, code: 'FILTER_INVALID' },
  },
  {
    name: 'a list variable equals no single value',
    request: 'GET /api/people:list?filter={"name":"{{$user.tags}}"}',
    expect: { status: 200, body: { meta: { count: 0 } } },
  },
  {
    name: 'a variable of another type equals no value',
    request: 'GET /api/people:list?filter={"code":{"$gt":"{{$user.email}}"}}',
    expect: { status: 200, body: { meta: { count: 0 } } },
  },
  {
    name: 'a date variable equals no number',
    request: 'GET /api/people:list?filter={"code":{"$gte":"{{$date.today}}"}}',
    expect: { status: 200, body: { meta: { count: 0 } } },
  },
  {
    name: 'a missing text is included in nothing, and $notIncludes admits everything',
    request:
      'GET /api/people:list?filter={"name":{"$notStartsWith":"{{$user.missing}}","$notIncludes":"{{$user.missing}}"}}',
    expect: { status: 200, body: { meta: { count: 3 } } },
  },
  {
    name: 'a permission with a variable of another type admits nothing, also under a negation',
    request: 'GET /api/people:list',
    as: 'misfit',
    expect: { status: 200, body: { data: [], meta: { count: 0 } } },
  },
  {
    name: 'a permission with a list variable shows what the list names',
    request: 'GET /api/people:list',
    as: 'listed',
    expect: { status: 200, body: { data: [{ name: 'ann' }], meta: { count: 1 } } },
  },
  {
    name: 'a permission with an empty list variable admits nothing, also under a negation',
    request: 'GET /api/people:list',
    as: 'empty',
    expect: { status: 200, body: { data: [], meta: { count: 0 } } },
  },
  {
    name: 'denying a relation also denies every other relation over its foreign key',
    request: 'GET /api/people:list?appends=chief',
    as: 'bossless',
    expect: { status: 403, code: 'FIELD_DENIED' },
  },
  {
    name: 'a denied relation in "appends" is refused with 403, whatever "except" contains',
    request: 'GET /api/people:list?appends=boss&except=boss',
    as: 'bossless',
    expect: { status: 403, code: 'FIELD_DENIED' },
  },
  {
    name: 'a denied relation in "except" is ignored',
    request: 'GET /api/people:list?except=boss,chief',
    as: 'bossless',
    expect: { status: 200, body: { meta: { count: 3 } }, absent: ['bossCode'] },
  },
  {
    name: 'an empty condition does not name its field, even a denied one',
    request: 'GET /api/people:list?filter={"bossCode":{"$or":[]},"boss":{}}',
    as: 'bossless',
    expect: { status: 200, body: { meta: { count: 3 } } },
  },
  {
    name: 'denying the key by which a join refers to records does not deny the relation',
    request: 'GET /api/people:get?filterByTk=1&appends=friends',
    as: 'codeless',
    expect: { status: 200, body: { data: { friends: [{ id: 2 }] } }, absent: ['"code"'] },
  },
];

const permissions = {
  misfit: { filter: { code: { $ne: '{{$user.email}}' } } },
  listed: { filter: { name: { $in: '{{$user.tags}}' } } },
  empty: { filter: { name: { $notIn: '{{$user.none}}' } } },
  bossless: { exceptFields: ['boss'] },
  codeless: { exceptFields: ['code'] },
};

describeEngines('regressions found by random reads', (engine) => {
  let server: TestServer;

  beforeAll(async () => {
    server = await TestServer.start(engine);
    const post = (path: string, body: unknown): Promise<unknown> => server.data(`POST /api/${path}`, { body });
    for (const name of ['tags', 'none']) await post('fields:create', { collectionName: 'users', name, type: 'array' });
    await post('users:update?filterByTk=1', { tags: ['ann', 'x'], none: [] });
    const byCode = { target: 'people', foreignKey: 'bossCode', targetKey: 'code' };
    const friends = { foreignKey: 'one', otherKey: 'other', sourceKey: 'code', targetKey: 'code' };
    await post('collections:create', {
      name: 'people',
      fields: [
        { name: 'name', type: 'string' },
        { name: 'code', type: 'integer', unique: true },
        { name: 'seen', type: 'datetime' },
        { name: 'tags', type: 'array' },
        { name: 'on', type: 'boolean' },
        { name: 'boss', type: 'belongsTo', ...byCode },
        { name: 'chief', type: 'belongsTo', ...byCode },
        { name: 'friends', type: 'belongsToMany', target: 'people', through: 'friendships', ...friends },
      ],
      options: { timestamps: false, paranoid: true },
    });
    await post('people:create', [
      { name: 'ann', code: 10, seen: '0001-01-01T00:00:00.000Z' },
      { name: 'bob', code: 20, on: true, seen: '9999-12-31T23:59:59.999Z' },
      { name: 'cas', code: 30, tags: ['x'] },
    ]);
    await post('people:update?filterByTk=2', { bossCode: 10 });
    await post('people/1/friends:add', [2]);
    for (const [role, permission] of Object.entries(permissions)) {
      await post('roles:create', { name: role });
      await post('permissions:create', { role, resource: 'people', actions: 'view', ...permission });
      await server.createKey(role);
    }
  });
  afterAll(() => server.stop());

  for (const scenario of scenarios)
    test(scenario.name, async () => {
      await server.play(scenario);
    });
});
