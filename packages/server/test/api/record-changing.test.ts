import { afterAll, beforeAll, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { startMusicServerWithAlbums } from '../support/music-server.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const missingRecord = { error: 'Not Found', code: 'RECORD_UNKNOWN' };

const scenarios: readonly Scenario[] = [
  {
    name: 'update by key returns the record',
    request: 'POST /api/albums:update?filterByTk=1',
    body: { title: 'Highway to Hell' },
    expect: { status: 200, body: { data: { id: 1, title: 'Highway to Hell' } }, events: ['albums.updated'] },
  },
  {
    name: 'update accepts the unchanged key in the body',
    request: 'POST /api/albums:update?filterByTk=1',
    body: { id: 1, title: 'Let There Be Rock' },
    expect: { status: 200, events: ['albums.updated'] },
  },
  {
    name: 'update cannot change the key',
    request: 'POST /api/albums:update?filterByTk=1',
    body: { id: 2 },
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'update of a missing record is refused with 404',
    request: 'POST /api/albums:update?filterByTk=999',
    body: { title: 'x' },
    expect: { status: 404, code: 'RECORD_UNKNOWN', body: missingRecord },
  },
  {
    name: 'update without a target is refused with 400',
    request: 'POST /api/albums:update',
    body: { title: 'x' },
    expect: { status: 400, code: 'TARGET_MISSING' },
  },
  {
    name: 'update with an empty $and is refused with 400',
    request: 'POST /api/albums:update?filter={"$and":[]}',
    body: { title: 'x' },
    expect: { status: 400, code: 'TARGET_MISSING' },
  },
  {
    name: 'update by filter returns an array',
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
    name: 'update of several records of which one is missing changes none',
    request: 'POST /api/albums:update?filterByTk=[4,999]',
    body: { artistId: 2 },
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'a write action by GET is refused with 405',
    request: 'GET /api/albums:destroy?filterByTk=1',
    expect: { status: 405, code: 'METHOD_NOT_ALLOWED', body: { error: 'Method Not Allowed' } },
  },
  {
    name: 'update by a filter that matches nothing returns an empty array',
    request: 'POST /api/albums:update?filter={"title":"no such title"}',
    body: { title: 'x' },
    expect: { status: 200, body: { data: [] } },
  },
  {
    name: 'destroy by a filter that matches nothing returns 0',
    request: 'POST /api/albums:destroy?filter={"title":"no such title"}',
    expect: { status: 200, body: { data: 0 } },
  },
  {
    name: 'destroy returns the number of records',
    request: 'POST /api/albums:destroy?filterByTk=6',
    expect: { status: 200, body: { data: 1 }, events: ['albums.destroyed'] },
  },
  {
    name: 'destroy of a missing record is refused with 404',
    request: 'POST /api/albums:destroy?filterByTk=6',
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'destroy without a target is refused with 400',
    request: 'POST /api/albums:destroy',
    expect: { status: 400, code: 'TARGET_MISSING' },
  },
  {
    name: 'destroying the target of foreign keys sets them to null',
    request: 'POST /api/artists:destroy?filterByTk=2',
    expect: { status: 200, events: ['artists.destroyed', 'albums.updated'] },
  },
  {
    name: 'the children remain with a foreign key of null',
    request: 'GET /api/albums:get?filterByTk=2',
    expect: { status: 200, body: { data: { id: 2, artistId: null } } },
  },
];

describeEngines('changing records', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startMusicServerWithAlbums(engine);
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario));
});
