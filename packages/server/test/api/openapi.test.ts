import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemActions } from '../../src/http/action-table.ts';
import { findSchemaProblem, resolveReference } from '../support/documented-replies.ts';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { TestServer } from '../support/scenario.ts';

const everyType = [
  { name: 'line', type: 'string', required: true, maxLength: 20, title: 'A line', description: 'One line.' },
  { name: 'code', type: 'string', pattern: '^[a-z]+$', defaultValue: 'abc', unique: true },
  { name: 'oddCode', type: 'string', pattern: '(?i)^[a-z]+$' },
  { name: 'long', type: 'text' },
  { name: 'whole', type: 'integer', min: 5, max: 9 },
  { name: 'big', type: 'bigInt', min: -5 },
  { name: 'real', type: 'float', min: 0, precision: 6, scale: 2 },
  { name: 'double', type: 'double' },
  { name: 'money', type: 'decimal', precision: 8, scale: 3 },
  { name: 'yes', type: 'boolean', allowNull: false, defaultValue: true },
  { name: 'day', type: 'date' },
  { name: 'hour', type: 'time' },
  { name: 'at', type: 'datetime', autoNow: true },
  { name: 'dayOnly', type: 'datetime', dateOnly: true },
  { name: 'any', type: 'json' },
  { name: 'list', type: 'array' },
  { name: 'choice', type: 'select', enum: ['red', 'blue'] },
  { name: 'choices', type: 'select', enum: ['red', 'blue'], multiple: true },
  { name: 'uid', type: 'uid' },
  { name: 'secretWord', type: 'password' },
  { name: 'mail', type: 'email' },
  { name: 'page', type: 'url' },
  { name: 'call', type: 'phone' },
  { name: 'tint', type: 'color' },
  { name: 'place', type: 'sort' },
];
const collections = [
  { name: 'things', title: 'Things', fields: everyType, options: { paranoid: true, authors: true } },
  {
    name: 'vaults',
    title: 'Hidden title',
    description: 'Hidden words',
    fields: [{ name: 'combination', type: 'string', title: 'Hidden field' }],
  },
  {
    name: 'posts',
    title: 'Posts',
    fields: [
      { name: 'title', type: 'string', required: true },
      { name: 'salary', type: 'integer', title: 'Hidden salary' },
      { name: 'published', type: 'boolean' },
      { name: 'writer', type: 'belongsTo', target: 'writers', required: true, onDelete: 'restrict' },
      { name: 'vault', type: 'belongsTo', target: 'vaults' },
      { name: 'tags', type: 'belongsToMany', target: 'tags' },
    ],
  },
  {
    name: 'writers',
    fields: [
      { name: 'name', type: 'string' },
      { name: 'posts', type: 'hasMany', target: 'posts', foreignKey: 'writerId' },
    ],
  },
  { name: 'tags', fields: [{ name: 'code', type: 'string', primaryKey: true }] },
];
const granted = [
  {
    role: 'reader',
    resource: 'posts',
    actions: ['view'],
    filter: { published: true, 'vault.combination': 'x-filter-value' },
    exceptFields: ['salary'],
  },
  { role: 'reader', resource: 'writers', actions: ['get'], fields: ['name'] },
  { role: 'writer', resource: 'posts', actions: ['view', 'update'] },
  { role: 'writer', resource: 'posts', actions: ['create'], fields: ['title', 'writer'] },
  { role: 'writer', resource: 'writers', actions: ['list'], fields: ['name'] },
  { role: 'writer', resource: 'writers', actions: ['get'] },
  { role: 'writer', resource: 'tags', actions: ['view'] },
  { role: 'depositor', resource: 'vaults', actions: ['create'] },
  { role: 'public', resource: 'tags', actions: ['list'] },
];
/** The callers that request the document: admin and roles by API key, and an anonymous caller. */
const callers = ['admin', 'reader', 'writer', 'depositor', 'nobody'];

