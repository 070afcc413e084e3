import { afterAll, beforeAll, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { library } from '../support/library.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const scenarios: readonly Scenario[] = [
  {
    name: 'hasMany list',
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
    name: 'with filter, sort, appends and pages',
    request: 'GET /api/authors/1/books:list?filter={"title":{"$ne":"x"}}&sort=-title&pageSize=1&appends=author',
    expect: {
      status: 200,
      body: { data: [{ title: 'Two', author: { name: 'Ann' } }], meta: { count: 2, hasNext: true } },
    },
  },
  { name: 'by POST', request: 'POST /api/authors/1/books:list', expect: { status: 200, body: { meta: { count: 2 } } } },
  {
    name: 'an empty one',
    request: 'GET /api/authors/2/books:list',
    expect: { status: 200, body: { data: [], meta: { count: 0 } } },
  },
  {
    name: 'all of them, without pages',
    request: 'GET /api/authors/1/books:list?paginate=false&fields=id,title&sort=-title',
    expect: { status: 200, body: { data: [{ title: 'Two' }, { title: 'One' }] }, absent: ['meta'] },
  },
  {
    name: 'without pages, of a missing parent',
    request: 'GET /api/authors/99/books:list?paginate=false',
    expect: { status: 404 },
  },
  { name: 'of a missing parent is 404', request: 'GET /api/authors/99/books:list', expect: { status: 404 } },
  { name: 'of a parent of the wrong type is 400', request: 'GET /api/authors/x/books:list', expect: { status: 400 } },
  { name: 'of no relation is 404', request: 'GET /api/authors/1/name:list', expect: { status: 404 } },
  { name: 'of an unknown collection is 404', request: 'GET /api/nothing/1/books:list', expect: { status: 404 } },
  { name: 'an unknown action is 404', request: 'POST /api/authors/1/books:paint', expect: { status: 404 } },
  { name: 'a write by GET is 405', request: 'GET /api/authors/1/books:add?filterByTk=3', expect: { status: 405 } },
  {
    name: 'get of one of them',
    request: 'GET /api/authors/1/books:get?filterByTk=2',
    expect: { status: 200, body: { data: { title: 'Two' } } },
  },
  { name: 'by the path', request: 'GET /api/authors/1/books:get/2', expect: { status: 200 } },
  {
    name: 'get of one that is not its own is 404',
    request: 'GET /api/authors/1/books:get?filterByTk=3',
    expect: { status: 404 },
  },
  { name: 'get without a target is 400', request: 'GET /api/authors/1/books:get', expect: { status: 400 } },
  {
    name: 'belongsTo get',
    request: 'GET /api/books/1/author:get',
    expect: { status: 200, body: { data: { name: 'Ann' } } },
  },
  {
    name: 'belongsTo get of nothing is null',
    request: 'GET /api/books/3/author:get',
    expect: { status: 200, body: { data: null } },
  },
  { name: 'of a missing parent 404', request: 'GET /api/books/99/author:get', expect: { status: 404 } },
  { name: 'a to-one has no list', request: 'GET /api/books/1/author:list', expect: { status: 404 } },
  { name: 'hasOne get', request: 'GET /api/authors/1/card:get', expect: { status: 200, body: { data: { no: 7 } } } },
  {
    name: 'hasOne get of nothing',
    request: 'GET /api/authors/2/card:get',
    expect: { status: 200, body: { data: null } },
  },
  { name: 'without a credential 401', request: 'GET /api/authors/1/books:list', as: 'nobody', expect: { status: 401 } },
];

describeEngines('reading relations', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await library(engine);
  });
  afterAll(() => server.stop());

  for (const scenario of scenarios) test(scenario.name, async () => void (await server.play(scenario)));
});
