import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const missingRecord = { error: 'Not Found', code: 'RECORD_UNKNOWN' };

const scenarios: readonly Scenario[] = [
  {
    name: 'create answers the record',
    request: 'POST /api/albums:create',
    body: { title: 'Powerage', artistId: 1 },
    expect: { status: 200, body: { data: { id: 3, title: 'Powerage', artistId: 1 } }, events: ['albums.created'] },
  },
  {
    name: 'create of an array answers in its order',
    request: 'POST /api/albums:create',
    body: [{ title: 'One' }, { title: 'Two' }],
    expect: {
      status: 200,
      body: {
        data: [
          { id: 4, title: 'One' },
          { id: 5, title: 'Two' },
        ],
      },
      events: ['albums.created', 'albums.created'],
    },
  },
  {
    name: 'a to-one relation is linked by key',
    request: 'POST /api/albums:create',
    body: { title: 'Linked', artist: 2 },
    expect: { status: 200, body: { data: { id: 6, artistId: 2 } }, events: ['albums.created'] },
  },
  {
    name: 'an explicit id is kept',
    request: 'POST /api/albums:create',
    body: { id: 100, title: 'Far' },
    expect: { status: 200, body: { data: { id: 100 } }, events: ['albums.created'] },
  },
  {
    name: 'and later ids do not collide with it',
    request: 'POST /api/albums:create',
    body: { title: 'Farther' },
    expect: { status: 200, body: { data: { id: 101 } }, events: ['albums.created'] },
  },
  {
    name: 'nor do generated ids within one create',
    request: 'POST /api/artists:create',
    body: [{ id: 90, name: 'x' }, { name: 'y' }, { id: 92, name: 'z' }, { name: 'w' }],
    expect: {
      status: 200,
      body: { data: [{ id: 90 }, { id: 91 }, { id: 92 }, { id: 93 }] },
      events: ['artists.created', 'artists.created', 'artists.created', 'artists.created'],
    },
  },
  {
    name: 'and they are destroyed again',
    request: 'POST /api/artists:destroy?filterByTk=[90,91,92,93]',
    expect: {
      status: 200,
      events: ['artists.destroyed', 'artists.destroyed', 'artists.destroyed', 'artists.destroyed'],
    },
  },
  {
    name: 'an unknown field is 400',
    request: 'POST /api/albums:create',
    body: { titel: 'x' },
    expect: { status: 400, body: { error: 'Bad Request', code: 'FIELD_UNKNOWN' } },
  },
  {
    name: 'a foreign key to nothing is 400 and names the field',
    request: 'POST /api/albums:create',
    body: { title: 'x', artistId: 99 },
    expect: { status: 400, body: { code: 'REFERENCE_MISSING', details: { artistId: 'There is no such record.' } } },
  },
  {
    name: 'a duplicate of a unique field is 409',
    request: 'POST /api/albums:create',
    body: { title: 'Powerage' },
    expect: {
      status: 409,
      body: { error: 'Conflict', code: 'UNIQUE_CONFLICT', details: { title: 'This value is already taken.' } },
    },
  },
  {
    name: 'all problems come at once',
    request: 'POST /api/artists:create',
    body: { name: 5, rating: 'x', born: 'yesterday' },
    expect: {
      status: 422,
      body: {
        error: 'Validation Error',
        details: { name: 'Give text.', rating: 'Give a number.', born: expect.stringContaining('ISO 8601') },
      },
    },
  },
  {
    name: 'a required field is required',
    request: 'POST /api/artists:create',
    body: {},
    expect: { status: 422, body: { details: { name: 'This field is required.' } } },
  },
  {
    name: 'bulk problems are placed by index, and nothing is kept',
    request: 'POST /api/artists:create',
    body: [{ name: 'ok' }, { name: 7 }, {}],
    expect: { status: 422, body: { details: { '[1].name': 'Give text.', '[2].name': 'This field is required.' } } },
  },
  {
    name: 'bulk is all or nothing where a later row conflicts',
    request: 'POST /api/albums:create',
    body: [{ title: 'New one' }, { title: 'Powerage' }],
    expect: { status: 409 },
  },
  {
    name: 'more than 1000 records are 400',
    request: 'POST /api/artists:create',
    body: Array.from({ length: 1001 }, () => ({ name: 'x' })),
    expect: { status: 400, body: { code: 'LIMIT_EXCEEDED' } },
  },
  { name: 'U+0000 is 422', request: 'POST /api/artists:create', body: { name: 'a\u0000b' }, expect: { status: 422 } },
  {
    name: 'half a surrogate pair is 422',
    request: 'POST /api/artists:create',
    body: '{"name":"\\ud800"}',
    expect: { status: 422 },
  },
  {
    name: 'the key __proto__ is 400',
    request: 'POST /api/artists:create',
    body: '{"name":"x","__proto__":{"a":1}}',
    expect: { status: 400, body: { code: 'BODY_INVALID' } },
  },
  {
    name: 'broken JSON is 400',
    request: 'POST /api/artists:create',
    body: '{"name":',
    expect: { status: 400, body: { code: 'BODY_INVALID' } },
  },
  {
    name: 'another media type is 415',
    request: 'POST /api/artists:create',
    body: 'name=x',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    expect: { status: 415, body: { error: 'Unsupported Media Type' } },
  },
  {
    name: 'an integer beyond its range is 422',
    request: 'POST /api/artists:create',
    body: { name: 'x', rank: 2147483648 },
    expect: { status: 422, body: { details: { rank: expect.stringContaining('greatest') } } },
  },
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
    name: 'update by key answers the record',
    request: 'POST /api/albums:update?filterByTk=1',
    body: { title: 'Highway to Hell' },
    expect: { status: 200, body: { data: { id: 1, title: 'Highway to Hell' } }, events: ['albums.updated'] },
  },
  {
    name: 'update may carry its own key',
    request: 'POST /api/albums:update?filterByTk=1',
    body: { id: 1, title: 'Let There Be Rock' },
    expect: { status: 200, events: ['albums.updated'] },
  },
  {
    name: 'update cannot change the key',
    request: 'POST /api/albums:update?filterByTk=1',
    body: { id: 2 },
    expect: { status: 400 },
  },
  {
    name: 'update of nothing is 404',
    request: 'POST /api/albums:update?filterByTk=999',
    body: { title: 'x' },
    expect: { status: 404, body: missingRecord },
  },
  {
    name: 'update without a target is 400',
    request: 'POST /api/albums:update',
    body: { title: 'x' },
    expect: { status: 400, body: { code: 'TARGET_MISSING' } },
  },
  {
    name: 'update with an empty $and is 400',
    request: 'POST /api/albums:update?filter={"$and":[]}',
    body: { title: 'x' },
    expect: { status: 400, body: { code: 'TARGET_MISSING' } },
  },
  {
    name: 'update by filter answers the array',
    request: 'POST /api/albums:update?filter={"id":{"$in":[4,5]}}',
    body: { artistId: 1 },
    expect: {
      status: 200,
      body: {
        data: [
          { id: 4, artistId: 1 },
          { id: 5, artistId: 1 },
        ],
      },
      events: ['albums.updated', 'albums.updated'],
    },
  },
  {
    name: 'update of several of which one is missing changes none',
    request: 'POST /api/albums:update?filterByTk=[4,999]',
    body: { artistId: 2 },
    expect: { status: 404 },
  },
  {
    name: 'a read action by POST takes its parameters from the body',
    request: 'POST /api/albums:list',
    body: { filter: { id: 1 }, fields: ['id'] },
    expect: { status: 200, body: { data: [{ id: 1 }] } },
  },
  {
    name: 'a write action by GET is 405',
    request: 'GET /api/albums:destroy?filterByTk=1',
    expect: { status: 405, body: { error: 'Method Not Allowed' } },
  },
  {
    name: 'update by a filter that matches nothing answers an empty array',
    request: 'POST /api/albums:update?filter={"title":"no such title"}',
    body: { title: 'x' },
    expect: { status: 200, body: { data: [] } },
  },
  {
    name: 'destroy by a filter that matches nothing answers 0',
    request: 'POST /api/albums:destroy?filter={"title":"no such title"}',
    expect: { status: 200, body: { data: 0 } },
  },
  {
    name: 'destroy answers the number',
    request: 'POST /api/albums:destroy?filterByTk=6',
    expect: { status: 200, body: { data: 1 }, events: ['albums.destroyed'] },
  },
  { name: 'destroy of nothing is 404', request: 'POST /api/albums:destroy?filterByTk=6', expect: { status: 404 } },
  { name: 'destroy without a target is 400', request: 'POST /api/albums:destroy', expect: { status: 400 } },
  {
    name: 'destroying the target of foreign keys sets them null',
    request: 'POST /api/artists:destroy?filterByTk=2',
    expect: { status: 200, events: ['artists.destroyed'] },
  },
  {
    name: 'and the children are there without it',
    request: 'GET /api/albums:get?filterByTk=2',
    expect: { status: 200, body: { data: { id: 2, artistId: null } } },
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

describeEngines('records', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/collections:create', {
      body: {
        name: 'artists',
        fields: [
          { name: 'name', type: 'string', required: true, maxLength: 50 },
          { name: 'rating', type: 'float' },
          { name: 'rank', type: 'integer' },
          { name: 'born', type: 'datetime' },
          { name: 'notes', type: 'json' },
        ],
      },
    });
    await server.data('POST /api/collections:create', {
      body: {
        name: 'albums',
        fields: [
          { name: 'title', type: 'string', unique: true },
          { name: 'artist', type: 'belongsTo', target: 'artists' },
        ],
      },
    });
    await server.data('POST /api/fields:create', {
      body: { collectionName: 'artists', name: 'albums', type: 'hasMany', target: 'albums', foreignKey: 'artistId' },
    });
    await server.data('POST /api/artists:create', { body: [{ name: 'AC/DC' }, { name: 'Queen' }] });
    await server.data('POST /api/albums:create', {
      body: [
        { title: 'Let There Be Rock', artistId: 1 },
        { title: 'Jazz', artistId: 2 },
      ],
    });
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario));
});
