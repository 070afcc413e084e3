import { afterAll, beforeAll, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { startLibraryServer } from '../support/library-server.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const scenarios: readonly Scenario[] = [
  {
    name: 'hasMany list returns the linked records',
    request: 'GET /api/authors/1/books:list?fields=id,title',
    expect: {
      status: 200,
      body: {
        data: [
          { id: 1, title: 'One' },
          { id: 2, title: 'Two' },
        ],
        meta: { count: 2 },
      },
    },
  },
  {
    name: 'hasMany list accepts filter, sort, appends and pages',
    request: 'GET /api/authors/1/books:list?filter={"title":{"$ne":"x"}}&sort=-title&pageSize=1&appends=author',
    expect: {
      status: 200,
      body: { data: [{ title: 'Two', author: { name: 'Ann' } }], meta: { count: 2, hasNext: true } },
    },
  },
  {
    name: 'hasMany list accepts POST',
    request: 'POST /api/authors/1/books:list',
    expect: { status: 200, body: { meta: { count: 2 } } },
  },
  {
    name: 'hasMany list of a record without links is empty',
    request: 'GET /api/authors/2/books:list',
    expect: { status: 200, body: { data: [], meta: { count: 0 } } },
  },
  {
    name: 'hasMany list with paginate=false returns all records',
    request: 'GET /api/authors/1/books:list?paginate=false&fields=id,title&sort=-title',
    expect: { status: 200, body: { data: [{ title: 'Two' }, { title: 'One' }] }, absent: ['meta'] },
  },
  {
    name: 'hasMany list with paginate=false and a missing parent is refused',
    request: 'GET /api/authors/99/books:list?paginate=false',
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'a list below a missing parent is refused with 404',
    request: 'GET /api/authors/99/books:list',
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'a list below a parent key of the wrong type is refused with 400',
    request: 'GET /api/authors/x/books:list',
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'a list of a field that is not a relation is refused with 404',
    request: 'GET /api/authors/1/name:list',
    expect: { status: 404, code: 'ROUTE_UNKNOWN' },
  },
  {
    name: 'a list below an unknown collection is refused with 404',
    request: 'GET /api/nothing/1/books:list',
    expect: { status: 404, code: 'COLLECTION_UNKNOWN' },
  },
  {
    name: 'an unknown action of a relation is refused with 404',
    request: 'POST /api/authors/1/books:paint',
    expect: { status: 404, code: 'ROUTE_UNKNOWN' },
  },
  {
    name: 'a write by GET is refused with 405',
    request: 'GET /api/authors/1/books:add?filterByTk=3',
    expect: { status: 405, code: 'METHOD_NOT_ALLOWED' },
  },
  {
    name: 'hasMany get returns one linked record',
    request: 'GET /api/authors/1/books:get?filterByTk=2',
    expect: { status: 200, body: { data: { title: 'Two' } } },
  },
  {
    name: 'hasMany get accepts the key in the path',
    request: 'GET /api/authors/1/books:get/2',
    expect: { status: 200 },
  },
  {
    name: 'get of a record that is not linked is refused with 404',
    request: 'GET /api/authors/1/books:get?filterByTk=3',
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'hasMany get without a target is refused with 400',
    request: 'GET /api/authors/1/books:get',
    expect: { status: 400, code: 'TARGET_MISSING' },
  },
  {
    name: 'belongsTo get returns the linked record',
    request: 'GET /api/books/1/author:get',
    expect: { status: 200, body: { data: { name: 'Ann' } } },
  },
  {
    name: 'belongsTo get without a linked record returns null',
    request: 'GET /api/books/3/author:get',
    expect: { status: 200, body: { data: null } },
  },
  {
    name: 'belongsTo get below a missing parent is refused with 404',
    request: 'GET /api/books/99/author:get',
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'a to-one relation has no list',
    request: 'GET /api/books/1/author:list',
    expect: { status: 404, code: 'ROUTE_UNKNOWN' },
  },
  {
    name: 'hasOne get returns the linked record',
    request: 'GET /api/authors/1/card:get',
    expect: { status: 200, body: { data: { no: 7 } } },
  },
  {
    name: 'hasOne get without a linked record returns null',
    request: 'GET /api/authors/2/card:get',
    expect: { status: 200, body: { data: null } },
  },
  {
    name: 'a relation without a credential is refused with 401',
    request: 'GET /api/authors/1/books:list',
    as: 'nobody',
    expect: { status: 401, code: 'TOKEN_MISSING' },
  },
];

describeEngines('reading relations', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startLibraryServer(engine);
  });
  afterAll(() => server.stop());

  for (const scenario of scenarios) test(scenario.name, async () => void (await server.play(scenario)));
});
