/** `schema:pull`, `diff`, `apply`, `rollback` and `revisions`. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { insertRevision } from '../../src/database/schema-rows.ts';
import { deleteExpiredTombstones } from '../../src/database/schema-tombstones.ts';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('schema documents', (engine) => {
  let server: TestServer;
  let empty: Json;
  const pull = async (): Promise<Json> => (await server.data('POST /api/schema:pull', { body: {} })).schema;
  const apply = (schema: Json, more: object = {}): Promise<Json> =>
    server.data('POST /api/schema:apply', { body: { schema, ...more } });
  const diff = (schema: Json): Promise<Json> => server.data('POST /api/schema:diff', { body: { schema } });
  const findCollection = (schema: Json, name: string): Json =>
    schema.collections.find((each: Json) => each.name === name);
  const findField = (schema: Json, name: string, field: string): Json =>
    findCollection(schema, name).fields.find((each: Json) => each.name === field);
  const byName = (one: Json, other: Json): number => (one.name < other.name ? -1 : 1);
  const sort = (schema: Json): Json => ({
    ...schema,
    collections: schema.collections
      .map((each: Json) => ({ ...each, fields: [...each.fields].sort(byName) }))
      .sort(byName),
    roles: [...schema.roles].sort(byName).map((role: Json) => ({
      ...role,
      permissions: [...role.permissions].sort((one: Json, other: Json) => (one.resource < other.resource ? -1 : 1)),
    })),
  });
  const describe = ({ action, kind, of, name }: Json): string => [action, kind, name ? `${of}.${name}` : of].join(' ');

  beforeAll(async () => {
    server = await TestServer.start(engine, { env: { WEBHOOKS: 'off' } });
    empty = await pull();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    await apply(empty, { allowDestructive: true });
    await apply(withShop(empty));
    await server.data('POST /api/albums:create', {
      body: [
        { title: 'Blue', year: 1971, artist: { name: 'Joni' }, tags: [{ name: 'folk' }] },
        { title: 'Low', year: 1977 },
      ],
    });
  });

  function withShop(schema: Json): Json {
    return {
      ...schema,
      collections: [
        ...schema.collections,
        {
          name: 'artists',
          fields: [
            { name: 'name', type: 'string' },
            { name: 'albums', type: 'hasMany', target: 'albums', foreignKey: 'artistId' },
          ],
        },
        {
          name: 'albums',
          title: 'Albums',
          options: { authors: true, indexes: [{ fields: ['year'] }], search: ['title'] },
          fields: [
            { name: 'title', type: 'string', required: true },
            { name: 'year', type: 'integer', min: 1900 },
            { name: 'artist', type: 'belongsTo', target: 'artists', foreignKey: 'artistId', onDelete: 'cascade' },
            { name: 'tags', type: 'belongsToMany', target: 'tags', through: 'albumsTags' },
          ],
        },
        { name: 'tags', fields: [{ name: 'name', type: 'string', unique: true }] },
      ],
      roles: [
        ...schema.roles,
        {
          name: 'seller',
          title: 'Seller',
          allowConfigure: false,
          default: true,
          permissions: [
            {
              resource: 'albums',
              actions: ['list', 'get'],
              filter: { year: { $gt: 1950 } },
              fields: ['title', 'year'],
            },
            { resource: 'artists', actions: ['*'] },
          ],
        },
      ],
      webhooks: [{ url: 'https://example.com/hook', events: ['albums.*'], role: 'seller', enabled: true }],
    };
  }

  test('a pulled document applies to itself without a change, and has no secrets', async () => {
    const schema = await pull();
    expect(await apply(schema)).toEqual({ revision: null, steps: [], restored: [], secrets: [] });
    expect(await diff(schema)).toMatchObject({ same: true, steps: [], locks: { collections: [] } });
    expect(findField(schema, 'albums', 'artist')).toMatchObject({ foreignKey: 'artistId', onDelete: 'cascade' });
    expect(JSON.stringify(schema)).not.toContain('secret');
    expect(schema.webhooks).toMatchObject([{ url: 'https://example.com/hook', role: 'seller' }]);
  });

  test('renames keep the data, and update everything that uses the renamed names', async () => {
    const schema = await pull();
    findCollection(schema, 'albums').name = 'records';
    findField(schema, 'records', 'year').name = 'released';
    findCollection(schema, 'records').options.indexes = [{ fields: ['released'] }];
    findField(schema, 'artists', 'albums').target = 'records';
    for (const role of schema.roles.filter((each: Json) => each.name === 'seller')) {
      role.name = 'vendor';
      role.permissions[0] = {
        resource: 'records',
        actions: ['get', 'list'],
        filter: { released: { $gt: 1950 } },
        fields: ['released', 'title'],
      };
    }
    schema.webhooks[0].role = 'vendor';
    schema.webhooks[0].events = ['records.*'];
    const { steps } = await diff(schema);
    expect(steps.map(describe)).toEqual(
      expect.arrayContaining(['rename collection records', 'rename field records.released', 'rename role vendor']),
    );
    expect(steps.some((each: Json) => each.destructive)).toBe(false);
    expect(steps.find((each: Json) => each.kind === 'collection')).toMatchObject({ from: 'albums', records: 2 });
    await apply(schema);
    expect(sort(await pull())).toEqual(sort(schema));
    const rows = await server.data('GET /api/records:list?sort=id&appends=artist,tags');
    expect(rows).toMatchObject([
      { title: 'Blue', released: 1971, artist: { name: 'Joni' }, tags: [{ name: 'folk' }] },
      { title: 'Low' },
    ]);
    expect((await server.data('GET /api/artists:list?appends=albums'))[0].albums).toHaveLength(1);
  });

  test('names can be swapped', async () => {
    const schema = await pull();
    const [artists, tags] = [findCollection(schema, 'artists'), findCollection(schema, 'tags')];
    [artists.name, tags.name] = ['tags', 'artists'];
    findField(schema, 'albums', 'artist').target = 'tags';
    findField(schema, 'albums', 'tags').target = 'artists';
    const [title, year] = [findField(schema, 'albums', 'title'), findField(schema, 'albums', 'year')];
    [title.name, year.name] = ['year', 'title'];
    findCollection(schema, 'albums').options = {
      ...findCollection(schema, 'albums').options,
      indexes: [{ fields: ['title'] }],
      search: ['year'],
    };
    for (const role of schema.roles)
      for (const permission of role.permissions)
        if (permission.resource === 'artists') permission.resource = 'tags';
        else if (permission.resource === 'albums') permission.filter = { title: { $gt: 1950 } };
    expect(
      (await diff(schema)).steps.some(({ kind, action }: Json) => action !== 'rename' && kind !== 'permission'),
    ).toBe(false);
    await apply(schema);
    expect((await diff(schema)).steps).toEqual([]);
    expect(await server.data('GET /api/albums:list?sort=id&appends=artist')).toMatchObject([
      { year: 'Blue', title: 1971, artist: { name: 'Joni' } },
      { year: 'Low' },
    ]);
  });

  test('destructive steps are refused without the flag, and nothing changes', async () => {
    const before = await pull();
    const schema = await pull();
    schema.collections = schema.collections.filter((each: Json) => each.name !== 'tags' && each.name !== 'albumsTags');
    findCollection(schema, 'albums').fields = findCollection(schema, 'albums').fields.filter(
      (each: Json) => each.name !== 'tags' && each.name !== 'year',
    );
    findCollection(schema, 'albums').title = 'Other';
    delete findCollection(schema, 'albums').options.indexes;
    for (const role of schema.roles) if (role.name === 'seller') role.permissions = [];
    const refused = await server.call('POST /api/schema:apply', { body: { schema } });
    expect(refused.status).toBe(409);
    expect(refused.body).toMatchObject({
      code: 'DATA_WOULD_BE_LOST',
      details: { 'albums.year': 'destroy field albums.year' },
    });
    expect(
      (await server.call('POST /api/schema:apply?dryRun=true', { body: { schema, allowDestructive: true } })).body,
    ).toMatchObject({
      data: { revision: null, steps: expect.any(Array) },
      meta: { dryRun: true },
    });
    expect(await pull()).toEqual(before);
    expect(await diff(schema)).toMatchObject({ same: false, destructive: 3 });
    const { revision } = await apply(schema, { allowDestructive: true, summary: 'no tags' });
    expect((await diff(schema)).steps).toEqual([]);
    const { tombstones, revisions } = await server.data('GET /api/schema:revisions');
    expect(tombstones.map(({ name, records }: Json) => [name, records])).toEqual(
      expect.arrayContaining([
        ['tags', 1],
        ['albums.year', 2],
        ['albumsTags', 1],
      ]),
    );
    expect(revisions[0]).toMatchObject({ number: revision, summary: 'no tags', actor: 'user:1' });

    const undone = await server.data('POST /api/schema:rollback', { body: {} });
    expect(undone.restored.sort()).toEqual(['albums.year', 'albumsTags', 'tags']);
    expect(await pull()).toEqual(before);
    expect(await server.data('GET /api/albums:list?sort=id&appends=tags,artist')).toMatchObject([
      { title: 'Blue', year: 1971, tags: [{ name: 'folk' }], artist: { name: 'Joni' } },
      { title: 'Low', year: 1977, tags: [] },
    ]);
    expect((await server.data('POST /api/tags:create', { body: { name: 'rock' } })).id).toBe(2);
    expect((await server.data('GET /api/schema:revisions')).tombstones).toHaveLength(tombstones.length - 3);
    const again = await server.data('POST /api/schema:rollback', { body: { to: revision, allowDestructive: true } });
    expect(again.revision).toBe(revision + 2);
    expect((await diff(schema)).steps).toEqual([]);
  });

  test('a relation can get another target or another onDelete', async () => {
    const schema = await pull();
    findField(schema, 'albums', 'artist').onDelete = 'setNull';
    findField(schema, 'artists', 'albums').onDelete = 'setNull';
    expect((await diff(schema)).destructive).toBe(0);
    await apply(schema);
    expect((await diff(schema)).steps).toEqual([]);
    expect((await server.data('GET /api/albums:get?filterByTk=1&appends=artist')).artist.name).toBe('Joni');
    await server.data('POST /api/artists:destroy?filterByTk=1');
    expect((await server.data('GET /api/albums:get?filterByTk=1')).artistId).toBeNull();
    findField(schema, 'albums', 'artist').target = 'tags';
    const { fields } = findCollection(schema, 'artists');
    fields.splice(fields.indexOf(findField(schema, 'artists', 'albums')), 1);
    expect((await diff(schema)).destructive).toBe(1);
    await apply(schema, { allowDestructive: true });
    expect((await diff(schema)).steps).toEqual([]);
    await server.data('POST /api/albums:update?filterByTk=2', { body: { artistId: 1 } });
    expect((await server.data('GET /api/albums:get?filterByTk=2&appends=artist')).artist.name).toBe('folk');
  });

  test('only roles that may configure can use schema documents, and an apply to an outdated state is refused', async () => {
    await server.createKey('editor');
    for (const action of ['pull', 'diff', 'apply', 'rollback'])
      expect((await server.call(`POST /api/schema:${action}`, { as: 'editor', body: {} })).status).toBe(403);
    expect((await server.call('GET /api/schema:revisions', { as: 'editor' })).status).toBe(403);
    const { state, schema } = await server.data('POST /api/schema:pull', { body: {} });
    await server.data('POST /api/fields:create', { body: { collectionName: 'tags', name: 'more', type: 'string' } });
    const body = { schema: { ...schema, webhooks: [] }, state, allowDestructive: true };
    expect((await server.call('POST /api/schema:apply', { body })).body).toMatchObject({ code: 'VERSION_STALE' });
    // A developer may configure, but the rules of roles hold: only an admin grants allowConfigure.
    await server.createKey('developer');
    const present = await pull();
    present.roles.find((each: Json) => each.name === 'seller').allowConfigure = true;
    const refused = await server.call('POST /api/schema:apply', { as: 'developer', body: { schema: present } });
    expect([403, 409]).toContain(refused.status);
    expect((await pull()).roles.find((each: Json) => each.name === 'seller').allowConfigure).toBe(false);
  });

  test('data of a destroyed field is removed after thirty days', async () => {
    const schema = await pull();
    const year = findField(schema, 'albums', 'year');
    findCollection(schema, 'albums').fields = findCollection(schema, 'albums').fields.filter(
      (each: Json) => each !== year,
    );
    delete findCollection(schema, 'albums').options.indexes;
    for (const role of schema.roles) if (role.name === 'seller') role.permissions = [];
    await apply(schema, { allowDestructive: true });
    const { database } = server.running.applications.main;
    const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();
    await deleteExpiredTombstones(database, inDays(29));
    expect(
      (await server.data('GET /api/schema:revisions')).tombstones.some((each: Json) => each.name === 'albums.year'),
    ).toBe(true);
    await deleteExpiredTombstones(database, inDays(31));
    expect((await server.data('GET /api/schema:revisions')).tombstones).toEqual([]);
    expect((await server.data('POST /api/schema:rollback', { body: {} })).restored).toEqual([]);
    expect(await server.data('GET /api/albums:list?sort=id&fields=year')).toEqual([{ year: null }, { year: null }]);
  });

  test('the latest 200 revisions are kept, and a rollback to an earlier one is refused', async () => {
    const text = JSON.stringify(await pull());
    const { database } = server.running.applications.main;
    const revision = {
      at: '2026-11-28T12:00:00.000Z',
      actor: null,
      summary: 'same',
      steps: [],
      before: text,
      after: text,
    };
    let last = 0;
    await database.write(async (transaction) => {
      for (let count = 0; count < 201; count += 1) last = await insertRevision(database, transaction, revision);
    });
    const { revisions } = await server.data('GET /api/schema:revisions');
    expect(revisions).toHaveLength(200);
    expect(revisions.at(-1).number).toBe(last - 199);
    const body = (to: number): { body: object } => ({ body: { to, allowDestructive: true } });
    expect((await server.data('POST /api/schema:rollback', body(last - 199))).revision).toBeNull();
    for (const to of [0, last - 200]) {
      const { status, body: refusal } = await server.call('POST /api/schema:rollback', body(to));
      expect([status, refusal.code]).toEqual([404, 'RECORD_UNKNOWN']);
      expect(refusal.message).toContain(`the oldest of them is ${last - 199}`);
    }
    expect((await server.call('POST /api/schema:rollback', body(last + 1))).body.message).toContain(
      'The latest one is',
    );
  });
});
