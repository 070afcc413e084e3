import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import type { Json } from '../support/json.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const own = { system: false };
const filtered = (filter: object, more = ''): string => `filter=${JSON.stringify(filter)}${more}`;
const ofThem = (filter: object, more = ''): string => filtered({ $and: [own, filter] }, more);

/** Queries for `collections:list` and `fields:list`, with the names that they find, in order. */
const lists: readonly (readonly [name: string, query: string, names: readonly string[]])[] = [
  ['by an exact name', filtered({ name: 'Notes' }), ['Notes']],
  ['by brackets', 'filter[name][$in][]=Notes&filter[name][$in][]=notes', ['notes', 'Notes']],
  ['with another name', ofThem({ name: { $ne: 'notes' } }), ['Notes', 'zoo']],
  ['whose name is not in a list', ofThem({ name: { $notIn: ['notes', 'zoo'] } }), ['Notes']],
  ['by a pattern of names, case-sensitive', ofThem({ name: { $like: 'no%25' } }), ['notes']],
  ['by a part of the title in any case', filtered({ title: { $includes: 'ÉCOLE' } }), ['zoo']],
  ['by options', ofThem({ options: { $notEmpty: true } }), ['notes', 'Notes', 'zoo']],
  ['by a description that is absent', ofThem({ description: { $null: true } }), ['notes', 'Notes']],
  ['by one of their fields', ofThem({ fields: { $anyOf: ['weight'] } }), ['zoo']],
  ['in the order of definition', filtered(own), ['notes', 'Notes', 'zoo']],
  ['sorted by name, by code point', filtered(own, '&sort=-name'), ['zoo', 'notes', 'Notes']],
  ['sorted by title, nulls last', filtered(own, '&sort=title,-name'), ['Notes', 'zoo', 'notes']],
  ['sorted by the alias of the sort parameter', filtered(own, '&sort[]=sort'), ['notes', 'Notes', 'zoo']],
  ['by a search in names and labels', 'search=animals', ['zoo']],
  ['by a search in one field', 'search=animals&searchFields=title', []],
  ['by keys', 'filterByTk=["zoo","notes"]', ['notes', 'zoo']],
  ['without pages', filtered(own, '&paginate=false&appends[]=fields'), ['notes', 'Notes', 'zoo']],
  ['a second page', filtered(own, '&pageSize=2&page=2'), ['zoo']],
];

