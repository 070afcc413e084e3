import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const at = '/api/collections/posts/fields';

/** Played in order on `posts` with a title. */
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
    name: 'get shows one',
    request: `GET ${at}:get?filterByTk=title`,
    expect: { status: 200, body: { data: { name: 'title', type: 'string' } } },
  },
  {
    name: 'get by the path',
    request: `GET ${at}:get/title`,
    expect: { status: 200, body: { data: { name: 'title' } } },
  },
  { name: 'get of an unknown one is 404', request: `GET ${at}:get?filterByTk=nope`, expect: { status: 404 } },
  { name: 'get without a name is 400', request: `GET ${at}:get`, expect: { status: 400 } },
  {
    name: 'of an unknown collection is 404',
    request: 'GET /api/collections/nope/fields:list',
    expect: { status: 404, body: { code: 'COLLECTION_UNKNOWN' } },
  },
  {
    name: 'secrets stay out',
    request: 'GET /api/collections/apiKeys/fields:list',
    expect: { status: 200, absent: ['tokenHash'] },
  },
  {
    name: 'without a credential 401',
    request: `GET ${at}:list`,
    as: 'nobody',
    expect: { status: 401 },
  },
  { name: 'an editor may not look', request: `GET ${at}:list`, as: 'editor', expect: { status: 403 } },
  {
    name: 'create adds one',
    request: `POST ${at}:create`,
    body: { name: 'pages', type: 'integer' },
    expect: { status: 200, body: { data: { name: 'pages', type: 'integer' } }, events: ['fields.created'] },
  },
  {
    name: 'create in another collection than the path names is 422',
    request: `POST ${at}:create`,
    body: { collectionName: 'users', name: 'more', type: 'integer' },
    expect: { status: 422, body: { details: { collectionName: expect.any(String) } } },
  },
  {
    name: 'the query may name the collection too',
    request: `POST ${at}:create?collectionName=posts`,
    body: { name: 'inQuery', type: 'integer' },
    expect: { status: 200, events: ['fields.created'] },
  },
  {
    name: 'also in the place of the body',
    request: 'POST /api/fields:update?collectionName=posts',
    body: { name: 'inQuery', description: 'Named in the query' },
    expect: { status: 200, body: { data: { description: 'Named in the query' } }, events: ['fields.updated'] },
  },
  {
    name: 'and destroys',
    request: 'POST /api/fields:destroy?collectionName=posts',
    body: { name: 'inQuery' },
    expect: { status: 200, events: ['fields.destroyed'] },
  },
  ...[`POST ${at}:create?collectionName=users`, 'POST /api/fields:create?collectionName=users'].map((request) => ({
    name: `a query that contradicts is 400: ${request}`,
    request,
    body: { collectionName: 'posts', name: 'more', type: 'integer' },
    expect: { status: 400, body: { message: expect.stringContaining('collectionName') } },
  })),
  {
    name: 'a collection that is no name is 400',
    request: 'POST /api/fields:create?collectionName[]=posts',
    body: { name: 'more', type: 'integer' },
    expect: { status: 400 },
  },
  {
    name: 'update by filterByTk',
    request: `POST ${at}:update?filterByTk=pages`,
    body: { title: 'Pages', newName: 'pageCount' },
    expect: { status: 200, body: { data: { name: 'pageCount', title: 'Pages' } }, events: ['fields.updated'] },
  },
  {
    name: 'update of another name than filterByTk is 422',
    request: `POST ${at}:update?filterByTk=pageCount`,
    body: { name: 'title', required: true },
    expect: { status: 422, body: { details: { name: expect.any(String) } } },
  },
  { name: 'update by GET is 405', request: `GET ${at}:update?filterByTk=pageCount`, expect: { status: 405 } },
  {
    name: 'dryRun of a destroy',
    request: `POST ${at}:destroy?filterByTk=pageCount&dryRun=true`,
    expect: { status: 200, body: { data: { dryRun: true, changes: [{ tk: 'posts.pageCount' }] } } },
  },
  {
    name: 'destroy by filterByTk, without a body',
    request: `POST ${at}:destroy?filterByTk=pageCount`,
    expect: { status: 200, body: { data: 1 }, events: ['fields.destroyed'] },
  },
  {
    name: 'another resource below a collection is 404',
    request: 'GET /api/collections/posts/rows:list',
    expect: { status: 404 },
  },
  { name: 'a path that is too long is 404', request: 'GET /api/a/b/c/d:list/5', expect: { status: 404 } },
  {
    name: 'the name of an internal collection is taken',
    request: 'POST /api/collections:create',
    body: { name: 'usersRoles' },
    expect: { status: 409, body: { code: 'COLLECTION_EXISTS' } },
  },
];

describeEngines('fields below their collection', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    const fields = [{ name: 'title', type: 'string' }];
    await server.data('POST /api/collections:create', { body: { name: 'posts', fields } });
    await server.key('editor');
  });
  afterAll(() => server.stop());
  for (const scenario of scenarios) test(scenario.name, async () => void (await server.play(scenario)));
});
