import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { startMusicServer } from '../support/music-server.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const scenarios: readonly Scenario[] = [
  {
    name: 'create returns the record',
    request: 'POST /api/albums:create',
    body: { title: 'Powerage', artistId: 1 },
    expect: { status: 200, body: { data: { id: 3, title: 'Powerage', artistId: 1 } }, events: ['albums.created'] },
  },
  {
    name: 'create of an array returns the records in the same order',
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
    name: 'an explicit id is stored',
    request: 'POST /api/albums:create',
    body: { id: 100, title: 'Far' },
    expect: { status: 200, body: { data: { id: 100 } }, events: ['albums.created'] },
  },
  {
    name: 'generated ids continue after an explicit id',
    request: 'POST /api/albums:create',
    body: { title: 'Farther' },
    expect: { status: 200, body: { data: { id: 101 } }, events: ['albums.created'] },
  },
  {
    name: 'generated ids do not collide with explicit ids within one create',
    request: 'POST /api/artists:create',
    body: [{ id: 90, name: 'x' }, { name: 'y' }, { id: 92, name: 'z' }, { name: 'w' }],
    expect: {
      status: 200,
      body: { data: [{ id: 90 }, { id: 91 }, { id: 92 }, { id: 93 }] },
      events: ['artists.created', 'artists.created', 'artists.created', 'artists.created'],
    },
  },
  {
    name: 'the records are destroyed again',
    request: 'POST /api/artists:destroy?filterByTk=[90,91,92,93]',
    expect: {
      status: 200,
      events: ['artists.destroyed', 'artists.destroyed', 'artists.destroyed', 'artists.destroyed'],
    },
  },
  {
    name: 'an unknown field is refused with 400',
    request: 'POST /api/albums:create',
    body: { titel: 'x' },
    expect: { status: 400, code: 'FIELD_UNKNOWN', body: { error: 'Bad Request', code: 'FIELD_UNKNOWN' } },
  },
  {
    name: 'a foreign key of a missing record is refused with 400 and names the field',
    request: 'POST /api/albums:create',
    body: { title: 'x', artistId: 99 },
    expect: { status: 400, code: 'REFERENCE_MISSING', body: { details: { artistId: 'This record does not exist.' } } },
  },
  {
    name: 'a duplicate of a unique value is refused with 409',
    request: 'POST /api/albums:create',
    body: { title: 'Powerage' },
    expect: {
      status: 409,
      code: 'UNIQUE_CONFLICT',
      body: { error: 'Conflict', code: 'UNIQUE_CONFLICT', details: { title: 'This value is already taken.' } },
    },
  },
  {
    name: 'all problems are reported together',
    request: 'POST /api/artists:create',
    body: { name: 5, rating: 'x', born: 'yesterday' },
    expect: {
      status: 422,
      code: 'VALUE_INVALID',
      body: {
        error: 'Validation Error',
        details: { name: 'Give text.', rating: 'Give a number.', born: expect.stringContaining('ISO 8601') },
      },
    },
  },
  {
    name: 'a missing required field is refused',
    request: 'POST /api/artists:create',
    body: {},
    expect: { status: 422, code: 'VALUE_INVALID', body: { details: { name: 'This field is required.' } } },
  },
  {
    name: 'problems of several records are reported by index, and nothing is stored',
    request: 'POST /api/artists:create',
    body: [{ name: 'ok' }, { name: 7 }, {}],
    expect: {
      status: 422,
      code: 'VALUE_INVALID',
      body: { details: { '[1].name': 'Give text.', '[2].name': 'This field is required.' } },
    },
  },
  {
    name: 'no record is stored if a later one conflicts',
    request: 'POST /api/albums:create',
    body: [{ title: 'New one' }, { title: 'Powerage' }],
    expect: { status: 409, code: 'UNIQUE_CONFLICT' },
  },
  {
    name: 'more than 1000 records are refused with 400',
    request: 'POST /api/artists:create',
    body: Array.from({ length: 1001 }, () => ({ name: 'x' })),
    expect: { status: 400, code: 'LIMIT_EXCEEDED' },
  },
  {
    name: 'U+0000 is refused with 422',
    request: 'POST /api/artists:create',
    body: { name: 'a\u0000b' },
    expect: { status: 422, code: 'VALUE_INVALID' },
  },
  {
    name: 'half a surrogate pair is refused with 422',
    request: 'POST /api/artists:create',
    body: '{"name":"\\ud800"}',
    expect: { status: 422, code: 'VALUE_INVALID' },
  },
  {
    name: 'the member __proto__ is refused with 400',
    request: 'POST /api/artists:create',
    body: '{"name":"x","__proto__":{"a":1}}',
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'malformed JSON is refused with 400',
    request: 'POST /api/artists:create',
    body: '{"name":',
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  {
    name: 'another media type is refused with 415',
    request: 'POST /api/artists:create',
    body: 'name=x',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    expect: { status: 415, code: 'MEDIA_TYPE_UNSUPPORTED', body: { error: 'Unsupported Media Type' } },
  },
  {
    name: 'an integer out of range is refused with 422',
    request: 'POST /api/artists:create',
    body: { name: 'x', rank: 2147483648 },
    expect: { status: 422, code: 'VALUE_INVALID', body: { details: { rank: expect.stringContaining('maximum') } } },
  },
];

describeEngines('creating records', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startMusicServer(engine);
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario));
});
