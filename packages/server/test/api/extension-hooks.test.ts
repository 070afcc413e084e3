import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { installExtensions, readObservedCalls, startWithExtensions } from '../support/orders-extension.ts';
import type { TestServer } from '../support/scenario.ts';

const installed = installExtensions();
const { committedEvents: happened, beforeCalls: asked, blocked } = await readObservedCalls(installed);
/** Waits until `happened` contains exactly these events. */
const toldOf = (...names: string[]): Promise<void> =>
  expect.poll(() => happened.map(({ name }) => name)).toEqual(names);

describeEngines('hooks of extensions', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startWithExtensions(engine, installed);
    await server.data('POST /api/orders:create', { body: {} }); // the first order, which is kept
  });
  afterAll(() => server?.stop());

  test('committed events are passed on once, and refused or dry-run changes are not', async () => {
    happened.length = 0;
    const { id } = await server.data('POST /api/orders:create', { body: { pieces: 1 } });
    await server.call('POST /api/orders:create', { body: { note: 'throws' } });
    await server.data('POST /api/orders:create?dryRun=true', { body: { pieces: 1 } });
    await server.data('POST /api/lines:create', { body: [{ note: 'a' }, { note: 'b' }] });
    await server.data(`POST /api/orders:destroy?filterByTk=${id}`);
    await toldOf('orders.created', 'lines.created', 'lines.created', 'orders.destroyed');
    expect(happened[0]).toMatchObject({
      application: 'main',
      resource: 'orders',
      tk: String(id),
      actor: 'user:1',
      changed: ['pieces'],
    });
  });

  test('a batch calls the same hooks as separate requests', async () => {
    happened.length = 0;
    const operations = [
      { op: 'create', resource: 'orders', as: 'one', values: { note: '  wide ' } },
      { op: 'update', resource: 'orders', filterByTk: '$one.id', values: { note: 'who' } },
    ];
    const [made, changed] = await server.data('POST /api/batch', { body: { operations } });
    expect([made.note, changed.note]).toEqual(['wide', `main,update,${made.id},admin`]);
    await server.call('POST /api/batch', {
      body: { operations: [...operations, { op: 'create', resource: 'orders', values: { note: 'throws' } }] },
    });
    await server.data('POST /api/lines:create', { body: { note: 'the last' } });
    await toldOf('orders.created', 'orders.updated', 'lines.created');
  });

  test('a hook that does not change values neither rounds numbers nor reorders members', async () => {
    for (const [name, type] of Object.entries({ meta: 'json', price: 'decimal' }))
      await server.data('POST /api/fields:create', { body: { collectionName: 'orders', name, type } });
    asked.length = 0;
    happened.length = 0;
    const meta = '{"b":[9007199254740993],"10":1,"2":{"z":1,"1":2}}';
    const body = `{"note":" wide ","price":9007199254740993,"meta":${meta},"lines":[{"note":"one"}]}`;
    const { text } = await server.call('POST /api/orders:create', { body });
    expect(text).toContain('"note":"wide"');
    expect(text).toContain('"price":"9007199254740993.00"');
    expect(text).toContain(`"meta":${meta}`);
    const [, , , values] = asked.find(([collection]) => collection === 'orders')!;
    expect(values).toEqual({ note: 'wide', price: 9007199254740992, meta: JSON.parse(meta) });
    await server.play({
      name: 'a number out of range is refused',
      request: 'POST /api/orders:create',
      body: '{"note":" wide ","meta":[1e999]}',
      expect: { status: 422, code: 'VALUE_INVALID', body: { details: { meta: expect.any(String) } } },
    });
    await server.data('POST /api/changes:publish', { body: `{"name":"sale.opened","payload":${meta}}` });
    await expect.poll(() => happened.at(-1)?.payload).toEqual(JSON.parse(meta));
  });

  test('a revert calls the hooks: a refusal is respected, and a success is passed on', async () => {
    await server.data('POST /api/collections:create', {
      body: { name: 'kept', fields: [{ name: 'note', type: 'string' }], options: { logging: true } },
    });
    const { id } = await server.data('POST /api/kept:create', { body: { note: 'throwz' } });
    const { database } = server.running.applications.main;
    await server.data(`POST /api/kept:update?filterByTk=${id}`, { body: { note: 'fine' } });
    await server.data(`POST /api/kept:update?filterByTk=${id}`, { body: { note: 'later' } });
    const entries = await server.data(`GET /api/kept:history?filterByTk=${id}`);
    const [first, second] = entries.toReversed();
    // The history gets a value that the hook refuses, as if it was written before the hook existed.
    const text = database.multiNode
      ? "UPDATE _history SET changes=replace(changes::text,'throwz','throws')::jsonb"
      : "UPDATE _history SET changes=replace(changes,'throwz','throws')";
    await database.write((transaction) => transaction.run({ text, values: [] }));
    await server.play({
      name: 'a refused number changes nothing',
      request: `POST /api/kept:revert?filterByTk=${id}&entry=${first.id}`,
      expect: { status: 500, code: 'EXTENSION_FAILED' },
    });
    happened.length = 0;
    await server.data(`POST /api/kept:revert?filterByTk=${id}&entry=${second.id}`);
    await toldOf('kept.updated');
  });

  test('a write that starts after the end of a dry run is not stored', async () => {
    const before = (await server.data('GET /api/orders:list?pageSize=1000')).length;
    await server.data('POST /api/orders:twice?dryRun=true', { body: { pieces: 1, late: true } });
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(await server.data('GET /api/orders:list?pageSize=1000')).toHaveLength(before);
    // Later writes are not blocked.
    await server.data('POST /api/orders:create', { body: { pieces: 1 } });
  });

  test('before hooks are called for restore and move, and for every record of a cascade', async () => {
    const belongs = (target: string, onDelete: string): object => ({ name: 'of', type: 'belongsTo', target, onDelete });
    await server.data('POST /api/collections:apply', {
      body: [
        { name: 'roots', fields: [{ name: 'sort', type: 'sort' }] },
        { name: 'twigs', fields: [belongs('roots', 'cascade')] },
        { name: 'leaves', fields: [belongs('twigs', 'cascade')] },
        { name: 'birds', fields: [belongs('twigs', 'setNull')] },
        { name: 'bins', fields: [], options: { paranoid: true } },
        { name: 'papers', fields: [belongs('bins', 'cascade')], options: { paranoid: true } },
      ],
    });
    await server.data('POST /api/roots:create', { body: [{}, {}] });
    await server.data('POST /api/twigs:create', { body: [{ ofId: 1 }, { ofId: 1 }] });
    await server.data('POST /api/leaves:create', { body: { ofId: 2 } });
    await server.data('POST /api/birds:create', { body: { ofId: 2 } });
    await server.data('POST /api/bins:create', { body: {} });
    await server.data('POST /api/papers:create', { body: { ofId: 1 } });
    const refused = async (what: string, request: string): Promise<void> => {
      blocked.add(what);
      await server.play({ name: what, request, expect: { status: 422, code: 'EXTENSION_REFUSED' } });
      blocked.clear();
    };
    const done = async (request: string): Promise<unknown[][]> => {
      asked.length = 0;
      await server.data(request);
      return [...asked];
    };
    await refused('roots update 1', 'POST /api/roots:move?sourceId=1&targetId=2');
    expect(await done('POST /api/roots:move?sourceId=1&targetId=2')).toEqual([['roots', 'update', 1, { sort: 2 }]]);
    for (const what of ['roots destroy 1', 'twigs destroy 2', 'leaves destroy 1', 'birds update 1'])
      await refused(what, 'POST /api/roots:destroy?filterByTk=1');
    expect(await done('POST /api/roots:destroy?filterByTk=1')).toEqual([
      ['roots', 'destroy', 1, {}],
      ['twigs', 'destroy', 1, {}],
      ['twigs', 'destroy', 2, {}],
      ['leaves', 'destroy', 1, {}],
      ['birds', 'update', 1, { ofId: null }],
    ]);
    await refused('papers destroy 1', 'POST /api/bins:destroy?filterByTk=1');
    expect(await done('POST /api/bins:destroy?filterByTk=1')).toHaveLength(2);
    for (const what of ['bins restore 1', 'papers restore 1'])
      await refused(what, 'POST /api/bins:restore?filterByTk=1');
    expect(await done('POST /api/bins:restore?filterByTk=1')).toEqual([
      ['bins', 'restore', 1, {}],
      ['papers', 'restore', 1, {}],
    ]);
  });

  test('published events are passed on with their payload', async () => {
    happened.length = 0;
    await server.data('POST /api/changes:publish', { body: { name: 'campaign.sent', payload: { to: 2 } } });
    await toldOf('campaign.sent');
    expect(happened[0]).toMatchObject({ name: 'campaign.sent', tk: null, changed: [], payload: { to: 2 } });
  });
});
