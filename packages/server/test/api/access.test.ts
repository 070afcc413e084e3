import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { hiddenText, startNewsroomServer } from '../support/newsroom-server.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const noPermission = { error: 'No permissions', code: 'NO_PERMISSION' };
const fieldDenied = { error: 'Forbidden', code: 'FIELD_DENIED' };
const unauthorized = { error: 'Unauthorized', message: expect.stringContaining('invalid or missing token') };

/** The reader sees published posts without their secret, and may change the title of published ones. */
const scenarios: readonly Scenario[] = [
  {
    name: 'a request without a credential is refused with 401',
    request: 'GET /api/posts:list',
    as: 'nobody',
    expect: { status: 401, code: 'TOKEN_MISSING', body: unauthorized },
  },
  {
    name: 'an unknown collection without a credential is refused with 401',
    request: 'GET /api/nothing:list',
    as: 'nobody',
    expect: { status: 401, code: 'TOKEN_MISSING', body: unauthorized },
  },
  {
    name: 'an unknown application without a credential is refused with 401',
    request: 'GET /api/posts:list',
    as: 'nobody',
    headers: { 'x-app': 'nope' },
    expect: { status: 401, code: 'TOKEN_MISSING' },
  },
  {
    name: 'two spaces after Bearer are refused with 401',
    request: 'GET /api/posts:list',
    as: 'header:Bearer  x',
    expect: { status: 401, code: 'TOKEN_INVALID', body: unauthorized },
  },
  {
    name: 'a lower-case bearer scheme is refused with 401',
    request: 'GET /api/posts:list',
    as: 'header:bearer x',
    expect: { status: 401, code: 'TOKEN_INVALID', body: unauthorized },
  },
  {
    name: 'a malformed token is refused with 401',
    request: 'GET /api/posts:list',
    as: 'header:Bearer tbk_short',
    expect: { status: 401, code: 'TOKEN_INVALID' },
  },
  {
    name: 'a token in the URL is never read',
    request: 'GET /api/posts:list?token=x',
    as: 'nobody',
    expect: { status: 401, code: 'TOKEN_MISSING' },
  },
  {
    name: 'a list shows the rows that the row filter admits and the permitted fields',
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
      absent: [hiddenText, 'secret'],
    },
  },
  {
    name: 'get returns a visible row',
    request: 'GET /api/posts:get?filterByTk=1',
    as: 'reader',
    expect: { status: 200, absent: [hiddenText] },
  },
  {
    name: 'get of an invisible row is refused with 403',
    request: 'GET /api/posts:get?filterByTk=2',
    as: 'reader',
    expect: { status: 403, code: 'NO_PERMISSION', body: noPermission },
  },
  {
    name: 'get of a row that does not exist is refused with the same 403',
    request: 'GET /api/posts:get?filterByTk=99',
    as: 'reader',
    expect: { status: 403, code: 'NO_PERMISSION', body: noPermission },
  },
  {
    name: 'a denied field in "fields" is refused with 403',
    request: 'GET /api/posts:list?fields=secret',
    as: 'reader',
    expect: { status: 403, code: 'FIELD_DENIED', body: fieldDenied },
  },
  {
    name: 'a denied field in a filter is refused with 403',
    request: 'GET /api/posts:list?filter={"secret":{"$like":"n%25"}}',
    as: 'reader',
    expect: { status: 403, code: 'FIELD_DENIED', body: fieldDenied },
  },
  {
    name: 'a denied field under $not is refused with 403',
    request: 'GET /api/posts:list?filter={"$not":{"$or":[{"secret":"x"}]}}',
    as: 'reader',
    expect: { status: 403, code: 'FIELD_DENIED', body: fieldDenied },
  },
  {
    name: 'a denied field in bracket notation is refused with 403',
    request: 'GET /api/posts:list?filter[secret][$null]=true',
    as: 'reader',
    expect: { status: 403, code: 'FIELD_DENIED', body: fieldDenied },
  },
  {
    name: 'a denied field in "sort" is refused with 403',
    request: 'GET /api/posts:list?sort=-secret',
    as: 'reader',
    expect: { status: 403, code: 'FIELD_DENIED', body: fieldDenied },
  },
  {
    name: 'a denied field in "except" is ignored',
    request: 'GET /api/posts:list?except=secret',
    as: 'reader',
    expect: { status: 200 },
  },
  {
    name: 'a denied relation in "appends" is refused with 403',
    request: 'GET /api/posts:list?appends=author',
    as: 'reader',
    expect: { status: 403, code: 'FIELD_DENIED', body: fieldDenied },
  },
  {
    name: 'denying a relation also denies its foreign key',
    request: 'GET /api/posts:list?fields=authorId',
    as: 'reader',
    expect: { status: 403, code: 'FIELD_DENIED', body: fieldDenied },
  },
  {
    name: 'denying a relation also denies its inverse',
    request: 'GET /api/writers:list?appends=posts',
    as: 'reader',
    expect: { status: 403, code: 'FIELD_DENIED', body: fieldDenied },
  },
  {
    name: 'a filter through the inverse of a denied relation is refused with 403',
    request: 'GET /api/writers:list?filter={"posts.title":"Open"}',
    as: 'reader',
    expect: { status: 403, code: 'FIELD_DENIED', body: fieldDenied },
  },
  {
    name: 'a read by POST has the same permission checks',
    request: 'POST /api/posts:list',
    as: 'reader',
    body: { filter: { secret: 'x' } },
    expect: { status: 403, code: 'FIELD_DENIED', body: fieldDenied },
  },
  {
    name: 'a streamed read has the same permission checks',
    request: 'GET /api/posts:list?paginate=false',
    as: 'reader',
    expect: { status: 200, absent: [hiddenText, 'Hidden'] },
  },
  {
    name: 'an action that is not granted is refused with 403',
    request: 'POST /api/posts:create',
    as: 'reader',
    body: { title: 'x' },
    expect: { status: 403, code: 'NO_PERMISSION', body: noPermission },
  },
  {
    name: 'a granted field of a visible row can be updated',
    request: 'POST /api/posts:update?filterByTk=3',
    as: 'reader',
    body: { title: 'Open three' },
    expect: {
      status: 200,
      body: { data: { id: 3, title: 'Open three' } },
      absent: [hiddenText],
      events: ['posts.updated'],
    },
  },
  {
    name: 'an update of an invisible row is refused with 403',
    request: 'POST /api/posts:update?filterByTk=2',
    as: 'reader',
    body: { title: 'x' },
    expect: { status: 403, code: 'NO_PERMISSION', body: noPermission },
  },
  {
    name: 'an update of a field that is not granted is refused with 403',
    request: 'POST /api/posts:update?filterByTk=1',
    as: 'reader',
    body: { secret: 'x' },
    expect: { status: 403, code: 'FIELD_DENIED', body: fieldDenied },
  },
  {
    name: 'an update after which the row would violate the row filter is refused with 403',
    request: 'POST /api/posts:update?filterByTk=1',
    as: 'mover',
    body: { published: false },
    expect: { status: 403, code: 'NO_PERMISSION', body: noPermission },
  },
  {
    name: 'an update by filter only reaches visible rows',
    request: 'POST /api/posts:update?filter={"id":{"$gt":0}}',
    as: 'reader',
    body: { title: 'Same' },
    expect: { status: 200, body: { data: [{ id: 1 }, { id: 3 }] }, events: ['posts.updated', 'posts.updated'] },
  },
  {
    name: 'an update of several rows of which one is invisible changes none',
    request: 'POST /api/posts:update?filterByTk=[1,2]',
    as: 'reader',
    body: { title: 'x' },
    expect: { status: 403, code: 'NO_PERMISSION', body: noPermission },
  },
  {
    name: 'a create of a row that the row filter does not admit is refused with 403',
    request: 'POST /api/posts:create',
    as: 'mover',
    body: { title: 'x', published: false },
    expect: { status: 403, code: 'NO_PERMISSION', body: noPermission },
  },
  {
    name: 'a row that the row filter admits can be created',
    request: 'POST /api/posts:create',
    as: 'mover',
    body: { title: 'Mine', published: true },
    expect: { status: 200, events: ['posts.created'] },
  },
  {
    name: 'a foreign key to an invisible row gets the same reply as one to a missing row',
    request: 'POST /api/posts:create',
    as: 'mover',
    body: { title: 'x', published: true, authorId: 2 },
    expect: { status: 400, code: 'REFERENCE_MISSING' },
  },
  {
    name: 'a foreign key to a visible row is accepted',
    request: 'POST /api/posts:create',
    as: 'mover',
    body: { title: 'By Ann', published: true, authorId: 1 },
    expect: { status: 200, events: ['posts.created'] },
  },
  {
    name: 'a destroy of an invisible row is refused with 403',
    request: 'POST /api/posts:destroy?filterByTk=2',
    as: 'mover',
    expect: { status: 403, code: 'NO_PERMISSION', body: noPermission },
  },
  {
    name: 'an existing resource without any grant is refused with 403',
    request: 'GET /api/users:list',
    as: 'reader',
    expect: { status: 403, code: 'NO_PERMISSION', body: noPermission },
  },
  {
    name: 'a missing resource without any grant is refused with the same 403',
    request: 'GET /api/nothing:list',
    as: 'reader',
    expect: { status: 403, code: 'NO_PERMISSION', body: noPermission },
  },
];

describeEngines('access', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startNewsroomServer(engine);
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, () => server.play(scenario));
});
