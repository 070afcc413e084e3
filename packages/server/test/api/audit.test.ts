import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { behind, entriesOf, verified } from '../support/audit-entries.ts';
import { describeEngines } from '../support/engines.ts';
import type { Scenario } from '../support/scenario.ts';
import { TestServer } from '../support/scenario.ts';
import { openShop, shop } from '../support/shop.ts';

const reading: readonly Scenario[] = [
  {
    name: 'a list of entries by filter, sort and fields',
    request:
      'GET /api/audit:list?filter={"action":"roles:create","target":{"$in":["clerk","auditor"]}}&sort=-id&fields=action,target,outcome,actor,role',
    expect: {
      status: 200,
      body: {
        data: [
          { action: 'roles:create', target: 'auditor', outcome: 'done', actor: 'user:1', role: 'admin' },
          { action: 'roles:create', target: 'clerk', outcome: 'done', actor: 'user:1', role: 'admin' },
        ],
        meta: { count: 2 },
      },
    },
  },
  {
    name: 'a list by page',
    request: 'GET /api/audit:list?pageSize=1&page=2&fields=id',
    expect: { status: 200, body: { data: [{ id: 2 }], meta: { page: 2, pageSize: 1, hasNext: true } } },
  },
  {
    name: 'one entry by its id',
    request: 'GET /api/audit:get/1',
    expect: {
      status: 200,
      body: { data: { id: 1, action: 'auth:signIn', actor: 'user:1', outcome: 'done', code: null, count: 1 } },
    },
  },
  {
    name: 'sums over entries',
    request: 'POST /api/audit:query',
    body: {
      measures: [{ field: 'count', aggregation: 'sum', alias: 'times' }],
      dimensions: [{ field: 'action' }],
      filter: { action: 'roles:create' },
    },
    expect: { status: 200, body: { data: [{ action: 'roles:create', times: 2 }] } },
  },
  { name: 'an entry that is not there', request: 'GET /api/audit:get/999999', expect: { status: 404 } },
  {
    name: 'an unknown field is 400',
    request: 'GET /api/audit:list?filter={"nope":1}',
    expect: { status: 400, body: { code: 'FIELD_UNKNOWN' } },
  },
  {
    name: 'what holds the chain together is no field',
    request: 'GET /api/audit:list?fields=place',
    expect: { status: 400, body: { code: 'FIELD_UNKNOWN' } },
  },
  {
    name: 'a role that may configure reads it',
    request: 'GET /api/audit:list?pageSize=1&fields=id',
    as: 'auditor',
    expect: { status: 200, body: { data: [{ id: 1 }] } },
  },
  {
    name: 'a role that may configure verifies it',
    request: 'GET /api/audit:verify',
    as: 'auditor',
    expect: { status: 200, body: { data: { valid: true, firstBroken: null } } },
  },
  {
    name: 'any other role does not list it',
    request: 'GET /api/audit:list',
    as: 'clerk',
    expect: { status: 403, body: { error: 'No permissions' }, absent: ['signIn'] },
  },
  { name: 'nor get', request: 'GET /api/audit:get/1', as: 'clerk', expect: { status: 403 } },
  { name: 'nor query', request: 'POST /api/audit:query', as: 'clerk', body: {}, expect: { status: 403 } },
  { name: 'nor verify', request: 'GET /api/audit:verify', as: 'clerk', expect: { status: 403 } },
  { name: 'nobody without a credential', request: 'GET /api/audit:list', as: 'nobody', expect: { status: 401 } },
  { name: 'verify without a credential', request: 'GET /api/audit:verify', as: 'nobody', expect: { status: 401 } },
  ...['create', 'update', 'destroy', 'restore', 'updateOrCreate'].map(
    (action): Scenario => ({
      name: `nobody writes it by ${action}`,
      request: `POST /api/audit:${action}?filterByTk=1`,
      body: { target: 'x' },
      expect: { status: 404, body: { code: 'ROUTE_UNKNOWN' } },
    }),
  ),
  {
    name: 'a write by GET is 405',
    request: 'GET /api/audit:destroy?filterByTk=1',
    expect: { status: 405, body: { code: 'METHOD_NOT_ALLOWED' } },
  },
  {
    name: 'verify knows no parameter',
    request: 'GET /api/audit:verify?page=2',
    expect: { status: 400, body: { code: 'PARAMETER_UNKNOWN' } },
  },
  {
    name: 'no relation leads into it',
    request: 'POST /api/collections:create',
    body: { name: 'watchers', fields: [{ name: 'entry', type: 'belongsTo', target: 'audit' }] },
    expect: { status: 422 },
  },
];

