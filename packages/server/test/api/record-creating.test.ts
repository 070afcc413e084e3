import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { music } from '../support/music.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

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
    expect: { status: 400, body: { code: 'REFERENCE_MISSING', details: { artistId: 'This record does not exist.' } } },
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
    expect: { status: 422, body: { details: { rank: expect.stringContaining('maximum') } } },
  },
];

describeEngines('creating records', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await music(engine);
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario));
});
