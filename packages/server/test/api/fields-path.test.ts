import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const at = '/api/collections/posts/fields';

/** The scenarios run in this order, on `posts` with the field `title`. */
const scenarios: readonly Scenario[] = [
  {
    name: 'list shows the fields of the collection',
    request: `GET ${at}:list`,
    expect: {
      status: 200,
      body: { data: [{ name: 'id' }, { name: 'title' }, { name: 'createdAt', readOnly: true }, {}] },
    },
  },
  {
    name: 'get with filterByTk shows one field',
    request: `GET ${at}:get?filterByTk=title`,
    expect: { status: 200, body: { data: { name: 'title', type: 'string' } } },
  },
  {
    name: 'get with the name in the path shows one field',
    request: `GET ${at}:get/title`,
    expect: { status: 200, body: { data: { name: 'title' } } },
  },
  {
    name: 'get of an unknown field is refused with 404',
    request: `GET ${at}:get?filterByTk=nope`,
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'get without a name is refused with 400',
    request: `GET ${at}:get`,
    expect: { status: 400, code: 'TARGET_MISSING' },
  },
  {
    name: 'the list of an unknown collection is refused with 404',
    request: 'GET /api/collections/nope/fields:list',
    expect: { status: 404, code: 'COLLECTION_UNKNOWN' },
  },
  {
    name: 'hidden fields are not listed',
    request: 'GET /api/collections/apiKeys/fields:list',
    expect: { status: 200, absent: ['tokenHash'] },
  },
  {
    name: 'a list without a credential is refused with 401',
    request: `GET ${at}:list`,
    as: 'nobody',
    expect: { status: 401, code: 'TOKEN_MISSING' },
  },
  {
    name: 'an editor cannot list fields',
    request: `GET ${at}:list`,
    as: 'editor',
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'create adds a field',
    request: `POST ${at}:create`,
    body: { name: 'pages', type: 'integer' },
    expect: { status: 200, body: { data: { name: 'pages', type: 'integer' } }, events: ['fields.created'] },
  },
  {
    name: 'create with another collection in the body than in the path is refused with 422',
    request: `POST ${at}:create`,
    body: { collectionName: 'users', name: 'more', type: 'integer' },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { collectionName: expect.any(String) } } },
  },
  {
    name: 'the query may repeat the collection of the path',
    request: `POST ${at}:create?collectionName=posts`,
    body: { name: 'inQuery', type: 'integer' },
    expect: { status: 200, events: ['fields.created'] },
  },
  {
    name: 'the query may name the collection instead of the body in fields:update',
    request: 'POST /api/fields:update?collectionName=posts',
    body: { name: 'inQuery', description: 'Named in the query' },
    expect: { status: 200, body: { data: { description: 'Named in the query' } }, events: ['fields.updated'] },
  },
  {
    name: 'the query may name the collection instead of the body in fields:destroy',
    request: 'POST /api/fields:destroy?collectionName=posts',
    body: { name: 'inQuery' },
    expect: { status: 200, events: ['fields.destroyed'] },
  },
  ...[`POST ${at}:create?collectionName=users`, 'POST /api/fields:create?collectionName=users'].map(
    (request): Scenario => ({
      name: `a query that contradicts the path or the body is refused with 400: ${request}`,
      request,
      body: { collectionName: 'posts', name: 'more', type: 'integer' },
      expect: { status: 400, code: 'PARAMETER_INVALID', body: { message: expect.stringContaining('collectionName') } },
    }),
  ),
  {
    name: 'a collection that is not a name is refused with 400',
    request: 'POST /api/fields:create?collectionName[]=posts',
    body: { name: 'more', type: 'integer' },
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'update by filterByTk renames and relabels the field',
    request: `POST ${at}:update?filterByTk=pages`,
    body: { title: 'Pages', newName: 'pageCount' },
    expect: { status: 200, body: { data: { name: 'pageCount', title: 'Pages' } }, events: ['fields.updated'] },
  },
  {
    name: 'update with another name than filterByTk is refused with 422',
    request: `POST ${at}:update?filterByTk=pageCount`,
    body: { name: 'title', required: true },
    expect: { status: 422, code: 'DEFINITION_INVALID', body: { details: { name: expect.any(String) } } },
  },
  {
    name: 'update by GET is refused with 405',
    request: `GET ${at}:update?filterByTk=pageCount`,
    expect: { status: 405, code: 'METHOD_NOT_ALLOWED' },
  },
  {
    name: 'dryRun of a destroy reports the change',
    request: `POST ${at}:destroy?filterByTk=pageCount&dryRun=true`,
    expect: { status: 200, body: { data: { dryRun: true, changes: [{ tk: 'posts.pageCount' }] } } },
  },
  {
    name: 'destroy by filterByTk needs no body',
    request: `POST ${at}:destroy?filterByTk=pageCount`,
    expect: { status: 200, body: { data: 1 }, events: ['fields.destroyed'] },
  },
  {
    name: 'an unknown resource below a collection is refused with 404',
    request: 'GET /api/collections/posts/rows:list',
    expect: { status: 404, code: 'COLLECTION_UNKNOWN' },
  },
  {
    name: 'a path with too many parts is refused with 404',
    request: 'GET /api/a/b/c/d:list/5',
    expect: { status: 404, code: 'ROUTE_UNKNOWN' },
  },
  {
    name: 'the name of an internal collection is refused with 409',
    request: 'POST /api/collections:create',
    body: { name: 'usersRoles' },
    expect: { status: 409, code: 'COLLECTION_EXISTS' },
  },
];

describeEngines('fields below their collection', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    const fields = [{ name: 'title', type: 'string' }];
    await server.data('POST /api/collections:create', { body: { name: 'posts', fields } });
    await server.createKey('editor');
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, async () => void (await server.play(scenario)));
});