describeEngines('the audit journal', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/roles:create', { body: { name: 'clerk' } });
    await server.data('POST /api/roles:create', { body: { name: 'auditor', allowConfigure: true } });
    await server.key('clerk');
    await server.key('auditor');
  });
  afterAll(() => server.stop());

  describe('is read like other lists', () => {
    for (const scenario of reading) test(scenario.name, () => server.play(scenario).then(() => {}));
  });

  /** What was noted since an entry, in the order of the acts. */
  async function since(id: number): Promise<unknown[]> {
    const entries = await entriesOf(server);
    return entries.filter((entry) => entry.id > id).map(({ action, target }) => `${action} ${target}`);
  }
  const newest = async (): Promise<number> => (await entriesOf(server)).at(-1)!.id;

  test('every administrative act is an entry', async () => {
    const before = await newest();
    await server.data('POST /api/collections:create', {
      body: { name: 'notes', fields: [{ name: 'text', type: 'string' }] },
    });
    await server.data('POST /api/fields:create', {
      body: { collectionName: 'notes', name: 'colour', type: 'color' },
    });
    await server.data('POST /api/collections/notes/fields:destroy?filterByTk=colour');
    const { id } = await server.data('POST /api/users:create', { body: { email: 'ann@example.com' } });
    await server.data(`POST /api/users:update?filterByTk=${id}`, { body: { password: 'a new secret word' } });
    await server.data(`POST /api/users/${id}/roles:add`, { body: { values: ['clerk'] } });
    const row = await server.data('POST /api/permissions:create', {
      body: { role: 'clerk', resource: 'notes', actions: ['list'] },
    });
    const key = await server.data('POST /api/apiKeys:create', { body: { role: { name: 'clerk' } } });
    await server.data(`POST /api/apiKeys:destroy?filterByTk=${key.id}`);
    await server.data(`POST /api/permissions:destroy?filterByTk=${row.id}`);
    await server.data('POST /api/collections:destroy?filterByTk=notes');
    expect(await since(before)).toEqual([
      'collections:create notes',
      'fields:create notes.colour',
      'fields:destroy notes.colour',
      `users:create ${id}`,
      `users:update ${id}`,
      `users:update ${id}`,
      `permissions:create ${row.id}`,
      `apiKeys:create ${key.id}`,
      `apiKeys:destroy ${key.id}`,
      `permissions:destroy ${row.id}`,
      'collections:destroy notes',
    ]);
  });

  test('sign-in and sign-out are entries of the user', async () => {
    await server.data('POST /api/users:create', {
      body: { email: 'bob@example.com', password: 'bobs secret word', roles: ['clerk'] },
    });
    const before = await newest();
    const token = await server.signIn('bob@example.com', 'bobs secret word');
    await server.data('POST /api/auth:signOut', { as: token });
    const bob = await server.data('GET /api/users:get?filter={"email":"bob@example.com"}');
    const entries = (await entriesOf(server)).filter((entry) => entry.id > before);
    expect(entries).toMatchObject([
      { action: 'auth:signIn', actor: `user:${bob.id}`, outcome: 'done', address: '127.0.0.1' },
      { action: 'auth:signOut', actor: `user:${bob.id}`, credential: { type: 'session' }, role: 'clerk' },
    ]);
  });

  test('what ends nothing is none: a sign-out by a key, and the other sessions where there are none', async () => {
    const before = await newest();
    expect(await server.data('POST /api/auth:signOut', { as: 'clerk' })).toBe(1);
    expect((await server.call('GET /api/auth:check', { as: 'clerk' })).status).toBe(200);
    await server.data('POST /api/auth:endOtherSessions');
    const between = await newest();
    expect(await server.data('POST /api/auth:endOtherSessions')).toBe(0);
    expect(await newest()).toBe(between);
    expect((await since(before)).length).toBeLessThanOrEqual(1);
  });

  test('records of users are none, and neither are reads, trials and refused changes', async () => {
    await server.data('POST /api/collections:create', {
      body: { name: 'plain', fields: [{ name: 'n', type: 'integer' }] },
    });
    const before = await newest();
    await server.data('POST /api/plain:create', { body: { n: 1 } });
    await server.data('GET /api/users:list');
    await server.data('POST /api/roles:create?dryRun=true', { body: { name: 'never' } });
    await server.data('POST /api/fields:create?dryRun=true', {
      body: { collectionName: 'plain', name: 'm', type: 'string' },
    });
    expect((await server.call('POST /api/roles:create', { body: { name: 'clerk' } })).status).toBe(409);
    expect((await server.call('POST /api/roles:create', { body: { name: '9' } })).status).toBe(422);
    expect(await since(before)).toEqual([]);
  });

  test('refused requests are counted by who, what and why', async () => {
    const before = await newest();
    for (let time = 0; time < 5; time += 1) await server.call('GET /api/users:list', { as: 'clerk' });
    for (let time = 0; time < 3; time += 1) await server.call('GET /api/users:list', { as: 'nobody' });
    await server.call('POST /api/roles:update?filterByTk=admin', { as: 'auditor', body: { title: 'x' } });
    await server.call('GET /api/plain:list', { as: 'header:Bearer tbk_nonsense' });
    const key = (await server.data('GET /api/apiKeys:list?filter={"role":"clerk"}'))[0].id as number;
    const entries = (await entriesOf(server)).filter((entry) => entry.id > before);
    expect(entries).toMatchObject([
      {
        outcome: 'refused',
        action: 'users:list',
        code: 'NO_PERMISSION',
        actor: `apiKey:${key}`,
        credential: { type: 'apiKey', id: key },
        role: 'clerk',
        target: null,
        count: 5,
        address: '127.0.0.1',
      },
      { action: 'users:list', code: 'TOKEN_MISSING', actor: null, credential: null, count: 3 },
      { action: 'roles:update', code: 'SYSTEM_PROTECTED', role: 'auditor', count: 1 },
      { action: 'plain:list', code: 'TOKEN_INVALID', actor: null, count: 1 },
    ]);
  });

  test('a failed sign-in names the user, never the words that were typed', async () => {
    const before = await newest();
    for (const email of ['bob@example.com', 'nobody-of-this-name@example.com'])
      await server.call('POST /api/auth:signIn', { as: 'nobody', body: { email, password: 'typed-in-vain' } });
    const bob = await server.data('GET /api/users:get?filter={"email":"bob@example.com"}');
    const entries = (await entriesOf(server)).filter((entry) => entry.id > before);
    expect(entries).toMatchObject([
      { action: 'auth:signIn', code: 'SIGN_IN_FAILED', target: `user:${bob.id}`, outcome: 'refused' },
      { action: 'auth:signIn', code: 'SIGN_IN_FAILED', target: null, outcome: 'refused' },
    ]);
    expect(JSON.stringify(entries)).not.toMatch(/typed|of-this-name/);
  });

  test('names that a refused caller invents are not kept', async () => {
    const before = await newest();
    for (const path of ['invented-one:list', 'plain/1/invented-two:list', 'invented-three:invented-four'])
      await server.call(`GET /api/${path}`, { as: 'clerk' });
    await server.call('GET /api/plain:list?filter={"n":"a-secret-condition"}', { as: 'clerk' });
    const entries = (await entriesOf(server)).filter((entry) => entry.id > before);
    expect(entries.every(({ action }) => action === null || action === 'plain:list')).toBe(true);
    expect(JSON.stringify(entries)).not.toMatch(/invented|secret-condition/);
  });

  test('an act on many records is an entry each, past a hundred one with their number', async () => {
    const made = async (count: number, from: string): Promise<unknown[]> => {
      const before = await newest();
      const body = Array.from({ length: count }, (_, index) => ({ name: `${from}${index}` }));
      await server.data('POST /api/roles:create', { body });
      return (await entriesOf(server)).filter((entry) => entry.id > before).map((entry) => [entry.target, entry.count]);
    };
    expect(await made(2, 'few')).toEqual([
      ['few0', 1],
      ['few1', 1],
    ]);
    expect(await made(120, 'many')).toEqual([[null, 120]]);
  });

  test('it holds no token, password or value', async () => {
    const password = 'Grepped-Pass-Word-1';
    await server.data('POST /api/users:create', {
      body: { email: 'eve@example.com', nickname: 'Grepped-Nick', password },
    });
    const session = await server.signIn('eve@example.com', password);
    const key = await server.data('POST /api/apiKeys:create', {
      body: { name: 'Grepped-Key', role: { name: 'clerk' } },
    });
    await server.call('GET /api/users:list', { as: session });
    await server.call('GET /api/users:list', { as: `${key.token.slice(0, -1)}x` });
    await server.call('GET /api/users:list?filter={"email":"Grepped-Filter"}', { as: key.token });
    await server.call('POST /api/users:create', { as: key.token, body: { email: 'Grepped-Body@example.com' } });
    await entriesOf(server);
    const rows = await behind(server, 'SELECT * FROM _audit');
    let bytes = JSON.stringify(rows, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each));
    const folder = join(server.store.dataDir, 'applications');
    if (engine.name === 'sqlite')
      for (const name of readdirSync(folder).filter((each) => each.includes('.audit.')))
        bytes += readFileSync(join(folder, name), 'latin1');
    expect(bytes).toContain('users:create');
    const bare = (token: string): string => token.slice(4, -6);
    for (const secret of [
      password,
      bare(session),
      bare(key.token),
      bare(server.tokens.get('admin')!),
      'Grepped',
      'eve@',
    ])
      expect(bytes.includes(secret), secret).toBe(false);
  });

  test('it stands beside the data: no list of collections names it', async () => {
    const names = ((await server.data('GET /api/collections:list')) as { name: string }[]).map(({ name }) => name);
    expect(names).not.toContain('audit');
    expect(await verified(server)).toMatchObject({ valid: true });
  });
});

