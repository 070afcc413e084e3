import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const maxGiven = 2 ** 31 - 1 - 1_000_000;
const refused: readonly Scenario[] = [
  [maxGiven + 1, /2146483647/],
  [2 ** 31 - 1, /2146483647/],
  [2 ** 31, /2146483647/],
  [-(2 ** 31), /minimum/],
].map(
  ([id, message]): Scenario => ({
    name: `an integer key of ${id} is refused`,
    request: 'POST /api/edge:create',
    body: { id },
    expect: { status: 422, code: 'VALUE_INVALID', body: { details: { id: expect.stringMatching(message as RegExp) } } },
  }),
);
const others: readonly Scenario[] = [
  {
    name: 'a bigInt key in the upper half of the range is refused',
    request: 'POST /api/wide:create',
    body: { id: '4611686018427387905' },
    expect: {
      status: 422,
      code: 'VALUE_INVALID',
      body: { details: { id: expect.stringContaining('4611686018427387904') } },
    },
  },
  {
    name: 'one invalid key of several is refused',
    request: 'POST /api/edge:create',
    body: [{}, { id: maxGiven + 1 }],
    expect: { status: 422, code: 'VALUE_INVALID', body: { details: { '[1].id': expect.any(String) } } },
  },
  {
    name: 'an invalid key of a nested record is refused',
    request: 'POST /api/edge:create',
    body: { parts: [{ id: 2 ** 31 - 1 }] },
    expect: { status: 422, code: 'VALUE_INVALID' },
  },
  {
    name: 'an invalid key of firstOrCreate is refused',
    request: 'POST /api/edge:firstOrCreate?filterKeys[]=note',
    body: { id: 2 ** 31 - 1, note: 'none' },
    expect: { status: 422, code: 'VALUE_INVALID' },
  },
  {
    name: 'an invalid key of a user is refused',
    request: 'POST /api/users:create',
    body: { id: 2 ** 31 - 1, email: 'edge@example.com', password: 'long enough for all' },
    expect: { status: 422, code: 'VALUE_INVALID' },
  },
  {
    name: 'an invalid key in a batch is refused',
    request: 'POST /api/batch',
    body: { operations: [{ op: 'create', resource: 'edge', values: { id: 2 ** 31 - 1 } }] },
    expect: { status: 422, code: 'VALUE_INVALID' },
  },
  ...['9223372036854775807', '-9223372036854775808', 2 ** 52 + 1, -(2 ** 52) - 1].map(
    (place): Scenario => ({
      name: `a sort position of ${place} is refused`,
      request: 'POST /api/edge:create',
      body: { place },
      expect: {
        status: 422,
        code: 'VALUE_INVALID',
        body: { details: { place: expect.stringContaining('4503599627370496') } },
      },
    }),
  ),
  {
    name: 'a sort position beyond the range is refused on update',
    request: 'POST /api/edge:update?filterByTk=1',
    body: { place: Number.MAX_SAFE_INTEGER },
    expect: { status: 422, code: 'VALUE_INVALID' },
  },
];

