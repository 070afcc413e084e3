import { afterAll, beforeAll, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { startMusicServerWithAlbums } from '../support/music-server.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const missingRecord = { error: 'Not Found', code: 'RECORD_UNKNOWN' };

const scenarios: readonly Scenario[] = [
  {
    name: 'get by filterByTk returns the record',
    request: 'GET /api/albums:get?filterByTk=1',
    expect: { status: 200, body: { data: { id: 1, title: 'Let There Be Rock' } } },
  },
  {
    name: 'get with the key in the path returns the record',
    request: 'GET /api/albums:get/1',
    expect: { status: 200, body: { data: { id: 1 } } },
  },
  {
    name: 'get returns the first match of a filter',
    request: 'GET /api/albums:get?filter={"title":"Jazz"}',
    expect: { status: 200, body: { data: { id: 2 } } },
  },
  {
    name: 'get of a missing record is refused with 404',
    request: 'GET /api/albums:get?filterByTk=999',
    expect: { status: 404, code: 'RECORD_UNKNOWN', body: missingRecord },
  },
  {
    name: 'get without a target is refused with 400',
    request: 'GET /api/albums:get',
    expect: { status: 400, code: 'TARGET_MISSING' },
  },
  {
    name: 'an empty filterByTk is refused with 400',
    request: 'GET /api/albums:get?filterByTk=',
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'a filterByTk of the wrong type is refused with 400',
    request: 'GET /api/albums:get?filterByTk=one',
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'list appends relations two levels deep',
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
    name: 'a missing to-one relation is appended as null',
    request: 'GET /api/albums:get?filter={"title":"One"}&appends=artist',
    expect: { status: 200, body: { data: { artist: null } } },
  },
  {
    name: 'a filter through a relation is applied',
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
    name: 'bracket notation has the same meaning as JSON',
    request: 'GET /api/albums:list?filter[artist][name]=Queen&fields[]=id&sort[]=id',
    expect: { status: 200, body: { data: [{ id: 2 }, { id: 6 }] } },
  },
  {
    name: 'values in bracket notation are parsed by the type of the field',
    request: 'GET /api/albums:list?filter[id][$lte]=2&fields=id',
    expect: { status: 200, body: { data: [{ id: 1 }, { id: 2 }] } },
  },
  {
    name: '$or and $not are applied',
    request: 'GET /api/albums:list?filter={"$or":[{"id":1},{"$not":{"id":{"$lt":101}}}]}&fields=id',
    expect: { status: 200, body: { data: [{ id: 1 }, { id: 101 }] } },
  },
  {
    name: '$ne includes rows where the field is null',
    request: 'GET /api/albums:list?filter={"artistId":{"$ne":1}}&count=none&fields=id&pageSize=3',
    expect: { status: 200, body: { data: [{ id: 2 }, { id: 4 }, { id: 5 }], meta: { hasNext: true } } },
  },
  {
    name: '$in accepts a list, also an empty one',
    request: 'GET /api/albums:list?filter={"id":{"$in":[]}}',
    expect: { status: 200, body: { data: [] } },
  },
  {
    name: '$includes ignores case',
    request: 'GET /api/albums:list?filter={"title":{"$includes":"POWER"}}&fields=title',
    expect: { status: 200, body: { data: [{ title: 'Powerage' }] } },
  },
  {
    name: '$like respects case',
    request: 'GET /api/albums:list?filter={"title":{"$like":"power%25"}}',
    expect: { status: 200, body: { data: [] } },
  },
  {
    name: 'an unknown operator is refused with 400',
    request: 'GET /api/albums:list?filter={"title":{"$regex":"x"}}',
    expect: { status: 400, code: 'OPERATOR_UNKNOWN' },
  },
  {
    name: 'an operator that does not fit the type is refused with 400',
    request: 'GET /api/albums:list?filter={"id":{"$includes":"x"}}',
    expect: { status: 400, code: 'OPERATOR_MISFIT' },
  },
  {
    name: 'a value of the wrong type is refused with 400',
    request: 'GET /api/albums:list?filter={"id":"x"}',
    expect: { status: 400, code: 'FILTER_INVALID' },
  },
  {
    name: 'an unknown field in a filter is refused with 400',
    request: 'GET /api/albums:list?filter={"nope":1}',
    expect: { status: 400, code: 'FIELD_UNKNOWN' },
  },
  {
    name: 'an unknown parameter is refused with 400',
    request: 'GET /api/albums:list?limit=5',
    expect: { status: 400, code: 'PARAMETER_UNKNOWN' },
  },
  {
    name: 'a page size over 1000 is refused with 400',
    request: 'GET /api/albums:list?pageSize=1001',
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'a parameter in two forms with different values is refused with 400',
    request: 'GET /api/albums:list?page=1&page=2',
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'sorting by a json field is refused with 400',
    request: 'GET /api/artists:list?sort=notes',
    expect: { status: 400, code: 'SORT_INVALID' },
  },
  {
    name: 'a cursor of another request is refused with 400',
    request: 'GET /api/albums:list?after=bm9wZQ',
    expect: { status: 400, code: 'CURSOR_INVALID' },
  },
  {
    name: 'paginate=false returns all records without meta',
    request: 'GET /api/albums:list?paginate=false&fields=id',
    expect: {
      status: 200,
      body: { data: [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }, { id: 5 }, { id: 6 }, { id: 100 }, { id: 101 }] },
    },
  },
  {
    name: 'a read by POST takes its parameters from the body',
    request: 'POST /api/albums:list',
    body: { filter: { id: 1 }, fields: ['id'] },
    expect: { status: 200, body: { data: [{ id: 1 }] } },
  },
  {
    name: 'an unknown collection is refused with 404',
    request: 'GET /api/nothing:list',
    expect: { status: 404, code: 'COLLECTION_UNKNOWN', body: { error: 'Not Found', code: 'COLLECTION_UNKNOWN' } },
  },
  {
    name: 'an unknown action is refused with 404',
    request: 'POST /api/albums:explode',
    expect: { status: 404, code: 'ROUTE_UNKNOWN' },
  },
  {
    name: 'an unknown route is refused with 404 in the common form',
    request: 'GET /api/albums',
    expect: { status: 404, code: 'ROUTE_UNKNOWN' },
  },
  {
    name: 'an unknown application is refused with 404',
    request: 'GET /api/albums:list',
    headers: { 'x-app': 'nope' },
    expect: { status: 404, code: 'APPLICATION_UNKNOWN' },
  },
];

describeEngines('reading records', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startMusicServerWithAlbums(engine);
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario));
});