describeEngines('the audit journal of limited callers', (engine) => {
  test('requests over the limit are counted', async () => {
    const server = await TestServer.start(engine, { env: { RATE_LIMIT_CREDENTIAL: '20/600s' } });
    const key = await server.data('POST /api/apiKeys:create', { body: { role: { name: 'viewer' } } });
    const replies = await Promise.all(
      Array.from({ length: 30 }, () => server.call('GET /api/auth:check', { as: key.token })),
    );
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(10);
    const [entry] = (await entriesOf(server)).filter(({ code }) => code === 'RATE_LIMITED');
    expect(entry).toMatchObject({ action: 'auth:check', actor: `apiKey:${key.id}`, count: 10, outcome: 'refused' });
    const stats = await server.data(`GET /api/apiKeys:stats?filterByTk=${key.id}`);
    expect(stats).toMatchObject({ requests: 30, failedAttempts: 10 });
    await server.stop();
  });
});

describeEngines('the audit journals of applications', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await openShop(engine);
  });
  afterAll(() => server.stop());

  test('each application has its own, and its admins alone read it', async () => {
    const own = await entriesOf(server, { as: 'shopAdmin', headers: shop });
    expect(own).toMatchObject([
      { action: 'auth:signIn', actor: 'user:1' },
      { action: 'collections:create', target: 'orders' },
    ]);
    const inMain = await entriesOf(server);
    expect(inMain.map(({ action }) => action)).toEqual(['auth:signIn', 'applications:create']);
    const foreign = await server.call('GET /api/audit:list', { headers: shop });
    expect(foreign.status).toBe(401);
    const key = await server.data('POST /api/apiKeys:create', { body: { role: { name: 'admin' } } });
    const elsewhere = await server.call('GET /api/audit:list', { as: key.token, headers: shop });
    expect([elsewhere.status, elsewhere.body.code]).toEqual([403, 'APPLICATION_MISMATCH']);
  });

  test('who comes in from main is noted on both sides; stop and start as they were asked for', async () => {
    await server.data('POST /api/applications:enter?filterByTk=shop');
    const own = await entriesOf(server, { as: 'shopAdmin', headers: shop });
    const done = own.filter(({ outcome }) => outcome === 'done');
    expect(done.at(-1)).toMatchObject({ action: 'applications:enter', actor: 'main/user:1', target: 'shop' });
    await server.data('POST /api/applications:stop?filterByTk=shop');
    await server.data('POST /api/applications:start?filterByTk=shop');
    const inMain = (await entriesOf(server)).filter(({ outcome }) => outcome === 'done');
    expect(inMain.slice(-3)).toMatchObject([
      { action: 'applications:enter', target: 'shop' },
      { action: 'applications:stop', target: 'shop' },
      { action: 'applications:start', target: 'shop' },
    ]);
    expect((await entriesOf(server, { as: 'shopAdmin', headers: shop })).length).toBeGreaterThanOrEqual(own.length);
  });

  test('a destroyed application takes its journal along', async () => {
    await server.data('POST /api/applications:destroy?filterByTk=shop&confirm=shop');
    if (engine.name === 'postgres') return;
    const files = readdirSync(join(server.store.dataDir, 'applications'));
    expect(files.filter((name) => !name.startsWith('1.'))).toEqual([]);
  });
});
