import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { EventLog } from '../support/event-log.ts';
import type { Json } from '../support/json.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const list = (query = ''): string => `GET /api/changes:list${query}`;
const publish = 'POST /api/changes:publish';

const refusals: readonly Scenario[] = [
  {
    name: 'a malformed cursor is refused',
    request: list('?since=abc'),
    expect: { status: 400, code: 'CURSOR_INVALID' },
  },
  {
    name: 'a wait of more than 30 seconds is refused',
    request: list('?wait=31'),
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'a wait that is not a number is refused',
    request: list('?wait=soon'),
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'a page size of zero is refused',
    request: list('?pageSize=0'),
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'a page size over 1000 is refused',
    request: list('?pageSize=1001'),
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'an unknown parameter is refused',
    request: list('?page=1'),
    expect: { status: 400, code: 'PARAMETER_UNKNOWN' },
  },
  {
    name: 'a request without a credential is refused',
    request: list(),
    as: 'nobody',
    expect: { status: 401, code: 'TOKEN_MISSING' },
  },
  {
    name: 'a resource without a credential is refused',
    request: list('?resource=posts'),
    as: 'nobody',
    expect: { status: 401, code: 'TOKEN_MISSING' },
  },
  {
    name: 'a resource that the role may not get is refused',
    request: list('?resource=secrets'),
    as: 'clerk',
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'a resource that does not exist is refused',
    request: list('?resource=nothing'),
    as: 'clerk',
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'publishing by GET is refused',
    request: 'GET /api/changes:publish',
    expect: { status: 405, code: 'METHOD_NOT_ALLOWED' },
  },
  {
    name: 'publishing without a credential is refused',
    request: publish,
    as: 'nobody',
    body: { name: 'campaign.sent' },
    expect: { status: 401, code: 'TOKEN_MISSING' },
  },
  {
    name: 'publishing without the permission is refused',
    request: publish,
    as: 'clerk',
    body: { name: 'other.sent' },
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  ...[
    'sent',
    'campaign.',
    '.sent',
    'a.b.c',
    'campaign sent',
    'posts.sent',
    'collections.created',
    'users.made',
    7,
    null,
  ].map(
    (name): Scenario => ({
      name: `publishing under the name ${name} is refused`,
      request: publish,
      body: { name },
      expect: { status: 422, code: 'VALUE_INVALID', body: { details: { name: expect.any(String) } } },
    }),
  ),
  {
    name: 'a payload over 64 KiB is refused',
    request: publish,
    body: { name: 'campaign.sent', payload: 'x'.repeat(65_535) },
    expect: { status: 422, code: 'VALUE_INVALID', body: { details: { payload: expect.any(String) } } },
  },
  {
    name: 'an unknown member is refused',
    request: publish,
    body: { name: 'campaign.sent', tk: 1 },
    expect: { status: 422, code: 'VALUE_INVALID' },
  },
  {
    name: 'a body that is not an object is refused',
    request: publish,
    body: ['campaign.sent'],
    expect: { status: 400, code: 'BODY_INVALID' },
  },
  ...['nowhere', '*', 'postsTags', '__proto__'].map(
    (resource): Scenario => ({
      name: `events of ${resource}, which is not a resource, are refused`,
      request: list(`?resource=${resource}`),
      expect: { status: 404, code: 'COLLECTION_UNKNOWN' },
    }),
  ),
  ...['nowhere', 'secrets'].map(
    (resource): Scenario => ({
      name: `events of ${resource} without a grant on it are refused`,
      request: list(`?resource=${resource}`),
      as: 'guest',
      expect: { status: 403, code: 'NO_PERMISSION' },
    }),
  ),
  {
    name: 'a stream of events of an unknown resource is refused',
    request: 'GET /api/realtime?resource=nowhere',
    headers: { accept: 'text/event-stream' },
    expect: { status: 404, code: 'COLLECTION_UNKNOWN' },
  },
  {
    name: 'a permission on a name that nobody may publish is refused',
    request: 'POST /api/permissions:create',
    body: { role: 'clerk', resource: 'nowhere', actions: ['get'] },
    expect: { status: 422, code: 'DEFINITION_INVALID' },
  },
  {
    name: 'a permission to create under an event name is refused',
    request: 'POST /api/permissions:create',
    body: { role: 'clerk', resource: 'campaign2', actions: ['publish', 'create'] },
    expect: { status: 422, code: 'DEFINITION_INVALID' },
  },
];

describeEngines('changes:list and changes:publish', (engine) => {
  let server: TestServer;
  let log: EventLog;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    log = new EventLog(server);
    const fields = [
      { name: 'title', type: 'string' },
      { name: 'open', type: 'boolean' },
      { name: 'secret', type: 'string' },
    ];
    for (const name of ['posts', 'secrets'])
      await server.data('POST /api/collections:create', { body: { name, fields } });
    for (const name of ['clerk', 'guest']) await server.data('POST /api/roles:create', { body: { name } });
    const permit = (body: object): Promise<unknown> => server.data('POST /api/permissions:create', { body });
    await permit({
      role: 'clerk',
      resource: 'posts',
      actions: ['list', 'get'],
      filter: { open: true },
      exceptFields: ['secret'],
    });
    // The web inbox subscribes to "campaign" before the first campaign, and before a permission names it.
    expect((await server.call(list('?resource=campaign'))).status).toBe(200);
    await permit({ role: 'clerk', resource: 'campaign', actions: ['publish', 'get'] });
    for (const role of ['clerk', 'guest']) await server.createKey(role);
  });
  afterAll(() => server.stop());

  describe('refusals', () => {
    for (const scenario of refusals) test(scenario.name, () => server.play(scenario).then(() => {}));
  });

  test('pages continue from the oldest stored event, and contain each event once', async () => {
    const all = (await log.page('?pageSize=1000')).data;
    const seen: Json[] = [];
    for (let query = '?pageSize=3'; ; ) {
      const { data, meta } = await log.page(query);
      seen.push(...data);
      if (!meta.hasNext) break;
      query = `?pageSize=3&since=${meta.nextCursor}`;
    }
    expect(seen.map(({ cursor }) => cursor)).toEqual(all.map(({ cursor }: Json) => cursor));
    expect(all.length).toBeGreaterThan(5);
  });

  test('an event says what happened, and its cursor continues after it', async () => {
    const since = await log.end();
    await server.data('POST /api/posts:create', {
      body: { title: 'a', open: true, secret: 's' },
      headers: { 'x-request-id': 'first' },
    });
    await server.data('POST /api/posts:update?filterByTk=1', { body: { title: 'b' } });
    const { data } = await log.settled(`?since=${since}`, 'admin', 2);
    expect(data).toEqual([
      {
        cursor: expect.any(String),
        at: expect.stringMatching(/^\d{4}-.*Z$/),
        name: 'posts.created',
        resource: 'posts',
        tk: '1',
        actor: 'user:1',
        requestId: 'first',
        changed: ['title', 'open', 'secret'],
      },
      expect.objectContaining({ name: 'posts.updated', tk: '1', changed: ['title'] }),
    ]);
    expect((await log.page(`?since=${data[0].cursor}`)).data).toEqual([data[1]]);
    expect((await log.page(`?since=${data[1].cursor}`)).data).toEqual([]);
  });

  test('a role sees events of records that it may get now, without the names of hidden fields', async () => {
    const since = await log.end();
    const [open, closed] = await server.data('POST /api/posts:create', {
      body: [
        { title: 'open', open: true, secret: 'x' },
        { title: 'closed', open: false },
      ],
    });
    await server.data('POST /api/secrets:create', { body: { title: 'hidden' } });
    const mine = await log.settled(`?since=${since}`, 'clerk', 1);
    expect(mine.data).toEqual([
      expect.objectContaining({ name: 'posts.created', tk: String(open.id), changed: ['title', 'open'] }),
    ]);
    await server.data(`POST /api/posts:update?filterByTk=${closed.id}`, { body: { open: true } });
    await server.data(`POST /api/posts:update?filterByTk=${open.id}`, { body: { open: false } });
    const later = await log.settled(`?since=${since}`, 'clerk', 2);
    expect(later.data.map(({ name, tk }: Json) => [name, tk])).toEqual([
      ['posts.created', String(closed.id)],
      ['posts.updated', String(closed.id)],
    ]);
    expect((await log.page(`?since=${since}`, 'guest')).data).toEqual([]);
  });

  test('a role with a row filter does not see events of destroyed records', async () => {
    const since = await log.end();
    const post = await server.data('POST /api/posts:create', { body: { title: 'gone', open: true } });
    await server.data(`POST /api/posts:destroy?filterByTk=${post.id}`);
    expect((await log.settled(`?since=${since}`, 'admin', 2)).data.map(({ name }: Json) => name)).toEqual([
      'posts.created',
      'posts.destroyed',
    ]);
    expect((await log.page(`?since=${since}`, 'clerk')).data).toEqual([]);
  });

  test('events of definitions and permissions are visible to callers who may read them', async () => {
    const since = await log.end();
    await server.data('POST /api/collections:create', { body: { name: 'later' } });
    await server.data('POST /api/collections:destroy?filterByTk=later');
    expect((await log.settled(`?since=${since}`, 'admin', 2)).data.map(({ name, tk }: Json) => [name, tk])).toEqual([
      ['collections.created', 'later'],
      ['collections.destroyed', 'later'],
    ]);
    expect((await log.page(`?since=${since}`, 'clerk')).data).toEqual([]);
  });

  test('published events are in the log with their payload', async () => {
    const since = await log.end();
    const reply = await server.play({
      name: 'a role publishes an event',
      request: publish,
      as: 'clerk',
      body: { name: 'campaign.sent', payload: { to: [1, 'two'], deep: { b: 1, a: null } } },
      expect: { status: 200, events: ['campaign.sent'] },
    });
    expect(reply.body.data).toEqual({ name: 'campaign.sent', at: expect.any(String) });
    for (const as of ['admin', 'clerk']) {
      const { data } = await log.settled(`?since=${since}&resource=campaign`, as, 1);
      expect(data).toEqual([
        expect.objectContaining({
          name: 'campaign.sent',
          resource: 'campaign',
          tk: null,
          changed: [],
          payload: { to: [1, 'two'], deep: { b: 1, a: null } },
        }),
      ]);
    }
    expect((await server.call(list('?resource=campaign'), { as: 'guest' })).status).toBe(403);
    await server.data('POST /api/permissions:create', {
      body: { role: 'guest', resource: 'campaign', actions: ['get'] },
    });
    expect((await log.settled(`?since=${since}&resource=campaign`, 'guest', 1)).data).toHaveLength(1);
  });

  test('an administrator receives event names that no permission names', async () => {
    const since = await log.end();
    expect((await server.call(list('?resource=shipment'))).status).toBe(404);
    await server.data('POST /api/changes:publish', { body: { name: 'shipment.sent', payload: 1 } });
    expect((await log.settled(`?since=${since}&resource=shipment`, 'admin', 1)).data).toHaveLength(1);
    expect((await server.call(list('?resource=shipment'), { as: 'clerk' })).status).toBe(403);
  });

  test('no secret enters the log', async () => {
    const since = await log.end();
    await server.data('POST /api/users:create', { body: { email: 'a@example.com', password: 'long enough, really' } });
    await server.data('POST /api/apiKeys:create', { body: { role: { name: 'clerk' }, name: 'k' } });
    const { data } = await log.settled(`?since=${since}`, 'admin', 2);
    expect(JSON.stringify(data)).not.toMatch(/long enough|tbk_|hash|password/);
  });

  describe('a waiting request', () => {
    test('ends with the first event that the caller may see', async () => {
      const since = await log.end();
      const begun = performance.now();
      const waits = server.call(list(`?since=${since}&wait=30`), { as: 'clerk' });
      await new Promise((resolve) => setTimeout(resolve, 300));
      await server.data('POST /api/posts:create', { body: { title: 'closed', open: false } });
      await new Promise((resolve) => setTimeout(resolve, 300));
      const post = await server.data('POST /api/posts:create', { body: { title: 'seen', open: true } });
      const { status, body } = await waits;
      expect([status, body.data.map(({ tk }: Json) => tk)]).toEqual([200, [String(post.id)]]);
      expect(performance.now() - begun).toBeLessThan(25_000);
    });

    test('ends after its time with a cursor to continue from', async () => {
      const since = await log.end();
      const begun = performance.now();
      const { data, meta } = await log.page(`?since=${since}&wait=1`, 'clerk');
      expect([data, meta.hasNext]).toEqual([[], false]);
      expect(performance.now() - begun).toBeGreaterThan(900);
      expect((await log.page(`?since=${meta.nextCursor}`)).data).toEqual([]);
    });

    test('ends with 401 when the API key is destroyed', async () => {
      const since = await log.end();
      const key = await server.data('POST /api/apiKeys:create', { body: { role: { name: 'clerk' } } });
      const waits = server.call(list(`?since=${since}&wait=30&resource=posts`), { as: key.token });
      await new Promise((resolve) => setTimeout(resolve, 300));
      const begun = performance.now();
      await server.data(`POST /api/apiKeys:destroy?filterByTk=${key.id}`);
      expect((await waits).status).toBe(401);
      expect(performance.now() - begun).toBeLessThan(20_000);
    });

    test('does not delay the stop of the server', async () => {
      const waits = fetch(`${server.running.url}/api/changes:list?wait=30&since=${await log.end()}`, {
        headers: { authorization: `Bearer ${server.tokens.get('admin')}` },
      });
      await new Promise((resolve) => setTimeout(resolve, 300));
      const begun = performance.now();
      await server.running.stop();
      expect((await waits).status).toBe(200);
      expect(performance.now() - begun).toBeLessThan(20_000);
      await server.boot();
      for (const role of ['clerk', 'guest']) await server.createKey(role);
    });
  });
});
