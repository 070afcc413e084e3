import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listAuditEntries, verifyJournal } from '../support/audit-entries.ts';
import { describeEngines } from '../support/engines.ts';
import { sendRequest } from '../support/http-client.ts';
import type { Json } from '../support/json.ts';
import { startMailAccountServer, upload } from '../support/mail-account-server.ts';
import { McpClient } from '../support/mcp-client.ts';
import type { Reply, TestServer } from '../support/scenario.ts';

const fields = [
  { name: 'title', type: 'string', required: true },
  { name: 'views', type: 'integer', unique: true },
  { name: 'body', type: 'text' },
  { name: 'secret', type: 'string' },
];
const message =
  'From: Eve <eve@example.org>\r\nTo: shop@example.com\r\nSubject: Delivery of walnuts\r\nMessage-ID: <1@example.org>\r\n\r\nThe walnuts arrive on Monday.\r\n';
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

async function startServer(engine: Parameters<typeof startMailAccountServer>[0]): Promise<TestServer> {
  const server = await startMailAccountServer(engine, { MCP: 'write' });
  await server.data('POST /api/collections:create', { body: { name: 'posts', title: 'Articles', fields } });
  await server.data('POST /api/collections:create', {
    body: { name: 'notes', fields: [{ name: 'text', type: 'string' }] },
  });
  const posts = Array.from({ length: 30 }, (_, index) => ({ title: `Post ${index}`, views: index, secret: 'hidden' }));
  await server.data('POST /api/posts:create', { body: posts });
  await server.data('POST /api/roles:create', { body: { name: 'reader', title: 'Reader' } });
  const permission = { role: 'reader', resource: 'posts', actions: ['list', 'get', 'update'] };
  const limits = { fields: ['id', 'title', 'views'], filter: { views: { $gte: 20 } } };
  await server.data('POST /api/permissions:create', { body: { ...permission, ...limits } });
  await server.createKey('reader');
  return server;
}

