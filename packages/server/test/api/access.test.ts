import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { newsroom, secret } from '../support/newsroom.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const noPermission = { error: 'No permissions', code: 'NO_PERMISSION' };
const fieldDenied = { error: 'Forbidden', code: 'FIELD_DENIED' };
const unauthorized = { error: 'Unauthorized', message: expect.stringContaining('invalid or missing token') };

/** The reader sees published posts without their secret, and may change the title of published ones. */
const scenarios: readonly Scenario[] = [
  {
    name: 'no header is 401',
    request: 'GET /api/posts:list',
    as: 'nobody',
    expect: { status: 401, body: unauthorized },
  },
  {
    name: 'an unknown collection without a credential is 401 too',
    request: 'GET /api/nothing:list',
    as: 'nobody',
    expect: { status: 401, body: unauthorized },
  },
  {
    name: 'an unknown application without a credential is 401',
    request: 'GET /api/posts:list',
    as: 'nobody',
    headers: { 'x-app': 'nope' },
    expect: { status: 401 },
  },
  {
    name: 'two spaces after Bearer are 401',
    request: 'GET /api/posts:list',
    as: 'header:Bearer  x',
    expect: { status: 401, body: unauthorized },
  },
  {
    name: 'lower-case bearer is 401',
    request: 'GET /api/posts:list',
    as: 'header:bearer x',
    expect: { status: 401, body: unauthorized },
  },
  {
    name: 'a malformed token is 401',
    request: 'GET /api/posts:list',
    as: 'header:Bearer tbk_short',
    expect: { status: 401, body: { code: 'TOKEN_INVALID' } },
  },
  {
    name: 'a token in the URL is never read',
    request: 'GET /api/posts:list?token=x',
    as: 'nobody',
    expect: { status: 401 },
  },
  {
    name: 'a list shows the rows of the filter and the fields of the list',
    request: 'GET /api/posts:list',
    as: 'reader',
    expect: {
      status: 200,
      body: {
        data: [
          { id: 1, title: 'Open', published: true },
          { id: 3, title: 'Open too', published: true },
        ],
        meta: { count: 2 },
      },
      absent: [secret, 'secret'],
    },
  },
  {
    name: 'get of a row in sight',
    request: 'GET /api/posts:get?filterByTk=1',
    as: 'reader',
    expect: { status: 200, absent: [secret] },
  },
  {
    name: 'get of a row out of sight is 403',
    request: 'GET /api/posts:get?filterByTk=2',
    as: 'reader',
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'get of a row that does not exist is the same 403',
    request: 'GET /api/posts:get?filterByTk=99',
    as: 'reader',
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'a denied field in fields is 403',
    request: 'GET /api/posts:list?fields=secret',
    as: 'reader',
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'a denied field in filter is 403',
    request: 'GET /api/posts:list?filter={"secret":{"$like":"n%25"}}',
    as: 'reader',
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'a denied field under $not is 403',
    request: 'GET /api/posts:list?filter={"$not":{"$or":[{"secret":"x"}]}}',
    as: 'reader',
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'a denied field in bracket spelling is 403',
    request: 'GET /api/posts:list?filter[secret][$null]=true',
    as: 'reader',
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'a denied field in sort is 403',
    request: 'GET /api/posts:list?sort=-secret',
    as: 'reader',
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'a denied field in except changes nothing',
    request: 'GET /api/posts:list?except=secret',
    as: 'reader',
    expect: { status: 200 },
  },
  {
    name: 'a denied relation in appends is 403',
    request: 'GET /api/posts:list?appends=author',
    as: 'reader',
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'a denied foreign key falls with its relation',
    request: 'GET /api/posts:list?fields=authorId',
    as: 'reader',
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'the relation from the other side falls too',
    request: 'GET /api/writers:list?appends=posts',
    as: 'reader',
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'a filter through the other side falls too',
    request: 'GET /api/writers:list?filter={"posts.title":"Open"}',
    as: 'reader',
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'a read by POST passes the same gate',
    request: 'POST /api/posts:list',
    as: 'reader',
    body: { filter: { secret: 'x' } },
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'streaming passes the same gate',
    request: 'GET /api/posts:list?paginate=false',
    as: 'reader',
    expect: { status: 200, absent: [secret, 'Hidden'] },
  },
  {
    name: 'an action that is not granted is 403',
    request: 'POST /api/posts:create',
    as: 'reader',
    body: { title: 'x' },
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'update of a granted field on a row in sight',
    request: 'POST /api/posts:update?filterByTk=3',
    as: 'reader',
    body: { title: 'Open three' },
    expect: {
      status: 200,
      body: { data: { id: 3, title: 'Open three' } },
      absent: [secret],
      events: ['posts.updated'],
    },
  },
  {
    name: 'update of a row out of sight is 403',
    request: 'POST /api/posts:update?filterByTk=2',
    as: 'reader',
    body: { title: 'x' },
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'update of a field that is not granted is 403',
    request: 'POST /api/posts:update?filterByTk=1',
    as: 'reader',
    body: { secret: 'x' },
    expect: { status: 403, body: fieldDenied },
  },
  {
    name: 'update that takes the row out of the filter is 403',
    request: 'POST /api/posts:update?filterByTk=1',
    as: 'mover',
    body: { published: false },
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'update by filter reaches rows in sight alone',
    request: 'POST /api/posts:update?filter={"id":{"$gt":0}}',
    as: 'reader',
    body: { title: 'Same' },
    expect: { status: 200, body: { data: [{ id: 1 }, { id: 3 }] }, events: ['posts.updated', 'posts.updated'] },
  },
  {
    name: 'update of several of which one is out of sight changes none',
    request: 'POST /api/posts:update?filterByTk=[1,2]',
    as: 'reader',
    body: { title: 'x' },
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'create of a row that the filter does not admit is 403',
    request: 'POST /api/posts:create',
    as: 'mover',
    body: { title: 'x', published: false },
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'create of a row that it admits',
    request: 'POST /api/posts:create',
    as: 'mover',
    body: { title: 'Mine', published: true },
    expect: { status: 200, events: ['posts.created'] },
  },
  {
    name: 'a foreign key to a row out of sight answers as one that does not exist',
    request: 'POST /api/posts:create',
    as: 'mover',
    body: { title: 'x', published: true, authorId: 2 },
    expect: { status: 400, body: { code: 'REFERENCE_MISSING' } },
  },
  {
    name: 'a foreign key to a row in sight',
    request: 'POST /api/posts:create',
    as: 'mover',
    body: { title: 'By Ann', published: true, authorId: 1 },
    expect: { status: 200, events: ['posts.created'] },
  },
  {
    name: 'destroy of a row out of sight is 403',
    request: 'POST /api/posts:destroy?filterByTk=2',
    as: 'mover',
    expect: { status: 403, body: noPermission },
  },
  {
    name: 'a resource without any grant is 403 whether it exists',
    request: 'GET /api/users:list',
    as: 'reader',
    expect: { status: 403, body: noPermission },
  },
  { name: 'or not', request: 'GET /api/nothing:list', as: 'reader', expect: { status: 403, body: noPermission } },
];

describeEngines('access', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await newsroom(engine);
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario));
});