const refusals: readonly Scenario[] = [
  ...(
    [
      ['filter={"nope":1}', 'FIELD_UNKNOWN'],
      ['filter={"name":{"$nope":1}}', 'OPERATOR_UNKNOWN'],
      ['filter={"name":5}', 'FILTER_INVALID'],
      ['sort=options', 'SORT_INVALID'],
      ['sort=nope', 'FIELD_UNKNOWN'],
      ['fields=nope', 'FIELD_UNKNOWN'],
      ['except=nope', 'FIELD_UNKNOWN'],
      ['appends=ghost', 'FIELD_UNKNOWN'],
      ['appends=options', 'RELATION_UNKNOWN'],
      ['search=x&searchFields=nope', 'FIELD_UNKNOWN'],
      ['searchFields=system&search=x', 'OPERATOR_MISFIT'],
      ['page=0', 'PARAMETER_INVALID'],
      ['pageSize=1001', 'PARAMETER_INVALID'],
      ['page=2&after=x', 'PARAMETER_INVALID'],
      ['after=x', 'CURSOR_INVALID'],
      ['versions=true', 'PARAMETER_INVALID'],
      ['withDeleted=true', 'PARAMETER_INVALID'],
      ['nope=1', 'PARAMETER_UNKNOWN'],
      ['paginate=maybe', 'PARAMETER_INVALID'],
    ] as const
  ).map(
    ([query, code]): Scenario => ({
      name: `${query} is refused with 400`,
      request: `GET /api/collections:list?${query}`,
      expect: { status: 400, code },
    }),
  ),
  {
    name: 'appends=ghost of get is refused with 400',
    request: 'GET /api/collections:get?filterByTk=notes&appends=ghost',
    expect: { status: 400, code: 'FIELD_UNKNOWN', body: { message: expect.stringContaining('"ghost"') } },
  },
  {
    name: 'fields:list without a collection is refused with 400',
    request: 'GET /api/fields:list',
    expect: { status: 400, code: 'PARAMETER_INVALID', body: { message: expect.stringContaining('"collectionName"') } },
  },
  {
    name: 'fields:list of an unknown collection is refused with 404',
    request: 'GET /api/fields:list?collectionName=nope',
    expect: { status: 404, code: 'COLLECTION_UNKNOWN' },
  },
  {
    name: 'two different collections in one request are refused with 400',
    request: 'GET /api/collections/notes/fields:list?collectionName=zoo',
    expect: { status: 400, code: 'PARAMETER_INVALID' },
  },
  {
    name: 'secrets of users cannot be used in a filter',
    request: 'GET /api/fields:list?collectionName=apiKeys&filter={"name":"tokenHash"}',
    expect: { status: 200, body: { data: [], meta: { count: 0 } } },
  },
  {
    name: 'a caller who may not list gets 403 before parameters are checked',
    request: 'GET /api/collections:list?nope=1',
    as: 'editor',
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
  {
    name: 'a caller who may not list gets 403 before fields are checked, whether or not the collection exists',
    request: 'GET /api/fields:list?collectionName=nope',
    as: 'editor',
    expect: { status: 403, code: 'NO_PERMISSION' },
  },
];

describeEngines('lists of definitions', (engine) => {
  let server: TestServer;
  const names = (data: Json): string[] => (data as { name: string }[]).map(({ name }) => name);
  beforeAll(async () => {
    server = await TestServer.start(engine);
    const weight = { name: 'weight', type: 'decimal', precision: 8, scale: 2, title: 'How heavy' };
    const zoo = { title: 'école', description: 'Animals', fields: [weight, { name: 'alive', type: 'boolean' }] };
    await server.data('POST /api/collections:apply', {
      body: [{ name: 'notes' }, { name: 'Notes', title: 'Big notes' }, { name: 'zoo', ...zoo }],
    });
    await server.createKey('editor');
  });
  afterAll(() => server.stop());

  for (const [name, query, expected] of lists)
    test(`collections of ${name}`, async () => {
      expect(names(await server.data(`GET /api/collections:list?${query}`))).toEqual(expected);
    });
  for (const scenario of refusals) test(scenario.name, async () => void (await server.play(scenario)));

  test('If-Match is checked for changes of definitions', async () => {
    const tagOf = async (path: string): Promise<string> =>
      (await server.call(`GET /api/collections${path}`)).headers.get('etag')!;
    const refused = (request: string, tag: string, body?: unknown): Promise<unknown> =>
      server.play({
        name: 'an outdated tag is refused',
        request: `POST /api/${request}`,
        ...(body !== undefined && { body }),
        headers: { 'if-match': tag },
        expect: { status: 412, code: 'VERSION_STALE' },
      });
    const zoo = await tagOf(':get?filterByTk=zoo');
    const weight = await tagOf('/zoo/fields:get?filterByTk=weight&fields=name');
    await server.data('POST /api/collections:update?filterByTk=zoo', {
      body: { description: 'Animals and plants' },
      headers: { 'if-match': zoo },
    });
    await refused('collections:update?filterByTk=zoo', zoo, { title: 'Lost' });
    await refused('collections:destroy?filterByTk=zoo', zoo);
    const change = { collectionName: 'zoo', name: 'weight', description: 'In kg' };
    await server.data('POST /api/fields:update', { body: change, headers: { 'if-match': weight } });
    await refused('fields:update', weight, { ...change, description: 'In t' });
    await refused('collections/zoo/fields:update?filterByTk=weight', weight, { description: 'In t' });
    await refused('fields:destroy', weight, { collectionName: 'zoo', name: 'weight' });
    await server.data('POST /api/fields:update', { body: change, headers: { 'if-match': '*' } });
    for (const fields of ['', '&appends=fields', '&fields=name'])
      await server.data('POST /api/collections:update?filterByTk=zoo', {
        body: { description: 'Animals' },
        headers: { 'if-match': await tagOf(`:get?filterByTk=zoo${fields}`) },
      });
  });

  for (const [request, body] of [
    ['collections:create', { name: 'more' }],
    ['fields:create', { collectionName: 'zoo', name: 'more', type: 'string' }],
    ['roles:create', { name: 'more' }],
    ['notes:create', {}],
    ['notes:updateOrCreate?filter={"id":1}', {}],
    ['apiKeys:rotate?filterByTk=1', undefined],
    ['changes:publish', { name: 'a.b' }],
    ['batch', { operations: [{ op: 'create', resource: 'notes', values: {} }] }],
  ] as const)
    test(`If-Match is refused where it would have no effect: ${request}`, async () => {
      await server.play({
        name: 'If-Match is refused',
        request: `POST /api/${request}`,
        ...(body !== undefined && { body }),
        headers: { 'if-match': '"1.a"' },
        expect: { status: 400, code: 'HEADER_INVALID', body: { message: expect.stringContaining('If-Match') } },
      });
    });

  test('without a page the list is complete, contains the fields, and has the usual meta', async () => {
    const { body } = await server.call('GET /api/collections:list');
    const { data, meta } = body;
    expect(meta).toEqual({
      count: data.length,
      page: 1,
      pageSize: 100_000,
      totalPage: 1,
      hasNext: false,
      nextCursor: null,
    });
    expect(names(data.at(-1).fields)).toContain('alive');
    const sorted = await server.call('GET /api/collections:list?sort=sort');
    expect(sorted.body).toEqual(body);
    expect((await server.call('GET /api/roles:list')).body.meta).toMatchObject({ pageSize: 100_000, hasNext: false });
    const { meta: uncounted } = (await server.call('GET /api/collections:list?count=none')).body;
    expect(uncounted).toEqual({ page: 1, pageSize: 100_000, hasNext: false, nextCursor: null });
  });

  test('pages continue by cursor', async () => {
    const page = `GET /api/collections:list?${filtered(own)}&pageSize=2&count=estimated`;
    const first = (await server.call(page)).body;
    expect(first.meta).toMatchObject({ count: 3, pageSize: 2, totalPage: 2, hasNext: true });
    const second = (await server.call(`${page}&after=${first.meta.nextCursor}`)).body;
    expect([...names(first.data), ...names(second.data)]).toEqual(['notes', 'Notes', 'zoo']);
    expect(second.meta).toMatchObject({ hasNext: false, nextCursor: null });
  });

  test('"fields" and "except" choose the shown members', async () => {
    const list = (query: string): Promise<Json> => server.data(`GET /api/collections:list?filterByTk=["zoo"]&${query}`);
    expect(await list('fields=name,title')).toEqual([{ name: 'zoo', title: 'école' }]);
    expect(Object.keys((await list('fields=name&appends=fields'))[0])).toEqual(['name', 'fields']);
    expect(Object.keys((await list('except=fields,options,description'))[0])).toEqual(['name', 'title']);
    const get = 'GET /api/collections:get?filterByTk=zoo';
    expect(Object.keys(await server.data(get))).not.toContain('fields');
    expect(names((await server.data(`${get}&appends=fields`)).fields)).toContain('weight');
    expect(await server.data('GET /api/collections:get?filter={"title":"école"}&fields=name')).toEqual({ name: 'zoo' });
  });

  test('the fields of a collection are listed by two paths with the same parameters', async () => {
    for (const path of ['/api/fields:list?collectionName=zoo&', '/api/collections/zoo/fields:list?']) {
      const all = (await server.call(`GET ${path}`)).body;
      expect(names(all.data)).toEqual(['id', 'weight', 'alive', 'createdAt', 'updatedAt']);
      expect(all.meta).toMatchObject({ count: 5, page: 1, hasNext: false });
      const numbers = `${filtered({ type: { $in: ['decimal', 'integer'] } })}&sort=-name&fields=name,scale`;
      expect(await server.data(`GET ${path}${numbers}`)).toEqual([{ name: 'weight', scale: 2 }, { name: 'id' }]);
      expect(names(await server.data(`GET ${path}search=HEAVY`))).toEqual(['weight']);
      expect(names(await server.data(`GET ${path}filter={"readOnly":{"$isTruly":true}}&paginate=false`))).toEqual([
        'createdAt',
        'updatedAt',
      ]);
      expect((await server.call(`GET ${path}pageSize=2&page=2`)).body).toMatchObject({
        data: [{ name: 'alive' }, { name: 'createdAt' }],
        meta: { count: 5, totalPage: 3 },
      });
    }
  });

  test('definitions are read by POST and as NDJSON', async () => {
    const body = { filter: own, sort: ['-name'], pageSize: 1, fields: ['name'] };
    expect((await server.call('POST /api/collections:list', { body })).body).toMatchObject({
      data: [{ name: 'zoo' }],
      meta: { count: 3 },
    });
    const posted = { collectionName: 'zoo', filter: { name: 'alive' } };
    expect(names(await server.data('POST /api/fields:list', { body: posted }))).toEqual(['alive']);
    const headers = { accept: 'application/x-ndjson' };
    const { text } = await server.call('GET /api/fields:list?collectionName=zoo&paginate=false&fields=name', {
      headers,
    });
    expect(
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).name),
    ).toEqual(names(await server.data('GET /api/fields:list?collectionName=zoo')));
  });
});