/** Without the comparison with the OpenAPI document, which does not describe other protocols. */
async function send(
  server: TestServer,
  method: string,
  { body, headers = {}, as = 'admin' }: { body?: unknown; headers?: Record<string, string>; as?: string },
): Promise<Reply> {
  const token = server.tokens.get(as) ?? as;
  const reply = await sendRequest(`${server.running.url}/mcp`, {
    method,
    headers: {
      accept: 'application/json, text/event-stream',
      ...(as !== 'nobody' && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
  });
  const isJson = reply.headers.get('content-type')?.startsWith('application/json') && reply.text !== '';
  return { ...reply, body: isJson ? JSON.parse(reply.text) : null };
}

const post = (server: TestServer, body: unknown, headers: Record<string, string> = {}, as = 'admin'): Promise<Reply> =>
  send(server, 'POST', { body, headers, as });

describeEngines('the Model Context Protocol', (engine) => {
  let server: TestServer;
  let admin: McpClient;
  let reader: McpClient;
  beforeAll(async () => {
    server = await startServer(engine);
    admin = await McpClient.connect(server, 'admin');
    reader = await McpClient.connect(server, 'reader');
  });
  afterAll(() => server.stop());

  const unchanged = async (work: () => Promise<unknown>): Promise<void> => {
    const before = await server.readSnapshot();
    await work();
    expect(await server.readSnapshot()).toBe(before);
  };

  test.each(['auto', 'legacy'] as const)('an administrator has tools for all collections (%s)', async (era) => {
    const client = await McpClient.connect(server, 'admin', { era });
    expect(client.client.getNegotiatedProtocolVersion()).toBe(era === 'legacy' ? '2025-11-25' : '2026-07-28');
    const { tools } = await client.client.listTools();
    const names = tools.map(({ name }) => name);
    const actions = ['list', 'get', 'query', 'create', 'update', 'destroy'];
    expect(names).toEqual(expect.arrayContaining([...actions.map((each) => `${each}_posts`), 'search_mail']));
    expect(names.filter((name) => /roles|permissions|apiKeys|webhooks|audit|create_users/i.test(name))).toEqual([]);
    const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]));
    expect(hints['list_posts']).toMatchObject({ readOnlyHint: true });
    expect(hints['destroy_posts']).toMatchObject({ readOnlyHint: false, destructiveHint: true });
    expect(await client.data('get_posts', { key: 3, fields: ['title'] })).toEqual({ title: 'Post 2' });
  });

  test('a key only has the tools, fields and rows of its role', async () => {
    expect(await reader.toolNames()).toEqual(['list_posts', 'get_posts', 'query_posts', 'update_posts']);
    const list = await reader.inputOf('list_posts');
    expect(list.properties.fields.items.enum).toEqual(['id', 'title', 'views']);
    expect(Object.keys(list.properties.filter.properties)).toEqual(['id', 'title', 'views']);
    const { properties } = await reader.inputOf('update_posts');
    expect(Object.keys(properties.values.properties)).toEqual(['id', 'title', 'views']);
    const { body } = await reader.call('list_posts', { sort: ['views'] });
    expect(body.meta.count).toBe(10);
    expect(body.data[0]).toEqual({ id: 21, title: 'Post 20', views: 20 });
  });

  test.each([
    ['a denied field', 'list_posts', { filter: { secret: 'hidden' } }, 'FIELD_DENIED'],
    ['a record outside of its rows', 'get_posts', { key: 1 }, 'NO_PERMISSION'],
    ['a tool that it does not have', 'create_posts', { values: { title: 'x' }, dryRun: false }, 'NO_PERMISSION'],
    ['a collection that it may not see', 'list_notes', {}, 'NO_PERMISSION'],
    ['a collection that does not exist', 'list_nothing', {}, 'NO_PERMISSION'],
    [
      'a change outside of its rows',
      'update_posts',
      { key: 1, values: { title: 'x' }, dryRun: false },
      'NO_PERMISSION',
    ],
    ['a change of a denied field', 'update_posts', { key: 21, values: { secret: 'x' }, dryRun: false }, 'FIELD_DENIED'],
  ])('a key is refused %s, as by the API', async (_, tool, args, code) => {
    await unchanged(async () => {
      expect(await reader.call(tool, args)).toMatchObject({ isError: true, body: { code } });
    });
  });

  test('lists are read in pages of at most 100 records', async () => {
    const first = await admin.call('list_posts', { limit: 20, sort: ['-views'], fields: ['views'] });
    const second = await admin.call('list_posts', {
      limit: 20,
      sort: ['-views'],
      fields: ['views'],
      cursor: first.body.meta.nextCursor,
    });
    const views = [...first.body.data, ...second.body.data].map((each: Json) => each.views);
    expect(views).toEqual(Array.from({ length: 30 }, (_, index) => 29 - index));
    expect(second.body.meta).toMatchObject({ hasNext: false, nextCursor: null });
    expect(await admin.call('list_posts', { limit: 101 })).toMatchObject({
      isError: true,
      body: { code: 'LIMIT_EXCEEDED' },
    });
  });

  test('records are counted in groups', async () => {
    const query = { measures: [{ aggregation: 'sum', field: 'views', alias: 'all' }], filter: { views: { $lt: 3 } } };
    expect(await admin.data('query_posts', query)).toEqual([{ all: 3 }]);
  });

  test('a long page ends within 256 KiB, and continues with its cursor', async () => {
    await server.data('POST /api/notes:create', {
      body: Array.from({ length: 8 }, (_, index) => ({ text: `${index}` })),
    });
    await server.data('POST /api/fields:create', { body: { collectionName: 'notes', name: 'long', type: 'text' } });
    await server.data('POST /api/notes:update?filter={"id":{"$gt":0}}', { body: { long: 'é'.repeat(40_000) } });
    const seen: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const { body, bytes } = await admin.call('list_notes', { sort: ['id'], ...(cursor !== undefined && { cursor }) });
      expect(bytes).toBeLessThanOrEqual(256 * 1024);
      if (body.meta.nextCursor !== null) expect(body.meta).toMatchObject({ truncated: true, notice: /cursor/ });
      seen.push(...body.data.map((each: Json) => each.text));
      cursor = body.meta.nextCursor ?? undefined;
      pages += 1;
    } while (cursor !== undefined);
    expect(pages).toBe(3);
    expect(seen).toEqual(['0', '1', '2', '3', '4', '5', '6', '7']);
  });

  test('long texts of one record are shortened, and the reply names them', async () => {
    const { id } = await server.data('POST /api/notes:create', { body: { text: 'one', long: '€'.repeat(200_000) } });
    for (const [tool, args] of [
      ['get_notes', { key: id }],
      ['list_notes', { filter: { id } }],
    ] as const) {
      const { body, bytes } = await admin.call(tool, args);
      const record = tool === 'get_notes' ? body.data : body.data[0];
      expect(record.text).toBe('one');
      expect(record.long).toMatch(/^€+…$/);
      expect(body.meta).toMatchObject({ truncated: true, notice: /long/ });
      expect(bytes).toBeLessThan(256 * 1024);
    }
  });

  test('a write is a dry run unless dryRun is false', async () => {
    await unchanged(async () => {
      const created = await admin.call('create_posts', { values: { title: 'New', views: 100 } });
      expect(created.body).toMatchObject({ data: { title: 'New', views: 100 }, meta: { dryRun: true } });
      const updated = await admin.call('update_posts', { key: 1, values: { title: 'Changed' }, dryRun: true });
      expect(updated.body).toMatchObject({ data: { title: 'Changed' }, before: { title: 'Post 0' } });
      const destroyed = await admin.call('destroy_posts', { key: 1 });
      expect(destroyed.body).toMatchObject({ data: 1, before: { title: 'Post 0' }, meta: { dryRun: true } });
    });
    const created = await admin.call('create_posts', { values: { title: 'New', views: 100 }, dryRun: false });
    expect(created.body.meta).toEqual({ dryRun: false });
    const { id: key } = created.body.data;
    await admin.data('update_posts', { key, values: { title: 'Newer' }, dryRun: false });
    expect(await server.data(`GET /api/posts:get/${key}`)).toMatchObject({ title: 'Newer', views: 100 });
    expect(await admin.data('destroy_posts', { key, dryRun: false })).toBe(1);
    expect((await server.call(`GET /api/posts:get/${key}`)).status).toBe(404);
  });

  test.each([
    ['without a required field', 'create_posts', { values: {} }, 'VALUE_INVALID'],
    ['with a value that exists', 'create_posts', { values: { title: 'x', views: 1 } }, 'UNIQUE_CONFLICT'],
    ['with an unknown field', 'create_posts', { values: { title: 'x', nope: 1 } }, 'FIELD_UNKNOWN'],
    ['of several records', 'create_posts', { values: [{ title: 'x' }] }, 'PARAMETER_INVALID'],
    ['of several keys', 'update_posts', { key: [1, 2], values: { title: 'x' } }, 'PARAMETER_INVALID'],
    ['of several keys as text', 'destroy_posts', { key: '[1,2]' }, 'PARAMETER_INVALID'],
    ['without a key', 'destroy_posts', {}, 'PARAMETER_INVALID'],
    ['with a filter', 'destroy_posts', { key: 1, filter: {} }, 'PARAMETER_UNKNOWN'],
    ['of a record that does not exist', 'update_posts', { key: 999, values: { title: 'x' } }, 'RECORD_UNKNOWN'],
  ])('a write %s changes nothing', async (_, tool, args, code) => {
    await unchanged(async () => {
      expect(await admin.call(tool, { ...args, dryRun: false })).toMatchObject({ isError: true, body: { code } });
    });
    expect(await admin.call('destroy_posts', { key: 1, dryRun: 'no' })).toMatchObject({ isError: true });
  });

  test('every call is in the audit journal: who used which tool on what', async () => {
    const since = (await listAuditEntries(server)).at(-1)!.id;
    await reader.call('list_posts');
    await reader.call('list_posts');
    await reader.call('update_posts', { key: 25, values: { title: 'Audited' } });
    await reader.call('update_posts', { key: 25, values: { title: 'Audited' }, dryRun: false });
    await reader.call('create_posts', { values: { title: 'x' }, dryRun: false });
    await reader.call('list_posts', { limit: 0 });
    const entries = (await listAuditEntries(server)).filter(({ id }) => id > since);
    const short = entries.map(({ action, target, outcome, code, count }) => [action, target, outcome, code, count]);
    expect(short).toHaveLength(5);
    expect(short).toEqual(
      expect.arrayContaining([
        ['mcp:update_posts', '25', 'done', null, 1],
        ['mcp:list_posts', null, 'done', null, 2],
        ['mcp:update_posts:dryRun', null, 'done', null, 1],
        ['mcp:create_posts', null, 'refused', 'NO_PERMISSION', 1],
        ['mcp:list_posts', null, 'refused', 'LIMIT_EXCEEDED', 1],
      ]),
    );
    for (const entry of entries)
      expect(entry).toMatchObject({
        actor: /^apiKey:/,
        role: 'reader',
        address: '127.0.0.1',
        credential: { type: 'apiKey' },
      });
    expect(await verifyJournal(server)).toMatchObject({ valid: true });
  });

  test('search_mail finds the mail of the caller, and only theirs', async () => {
    const [{ id: account }] = await server.data('GET /api/accounts:list', { as: 'ann' });
    await upload(server, 'ann', account, message);
    const ann = await McpClient.connect(server, 'ann');
    const bob = await McpClient.connect(server, 'bob');
    const [found] = await ann.data('search_mail', { query: 'walnuts from:eve' });
    expect(found).toMatchObject({ subject: 'Delivery of walnuts' });
    expect((await ann.data('get_emails', { key: found.id })).text).toContain('arrive on Monday');
    expect(await ann.data('search_mail', { query: 'walnuts', unread: false })).toEqual([]);
    expect(await bob.data('search_mail', { query: 'walnuts' })).toEqual([]);
    expect(await bob.call('get_emails', { key: found.id })).toMatchObject({ isError: true });
    expect(await ann.call('search_mail', { query: ' ' })).toMatchObject({ isError: true });
    expect(await reader.call('search_mail', { query: 'walnuts' })).toMatchObject({ body: { code: 'NO_PERMISSION' } });
  });

  test('the tools are those of the application of X-App, and of the parameter "collections"', async () => {
    await server.data('POST /api/applications:create', { body: { name: 'shop' } });
    const { token } = await server.data('POST /api/applications:enter?filterByTk=shop');
    const shop = await McpClient.connect(server, token, { headers: { 'x-app': 'shop' } });
    expect(await shop.toolNames()).not.toContain('list_posts');
    expect(await shop.call('list_posts')).toMatchObject({ body: { code: 'COLLECTION_UNKNOWN' } });
    await expect(McpClient.connect(server, token)).rejects.toThrow();
    const narrow = await McpClient.connect(server, 'reader', { path: '/mcp?collections=notes,posts' });
    expect(await narrow.toolNames()).toContain('list_posts');
    const notes = await McpClient.connect(server, 'admin', { path: '/mcp?collections=notes' });
    expect((await notes.toolNames()).every((name) => name.endsWith('_notes'))).toBe(true);
    await expect(notes.call('list_posts')).rejects.toThrow('Unknown tool');
    expect((await server.call('POST /mcp?collection=notes', { body: ping })).body.code).toBe('PARAMETER_UNKNOWN');
  });

  test('many tools are listed in pages', async () => {
    const body = Array.from({ length: 20 }, (_, index) => ({
      name: `many${index}`,
      fields: [{ name: 'a', type: 'string' }],
    }));
    await server.data('POST /api/collections:apply', { body });
    const names: string[] = [];
    let cursor: string | undefined;
    do {
      const reply = await post(server, { ...ping, method: 'tools/list', params: { ...(cursor && { cursor }) } });
      const { result } = JSON.parse(reply.text.slice(reply.text.indexOf('{'))) as Json;
      expect(result.tools.length).toBeLessThanOrEqual(100);
      names.push(...result.tools.map((each: Json) => each.name));
      cursor = result.nextCursor;
    } while (cursor !== undefined);
    expect(names.filter((name) => name.includes('many'))).toHaveLength(120);
    expect(new Set(names).size).toBe(names.length);
    const wrong = await post(server, { ...ping, method: 'tools/list', params: { cursor: 'nothing' } });
    expect(wrong.text).toContain('-32602');
  });

  test('a request without a valid credential is 401 and names the scheme', async () => {
    for (const as of ['nobody', 'tbk_wrong']) {
      const { status, headers } = await post(server, ping, {}, as);
      expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    }
    const token = await server.createKey('reader');
    expect((await post(server, ping, {}, token)).status).toBe(200);
    const [{ id }] = await server.data('GET /api/apiKeys:list?sort=-id');
    await server.data(`POST /api/apiKeys:destroy?filterByTk=${id}`);
    expect((await post(server, ping, {}, token)).status).toBe(401);
    server.tokens.set('reader', await server.createKey('reader'));
  });

  test.each([
    ['a page of another origin', { origin: 'http://evil.example' }],
    ['a page whose host name leads to this server', { origin: 'http://evil.example:4180', host: 'evil.example:4180' }],
    ['a page without an origin', { origin: 'null' }],
    ['a page of another server on this machine', { origin: 'http://localhost:1' }],
  ])('%s is refused', async (_, headers) => {
    expect(await post(server, ping, headers)).toMatchObject({ status: 403, body: { code: 'ORIGIN_DENIED' } });
  });

  test('a page of this server is accepted', async () => {
    const { port } = new URL(server.running.url);
    const headers = { origin: `http://localhost:${port}`, host: `localhost:${port}` };
    expect((await post(server, ping, headers)).status).toBe(200);
  });

  test('only single messages by POST are answered, without sessions', async () => {
    for (const method of ['GET', 'DELETE', 'PUT', 'HEAD']) {
      const { status, headers } = await send(server, method, {});
      expect([status, headers.get('allow')]).toEqual([405, 'POST']);
    }
    expect((await post(server, [ping, ping])).body.code).toBe('BODY_INVALID');
    expect((await post(server, '{')).body.code).toBe('BODY_INVALID');
    expect((await send(server, 'POST', {})).body.code).toBe('BODY_INVALID');
    expect((await post(server, ping, { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await post(server, ping, { 'idempotency-key': 'a' })).body.code).toBe('HEADER_INVALID');
    const answered = await post(server, ping, { 'mcp-session-id': 'unknown' });
    expect([answered.status, answered.headers.get('mcp-session-id')]).toEqual([200, null]);
    expect((await post(server, { jsonrpc: '2.0', method: 'notifications/initialized' })).status).toBe(202);
  });

  test('hostile names and arguments are refused and change nothing', async () => {
    await unchanged(async () => {
      for (const name of [
        '',
        'list_',
        '_posts',
        'constructor',
        '__proto__',
        'toString',
        'list_roles',
        'drop_posts',
        'x'.repeat(30_000),
      ])
        await expect(admin.call(name)).rejects.toThrow('Unknown tool');
      expect((await admin.call('list_constructor')).body.code).toBe('COLLECTION_UNKNOWN');
      expect((await admin.call('list___proto__')).body.code).toBe('COLLECTION_UNKNOWN');
      const proto =
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_posts","arguments":{"__proto__":1}}}';
      expect((await post(server, proto)).body.code).toBe('BODY_INVALID');
      const filter = { $or: Array.from({ length: 600 }, () => ({ views: 1 })) };
      expect((await admin.call('list_posts', { filter })).body.code).toBe('LIMIT_EXCEEDED');
      expect((await admin.call('list_posts', { filter: 'x'.repeat(100_000) })).isError).toBe(true);
      expect((await admin.call('list_posts', { paginate: false })).body.code).toBe('PARAMETER_UNKNOWN');
      expect((await admin.call('get_posts', { key: { $gt: 0 } })).body.code).toBe('PARAMETER_INVALID');
      const huge = { key: 1, values: { title: 'x'.repeat(11 * 1024 * 1024) } };
      await expect(admin.call('update_posts', huge)).rejects.toThrow();
    });
  });
});

describe('the setting MCP', () => {
  let server: TestServer;
  beforeAll(async () => {
    const { sqlite } = await import('../support/engines.ts');
    const { TestServer } = await import('../support/scenario.ts');
    server = await TestServer.start(sqlite);
    await server.data('POST /api/collections:create', { body: { name: 'posts', fields } });
  });
  afterAll(() => server.stop());

  test('without it, no tool writes', async () => {
    const client = await McpClient.connect(server, 'admin');
    expect((await client.toolNames()).filter((name) => /^(create|update|destroy)_/.test(name))).toEqual([]);
    for (const dryRun of [true, false])
      expect(await client.call('create_posts', { values: { title: 'x' }, dryRun })).toMatchObject({
        isError: true,
        body: { code: 'NO_PERMISSION', message: /setting MCP/ },
      });
    expect(await client.data('list_posts')).toEqual([]);
  });

  test('off: there is no such route', async () => {
    await server.running.stop();
    await server.boot({ MCP: 'off' });
    expect(await post(server, ping)).toMatchObject({ status: 404, body: { code: 'ROUTE_UNKNOWN' } });
  });
});
