import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { uploadFile } from '../support/file-server.ts';
import { importText, makeOrders, startImportServer, waitForImport } from '../support/import-server.ts';
import type { Scenario, TestServer } from '../support/scenario.ts';

const all = ['import', 'create', 'update', 'list', 'get'];
/** Permissions by role, each a resource with its actions and limits. */
const permissions: Readonly<Record<string, readonly object[]>> = {
  ...Object.fromEntries(
    ['import', 'create', 'update', 'list'].map((missing) => [
      `no_${missing}`,
      [{ resource: 'orders', actions: all.filter((action) => action !== missing) }],
    ]),
  ),
  northern: [
    { resource: 'orders', actions: ['create', 'update', 'list', 'get'], filter: { region: 'north' } },
    { resource: 'orders', actions: ['import'] },
    { resource: 'customers', actions: ['list', 'get'], filter: { name: 'Ann' } },
  ],
  importNorth: [
    { resource: 'orders', actions: ['create', 'update', 'list', 'get'] },
    { resource: 'orders', actions: ['import'], filter: { region: 'north' }, exceptFields: ['note'] },
  ],
  clerk: [
    { resource: 'orders', actions: ['import', 'list', 'get'] },
    { resource: 'orders', actions: ['create', 'update'], exceptFields: ['price'] },
    { resource: 'imports', actions: ['list', 'get'] },
  ],
};

