import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

interface Told {
  readonly id: number;
  readonly at: string;
  readonly action: string;
  readonly actor: string | null;
  readonly requestId: string | null;
  readonly changes: readonly { field: string; before: unknown; after: unknown }[];
}

const owners = { name: 'owners', fields: [{ name: 'name', type: 'string' }] };
const plain = { name: 'plain', fields: [{ name: 'title', type: 'string' }] };
const papers = {
  name: 'papers',
  fields: [
    { name: 'title', type: 'string', required: true, unique: true },
    { name: 'salary', type: 'decimal', precision: 10, scale: 2 },
    { name: 'big', type: 'bigInt' },
    { name: 'data', type: 'json' },
    { name: 'secret', type: 'password' },
    { name: 'old', type: 'string' },
    { name: 'team', type: 'string' },
    { name: 'owner', type: 'belongsTo', target: 'owners' },
  ],
  options: { logging: true, paranoid: true },
};
const permissions = [
  { role: 'masked', resource: 'papers', actions: ['get', 'list', 'history'], exceptFields: ['salary', 'owner'] },
  { role: 'masked', resource: 'papers', actions: ['update'], exceptFields: ['team', 'owner'] },
  { role: 'team', resource: 'papers', actions: ['get', 'list', 'history', 'update', 'create'], filter: { team: 'a' } },
  { role: 'team', resource: 'owners', actions: ['get'], filter: { name: 'seen' } },
  { role: 'reader', resource: 'papers', actions: ['get', 'list', 'update'] },
  { role: 'historian', resource: 'papers', actions: ['history'] },
];

const ask = (name: string, request: string, expected: Scenario['expect'], as = 'admin'): Scenario => ({
  name,
  request,
  as,
  expect: expected,
});
const refusals: readonly Scenario[] = [
  ask('history without logging is refused with 404', 'GET /api/plain:history?filterByTk=1', {
    status: 404,
    code: 'ROUTE_UNKNOWN',
  }),
  ask('revert without logging is refused with 404', 'POST /api/plain:revert?filterByTk=1&entry=1', {
    status: 404,
    code: 'ROUTE_UNKNOWN',
  }),
  ask('history without a record is refused with 400', 'GET /api/papers:history', {
    status: 400,
    code: 'TARGET_MISSING',
  }),
  ask('history of two records is refused with 400', 'GET /api/papers:history?filterByTk=[1,2]', {
    status: 400,
    code: 'PARAMETER_INVALID',
  }),
  ask('history of a record that never existed is refused with 404', 'GET /api/papers:history?filterByTk=999', {
    status: 404,
    code: 'RECORD_UNKNOWN',
  }),
  ask(
    'history of a record that never existed is refused with 403 under a row filter',
    'GET /api/papers:history?filterByTk=999',
    { status: 403, code: 'NO_PERMISSION' },
    'team',
  ),
  ask('an unknown parameter is refused with 400', 'GET /api/papers:history?filterByTk=1&sort=at', {
    status: 400,
    code: 'PARAMETER_UNKNOWN',
  }),
  ask('a page together with a cursor is refused with 400', 'GET /api/papers:history?filterByTk=1&page=1&after=x', {
    status: 400,
    code: 'PARAMETER_INVALID',
  }),
  ask('a malformed cursor is refused with 400', 'GET /api/papers:history?filterByTk=1&after=x', {
    status: 400,
    code: 'CURSOR_INVALID',
  }),
  ask(
    'the cursor of another record is refused with 400',
    `GET /api/papers:history?filterByTk=1&after=${Buffer.from('["x",1]').toString('base64url')}`,
    { status: 400, code: 'CURSOR_INVALID' },
  ),
  ask(
    'the permission get does not include history',
    'GET /api/papers:history?filterByTk=1',
    { status: 403, code: 'NO_PERMISSION' },
    'reader',
  ),
  ask(
    'the permission history needs get too',
    'GET /api/papers:history?filterByTk=1',
    { status: 403, code: 'NO_PERMISSION' },
    'historian',
  ),
  ask(
    'a revert needs the permission history',
    'POST /api/papers:revert?filterByTk=1&entry=1',
    { status: 403, code: 'NO_PERMISSION' },
    'reader',
  ),
  ask(
    'history without a credential is refused with 401',
    'GET /api/papers:history?filterByTk=1',
    { status: 401, code: 'TOKEN_MISSING' },
    'nobody',
  ),
  ask('a revert by GET is refused with 405', 'GET /api/papers:revert?filterByTk=1&entry=1', {
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
  }),
  ask('a revert without an entry is refused with 400', 'POST /api/papers:revert?filterByTk=1', {
    status: 400,
    code: 'PARAMETER_INVALID',
  }),
  ask('a revert to an unknown entry is refused with 404', 'POST /api/papers:revert?filterByTk=1&entry=99999', {
    status: 404,
    code: 'RECORD_UNKNOWN',
  }),
  ask('a revert to an entry of another record is refused with 404', 'POST /api/papers:revert?filterByTk=1&entry=2', {
    status: 404,
    code: 'RECORD_UNKNOWN',
  }),
];

