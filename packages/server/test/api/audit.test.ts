import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listAuditEntries, runOnJournalStore, verifyJournal } from '../support/audit-entries.ts';
import { describeEngines } from '../support/engines.ts';
import type { Scenario } from '../support/scenario.ts';
import { TestServer } from '../support/scenario.ts';
import { shopHeaders, startShopServer } from '../support/shop-server.ts';

const reading: readonly Scenario[] = [
  {
    name: 'a list of entries accepts filter, sort and fields',
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
    name: 'a list of entries is returned by page',
    request: 'GET /api/audit:list?pageSize=1&page=2&fields=id',
    expect: { status: 200, body: { data: [{ id: 2 }], meta: { page: 2, pageSize: 1, hasNext: true } } },
  },
  {
    name: 'one entry is returned by its id',
    request: 'GET /api/audit:get/1',
    expect: {
      status: 200,
      body: { data: { id: 1, action: 'auth:signIn', actor: 'user:1', outcome: 'done', code: null, count: 1 } },
    },
  },
  {
    name: 'entries can be aggregated',
    request: 'POST /api/audit:query',
    body: {
      measures: [{ field: 'count', aggregation: 'sum', alias: 'times' }],
      dimensions: [{ field: 'action' }],
      filter: { action: 'roles:create' },
    },
    expect: { status: 200, body: { data: [{ action: 'roles:create', times: 2 }] } },
  },
  {
    name: 'an entry that does not exist is refused with 404',
    request: 'GET /api/audit:get/999999',
    expect: { status: 404, code: 'RECORD_UNKNOWN' },
  },
  {
    name: 'an unknown field is refused with 400',
    request: 'GET /api/audit:list?filter={"nope":1}',
    expect: { status: 400, code: 'FIELD_UNKNOWN' },
  },
  {
    name: 'the hashes of the chain are not fields',
    request: 'GET /api/audit:list?fields=place',
    expect: { status: 400, code: 'FIELD_UNKNOWN' },
  },
  {
    name: 'a role that may configure can read the journal',
    request: 'GET /api/audit:list?pageSize=1&fields=id',
    as: 'auditor',
    expect: { status: 200, body: { data: [{ id: 1 }] } },
  },
  {
    name: 'a role that may configure can verify the journal',
    request: 'GET /api/audit:verify',
    as: 'auditor',
    expect: { status: 200, body: { data: { valid: true, firstBroken: null } } },
  },
  {
    name: 'any other role cannot list the journal',
    request: 'GET /api/audit:list',
    as: 'clerk',
    expect: { status: 403, code: 'NO_PERMISSION', body: { error: 'No permissions' }, absent: ['signIn'] },
  },
  {
    name: 'any other role cannot get an entry',
    request: 'GET /api/audit:get/1',
    as: 'clerk',
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'any other role cannot query the journal',
    request: 'POST /api/audit:query',
    as: 'clerk',
    body: {},
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'any other role cannot verify the journal',
    request: 'GET /api/audit:verify',
    as: 'clerk',
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'list without a credential is refused with 401',
    request: 'GET /api/audit:list',
    as: 'nobody',
    expect: { status: 401, code: 'TOKEN_MISSING' },
  },
  {
    name: 'verify without a credential is refused with 401',
    request: 'GET /api/audit:verify',
    as: 'nobody',
    expect: { status: 401, code: 'TOKEN_MISSING' },
  },
  ...['create', 'update', 'destroy', 'restore', 'updateOrCreate'].map(
    (action): Scenario => ({
      name: `nobody can write the journal by ${action}`,
      request: `POST /api/audit:${action}?filterByTk=1`,
      body: { target: 'x' },
      expect: { status: 404, code: 'ROUTE_UNKNOWN' },
    }),
  ),
  {
    name: 'a write by GET is refused with 405',
    request: 'GET /api/audit:destroy?filterByTk=1',
    expect: { status: 405, code: 'METHOD_NOT_ALLOWED' },
  },
  {
    name: 'verify accepts no parameter',
    request: 'GET /api/audit:verify?page=2',
    expect: { status: 400, code: 'PARAMETER_UNKNOWN' },
  },
  {
    name: 'no relation can refer to the journal',
    request: 'POST /api/collections:create',
    body: { name: 'watchers', fields: [{ name: 'entry', type: 'belongsTo', target: 'audit' }] },
    expect: { status: 422, code: 'DEFINITION_INVALID' },
  },
];

