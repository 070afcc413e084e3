import { afterAll, beforeAll, expect, test } from 'vitest';
import { readCsv } from '../support/csv-parser.ts';
import { describeEngines } from '../support/engines.ts';
import { addUser, fetchBytes } from '../support/file-server.ts';
import type { Json } from '../support/json.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';
import { readSheetValues, readWorkbook } from '../support/workbook.ts';

const people = {
  name: 'people',
  title: 'People of the house',
  fields: [
    { name: 'name', type: 'string' },
    { name: 'salary', type: 'integer' },
    { name: 'level', type: 'integer' },
  ],
  options: { timestamps: false },
};

const listed = { resource: 'people', actions: ['list', 'get'] };
/** Permissions by role. */
const permissions: Readonly<Record<string, readonly object[]>> = {
  lister: [listed, { resource: 'files', actions: ['create', 'list', 'get'] }],
  exporter: [listed, { resource: 'people', actions: ['export'] }],
  clerk: [
    { ...listed, filter: { level: { $lt: 3 } }, exceptFields: ['salary'] },
    { resource: 'people', actions: ['export'], filter: { level: { $gt: 1 } } },
    { resource: 'files', actions: ['create'] },
  ],
};

describeEngines('exports into stored files', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/collections:create', { body: people });
    await server.data('POST /api/collections:create', {
      body: { name: 'reports', fields: [{ name: 'file', type: 'file' }] },
    });
    for (const [role, rows] of Object.entries(permissions)) {
      await server.data('POST /api/roles:create', { body: { name: role } });
      for (const row of rows) await server.data('POST /api/permissions:create', { body: { role, ...row } });
      await server.createKey(role);
    }
    for (const name of ['ann', 'ben']) await addUser(server, name, 'editor');
    await server.data('POST /api/people:create', {
      body: [
        { name: 'Ann', level: 1, salary: 77_777 },
        { name: '=Bob', level: 2, salary: 77_777 },
        { name: 'Cy', level: 3, salary: 77_777 },
      ],
    });
  });
  afterAll(() => server.stop());

  const store = (query: string, more: Parameters<TestServer['call']>[1] = {}): Promise<Json> =>
    server.data(`POST /api/people:storeExport?${query}`, { as: 'ann', ...more });
  const readFile = async ({ url }: Json, as = 'ann'): Promise<Buffer> => {
    const reply = await fetchBytes(server, url, { as });
    expect(reply.status).toBe(200);
    return Buffer.from(await reply.arrayBuffer());
  };

  test.each([
    ['csv', 'text/csv'],
    ['json', 'application/json'],
    ['ndjson', 'application/x-ndjson'],
    ['xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ])('%s: the file has the bytes of the download, its name and its type', async (format, contentType) => {
    const query = `format=${format}&sort=-name&fields=name,level&filter={"level":{"$gt":1}}`;
    const file = await store(query);
    const download = await fetchBytes(server, `/api/people:export?${query}`);
    const bytes = Buffer.from(await download.arrayBuffer());
    expect(file).toMatchObject({ contentType, url: `/api/files/${file.id}` });
    expect(file.name).toMatch(new RegExp(`^People of the house \\d{4}-\\d\\d-\\d\\d\\.${format}$`));
    const stored = await readFile(file);
    expect(stored).toHaveLength(file.size);
    // The entries of an XLSX file have the time at which they were written.
    const read = async (content: Buffer): Promise<unknown> =>
      format === 'xlsx' ? (await readWorkbook(content)).map(readSheetValues) : content.toString();
    expect(await read(stored)).toEqual(await read(bytes));
    expect(JSON.stringify(await read(stored))).toContain('Bob');
  });

  test('the parameters can be in the body', async () => {
    const body = { fields: ['name'], filter: { name: { $startsWith: '=' } }, bom: true };
    const text = (await readFile(await store('', { body }))).toString();
    expect([text[0], readCsv(text.slice(1))]).toEqual(['\ufeff', [['name'], ["'=Bob"]]]);
    const inQuery = await store('fields=name', { body: { filter: { level: 3 } } });
    expect(readCsv((await readFile(inQuery)).toString())).toEqual([['name'], ['Cy']]);
  });

  test('the file is an upload of the caller: nobody else reads it, and it can be imported and attached', async () => {
    const file = await store('fields=name,level');
    expect((await fetchBytes(server, file.url, { as: 'ben' })).status).toBe(404);
    expect((await fetchBytes(server, file.url, { as: 'admin' })).status).toBe(404);
    const own: Json[] = await server.data('GET /api/files:list?pageSize=200', { as: 'ann' });
    expect(own.map(({ id }) => id)).toContain(file.id);
    await server.data('POST /api/collections:create', { body: { ...people, name: 'copies' } });
    const imported = await server.data('POST /api/copies:import', { as: 'ann', body: { file: file.id } });
    expect(imported).toMatchObject({ status: 'done', created: 3 });
    const copies: Json[] = await server.data('GET /api/copies:list?sort=id', { as: 'ann' });
    expect(copies.map(({ name, level }) => [name, level])).toEqual([
      ['Ann', 1],
      ['=Bob', 2],
      ['Cy', 3],
    ]);
    await server.data('POST /api/reports:create', { as: 'ann', body: { file: file.id } });
    expect(await readFile(file, 'ben')).toHaveLength(file.size);
    const other = await store('');
    await server.data(`POST /api/files:destroy?filterByTk=${other.id}`, { as: 'ann' });
    expect((await fetchBytes(server, other.url)).status).toBe(404);
  });

  test('the file cannot be read in another role of the same user, or after permissions have changed', async () => {
    // Keys of one user, with different roles.
    const file = await server.data('POST /api/people:storeExport?format=json', { as: 'admin' });
    expect((await readFile(file, 'admin')).toString()).toContain('77777');
    expect((await fetchBytes(server, file.url, { as: 'clerk' })).status).toBe(404);
    const asClerk = await server.call(`GET ${file.url}`, { headers: { 'x-role': 'clerk' } });
    expect(asClerk.status).not.toBe(200);
    await server.data('POST /api/permissions:create', {
      body: { role: 'clerk', resource: 'reports', actions: ['create', 'get', 'list'] },
    });
    await server.play({
      name: 'a record of the role cannot refer to it',
      request: 'POST /api/reports:create',
      as: 'clerk',
      body: { file: file.id },
      expect: { status: 422, code: 'VALUE_INVALID', absent: ['77777'] },
    });
    const own = await server.data('POST /api/people:storeExport?format=json', { as: 'clerk' });
    expect((await fetchBytes(server, own.url, { as: 'clerk' })).status).toBe(200);
    expect((await fetchBytes(server, own.url, { as: 'admin' })).status).toBe(404);
    const [{ id }] = await server.data('GET /api/permissions:list?filter={"role":"clerk","resource":"reports"}');
    await server.data(`POST /api/permissions:destroy?filterByTk=${id}`);
    expect((await fetchBytes(server, own.url, { as: 'clerk' })).status).toBe(404);
  });

  test('the row filters and field lists of list and export hold', async () => {
    const file = await server.data('POST /api/people:storeExport?format=json', { as: 'clerk' });
    expect(JSON.parse((await readFile(file, 'clerk')).toString())).toEqual([{ id: 2, name: '=Bob', level: 2 }]);
  });

  test('a repeated request with the same Idempotency-Key gets the same file', async () => {
    const headers = { 'idempotency-key': `export of ${engine.name}`.replaceAll(' ', '-') };
    const first = await store('', { headers, body: { fields: ['name'] } });
    const count = async (): Promise<number> =>
      (await server.data('GET /api/files:list?pageSize=200', { as: 'ann' })).length;
    const before = await count();
    const again = await server.call('POST /api/people:storeExport', { as: 'ann', headers, body: { fields: ['name'] } });
    expect([again.body.data, again.headers.get('idempotency-replayed')]).toEqual([first, 'true']);
    const other = await server.call('POST /api/people:storeExport', {
      as: 'ann',
      headers,
      body: { fields: ['level'] },
    });
    expect(other).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    expect(await count()).toBe(before);
  });

  const request = 'POST /api/people:storeExport';
  const refusals: readonly Scenario[] = [
    { name: 'without the permission export', request, as: 'lister', expect: { status: 403, code: 'NO_PERMISSION' } },
    {
      name: 'without the permission to create files',
      request,
      as: 'exporter',
      expect: { status: 403, code: 'NO_PERMISSION' },
    },
    { name: 'without a credential', request, as: 'nobody', expect: { status: 401, code: 'TOKEN_MISSING' } },
    {
      name: 'a field that may not be listed',
      request: `${request}?fields=name,salary`,
      as: 'clerk',
      expect: { status: 403, code: 'FIELD_DENIED', absent: ['77777'] },
    },
    {
      name: 'GET, because it stores a file',
      request: 'GET /api/people:storeExport',
      expect: { status: 405, code: 'METHOD_NOT_ALLOWED' },
    },
    { name: 'an export in pages', request: `${request}?page=2`, expect: { status: 400, code: 'PARAMETER_UNKNOWN' } },
    { name: 'an unknown format', request, body: { format: 'pdf' }, expect: { status: 400, code: 'PARAMETER_INVALID' } },
    { name: 'a list as body', request, body: [], expect: { status: 400, code: 'BODY_INVALID' } },
    {
      name: 'the header If-Match',
      request,
      headers: { 'if-match': '"1"' },
      expect: { status: 400, code: 'HEADER_INVALID' },
    },
    {
      name: 'a place in a batch',
      request: 'POST /api/batch',
      body: { operations: [{ op: 'storeExport', resource: 'people' }] },
      expect: { status: 400, code: 'BODY_INVALID' },
    },
    {
      name: 'an export of definitions',
      request: 'POST /api/collections:storeExport',
      expect: { status: 404, code: 'ROUTE_UNKNOWN' },
    },
  ];
  test.each(refusals)(
    '$name is refused, and nothing is stored',
    async (scenario) => void (await server.play(scenario)),
  );

  test('the OpenAPI document describes storeExport to roles that may use it', async () => {
    const paths = async (as: string): Promise<string[]> =>
      Object.keys((await server.call('GET /api/docs:openapi', { as })).body.paths);
    const path = '/api/people:storeExport';
    expect(await paths('clerk')).toContain(path);
    for (const as of ['lister', 'exporter']) expect(await paths(as)).not.toContain(path);
  });
});
