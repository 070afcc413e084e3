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
  ask('history without logging is 404', 'GET /api/plain:history?filterByTk=1', {
    status: 404,
    body: { code: 'ROUTE_UNKNOWN' },
  }),
  ask('revert without logging is 404', 'POST /api/plain:revert?filterByTk=1&entry=1', { status: 404 }),
  ask('history without a record is 400', 'GET /api/papers:history', { status: 400, body: { code: 'TARGET_MISSING' } }),
  ask('history of two is 400', 'GET /api/papers:history?filterByTk=[1,2]', { status: 400 }),
  ask('history of what never was is 404', 'GET /api/papers:history?filterByTk=999', { status: 404 }),
  ask('and 403 under a row filter', 'GET /api/papers:history?filterByTk=999', { status: 403 }, 'team'),
  ask('an unknown parameter is 400', 'GET /api/papers:history?filterByTk=1&sort=at', { status: 400 }),
  ask('a page and a cursor are 400', 'GET /api/papers:history?filterByTk=1&page=1&after=x', { status: 400 }),
  ask('a malformed cursor is 400', 'GET /api/papers:history?filterByTk=1&after=x', {
    status: 400,
    body: { code: 'CURSOR_INVALID' },
  }),
  ask(
    'the cursor of another record is 400',
    `GET /api/papers:history?filterByTk=1&after=${Buffer.from('["x",1]').toString('base64url')}`,
    { status: 400 },
  ),
  ask('get alone shows no history', 'GET /api/papers:history?filterByTk=1', { status: 403 }, 'reader'),
  ask('history alone neither', 'GET /api/papers:history?filterByTk=1', { status: 403 }, 'historian'),
  ask('a revert needs history too', 'POST /api/papers:revert?filterByTk=1&entry=1', { status: 403 }, 'reader'),
  ask('without a credential 401', 'GET /api/papers:history?filterByTk=1', { status: 401 }, 'nobody'),
  ask('a revert by GET is 405', 'GET /api/papers:revert?filterByTk=1&entry=1', { status: 405 }),
  ask('a revert without an entry is 400', 'POST /api/papers:revert?filterByTk=1', { status: 400 }),
  ask('a revert to an entry that is none is 404', 'POST /api/papers:revert?filterByTk=1&entry=99999', { status: 404 }),
  ask('an entry of another record is 404', 'POST /api/papers:revert?filterByTk=1&entry=2', { status: 404 }),
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
      await server.key(name);
    }
    for (const body of permissions) await server.data('POST /api/permissions:create', { body });
    await server.data('POST /api/owners:create', { body: [{ name: 'seen' }, { name: 'hidden' }] });
    await make({ title: 'first', team: 'a' });
    await make({ title: 'second', team: 'b' });
  });
  afterAll(() => server.stop());

  describe('refused means unchanged', () => {
    for (const scenario of refusals) test(scenario.name, () => server.play(scenario));
  });

  test('entries come newest first, with who, when, and what before and after; secrets never', async () => {
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

  test('pages and cursors go through all entries once', async () => {
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

  test('a role sees what its get shows: other fields are no changes, and entries of them alone are no entries', async () => {
    const id = await make({ title: 'masked', salary: '1.00', ownerId: 2 });
    await update(id, { salary: '2.00' });
    await update(id, { salary: '3.00', title: 'masked too' });
    await update(id, { ownerId: 1 });
    const reply = await server.call(`GET /api/papers:history?filterByTk=${id}`, { as: 'masked' });
    expect(reply.body.data.map(fieldsOf)).toEqual([['title'], ['id', 'title']]);
    expect(reply.body.meta.count).toBe(2);
    expect(reply.text).not.toMatch(/salary|owner|"\d\.00"/); // moments hold `.00` too
    expect((await history(id)).map(fieldsOf)).toEqual([
      ['ownerId'],
      ['title', 'salary'],
      ['salary'],
      ['id', 'title', 'salary', 'ownerId'],
    ]);
  });

  test('the row filter holds for the record of now, in the trash too; gone for good it is for those without one', async () => {
    const id = await make({ title: 'moving', team: 'a' });
    expect(await history(id, 'team')).toHaveLength(1);
    await update(id, { team: 'b' });
    await server.play(ask('out of sight', `GET /api/papers:history?filterByTk=${id}`, { status: 403 }, 'team'));
    await update(id, { team: 'a' });
    await server.data(`POST /api/papers:destroy?filterByTk=${id}`);
    expect((await history(id, 'team')).map((entry) => entry.action)).toEqual([
      'destroyed',
      'updated',
      'updated',
      'created',
    ]);
    await server.data(`POST /api/papers:destroy?filterByTk=${id}&force=true`);
    await server.play(ask('gone', `GET /api/papers:history?filterByTk=${id}`, { status: 403 }, 'team'));
    expect((await history(id))[0]).toMatchObject({
      action: 'destroyed',
      changes: expect.arrayContaining([{ field: 'title', before: 'moving', after: null }]),
    });
    await server.data('POST /api/papers:create', { as: 'team', body: { id, title: 'made again', team: 'a' } });
    expect(await history(id, 'team')).toHaveLength(1);
    expect(await history(id)).toHaveLength(6);
    const [oldest] = (await history(id)).slice(-1);
    await server.play(
      ask('a former record of the key', `POST /api/papers:revert?filterByTk=${id}&entry=${oldest!.id}`, {
        status: 404,
      }),
    );
  });

  test('fields go by their names of now; destroyed ones are left out, and made again they have inherited nothing', async () => {
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

    test('goes back to the state after the entry, with one event and one entry', async () => {
      const id = await make({ title: 'v1', salary: '1.00', big: '9007199254740993', data: { a: 1 }, ownerId: 1 });
      await update(id, { title: 'v2', data: null });
      await update(id, { title: 'v3', salary: null, big: 5, ownerId: 2 });
      const [third, second, first] = await history(id);
      await server.play({
        name: 'to the first',
        request: revert(id, first!),
        expect: {
          status: 200,
          events: ['papers.updated'],
          body: { data: { title: 'v1', salary: '1.00', big: '9007199254740993', data: { a: 1 }, ownerId: 1 } },
        },
      });
      expect(await history(id)).toHaveLength(4);
      await server.play({
        name: 'to the second',
        request: revert(id, second!),
        expect: {
          status: 200,
          events: ['papers.updated'],
          body: { data: { title: 'v2', data: null, salary: '1.00' } },
        },
      });
      await server.play({
        name: 'to the third',
        request: revert(id, third!),
        expect: {
          status: 200,
          events: ['papers.updated'],
          body: { data: { title: 'v3', data: null, salary: null, big: 5, ownerId: 2 } },
        },
      });
    });

    test('is held to the checks of an update: unique, foreign keys, validation, row filter, If-Match, the trash', async () => {
      const id = await make({ title: 'held', team: 'a', ownerId: 1 });
      await update(id, { title: 'held no more', team: 'b' });
      const [, made] = await history(id);
      await make({ title: 'held' });
      await server.play({
        name: 'unique',
        request: revert(id, made!),
        expect: { status: 409, body: { code: 'UNIQUE_CONFLICT' } },
      });
      await server.play({ name: 'out of sight', as: 'team', request: revert(id, made!), expect: { status: 403 } });
      const other = await make({ title: 'other', team: 'a' });
      const { id: owner } = await server.data('POST /api/owners:create', { body: { name: 'seen' } });
      await update(other, { ownerId: owner });
      await update(other, { ownerId: null });
      await server.data(`POST /api/owners:destroy?filterByTk=${owner}`);
      const [, linked, bare] = await history(other);
      await server.play({
        name: 'foreign key to nothing',
        request: revert(other, linked!),
        expect: { status: 400, body: { code: 'REFERENCE_MISSING' } },
      });
      await server.play({
        name: 'If-Match',
        request: revert(other, bare!),
        headers: { 'if-match': '"1.x"' },
        expect: { status: 412 },
      });
      await update(other, { ownerId: 2 });
      await update(other, { ownerId: null });
      const [, hidden] = await history(other);
      await server.play({
        name: 'a foreign key out of sight',
        as: 'team',
        request: revert(other, hidden!),
        expect: { status: 400 },
      });
      await server.data(`POST /api/papers:destroy?filterByTk=${other}`);
      await server.play({ name: 'in the trash', request: revert(other, bare!), expect: { status: 404 } });
      await server.data(`POST /api/papers:restore?filterByTk=${other}`);
      await server.data('POST /api/fields:update', { body: { collectionName: 'papers', name: 'team', maxLength: 5 } });
      await server.data('POST /api/fields:update', { body: { collectionName: 'papers', name: 'old', maxLength: 500 } });
      await update(other, { old: 'a long text' });
      await update(other, { old: null });
      const [, long] = await history(other);
      await server.data('POST /api/fields:update', { body: { collectionName: 'papers', name: 'old', maxLength: 3 } });
      await server.play({
        name: 'validation of now',
        request: revert(other, long!),
        expect: { status: 422, body: { details: { old: expect.any(String) } } },
      });
    });

    test('leaves alone what the role may not see or not write, whatever it was', async () => {
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

    test('dryRun shows it and changes nothing', async () => {
      const id = await make({ title: 'tried' });
      await update(id, { title: 'tried too' });
      const [, made] = await history(id);
      const before = await server.picture();
      expect((await server.call(revert(id, made!, '&dryRun=true'))).body).toMatchObject({
        data: { title: 'tried' },
        meta: { dryRun: true },
      });
      expect(await server.picture()).toBe(before);
    });

    test('finds an entry behind hundreds of others', async () => {
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