describeEngines('the audit journal', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/roles:create', { body: { name: 'clerk' } });
    await server.data('POST /api/roles:create', { body: { name: 'auditor', allowConfigure: true } });
    await server.createKey('clerk');
    await server.createKey('auditor');
  });
  afterAll(() => server.stop());

  describe('is read like any collection', () => {
    for (const scenario of reading) test(scenario.name, () => server.play(scenario).then(() => {}));
  });

  /** Actions and targets of the entries after the given one, in order. */
  async function since(id: number): Promise<unknown[]> {
    const entries = await listAuditEntries(server);
    return entries.filter((entry) => entry.id > id).map(({ action, target }) => `${action} ${target}`);
  }
  const newest = async (): Promise<number> => (await listAuditEntries(server)).at(-1)!.id;

  test('every administrative action is an entry', async () => {
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
    const entries = (await listAuditEntries(server)).filter((entry) => entry.id > before);
    expect(entries).toMatchObject([
      { action: 'auth:signIn', actor: `user:${bob.id}`, outcome: 'done', address: '127.0.0.1' },
      { action: 'auth:signOut', actor: `user:${bob.id}`, credential: { type: 'session' }, role: 'clerk' },
    ]);
  });

  test('a sign-out by an API key, and ending other sessions where none exist, are not entries', async () => {
    const before = await newest();
    expect(await server.data('POST /api/auth:signOut', { as: 'clerk' })).toBe(1);
    expect((await server.call('GET /api/auth:check', { as: 'clerk' })).status).toBe(200);
    await server.data('POST /api/auth:endOtherSessions');
    const between = await newest();
    expect(await server.data('POST /api/auth:endOtherSessions')).toBe(0);
    expect(await newest()).toBe(between);
    expect((await since(before)).length).toBeLessThanOrEqual(1);
  });

  test('writes to records of users, reads, dry runs and refused changes are not entries', async () => {
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

  test('refused requests are counted by caller, action and error code', async () => {
    const before = await newest();
    for (let time = 0; time < 5; time += 1) await server.call('GET /api/users:list', { as: 'clerk' });
    for (let time = 0; time < 3; time += 1) await server.call('GET /api/users:list', { as: 'nobody' });
    await server.call('POST /api/roles:update?filterByTk=admin', { as: 'auditor', body: { title: 'x' } });
    await server.call('GET /api/plain:list', { as: 'header:Bearer tbk_nonsense' });
    const key = (await server.data('GET /api/apiKeys:list?filter={"role":"clerk"}'))[0].id as number;
    const entries = (await listAuditEntries(server)).filter((entry) => entry.id > before);
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

  test('a failed sign-in names the user, and never the text that was typed', async () => {
    const before = await newest();
    for (const email of ['bob@example.com', 'nobody-of-this-name@example.com'])
      await server.call('POST /api/auth:signIn', { as: 'nobody', body: { email, password: 'typed-in-vain' } });
    const bob = await server.data('GET /api/users:get?filter={"email":"bob@example.com"}');
    const entries = (await listAuditEntries(server)).filter((entry) => entry.id > before);
    expect(entries).toMatchObject([
      { action: 'auth:signIn', code: 'SIGN_IN_FAILED', target: `user:${bob.id}`, outcome: 'refused' },
      { action: 'auth:signIn', code: 'SIGN_IN_FAILED', target: null, outcome: 'refused' },
    ]);
    expect(JSON.stringify(entries)).not.toMatch(/typed|of-this-name/);
  });

  test('names that a refused caller invents are not stored', async () => {
    const before = await newest();
    for (const path of ['invented-one:list', 'plain/1/invented-two:list', 'invented-three:invented-four'])
      await server.call(`GET /api/${path}`, { as: 'clerk' });
    await server.call('GET /api/plain:list?filter={"n":"a-secret-condition"}', { as: 'clerk' });
    const entries = (await listAuditEntries(server)).filter((entry) => entry.id > before);
    expect(entries.every(({ action }) => action === null || action === 'plain:list')).toBe(true);
    expect(JSON.stringify(entries)).not.toMatch(/invented|secret-condition/);
  });

  test('an action on many records writes one entry for each, and beyond a hundred one entry with their number', async () => {
    const made = async (count: number, from: string): Promise<unknown[]> => {
      const before = await newest();
      const body = Array.from({ length: count }, (_, index) => ({ name: `${from}${index}` }));
      await server.data('POST /api/roles:create', { body });
      return (await listAuditEntries(server))
        .filter((entry) => entry.id > before)
        .map((entry) => [entry.target, entry.count]);
    };
    expect(await made(2, 'few')).toEqual([
      ['few0', 1],
      ['few1', 1],
    ]);
    expect(await made(120, 'many')).toEqual([[null, 120]]);
  });

  test('the journal contains no token, password or value', async () => {
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
    await listAuditEntries(server);
    const rows = await runOnJournalStore(server, 'SELECT * FROM _audit');
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

  test('the journal is not in the list of collections', async () => {
    const names = ((await server.data('GET /api/collections:list')) as { name: string }[]).map(({ name }) => name);
    expect(names).not.toContain('audit');
    expect(await verifyJournal(server)).toMatchObject({ valid: true });
  });
});

describeEngines('the audit journal of limited callers', (engine) => {
  test('requests over the rate limit are counted', async () => {
    const server = await TestServer.start(engine, { env: { RATE_LIMIT_CREDENTIAL: '20/600s' } });
    const key = await server.data('POST /api/apiKeys:create', { body: { role: { name: 'viewer' } } });
    const replies = await Promise.all(
      Array.from({ length: 30 }, () => server.call('GET /api/auth:check', { as: key.token })),
    );
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(10);
    const [entry] = (await listAuditEntries(server)).filter(({ code }) => code === 'RATE_LIMITED');
    expect(entry).toMatchObject({ action: 'auth:check', actor: `apiKey:${key.id}`, count: 10, outcome: 'refused' });
    const stats = await server.data(`GET /api/apiKeys:stats?filterByTk=${key.id}`);
    expect(stats).toMatchObject({ requests: 30, failedAttempts: 10 });
    await server.stop();
  });
});

describeEngines('the audit journals of applications', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startShopServer(engine);
  });
  afterAll(() => server.stop());

  test('each application has its own journal, which only its administrators can read', async () => {
    const own = await listAuditEntries(server, { as: 'shopAdmin', headers: shopHeaders });
    expect(own).toMatchObject([
      { action: 'auth:signIn', actor: 'user:1' },
      { action: 'collections:create', target: 'orders' },
    ]);
    const inMain = await listAuditEntries(server);
    expect(inMain.map(({ action }) => action)).toEqual(['auth:signIn', 'applications:create']);
    const foreign = await server.call('GET /api/audit:list', { headers: shopHeaders });
    expect(foreign.status).toBe(401);
    const key = await server.data('POST /api/apiKeys:create', { body: { role: { name: 'admin' } } });
    const elsewhere = await server.call('GET /api/audit:list', { as: key.token, headers: shopHeaders });
    expect([elsewhere.status, elsewhere.body.code]).toEqual([403, 'APPLICATION_MISMATCH']);
  });

  test('entering from main is recorded in both applications; stop and start are recorded where they were requested', async () => {
    await server.data('POST /api/applications:enter?filterByTk=shop');
    const own = await listAuditEntries(server, { as: 'shopAdmin', headers: shopHeaders });
    const done = own.filter(({ outcome }) => outcome === 'done');
    expect(done.at(-1)).toMatchObject({ action: 'applications:enter', actor: 'main/user:1', target: 'shop' });
    await server.data('POST /api/applications:stop?filterByTk=shop');
    await server.data('POST /api/applications:start?filterByTk=shop');
    const inMain = (await listAuditEntries(server)).filter(({ outcome }) => outcome === 'done');
    expect(inMain.slice(-3)).toMatchObject([
      { action: 'applications:enter', target: 'shop' },
      { action: 'applications:stop', target: 'shop' },
      { action: 'applications:start', target: 'shop' },
    ]);
    expect((await listAuditEntries(server, { as: 'shopAdmin', headers: shopHeaders })).length).toBeGreaterThanOrEqual(
      own.length,
    );
  });

  test('destroying an application also removes its journal', async () => {
    const journals = async (): Promise<string[]> => {
      if (engine.name === 'sqlite')
        return readdirSync(join(server.store.dataDir, 'applications')).filter((name) => name.endsWith('.audit.db'));
      const text = `SELECT schemaname FROM pg_tables WHERE tablename='_audit'`;
      const [rows = []] = await server.running.applications.main.database.read([{ text, values: [] }]);
      return rows.map(([schema]) => String(schema));
    };
    expect(await journals()).toHaveLength(2);
    await server.data('POST /api/applications:destroy?filterByTk=shop&confirm=shop');
    expect(await journals()).toHaveLength(1);
    if (engine.name === 'postgres') return;
    const files = readdirSync(join(server.store.dataDir, 'applications'));
    expect(files.filter((name) => !name.startsWith('1.'))).toEqual([]);
  });
});