describeEngines('imports and permissions', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startImportServer(engine);
    for (const [role, rows] of Object.entries(permissions)) {
      await server.data('POST /api/roles:create', { body: { name: role } });
      for (const row of rows) await server.data('POST /api/permissions:create', { body: { role, ...row } });
      await server.createKey(role);
    }
    await server.data('POST /api/customers:create', {
      body: [
        { email: 'ann@example.com', name: 'Ann' },
        { email: 'bob@example.com', name: 'Bob' },
      ],
    });
    await server.data('POST /api/orders:create', {
      body: [
        { number: 'N-1', region: 'north', note: 'old' },
        { number: 'S-1', region: 'south', note: 'old' },
      ],
    });
  });
  afterAll(() => server.stop());

  const csv = { 'content-type': 'text/csv' };
  const upsert = '?mode=upsert&matchFields=number';
  const refusals: readonly Scenario[] = [
    ...(['no_import', 'no_create'] as const).map(
      (as): Scenario => ({
        name: `an import needs the permissions import and create, so ${as} is refused`,
        request: 'POST /api/orders:import',
        as,
        body: 'number\r\nX-1\r\n',
        headers: csv,
        expect: { status: 403, code: 'NO_PERMISSION' },
      }),
    ),
    ...(['no_update', 'no_list', 'no_create'] as const).map(
      (as): Scenario => ({
        name: `an upsert needs create, update and list, so ${as} is refused`,
        request: `POST /api/orders:import${upsert}`,
        as,
        body: 'number,note\r\nN-1,x\r\n',
        headers: csv,
        expect: { status: 403, code: 'NO_PERMISSION' },
      }),
    ),
    {
      name: 'a preview needs the permission import',
      request: 'POST /api/orders:importPreview',
      as: 'no_import',
      body: 'number\r\nX-1\r\n',
      headers: csv,
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'a preview for a new collection needs the permission to create collections',
      request: 'POST /api/collections:importPreview',
      as: 'ann',
      body: 'number\r\nX-1\r\n',
      headers: csv,
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'an import needs a credential',
      request: 'POST /api/orders:import',
      as: 'nobody',
      body: 'number\r\nX-1\r\n',
      headers: csv,
      expect: { status: 401, code: 'TOKEN_MISSING' },
    },
    {
      name: 'a row that violates the row filter of create is refused',
      request: 'POST /api/orders:import',
      as: 'northern',
      body: 'number,region\r\nX-1,north\r\nX-2,south\r\n',
      headers: csv,
      expect: { status: 422, code: 'IMPORT_INVALID', body: { errors: [{ line: 3 }] } },
    },
    {
      name: 'a row that violates the row filter of import is refused',
      request: 'POST /api/orders:import',
      as: 'importNorth',
      body: 'number,region\r\nX-1,north\r\nX-2,south\r\n',
      headers: csv,
      expect: { status: 422, code: 'IMPORT_INVALID', body: { errors: [{ line: 3 }] } },
    },
    {
      name: 'an update does not find records that the caller may not list',
      request: 'POST /api/orders:import?mode=update&matchFields=number',
      as: 'northern',
      body: 'number,note\r\nS-1,new\r\n',
      headers: csv,
      expect: { status: 422, code: 'IMPORT_INVALID', absent: ['old'] },
    },
    {
      name: 'an update cannot move a record out of the row filter',
      request: 'POST /api/orders:import?mode=update&matchFields=number',
      as: 'northern',
      body: 'number,region\r\nN-1,south\r\n',
      headers: csv,
      expect: { status: 422, code: 'IMPORT_INVALID' },
    },
    {
      name: 'a field that the role may not write cannot be mapped',
      request: 'POST /api/orders:import',
      as: 'clerk',
      body: 'number,price\r\nX-1,1\r\n',
      headers: csv,
      expect: { status: 403, code: 'FIELD_DENIED' },
    },
    {
      name: 'a field that the role may not import cannot be mapped',
      request: 'POST /api/orders:import?mapping=[{"column":0,"field":"note"}]',
      as: 'importNorth',
      body: 'text\r\nX-1\r\n',
      headers: csv,
      expect: { status: 403, code: 'FIELD_DENIED' },
    },
    {
      name: 'a lookup does not find records that the caller may not list, like records that do not exist',
      request:
        'POST /api/orders:import?mapping=[{"column":0,"field":"number"},{"column":1,"field":"region"},{"column":2,"field":"customerId","lookup":"email"}]',
      as: 'northern',
      body: 'a,b,c\r\nX-1,north,ann@example.com\r\nX-2,north,bob@example.com\r\nX-3,north,cy@example.com\r\n',
      headers: csv,
      expect: {
        status: 422,
        code: 'IMPORT_INVALID',
        body: {
          errors: [3, 4].map((line) => ({
            line,
            field: 'customerId',
            reason: 'No record of customers has this "email".',
          })),
        },
      },
    },
    {
      name: 'a lookup needs the permission to list the other collection',
      request: 'POST /api/orders:import?mapping=[{"column":0,"field":"customerId","lookup":"email"}]',
      as: 'clerk',
      body: 'a\r\nann@example.com\r\n',
      headers: csv,
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    {
      name: 'records with an action of their own cannot be imported past it',
      request: 'POST /api/webhooks:import',
      body: 'url\r\nhttps://example.com\r\n',
      headers: csv,
      expect: { status: 403, code: 'SYSTEM_PROTECTED' },
    },
    {
      name: 'the records of imports cannot be written',
      request: 'POST /api/imports:create',
      body: { collection: 'orders' },
      expect: { status: 403, code: 'SYSTEM_PROTECTED' },
    },
  ];
  test.each(refusals.map((each) => [each.name, each] as const))('%s', async (_, scenario) => {
    await server.play(scenario);
  });

  test('the imports and refused rows of others get the same reply as ones that do not exist', async () => {
    const file = await uploadFile(server, { name: 'a.csv', content: 'number\r\nF-1\r\n' });
    for (const action of ['import', 'importPreview'])
      await server.play({
        name: 'the file of another user',
        request: `POST /api/orders:${action}`,
        as: 'ben',
        body: { file: file.id },
        expect: { status: 404, code: 'RECORD_UNKNOWN' },
      });
    const { body } = await importText(server, '', 'number\r\nF-2\r\n', { as: 'ann' });
    const { id } = body.data;
    expect(await server.data('GET /api/imports:list', { as: 'ben' })).toEqual([]);
    const refusals = new Set<string>();
    for (const request of ['GET /api/imports:get', 'GET /api/imports:refusedRows', 'POST /api/imports:cancel']) {
      for (const key of [id, 1_000_000]) {
        const { body: refusal } = await server.play({
          name: request,
          request: `${request}?filterByTk=${key}`,
          as: 'ben',
          expect: { status: 403, code: 'NO_PERMISSION' },
        });
        refusals.add(refusal.message);
      }
      await server.play({
        name: `${request} without a row filter`,
        request: `${request}?filterByTk=1000000`,
        expect: { status: 404, code: 'RECORD_UNKNOWN' },
      });
    }
    expect([...refusals]).toHaveLength(1);
    expect(await server.data(`GET /api/imports:get?filterByTk=${id}`)).toMatchObject({ id, status: 'done' });
  });

  test('an import ends as failed when its API key is revoked, and when its user is suspended', async () => {
    const key = await server.data('POST /api/apiKeys:create', { body: { role: { name: 'editor' } } });
    await server.data('POST /api/users:create', {
      body: { email: 'cy@example.com', password: 'a quiet password of cy', roles: ['editor'] },
    });
    const cy = await server.signIn('cy@example.com', 'a quiet password of cy');
    const { imports } = server.running.applications.main;
    await imports.close();
    const started: number[] = [];
    for (const as of [key.token, cy]) {
      const reply = await importText(server, '', makeOrders(100_000, 1100), { as: `header:Bearer ${as}` });
      expect(reply.status, reply.text).toBe(202);
      started.push(reply.body.data.id);
    }
    await server.data(`POST /api/apiKeys:destroy?filterByTk=${key.id}`);
    await server.data('POST /api/users:update?filter={"email":"cy@example.com"}', { body: { status: 'suspended' } });
    imports.begin();
    for (const [index, reason] of ['API key', 'user'].entries())
      expect(await waitForImport(server, started[index]!)).toMatchObject({
        status: 'failed',
        created: 0,
        error: expect.stringContaining(reason),
      });
  });
});
