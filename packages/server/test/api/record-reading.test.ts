import { afterAll, beforeAll, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { manyAlbums } from '../support/music.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const missingRecord = { error: 'Not Found', code: 'RECORD_UNKNOWN' };

const scenarios: readonly Scenario[] = [
  {
    name: 'get by key',
    request: 'GET /api/albums:get?filterByTk=1',
    expect: { status: 200, body: { data: { id: 1, title: 'Let There Be Rock' } } },
  },
  {
    name: 'get with the key in the path',
    request: 'GET /api/albums:get/1',
    expect: { status: 200, body: { data: { id: 1 } } },
  },
  {
    name: 'get of the first match of a filter',
    request: 'GET /api/albums:get?filter={"title":"Jazz"}',
    expect: { status: 200, body: { data: { id: 2 } } },
  },
  {
    name: 'get of nothing is 404',
    request: 'GET /api/albums:get?filterByTk=999',
    expect: { status: 404, body: missingRecord },
  },
  {
    name: 'get without a target is 400',
    request: 'GET /api/albums:get',
    expect: { status: 400, body: { code: 'TARGET_MISSING' } },
  },
  {
    name: 'an empty filterByTk is 400',
    request: 'GET /api/albums:get?filterByTk=',
    expect: { status: 400, body: { code: 'PARAMETER_INVALID' } },
  },
  {
    name: 'a filterByTk of the wrong type is 400',
    request: 'GET /api/albums:get?filterByTk=one',
    expect: { status: 400, body: { code: 'PARAMETER_INVALID' } },
  },
  {
    name: 'list with appends two levels deep',
    request: 'GET /api/artists:list?appends=albums.artist&filter={"id":2}&fields=id,albums.title,albums.artist.name',
    expect: {
      status: 200,
      body: {
        data: [
          {
            id: 2,
            albums: [
              { title: 'Jazz', artist: { name: 'Queen' } },
              { title: 'Linked', artist: { name: 'Queen' } },
            ],
          },
        ],
      },
    },
  },
  {
    name: 'a missing to-one append is null',
    request: 'GET /api/albums:get?filter={"title":"One"}&appends=artist',
    expect: { status: 200, body: { data: { artist: null } } },
  },
  {
    name: 'a filter through a relation',
    request: 'GET /api/albums:list?filter={"artist.name":"Queen"}&sort=id&fields=id',
    expect: {
      status: 200,
      body: {
        data: [{ id: 2 }, { id: 6 }],
        meta: { count: 2, page: 1, pageSize: 20, totalPage: 1, hasNext: false, nextCursor: null },
      },
    },
  },
  {
    name: 'brackets mean the same as JSON',
    request: 'GET /api/albums:list?filter[artist][name]=Queen&fields[]=id&sort[]=id',
    expect: { status: 200, body: { data: [{ id: 2 }, { id: 6 }] } },
  },
  {
    name: 'bracket text is read by the type of the field',
    request: 'GET /api/albums:list?filter[id][$lte]=2&fields=id',
    expect: { status: 200, body: { data: [{ id: 1 }, { id: 2 }] } },
  },
  {
    name: '$or and $not',
    request: 'GET /api/albums:list?filter={"$or":[{"id":1},{"$not":{"id":{"$lt":101}}}]}&fields=id',
    expect: { status: 200, body: { data: [{ id: 1 }, { id: 101 }] } },
  },
  {
    name: '$ne keeps rows where the field is null',
    request: 'GET /api/albums:list?filter={"artistId":{"$ne":1}}&count=none&fields=id&pageSize=3',
    expect: { status: 200, body: { data: [{ id: 2 }, { id: 4 }, { id: 5 }], meta: { hasNext: true } } },
  },
  {
    name: '$in takes a list, empty too',
    request: 'GET /api/albums:list?filter={"id":{"$in":[]}}',
    expect: { status: 200, body: { data: [] } },
  },
  {
    name: '$includes is without case',
    request: 'GET /api/albums:list?filter={"title":{"$includes":"POWER"}}&fields=title',
    expect: { status: 200, body: { data: [{ title: 'Powerage' }] } },
  },
  {
    name: '$like is with case',
    request: 'GET /api/albums:list?filter={"title":{"$like":"power%25"}}',
    expect: { status: 200, body: { data: [] } },
  },
  {
    name: 'an unknown operator is 400',
    request: 'GET /api/albums:list?filter={"title":{"$regex":"x"}}',
    expect: { status: 400, body: { code: 'OPERATOR_UNKNOWN' } },
  },
  {
    name: 'a misfit operator is 400',
    request: 'GET /api/albums:list?filter={"id":{"$includes":"x"}}',
    expect: { status: 400, body: { code: 'OPERATOR_MISFIT' } },
  },
  {
    name: 'a value of the wrong type is 400',
    request: 'GET /api/albums:list?filter={"id":"x"}',
    expect: { status: 400, body: { code: 'FILTER_INVALID' } },
  },
  {
    name: 'an unknown field in a filter is 400',
    request: 'GET /api/albums:list?filter={"nope":1}',
    expect: { status: 400, body: { code: 'FIELD_UNKNOWN' } },
  },
  {
    name: 'an unknown parameter is 400',
    request: 'GET /api/albums:list?limit=5',
    expect: { status: 400, body: { code: 'PARAMETER_UNKNOWN' } },
  },
  {
    name: 'a page size over 1000 is 400',
    request: 'GET /api/albums:list?pageSize=1001',
    expect: { status: 400, body: { code: 'PARAMETER_INVALID' } },
  },
  {
    name: 'one parameter in two forms that differ is 400',
    request: 'GET /api/albums:list?page=1&page=2',
    expect: { status: 400, body: { code: 'PARAMETER_INVALID' } },
  },
  {
    name: 'sort by a json field is 400',
    request: 'GET /api/artists:list?sort=notes',
    expect: { status: 400, body: { code: 'SORT_INVALID' } },
  },
  {
    name: 'a foreign cursor is 400',
    request: 'GET /api/albums:list?after=bm9wZQ',
    expect: { status: 400, body: { code: 'CURSOR_INVALID' } },
  },
  {
    name: 'paginate=false answers all without meta',
    request: 'GET /api/albums:list?paginate=false&fields=id',
    expect: {
      status: 200,
      body: { data: [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }, { id: 5 }, { id: 6 }, { id: 100 }, { id: 101 }] },
    },
  },
  {
    name: 'a read action by POST takes its parameters from the body',
    request: 'POST /api/albums:list',
    body: { filter: { id: 1 }, fields: ['id'] },
    expect: { status: 200, body: { data: [{ id: 1 }] } },
  },
  {
    name: 'a collection that does not exist is 404',
    request: 'GET /api/nothing:list',
    expect: { status: 404, body: { error: 'Not Found', code: 'COLLECTION_UNKNOWN' } },
  },
  {
    name: 'an unknown action is 404',
    request: 'POST /api/albums:explode',
    expect: { status: 404, body: { code: 'ROUTE_UNKNOWN' } },
  },
  {
    name: 'an unknown route is 404 in the same shape',
    request: 'GET /api/albums',
    expect: { status: 404, body: { code: 'ROUTE_UNKNOWN' } },
  },
  {
    name: 'an unknown application is 404',
    request: 'GET /api/albums:list',
    headers: { 'x-app': 'nope' },
    expect: { status: 404, body: { code: 'APPLICATION_UNKNOWN' } },
  },
];

describeEngines('reading records', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await manyAlbums(engine);
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario));
});