describeEngines('history', (engine) => {
  let server: TestServer;
  const history = async (key: unknown, as = 'admin', more = ''): Promise<Told[]> =>
    server.data(`GET /api/papers:history?filterByTk=${key}${more}`, { as });
  const make = async (body: object): Promise<number> =>
    ((await server.data('POST /api/papers:create', { body })) as { id: number }).id;
  const update = (key: number, body: object, as = 'admin'): Promise<unknown> =>
    server.data(`POST /api/papers:update?filterByTk=${key}`, { body, as });
  const fieldsOf = (entry: Told | undefined): string[] => entry!.changes.map(({ field }) => field);

  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/collections:apply', { body: [owners, plain, papers] });
    for (const name of ['masked', 'team', 'reader', 'historian']) {
      await server.data('POST /api/roles:create', { body: { name, title: name } });
      await server.createKey(name);
    }
    for (const body of permissions) await server.data('POST /api/permissions:create', { body });
    await server.data('POST /api/owners:create', { body: [{ name: 'seen' }, { name: 'hidden' }] });
    await make({ title: 'first', team: 'a' });
    await make({ title: 'second', team: 'b' });
  });
  afterAll(() => server.stop());

  describe('refusals that change nothing', () => {
    for (const scenario of refusals) test(scenario.name, () => server.play(scenario));
  });

  test('entries are sorted newest first, with user, time, and values before and after, and contain no secrets', async () => {
    const id = await make({
      title: 'told',
      salary: '10.00',
      big: '9007199254740993',
      secret: 'hush hush',
      data: { b: 1, a: [2] },
    });
    await update(id, { title: 'told anew', secret: 'other hush', salary: '11.50' });
    const reply = await server.call(`GET /api/papers:history?filterByTk=${id}`);
    const [changed, made] = reply.body.data as Told[];
    expect(changed).toEqual({
      id: expect.any(Number),
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      action: 'updated',
      actor: 'user:1',
      requestId: expect.any(String),
      changes: [
        { field: 'title', before: 'told', after: 'told anew' },
        { field: 'salary', before: '10.00', after: '11.50' },
      ],
    });
    expect(made).toMatchObject({ action: 'created' });
    expect(made!.changes).toContainEqual({ field: 'big', before: null, after: '9007199254740993' });
    expect(made!.changes).toContainEqual({ field: 'data', before: null, after: { b: 1, a: [2] } });
    expect(reply.text).not.toMatch(/hush|argon|secret/);
    expect(reply.body.meta).toEqual({
      count: 2,
      page: 1,
      pageSize: 20,
      totalPage: 1,
      hasNext: false,
      nextCursor: null,
    });
    const again = await server.call(`GET /api/papers:history?filterByTk=${id}`, {
      headers: { 'if-none-match': reply.headers.get('etag')! },
    });
    expect(again.status).toBe(304);
  });

  test('pages and cursors return every entry exactly once', async () => {
    const id = await make({ title: 'paged 0' });
    for (let n = 1; n < 7; n += 1) await update(id, { title: `paged ${n}` });
    const all = await history(id);
    expect(all).toHaveLength(7);
    const second = await server.call(`GET /api/papers:history?filterByTk=${id}&page=2&pageSize=3`);
    expect(second.body.data).toEqual(all.slice(3, 6));
    expect(second.body.meta).toMatchObject({ count: 7, totalPage: 3, hasNext: true });
    const seen: Told[] = [];
    for (let after: string | null = ''; after !== null; ) {
      const { body } = await server.call(
        `GET /api/papers:history?filterByTk=${id}&pageSize=2&count=none${after && `&after=${after}`}`,
      );
      seen.push(...body.data);
      expect(body.meta.count).toBeUndefined();
      after = body.meta.nextCursor;
    }
    expect(seen).toEqual(all);
  });

  test('a role sees the fields that its get shows, and no entries that only concern other fields', async () => {
    const id = await make({ title: 'masked', salary: '1.00', ownerId: 2 });
    await update(id, { salary: '2.00' });
    await update(id, { salary: '3.00', title: 'masked too' });
    await update(id, { ownerId: 1 });
    const reply = await server.call(`GET /api/papers:history?filterByTk=${id}`, { as: 'masked' });
    expect(reply.body.data.map(fieldsOf)).toEqual([['title'], ['id', 'title']]);
    expect(reply.body.meta.count).toBe(2);
    expect(reply.text).not.toMatch(/salary|owner|"\d\.00"/); // timestamps contain `.00` too
    expect((await history(id)).map(fieldsOf)).toEqual([
      ['ownerId'],
      ['title', 'salary'],
      ['salary'],
      ['id', 'title', 'salary', 'ownerId'],
    ]);
  });

  test('the row filter applies to the current record, also in the trash; entries of destroyed records are only shown without a row filter', async () => {
    const id = await make({ title: 'moving', team: 'a' });
    expect(await history(id, 'team')).toHaveLength(1);
    await update(id, { team: 'b' });
    await server.play(
      ask(
        'the history of an invisible record is refused',
        `GET /api/papers:history?filterByTk=${id}`,
        { status: 403, code: 'NO_PERMISSION' },
        'team',
      ),
    );
    await update(id, { team: 'a' });
    await server.data(`POST /api/papers:destroy?filterByTk=${id}`);
    expect((await history(id, 'team')).map((entry) => entry.action)).toEqual([
      'destroyed',
      'updated',
      'updated',
      'created',
    ]);
    await server.data(`POST /api/papers:destroy?filterByTk=${id}&force=true`);
    await server.play(
      ask(
        'the history of a destroyed record is refused to a role with a row filter',
        `GET /api/papers:history?filterByTk=${id}`,
        { status: 403, code: 'NO_PERMISSION' },
        'team',
      ),
    );
    expect((await history(id))[0]).toMatchObject({
      action: 'destroyed',
      changes: expect.arrayContaining([{ field: 'title', before: 'moving', after: null }]),
    });
    await server.data('POST /api/papers:create', { as: 'team', body: { id, title: 'made again', team: 'a' } });
    expect(await history(id, 'team')).toHaveLength(1);
    expect(await history(id)).toHaveLength(6);
    const [oldest] = (await history(id)).slice(-1);
    await server.play(
      ask(
        'a revert to an entry of a former record with the same key is refused',
        `POST /api/papers:revert?filterByTk=${id}&entry=${oldest!.id}`,
        {
          status: 404,
          code: 'RECORD_UNKNOWN',
        },
      ),
    );
  });

  test('fields have their current names; destroyed fields are left out, and fields created again have no history', async () => {
    const id = await make({ title: 'renamed', old: 'x' });
    await update(id, { old: 'y' });
    const field = (action: string, body: object): Promise<unknown> =>
      server.data(`POST /api/fields:${action}`, { body: { collectionName: 'papers', ...body } });
    await field('update', { name: 'old', newName: 'new' });
    expect((await history(id))[0]!.changes).toEqual([{ field: 'new', before: 'x', after: 'y' }]);
    await field('destroy', { name: 'new' });
    expect(await history(id)).toHaveLength(1);
    await field('create', { name: 'new', type: 'string' });
    expect(JSON.stringify(await history(id))).not.toMatch(/"new"|"x"|"y"/);
    await field('create', { name: 'old', type: 'string' });
  });

  describe('revert', () => {
    const revert = (id: number, entry: Told, more = ''): string =>
      `POST /api/papers:revert?filterByTk=${id}&entry=${entry.id}${more}`;

    test('restores the state after the entry with one event and one history entry', async () => {
      const id = await make({ title: 'v1', salary: '1.00', big: '9007199254740993', data: { a: 1 }, ownerId: 1 });
      await update(id, { title: 'v2', data: null });
      await update(id, { title: 'v3', salary: null, big: 5, ownerId: 2 });
      const [third, second, first] = await history(id);
      await server.play({
        name: 'revert to the first entry is possible',
        request: revert(id, first!),
        expect: {
          status: 200,
          events: ['papers.updated'],
          body: { data: { title: 'v1', salary: '1.00', big: '9007199254740993', data: { a: 1 }, ownerId: 1 } },
        },
      });
      expect(await history(id)).toHaveLength(4);
      await server.play({
        name: 'revert to the second entry is possible',
        request: revert(id, second!),
        expect: {
          status: 200,
          events: ['papers.updated'],
          body: { data: { title: 'v2', data: null, salary: '1.00' } },
        },
      });
      await server.play({
        name: 'revert to the third entry is possible',
        request: revert(id, third!),
        expect: {
          status: 200,
          events: ['papers.updated'],
          body: { data: { title: 'v3', data: null, salary: null, big: 5, ownerId: 2 } },
        },
      });
    });

    test('has the checks of an update: unique values, foreign keys, validation, row filter, If-Match and the trash', async () => {
      const id = await make({ title: 'held', team: 'a', ownerId: 1 });
      await update(id, { title: 'held no more', team: 'b' });
      const [, made] = await history(id);
      await make({ title: 'held' });
      await server.play({
        name: 'a revert to a unique value of another record is refused',
        request: revert(id, made!),
        expect: { status: 409, code: 'UNIQUE_CONFLICT' },
      });
      await server.play({
        name: 'revert of an invisible record is refused',
        as: 'team',
        request: revert(id, made!),
        expect: { status: 403, code: 'NO_PERMISSION' },
      });
      const other = await make({ title: 'other', team: 'a' });
      const { id: owner } = await server.data('POST /api/owners:create', { body: { name: 'seen' } });
      await update(other, { ownerId: owner });
      await update(other, { ownerId: null });
      await server.data(`POST /api/owners:destroy?filterByTk=${owner}`);
      const [, linked, bare] = await history(other);
      await server.play({
        name: 'revert to a foreign key of a missing record is refused',
        request: revert(other, linked!),
        expect: { status: 400, code: 'REFERENCE_MISSING' },
      });
      await server.play({
        name: 'a revert with an outdated If-Match is refused',
        request: revert(other, bare!),
        headers: { 'if-match': '"1.x"' },
        expect: { status: 412, code: 'VERSION_STALE' },
      });
      await update(other, { ownerId: 2 });
      await update(other, { ownerId: null });
      const [, hidden] = await history(other);
      await server.play({
        name: 'revert to a foreign key of an invisible record is refused',
        as: 'team',
        request: revert(other, hidden!),
        expect: { status: 400, code: 'REFERENCE_MISSING' },
      });
      await server.data(`POST /api/papers:destroy?filterByTk=${other}`);
      await server.play({
        name: 'revert of a record in the trash is refused',
        request: revert(other, bare!),
        expect: { status: 404, code: 'RECORD_UNKNOWN' },
      });
      await server.data(`POST /api/papers:restore?filterByTk=${other}`);
      await server.data('POST /api/fields:update', { body: { collectionName: 'papers', name: 'team', maxLength: 5 } });
      await server.data('POST /api/fields:update', { body: { collectionName: 'papers', name: 'old', maxLength: 500 } });
      await update(other, { old: 'a long text' });
      await update(other, { old: null });
      const [, long] = await history(other);
      await server.data('POST /api/fields:update', { body: { collectionName: 'papers', name: 'old', maxLength: 3 } });
      await server.play({
        name: 'revert to a value that is invalid now is refused',
        request: revert(other, long!),
        expect: { status: 422, code: 'VALUE_INVALID', body: { details: { old: expect.any(String) } } },
      });
    });

    test('leaves out fields that the role may not see or write', async () => {
      const id = await make({ title: 'partly', salary: '1.00', team: 'a' });
      await update(id, { title: 'partly too', salary: '2.00', team: 'c' });
      const [, made] = await history(id);
      const reply = await server.play({
        name: 'partly',
        as: 'masked',
        request: revert(id, made!),
        expect: { status: 200, events: ['papers.updated'], body: { data: { title: 'partly', team: 'c' } } },
      });
      expect(reply.text).not.toContain('salary');
      expect(await server.data(`GET /api/papers:get?filterByTk=${id}`)).toMatchObject({ salary: '2.00', team: 'c' });
    });

    test('dryRun reports the revert and changes nothing', async () => {
      const id = await make({ title: 'tried' });
      await update(id, { title: 'tried too' });
      const [, made] = await history(id);
      const before = await server.readSnapshot();
      expect((await server.call(revert(id, made!, '&dryRun=true'))).body).toMatchObject({
        data: { title: 'tried' },
        meta: { dryRun: true },
      });
      expect(await server.readSnapshot()).toBe(before);
    });

    test('finds an entry among hundreds of others', async () => {
      const id = await make({ title: 'long 0', salary: '5.00' });
      const operations = Array.from({ length: 199 }, (_, n) => ({
        op: 'update',
        resource: 'papers',
        filterByTk: id,
        values: { title: `long ${n + 1}` },
      }));
      await server.data('POST /api/batch', { body: { operations } });
      await server.data('POST /api/batch', { body: { operations: operations.slice(0, 40) } });
      const [made] = (await history(id, 'admin', '&pageSize=1000')).slice(-1);
      expect(await server.data(revert(id, made!))).toMatchObject({ title: 'long 0', salary: '5.00' });
    });
  });
});