describeEngines('docs:openapi', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/collections:apply', { body: collections });
    for (const name of ['reader', 'writer', 'depositor'])
      await server.data('POST /api/roles:create', { body: { name, title: name } });
    for (const body of granted) await server.data('POST /api/permissions:create', { body });
    for (const name of ['reader', 'writer', 'depositor']) await server.createKey(name);
  });
  afterAll(() => server.stop());

  const documentFor = async (as = 'admin'): Promise<Json> => {
    const reply = await server.call('GET /api/docs:openapi', { as });
    expect(reply.status).toBe(200);
    return reply.body;
  };
  const paths = async (as: string): Promise<string[]> => Object.keys((await documentFor(as)).paths);
  const schema = async (name: string, as = 'admin'): Promise<Json> => (await documentFor(as)).components.schemas[name];

  test.each(callers)('is a valid OpenAPI 3.1 document for %s', async (as) => {
    const { valid, errors } = await new Validator().validate(await documentFor(as));
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
  });

  test.each(callers)('every reference has a target and every operation has a unique id for %s', async (as) => {
    const document = await documentFor(as);
    const ids: string[] = [];
    const look = (node: Json): void => {
      if (node === null || typeof node !== 'object') return;
      if (typeof node.$ref === 'string') expect(resolveReference(document, node), node.$ref).toBeDefined();
      if (node.operationId) ids.push(node.operationId);
      Object.values(node).forEach(look);
    };
    look(document);
    expect(new Set(ids).size).toBe(ids.length);
    const tags = new Set(document.tags.map((each: Json) => each.name));
    for (const item of Object.values(document.paths) as Json[])
      for (const name of (item.get ?? item.post).tags) expect(tags).toContain(name);
  });

  test.each(callers)('every example matches its schema for %s', async (as) => {
    const document = await documentFor(as);
    let seen = 0;
    const look = (node: Json): void => {
      if (node === null || typeof node !== 'object') return;
      if (node.examples && (node.type || node.anyOf))
        for (const each of node.examples) {
          expect([each, findSchemaProblem(document, node, each)]).toEqual([each, null]);
          seen += 1;
        }
      if (node.schema && 'example' in node)
        expect([node.example, findSchemaProblem(document, node.schema, node.example)]).toEqual([node.example, null]);
      Object.values(node).forEach(look);
    };
    look(document);
    expect(seen).toBeGreaterThan(1);
  });

  test('the example of a create is accepted', async () => {
    const [example] = (await schema('things.create')).examples;
    const made = await server.data('POST /api/things:create', { body: example });
    expect(made).toMatchObject({ line: 'text', whole: 5, mail: 'ann@example.com' });
    await server.data(`POST /api/things:destroy?filterByTk=${made.id}&force=true`);
  });

  test('requests and replies have different schemas for canonical, write-only and read-only fields', async () => {
    const shown = (await schema('things.record')).properties;
    const given = (await schema('things.create')).properties;
    expect(shown).toMatchObject({
      id: { type: 'integer' },
      line: { type: 'string', maxLength: 20, title: 'A line', description: 'One line.' },
      whole: { type: ['integer', 'null'], minimum: 5, maximum: 9 },
      big: { type: ['integer', 'string', 'null'], format: 'int64', minimum: -5 },
      money: { type: ['string', 'null'], pattern: '^-?\\d{1,5}\\.\\d{3}$' },
      yes: { type: 'boolean' },
      day: { type: ['string', 'null'], format: 'date' },
      dayOnly: { type: ['string', 'null'], format: 'date' },
      at: { type: ['string', 'null'], format: 'date-time' },
      choice: { type: ['string', 'null'], enum: ['red', 'blue', null] },
      choices: { type: ['array', 'null'], items: { enum: ['red', 'blue'] }, uniqueItems: true },
      uid: { format: 'uuid' },
      createdAt: { readOnly: true },
      createdById: { readOnly: true },
    });
    expect(shown).not.toHaveProperty('secretWord');
    expect(given).toMatchObject({
      money: { type: ['number', 'string', 'null'] },
      secretWord: { writeOnly: true, minLength: 8 },
      code: { pattern: '^[a-z]+$', default: 'abc' },
      oddCode: { description: expect.stringContaining('(?i)^\\[a-z]+$') },
    });
    expect(given.oddCode).not.toHaveProperty('pattern');
    for (const name of ['createdAt', 'createdById', 'createdBy', 'deletedAt']) expect(given).not.toHaveProperty(name);
    expect(await schema('things.create')).toMatchObject({ required: ['line'] });
    expect(await schema('things.update')).not.toHaveProperty('required');
  });

  test('a required foreign key may be replaced by its relation', async () => {
    const either = (await schema('posts.create')).allOf ?? [];
    const { required } = await schema('posts.create');
    expect(required).toContain('title');
    expect(required).not.toContain('writerId');
    for (const { anyOf } of either) expect(anyOf).toEqual([{ required: ['writerId'] }, { required: ['writer'] }]);
  });

  test('actions depend on the definition: a trash has restore, and a sort field has move', async () => {
    const all = await paths('admin');
    expect(all).toEqual(expect.arrayContaining(['/api/things:restore', '/api/things:move']));
    expect(all).not.toContain('/api/posts:restore');
    expect(all).not.toContain('/api/posts:move');
    expect(all).toEqual(expect.arrayContaining(['/api/posts/{key}/tags:toggle', '/api/posts/{key}/writer:set']));
    expect(all).not.toContain('/api/posts/{key}/writer:list');
    expect(all).not.toContain('/api/things/{key}/createdBy:set');
  });

  test('every explicitly implemented action is documented for a signed-in administrator', async () => {
    const shown = new Set(await paths('admin'));
    const missing = Object.keys(systemActions)
      .map((action) => action.replace('collections/fields:', 'collections/{collection}/fields:'))
      .map((action) => (action === 'realtime:listen' ? '/api/realtime' : `/api/${action.replace(/:$/, '')}`))
      .filter((path) => !shown.has(path));
    expect(missing).toEqual([]);
  });

  test('actions for signed-in users are not documented for an API key', async () => {
    const own = ['auth:sessions', 'auth:endSession', 'auth:endOtherSessions', 'auth:changePassword'];
    const forKey = await paths('reader');
    for (const action of [...own, 'apiKeys:create', 'apiKeys:rotate', 'apiKeys:stats', 'permissions:explain'])
      expect(forKey).not.toContain(`/api/${action}`);
    for (const action of own) expect(await paths('admin')).toContain(`/api/${action}`);
  });

  test('the audit journal has read operations and no write operations', async () => {
    const document = await documentFor();
    const own = Object.keys(document.paths).filter((path) => path.startsWith('/api/audit'));
    expect(own.sort()).toEqual(['get', 'list', 'query', 'verify'].map((each) => `/api/audit:${each}`));
    expect(Object.keys(document.components.schemas).filter((name) => name.startsWith('audit.'))).toEqual([
      'audit.record',
    ]);
    expect(document.components.schemas['audit.record'].properties).toMatchObject({
      outcome: { enum: ['done', 'refused'] },
      count: { type: 'integer' },
    });
    expect((await paths('reader')).filter((path) => path.includes('audit'))).toEqual([]);
  });

  test('only the name of an API key can be updated', async () => {
    expect(Object.keys((await schema('apiKeys.update')).properties)).toEqual(['name']);
    expect(
      (await paths('admin')).filter((path) => /apiKeys\/\{key\}\/roleOf:(?:set|add|remove|toggle|create)/.test(path)),
    ).toEqual([]);
  });

  test('operations that change nothing have no dryRun', async () => {
    for (const action of ['auth:sessions', 'apiKeys:stats', 'permissions:explain', 'audit:verify'])
      await server.play({
        name: 'dryRun of a read is refused',
        request: `GET /api/${action}?dryRun=true`,
        expect: { status: 400, code: 'PARAMETER_UNKNOWN' },
      });
  });

  test('the reply 429 has the waiting time and the limit', async () => {
    const { components } = await documentFor('nobody');
    expect(Object.keys(components.responses.TooManyRequests.headers)).toEqual([
      'Retry-After',
      'RateLimit',
      'RateLimit-Policy',
    ]);
  });

  test('a reader sees the operations that it may use, and no others', async () => {
    const reply = await server.call('GET /api/docs:openapi', { as: 'reader' });
    const own = (await paths('reader')).filter(
      (path) => path.startsWith('/api/posts') || path.startsWith('/api/writers'),
    );
    expect(own.sort()).toEqual(
      ['posts:get', 'posts:list', 'posts:query', 'posts/{key}/writer:get', 'posts/{key}/tags:list', 'writers:get']
        .map((each) => `/api/${each}`)
        .sort(),
    );
    const words = ['salary', '"vault"', 'vaults', 'combination', 'Hidden', 'x-filter-value', 'things', 'secretWord'];
    for (const hidden of [...words, '/api/collections', 'apiKeys:list', 'depositor'])
      expect([hidden, reply.text.includes(hidden)]).toEqual([hidden, false]);
    const shown = ['id', 'title', 'published', 'writer', 'writerId', 'vaultId', 'tags', 'createdAt', 'updatedAt'];
    expect(Object.keys((await schema('posts.record', 'reader')).properties).sort()).toEqual(shown.sort());
    expect(Object.keys((await schema('writers.record', 'reader')).properties)).toEqual(['id', 'name']);
  });

  test('list, get and create have separate schemas if their fields differ', async () => {
    const document = await documentFor('writer');
    expect(Object.keys(document.components.schemas['writers.listed'].properties)).toEqual(['id', 'name']);
    expect(Object.keys(document.components.schemas['writers.record'].properties)).toContain('createdAt');
    expect(Object.keys(document.components.schemas['posts.create'].properties).sort()).toEqual([
      'title',
      'writer',
      'writerId',
    ]);
    expect(await schema('vaults.key', 'depositor')).toMatchObject({
      required: ['id'],
      properties: { id: { type: 'integer' } },
    });
    expect(await paths('depositor')).toContain('/api/vaults:create');
    expect(await paths('depositor')).not.toContain('/api/vaults:firstOrCreate');
  });

  test('without a credential only the public operations are documented', async () => {
    expect((await paths('nobody')).sort()).toEqual([
      '/api/auth:lostPassword',
      '/api/auth:resetPassword',
      '/api/auth:resume',
      '/api/auth:setup',
      '/api/auth:signIn',
      '/api/auth:signUp',
      '/api/docs:openapi',
      '/api/health',
      '/api/tags:list',
      '/api/tags:query',
    ]);
    const { text } = await server.call('GET /api/docs:openapi', { as: 'nobody' });
    for (const hidden of ['posts', 'writers', 'things', 'vaults', 'NewKey', 'FieldDefinition'])
      expect([hidden, text.includes(hidden)]).toEqual([hidden, false]);
  });

  test('an invalid credential is refused with 401, and an unknown parameter with 400', async () => {
    await server.play({
      name: 'an invalid credential is refused',
      request: 'GET /api/docs:openapi',
      as: 'header:Bearer nonsense',
      expect: { status: 401, code: 'TOKEN_INVALID' },
    });
    await server.play({
      name: 'an unknown parameter is refused',
      request: 'GET /api/docs:openapi?role=admin',
      expect: { status: 400, code: 'PARAMETER_UNKNOWN' },
    });
    await server.play({
      name: 'an unknown document is refused',
      request: 'GET /api/docs:nothing',
      expect: { status: 404, code: 'ROUTE_UNKNOWN' },
    });
  });

  test('the ETag is strong, is stable while nothing changes, and depends on the role', async () => {
    const first = await server.call('GET /api/docs:openapi');
    const etag = first.headers.get('etag')!;
    expect(etag).toMatch(/^"0\.[^"]+"$/);
    const again = await server.call('GET /api/docs:openapi', { headers: { 'if-none-match': etag } });
    expect([again.status, again.text]).toEqual([304, '']);
    const packed = await server.call('GET /api/docs:openapi', { headers: { 'accept-encoding': 'gzip' } });
    expect([packed.text === first.text, packed.headers.get('etag') === etag]).toEqual([true, false]);
    const other = await server.call('GET /api/docs:openapi', { as: 'reader', headers: { 'if-none-match': etag } });
    expect(other.status).toBe(200);
    expect(first.headers.get('vary')).toBe('Authorization, X-App, X-Role, Accept-Encoding');
    const head = await server.call('HEAD /api/docs:openapi');
    expect([head.status, head.text, head.headers.get('etag')]).toEqual([200, '', etag]);
  });

  test('the document changes immediately with definitions and permissions', async () => {
    const etag = async (as: string): Promise<string> =>
      (await server.call('GET /api/docs:openapi', { as })).headers.get('etag')!;
    const before = { admin: await etag('admin'), reader: await etag('reader') };
    await server.data('POST /api/fields:create', { body: { collectionName: 'things', name: 'later', type: 'string' } });
    expect((await schema('things.record')).properties).toHaveProperty('later');
    expect(await etag('reader')).toBe(before.reader);
    expect(await etag('admin')).not.toBe(before.admin);
    const { id } = await server.data('POST /api/permissions:create', {
      body: { role: 'reader', resource: 'tags', actions: ['create'] },
    });
    expect(await paths('reader')).toContain('/api/tags:create');
    await server.data(`POST /api/permissions:destroy?filterByTk=${id}`);
    expect(await etag('reader')).toBe(before.reader);
    await server.data('POST /api/fields:destroy', { body: { collectionName: 'things', name: 'later' } });
    expect(await etag('admin')).toBe(before.admin);
  });

  test('each application has its own document', async () => {
    await server.data('POST /api/applications:create', { body: { name: 'shop' } });
    const headers = { 'x-app': 'shop' };
    const { token } = await server.data('POST /api/auth:signIn', {
      as: 'nobody',
      headers,
      body: { email: 'root@example.com', password: 'correct horse battery' },
    });
    await server.data('POST /api/collections:create', { as: token, headers, body: { name: 'orders' } });
    const { body, text } = await server.call('GET /api/docs:openapi', { as: token, headers });
    expect(body.info.title).toBe('Tablinum: shop');
    expect(body.components.parameters['X-App']).toMatchObject({ required: true, schema: { default: 'shop' } });
    expect(body.paths).toHaveProperty('/api/orders:list');
    expect(body.paths).not.toHaveProperty('/api/applications:list');
    for (const hidden of ['things', 'vaults']) expect([hidden, text.includes(hidden)]).toEqual([hidden, false]);
    const outside = await server.call('GET /api/docs:openapi', { as: 'nobody', headers });
    expect(Object.keys(outside.body.paths).sort()).toEqual([
      '/api/auth:lostPassword',
      '/api/auth:resetPassword',
      '/api/auth:resume',
      '/api/auth:setup',
      '/api/auth:signIn',
      '/api/auth:signUp',
      '/api/docs:openapi',
      '/api/health',
    ]);
    await server.data('POST /api/applications:destroy?filterByTk=shop&confirm=shop');
  });

  test.each(callers)('every documented operation exists for %s', async (as) => {
    const key = as === 'admin' ? await server.createKey('admin') : as; // because auth:signOut would end a session
    const document = await documentFor(key);
    for (const [path, item] of Object.entries(document.paths) as [string, Json][]) {
      const method = item.get ? 'GET' : 'POST';
      const called = path.replace('{key}', '1').replace('{collection}', 'posts');
      const reply = await server.call(`${method} ${called}`, { as: key });
      expect([path, reply.status, reply.body?.code]).not.toEqual([path, expect.anything(), 'ROUTE_UNKNOWN']);
      expect([path, reply.status]).not.toEqual([path, 405]);
      expect([path, reply.body?.message]).not.toEqual([path, expect.stringContaining('The role does not allow')]);
    }
  });
});