describeEngines('keys and sort positions at the end of their range', (engine) => {
  let server: TestServer;
  const create = (resource: string, body: object): Promise<{ id: number | string; place: unknown }> =>
    server.data(`POST /api/${resource}:create`, { body });
  /** Writes without checks, for data that the store of an earlier release may contain. */
  const store = (text: string): Promise<unknown> =>
    server.running.applications.main.database.write((transaction) => {
      transaction.touch('*');
      return transaction.run({ text, values: [] });
    });
  const tableOf = (name: string): string => `"${server.running.applications.main.registry.get(name).table}"`;
  const columnOf = (name: string, field: string): string =>
    `"${server.running.applications.main.registry.get(name).byName.get(field)!.column}"`;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    const key = (type: string): object => ({ name: 'id', type, primaryKey: true, autoIncrement: true });
    const place = { name: 'place', type: 'sort', scopeKey: 'note' };
    for (const [name, type] of [
      ['edge', 'integer'],
      ['wide', 'bigInt'],
      ['older', 'integer'],
      ['olderWide', 'bigInt'],
    ] as const)
      await server.data('POST /api/collections:create', {
        body: { name, fields: [key(type), { name: 'note', type: 'string' }, place], options: { timestamps: false } },
      });
    await server.data('POST /api/collections:create', {
      body: { name: 'parts', fields: [{ name: 'edge', type: 'belongsTo', target: 'edge' }] },
    });
    await server.data('POST /api/fields:create', {
      body: { collectionName: 'edge', name: 'parts', type: 'hasMany', target: 'parts' },
    });
    await create('edge', {});
  });
  afterAll(() => server.stop());

  test('generated keys continue after explicit ones', async () => {
    const given = async (id: number | string): Promise<unknown> => (await create('edge', { id })).id;
    expect(await given(-5)).toBe(-5);
    expect(await given(0)).toBe(0);
    expect((await create('edge', {})).id).toBe(2);
    expect(await given(-(2 ** 31) + 1)).toBe(-(2 ** 31) + 1);
    expect(await given(100)).toBe(100);
    expect(await given(50)).toBe(50);
    expect((await create('edge', {})).id).toBe(101);
    expect(await given(maxGiven)).toBe(maxGiven);
    expect((await create('edge', {})).id).toBe(maxGiven + 1);
    expect((await create('wide', { id: String(2n ** 62n) })).id).toBe(String(2n ** 62n));
    expect((await create('wide', {})).id).toBe(String(2n ** 62n + 1n));
  });

  test.each([...refused, ...others])('$name is refused', (scenario) => server.play(scenario).then(() => {}));

  test.each([
    ['older', String(2 ** 31 - 1), maxGiven],
    ['olderWide', String(2n ** 63n - 1n), String(2n ** 62n)],
  ])('%s: after the last key is used, a record must give its own key', async (name, last, most) => {
    const table = tableOf(name);
    const id = columnOf(name, 'id');
    await store(`INSERT INTO ${table} (${id}) VALUES (${last})`);
    if (engine.name === 'postgres')
      await store(`SELECT setval(pg_get_serial_sequence('${table}','${id.replaceAll('"', '')}'),${last})`);
    const body = { code: 'KEYS_EXHAUSTED', message: expect.stringContaining(String(most)) };
    for (const given of [{}, [{}, {}], { note: 'a' }])
      await server.play({
        name,
        request: `POST /api/${name}:create`,
        body: given,
        expect: { status: 409, code: 'KEYS_EXHAUSTED', body },
      });
    await server.play({
      name,
      request: 'POST /api/batch',
      body: { operations: [{ op: 'create', resource: name, values: {} }] },
      expect: { status: 409, code: 'KEYS_EXHAUSTED' },
    });
    expect((await create(name, { id: 7 })).id).toBe(7);
    // On SQLite, these writes share commits.
    const other = `${name}Next`;
    const fields = [{ name: 'note', type: 'string' }];
    await server.data('POST /api/collections:create', { body: { name: other, fields } });
    const mixed = Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? name : other));
    const replies = await Promise.all(
      mixed.map((each) => server.call(`POST /api/${each}:create`, { body: { note: 'mixed' } })),
    );
    expect(replies.map(({ status }) => status)).toEqual(mixed.map((each) => (each === name ? 409 : 200)));
    expect(await server.data(`GET /api/${other}:list?fields=id`)).toHaveLength(20);
    expect(await server.data(`GET /api/${name}:list?fields=id`)).toHaveLength(2);
  });

  test('a sort position at the end of the range does not prevent further records', async () => {
    const notes = async (): Promise<string> =>
      (await server.data('GET /api/wide:list?filter={"note":{"$in":["end","far"]}}&sort=place,id'))
        .map((each: { id: string }) => BigInt(each.id) - 2n ** 62n)
        .join();
    await create('wide', { note: 'end', place: 2 ** 52 });
    expect((await create('wide', { note: 'end' })).place).toBe(2 ** 52 + 1);
    const first = await create('wide', { note: 'end', place: -(2 ** 52) });
    expect(await notes()).toBe('4,2,3');
    await server.data(`POST /api/wide:move?sourceId=${first.id}&sortField=place&targetScope=end`);
    expect(await notes()).toBe('2,3,4');
    const far = await create('wide', { note: 'far' });
    await store(
      `UPDATE ${tableOf('wide')} SET ${columnOf('wide', 'place')}=9223372036854775807 WHERE ${columnOf('wide', 'id')}=${far.id}`,
    );
    expect((await create('wide', { note: 'far' })).place).toBe('9223372036854775807');
    await server.data(`POST /api/wide:move?sourceId=${far.id}&sortField=place&sticky=true`);
    const places = await server.data('GET /api/wide:list?filter={"note":"far"}&sort=place&fields=place');
    expect(places).toEqual([{ place: 0 }, { place: 2 }]);
  });
});
