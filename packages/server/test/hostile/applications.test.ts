import { request as plainRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemActions } from '../../src/http/action-table.ts';
import { describeEngines } from '../support/engines.ts';
import { listOperations, type Operation } from '../support/hostile/attempts.ts';
import { sendRequest } from '../support/http-client.ts';
import { type ExpectedRefusal, type Reply, TestServer } from '../support/scenario.ts';

/** Requests to every endpoint with the credentials of one application and the names and ids of another one. */
describeEngines('separate applications', (engine) => {
  let server: TestServer;
  let operations: Operation[];
  const alpha = { 'x-app': 'alpha' };
  const beta = { 'x-app': 'beta' };
  /** The key of a record that only exists in beta. */
  const ofBeta = 6;
  const secrets = ['beta only', 'keeper@beta.example'];

  beforeAll(async () => {
    server = await TestServer.start(engine);
    for (const [name, headers] of [
      ['alpha', alpha],
      ['beta', beta],
    ] as const) {
      await server.data('POST /api/applications:create', { body: { name, displayName: name } });
      server.tokens.set(name, (await server.data(`POST /api/applications:enter?filterByTk=${name}`)).token);
      server.snapshotTokens.set(name, name);
      const make = (path: string, body: unknown) => server.data(`POST /api/${path}`, { as: name, headers, body });
      await make('collections:create', {
        name: 'items',
        fields: [
          { name: 'title', type: 'string' },
          { name: 'next', type: 'belongsTo', target: 'items' },
        ],
        options: { paranoid: true },
      });
      await make(
        'items:create',
        [1, 2, 3].map((id) => ({ title: `${name} ${id}` })),
      );
      server.tokens.set(`${name} key`, (await make('apiKeys:create', { role: { name: 'admin' } })).token);
    }
    const inBeta = (path: string, body: unknown) =>
      server.data(`POST /api/${path}`, { as: 'beta', headers: beta, body });
    await inBeta(
      'items:create',
      [4, 5, 6].map(() => ({ title: 'beta only', nextId: 1 })),
    );
    await inBeta('collections:create', { name: 'onlyBeta', fields: [{ name: 'title', type: 'string' }] });
    await inBeta('roles:create', { name: 'ofBeta' });
    for (let count = 0; count < 6; count += 1)
      await inBeta('users:create', {
        email: `keeper@beta.example${count || ''}`,
        password: 'correct horse',
        roles: ['ofBeta'],
      });
    for (let count = 0; count < 6; count += 1) await inBeta('apiKeys:create', { role: { name: 'ofBeta' } });
    await server.createKey('admin');
    server.tokens.set('main key', server.tokens.get('admin')!);
    server.tokens.set('admin', await server.signIn('root@example.com', 'correct horse battery'));
    const document = (await server.call('GET /api/docs:openapi', { as: 'beta', headers: beta })).body;
    operations = listOperations(document, systemActions).filter(
      ({ resource, action }) => !systemActions[`${resource}:${action}`]?.public,
    );
  });
  afterAll(() => server.stop());

  async function send(
    operation: Operation,
    as: string,
    headers: Record<string, string>,
    { key = '1', body = {} as unknown } = {},
  ): Promise<{ status: number; text: string }> {
    const path = operation.template.replace('{key}', key).replace('{collection}', 'items');
    const query = operation.parameters.includes('filterByTk') ? `?filterByTk=${key}` : '';
    const method = operation.reads && operation.action !== 'query' ? 'GET' : 'POST';
    return sendRequest(`${server.running.url}${path}${query}`, {
      method,
      headers: {
        ...headers,
        authorization: `Bearer ${server.tokens.get(as) ?? as}`,
        ...(method === 'POST' && { 'content-type': 'application/json' }),
      },
      body: method === 'POST' ? JSON.stringify(body) : undefined,
    });
  }

  describe.each([
    ['alpha key', 403, 'APPLICATION_MISMATCH'],
    ['main key', 403, 'APPLICATION_MISMATCH'],
    ['alpha', 401, 'TOKEN_INVALID'],
    ['admin', 401, 'TOKEN_INVALID'],
  ] as const)('a credential of alpha as %s in beta', (as, status, code) => {
    test(`gets ${status} for every action and changes nothing`, { timeout: 120_000 }, async () => {
      const before = await server.readSnapshot();
      const others: string[] = [];
      for (const operation of operations)
        for (const body of [{}, { filterByTk: ofBeta, values: [1], title: 'x', role: 'admin', name: 'x' }]) {
          const reply = await send(operation, as, beta, { body });
          const told = secrets.some((text) => reply.text.includes(text));
          if (reply.status !== status || told || !reply.text.includes(`"${code}"`))
            others.push(`${operation.template}: ${reply.status} ${reply.text.slice(0, 120)}`);
        }
      expect(others).toEqual([]);
      expect(operations.length).toBeGreaterThan(60);
      expect(await server.readSnapshot()).toBe(before);
    });
  });

  test('requests to alpha with ids of beta do not reach records of beta', { timeout: 120_000 }, async () => {
    const pictured = (await server.readSnapshot()).length;
    const before = await betaAlone();
    const told: string[] = [];
    for (const operation of operations) {
      if (operation.resource === 'auth') continue; // some of these actions would end the login of the test
      for (const as of ['alpha key', 'alpha']) {
        const { status, text } = await send(operation, as, alpha, { key: String(ofBeta), body: { nextId: ofBeta } });
        if (status >= 500 || secrets.some((secret) => text.includes(secret)))
          told.push(`${as} ${operation.template}: ${status} ${text.slice(0, 160)}`);
      }
    }
    expect(told).toEqual([]);
    expect(pictured).toBeGreaterThan(0);
    expect(await betaAlone()).toBe(before);
  });

  /** All data of beta, which must not depend on requests to alpha. */
  async function betaAlone(): Promise<string> {
    const read = (path: string) => server.data(`GET /api/${path}`, { as: 'beta', headers: beta });
    const names = ['items', 'users', 'roles', 'permissions', 'onlyBeta', 'collections'];
    const lists = await Promise.all(names.map((name) => read(`${name}:list`)));
    return JSON.stringify([lists, await read('apiKeys:list?except=lastUsedAt')]);
  }

  const inAlpha = (request: string, more: object = {}): Promise<Reply> =>
    server.call(request, { as: 'alpha', headers: alpha, ...more });

  test.each([
    ['GET /api/onlyBeta:list', undefined, 404, 'COLLECTION_UNKNOWN'],
    ['POST /api/onlyBeta:create', { title: 'x' }, 404, 'COLLECTION_UNKNOWN'],
    ['GET /api/collections:get?filterByTk=onlyBeta', undefined, 404, 'COLLECTION_UNKNOWN'],
    ['POST /api/fields:create', { collectionName: 'onlyBeta', name: 'x', type: 'string' }, 404, 'COLLECTION_UNKNOWN'],
    [
      'POST /api/collections:create',
      { name: 'y', fields: [{ name: 'b', type: 'belongsTo', target: 'onlyBeta' }] },
      422,
      'DEFINITION_INVALID',
    ],
    [
      'POST /api/collections:create',
      { name: 'y', fields: [{ name: 'b', type: 'belongsTo', target: 'beta.items' }] },
      422,
      'DEFINITION_INVALID',
    ],
    [
      'POST /api/permissions:create',
      { role: 'viewer', resource: 'onlyBeta', actions: 'list' },
      422,
      'DEFINITION_INVALID',
    ],
    ['POST /api/permissions:create', { role: 'ofBeta', resource: 'items', actions: 'list' }, 422, 'DEFINITION_INVALID'],
    ['POST /api/users:create', { email: 'x@example.com', roles: ['ofBeta'] }, 422, 'DEFINITION_INVALID'],
    ['POST /api/apiKeys:create', { role: { name: 'ofBeta' } }, 422, 'DEFINITION_INVALID'],
    ['POST /api/items:create', { title: 'x', nextId: 999 }, 400, 'REFERENCE_MISSING'],
    ['GET /api/beta.items:list', undefined, 404, 'COLLECTION_UNKNOWN'],
    ['GET /api/beta%2Fitems:list', undefined, 404, 'COLLECTION_UNKNOWN'],
    ['GET /api/..%2Fbeta%2Fitems:list', undefined, 404, 'COLLECTION_UNKNOWN'],
    ['POST /api/applications:destroy?filterByTk=beta&confirm=beta', undefined, 403, 'SYSTEM_PROTECTED'],
    ['POST /api/applications:enter?filterByTk=beta', undefined, 403, 'SYSTEM_PROTECTED'],
  ] as const)('%s %j in alpha is answered with %i', async (request, body, status, code) => {
    await server.play({
      name: request,
      request,
      as: 'alpha',
      headers: alpha,
      ...(body && { body }),
      expect: { status, code } as ExpectedRefusal,
    });
  });

  test('a role or user of beta cannot be used in alpha', async () => {
    expect((await inAlpha('GET /api/auth:check', { headers: { ...alpha, 'x-role': 'ofBeta' } })).status).toBe(403);
    const body = { email: 'keeper@beta.example', password: 'correct horse' };
    const signIn = (headers: Record<string, string>): Promise<Reply> =>
      server.call('POST /api/auth:signIn', { as: 'nobody', headers, body });
    expect((await signIn(alpha)).status).toBe(401);
    expect((await signIn({})).status).toBe(401);
    expect((await signIn(beta)).status).toBe(200);
  });

  test('cursors and ETags of beta reveal nothing in alpha', async () => {
    const list = 'GET /api/items:list?pageSize=2&sort=-title';
    const page = await server.call(list, { as: 'beta', headers: beta });
    const cursor = page.body.meta.nextCursor as string;
    const there = await inAlpha(`${list}&after=${cursor}`);
    expect(there.status).toBeLessThan(500);
    expect(there.text).not.toContain('beta');
    const tag = page.headers.get('etag')!;
    expect((await inAlpha(list, { headers: { ...alpha, 'if-none-match': tag } })).status).toBe(200);
    expect((await inAlpha(list, { headers: { ...alpha, 'if-none-match': `W/${tag}` } })).status).toBe(200);
  });

  const spellings = [
    'Beta',
    'BETA',
    'beta.',
    '"beta"',
    'beta;',
    'beta,alpha',
    '%62eta',
    'beta%00',
    './beta',
    '../beta',
    'alpha/../beta',
  ];
  const others = ['pg_catalog', 'public', 'information_schema', '1', '*', '__proto__', 'constructor', 'x'.repeat(300)];
  test.each([...spellings, ...others])('an application cannot be named by the header X-App: %s', async (name) => {
    for (const as of ['beta key', 'beta', 'alpha key', 'admin', 'nobody']) {
      const reply = await server.call('GET /api/items:list', { as, headers: { 'x-app': name } });
      expect([as, [401, 404].includes(reply.status)]).toEqual([as, true]);
      if (as === 'nobody') expect(reply.status).toBe(401);
      expect(reply.text).not.toContain('beta only');
    }
  });

  test('a repeated X-App header is refused with 400 in any order', async () => {
    for (const names of [
      ['alpha', 'beta'],
      ['beta', 'alpha'],
      ['beta', 'beta'],
    ]) {
      const status = await new Promise<number | undefined>((resolve, reject) => {
        const headers = ['Host', 'x', 'Authorization', `Bearer ${server.tokens.get('alpha key')}`];
        for (const name of names) headers.push('X-App', name);
        plainRequest(`${server.running.url}/api/items:list`, { headers }, (reply) => {
          reply.resume();
          resolve(reply.statusCode);
        })
          .on('error', reject)
          .end();
      });
      expect(status).toBe(400);
    }
  });

  test('parallel requests to both applications do not affect each other', async () => {
    const ask = async (name: string, headers: Record<string, string>): Promise<void> => {
      const { text, status } = await server.call('GET /api/items:list', { as: `${name} key`, headers });
      expect([status, text.includes(name === 'alpha' ? 'beta' : 'alpha')]).toEqual([200, false]);
    };
    await Promise.all(Array.from({ length: 60 }, (_, index) => (index % 2 ? ask('alpha', alpha) : ask('beta', beta))));
  });
});
