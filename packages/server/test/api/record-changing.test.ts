import { afterAll, beforeAll, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { manyAlbums } from '../support/music.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const missingRecord = { error: 'Not Found', code: 'RECORD_UNKNOWN' };

const scenarios: readonly Scenario[] = [
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
    expect: { status: 200, events: ['artists.destroyed', 'albums.updated'] },
  },
  {
    name: 'and the children are there without it',
    request: 'GET /api/albums:get?filterByTk=2',
    expect: { status: 200, body: { data: { id: 2, artistId: null } } },
  },
];

describeEngines('changing records', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await manyAlbums(engine);
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario));
});
