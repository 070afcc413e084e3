import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HappenedEvent } from '../../src/extensions/extension.ts';
import { loadExtensions } from '../../src/extensions/load-extensions.ts';
import { describeEngines } from '../support/engines.ts';
import { type Scenario, TestServer } from '../support/scenario.ts';

const page = readFileSync(new URL('../../../../docs/extensions.md', import.meta.url), 'utf8');
/** The example of the documentation, as it stands there. */
const example = /```ts\n(.*?)```/s.exec(page)![1]!;

/** Hooks that misbehave, each by a name in the note of an order; types are stripped from it, not checked. */
const misbehaving = `
import { defineExtension } from '@tablinum/server/extension';
export const happened: unknown[] = [];
export const asked: unknown[] = [];
export const blocked = new Set<string>();
export default defineExtension({
  name: 'misbehaving',
  before: [
    {
      collection: '*',
      actions: ['create', 'update', 'destroy', 'restore'],
      async run({ values, action, key, caller, application, collection, refuse }) {
        asked.push([collection, action, key, values]);
        if (blocked.has([collection, action, key].join(' '))) refuse('Not this one.');
        if (values.note === 'throws') throw new Error('the secret of the extension');
        if (values.note === 'hangs') await new Promise(() => {});
        if (values.note === 'nonsense') return 5;
        if (values.note === 'unknown') return { nope: 1 };
        if (values.note === 'who') return { note: [application, action, key, caller?.role].join() };
      },
    },
    {
      collection: 'orders',
      actions: ['destroy'],
      run({ key, refuse }) {
        if (key === 1) refuse('The first order stays.');
      },
    },
    {
      collection: 'collections',
      actions: ['create', 'destroy'],
      run({ key, action, refuse }) {
        if (key === 'forbidden' || (key === 'orders' && action === 'destroy')) refuse('This name is spoken for.');
      },
    },
  ],
  after: [
    { events: ['*'], run: (event) => void happened.push(event) },
    { events: ['orders.created'], run: () => { throw new Error('after'); } },
  ],
  actions: [
    {
      action: 'orders:book',
      summary: 'Book an order',
      reads: false,
      permission: { resource: 'orders', action: 'create' },
      async run({ records, body }) {
        return records.create('orders', body);
      },
    },
    {
      action: 'orders:twice',
      summary: 'Two orders, and how many there are',
      reads: false,
      permission: { resource: 'orders', action: 'create' },
      async run({ records, body, dryRun, parameters }) {
        const { pieces, swallow, late } = body;
        const first = await records.create('orders', { pieces: 1, note: 'twice' });
        const second = await records.create('orders', { pieces }).catch((error) => { if (!swallow) throw error; return null; });
        const seen = await records.list('orders', { filter: { note: 'twice' } });
        if (late) setTimeout(() => void records.create('orders', { note: 'late' }).catch(() => {}), 50);
        return { dryRun, seen: seen.length, second: second?.pieces ?? null };
      },
    },
    { action: 'weather:today', summary: 'The weather', reads: true, permission: 'public', run: ({ caller, parameters }) => ({ sunny: true, caller: caller.role, parameters }) },
    { action: 'weather:storm', summary: 'Fails', reads: false, permission: 'public', run: () => { throw new Error('lightning'); } },
    { action: 'weather:refuse', summary: 'Refuses', reads: false, permission: 'public', run: ({ refuse }) => refuse('No.', { sky: 'It is grey.' }) },
  ],
});
`;

const failed = { status: 500, body: { code: 'EXTENSION_FAILED' }, absent: ['the secret of the extension'] };
const create = (name: string, body: object, expected: Scenario['expect'], as = 'admin'): Scenario => ({
  name,
  request: 'POST /api/orders:create',
  as,
  body,
  expect: expected,
});

const scenarios: readonly Scenario[] = [
  create(
    'a hook changes values',
    { pieces: 5, note: '  wide  ' },
    { status: 200, body: { data: { id: 1, note: 'wide' } }, events: ['orders.created'] },
  ),
  create(
    'a hook refuses, with details',
    { pieces: 101 },
    {
      status: 422,
      body: {
        error: 'Validation Error',
        code: 'EXTENSION_REFUSED',
        message: 'More than 100 pieces are sold by telephone.',
        details: { pieces: 'Give at most 100.' },
      },
    },
  ),
  create('one of many refused is all refused', [{ pieces: 1 }, { pieces: 101 }] as never, { status: 422 }),
  create('a nested one too', { pieces: 1, lines: [{ note: 'throws' }] }, failed),
  create('a hook that throws', { note: 'throws' }, failed),
  create('a hook that never ends', { note: 'hangs' }, failed),
  create('a hook that returns nonsense', { note: 'nonsense' }, failed),
  create('what a hook returns is checked', { note: 'unknown' }, { status: 400, body: { code: 'FIELD_UNKNOWN' } }),
  create(
    'a hook knows who asks',
    { note: 'who' },
    { status: 200, body: { data: { note: 'main,create,,editor' } }, events: ['orders.created'] },
    'editor',
  ),
  create('who may not write is refused before any hook', { note: 'throws' }, { status: 403 }, 'viewer'),
  create(
    'a type of an extension',
    { article: 'AB-123456' },
    { status: 200, body: { data: { article: 'AB-123456' } }, events: ['orders.created'] },
  ),
  create(
    'and another form of it',
    { article: 'x' },
    { status: 422, body: { details: { article: 'Give an article number such as AB-123456.' } } },
  ),
  {
    name: 'an update refused',
    request: 'POST /api/orders:update?filterByTk=1',
    body: { pieces: 1000 },
    expect: { status: 422, body: { code: 'EXTENSION_REFUSED' } },
  },
  {
    name: 'an update changed',
    request: 'POST /api/orders:update?filterByTk=1',
    body: { note: 'who' },
    expect: { status: 200, body: { data: { note: 'main,update,1,admin' } }, events: ['orders.updated'] },
  },
  {
    name: 'an update by filter',
    request: 'POST /api/orders:update?filter={"id":{"$gt":0}}',
    body: { pieces: 101 },
    expect: { status: 422 },
  },
  {
    name: 'a destroy refused',
    request: 'POST /api/orders:destroy?filterByTk=1',
    expect: { status: 422, body: { message: 'The first order stays.' } },
  },
  {
    name: 'a trial is asked too',
    request: 'POST /api/orders:create?dryRun=true',
    body: { pieces: 101 },
    expect: { status: 422 },
  },
  {
    name: 'one of a batch refused is all refused',
    request: 'POST /api/batch',
    body: {
      operations: [
        { op: 'create', resource: 'orders', values: { pieces: 1 } },
        { op: 'create', resource: 'orders', values: { pieces: 101 } },
      ],
    },
    expect: {
      status: 422,
      body: { code: 'EXTENSION_REFUSED', details: { 'operations[1].values.pieces': 'Give at most 100.' } },
    },
  },
  {
    name: 'also under a key',
    request: 'POST /api/orders:update?filterByTk=1',
    headers: { 'idempotency-key': 'refused' },
    body: { pieces: 101 },
    expect: { status: 422, body: { code: 'EXTENSION_REFUSED' } },
  },
  {
    name: 'an update and a destroy of a batch',
    request: 'POST /api/batch',
    body: {
      operations: [
        { op: 'update', resource: 'orders', filterByTk: 1, values: { note: ' changed ' } },
        { op: 'destroy', resource: 'orders', filterByTk: 1 },
      ],
    },
    expect: { status: 422, body: { message: 'The first order stays.' } },
  },
  {
    name: 'a definition refused',
    request: 'POST /api/collections:create',
    body: { name: 'forbidden' },
    expect: { status: 422, body: { message: 'This name is spoken for.' } },
  },
  {
    name: 'a definition that would be dropped',
    request: 'POST /api/collections:destroy?filterByTk=orders&cascade=true',
    expect: { status: 422 },
  },
  {
    name: 'an action of an extension',
    request: 'GET /api/orders:pieces',
    expect: { status: 200, body: { data: { pieces: 5 } } },
  },
  { name: 'by POST too', request: 'POST /api/orders:pieces', expect: { status: 200 } },
  { name: 'not for who lacks its grant', request: 'GET /api/orders:pieces', as: 'clerk', expect: { status: 403 } },
  { name: 'nor without a credential', request: 'GET /api/orders:pieces', as: 'nobody', expect: { status: 401 } },
  {
    name: 'an action that writes',
    request: 'POST /api/orders:book',
    body: { pieces: 2 },
    expect: { status: 200, body: { data: { pieces: 2 } }, events: ['orders.created'] },
  },
  {
    name: 'as the caller may',
    request: 'POST /api/orders:book',
    as: 'viewer',
    body: { pieces: 2 },
    expect: { status: 403 },
  },
  {
    name: 'under the hooks',
    request: 'POST /api/orders:book',
    body: { pieces: 200 },
    expect: { status: 422, body: { code: 'EXTENSION_REFUSED' } },
  },
  {
    name: 'a trial of it writes nothing, and sees what it would have written',
    request: 'POST /api/orders:twice?dryRun=true',
    body: { pieces: 3 },
    expect: { status: 200, body: { data: { dryRun: true, seen: 1, second: 3 }, meta: { dryRun: true } } },
  },
  {
    name: 'a trial in which something is refused is refused',
    request: 'POST /api/orders:twice?dryRun=true',
    body: { pieces: 300, swallow: true },
    expect: { status: 422, body: { code: 'EXTENSION_REFUSED' } },
  },
  {
    name: 'a trial that is none',
    request: 'POST /api/orders:twice?dryRun=maybe',
    body: {},
    expect: { status: 400, body: { code: 'PARAMETER_INVALID' } },
  },
  {
    name: 'not tried by who may not',
    request: 'POST /api/orders:twice?dryRun=true',
    as: 'viewer',
    body: { pieces: 3 },
    expect: { status: 403 },
  },
  { name: 'a write is not answered to GET', request: 'GET /api/orders:book', expect: { status: 405 } },
  {
    name: 'a public action',
    request: 'GET /api/weather:today?a=1',
    as: 'nobody',
    expect: { status: 200, body: { data: { sunny: true, caller: 'public', parameters: { a: '1' } } } },
  },
  {
    name: 'an action that fails',
    request: 'POST /api/weather:storm',
    expect: { status: 500, body: { code: 'EXTENSION_FAILED' }, absent: ['lightning'] },
  },
  {
    name: 'an action that refuses',
    request: 'POST /api/weather:refuse',
    expect: { status: 422, body: { message: 'No.', details: { sky: 'It is grey.' } } },
  },
];

function folder(files: Readonly<Record<string, string>>): string {
  const path = mkdtempSync(join(tmpdir(), 'tablinum-extensions-'));
  folders.push(path);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return path;
}
const folders: string[] = [];
afterAll(() => {
  for (const path of folders) rmSync(path, { recursive: true });
});

const installed = folder({ 'orders.ts': example, 'other.ts': misbehaving, 'types.d.ts': 'nonsense', 'notes.md': '' });
/** What the misbehaving extension exports for the tests. */
interface Told {
  readonly happened: HappenedEvent[];
  readonly asked: unknown[][];
  /** Changes that it refuses, as `<collection> <action> <key>`. */
  readonly blocked: Set<string>;
}

/** What the extension was told: its module is the one that the server has loaded. */
const { happened, asked, blocked }: Told = await import(pathToFileURL(join(installed, 'other.ts')).href);
/** Until it was told of just these events since `happened` was emptied. */
const toldOf = (...names: string[]): Promise<void> =>
  expect.poll(() => happened.map(({ name }) => name)).toEqual(names);

describeEngines('extensions', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine, { env: { EXTENSIONS_DIR: installed } });
    const fields = [
      { name: 'pieces', type: 'integer' },
      { name: 'note', type: 'string' },
      { name: 'article', type: 'articleNumber', unique: true },
      { name: 'lines', type: 'hasMany', target: 'lines' },
    ];
    await server.data('POST /api/collections:apply', {
      body: [
        { name: 'orders', fields },
        { name: 'lines', fields: [{ name: 'note', type: 'string' }] },
      ],
    });
    await server.data('POST /api/roles:create', { body: { name: 'clerk' } });
    for (const role of ['viewer', 'editor', 'clerk']) await server.key(role);
  });
  afterAll(() => server?.stop());

  test.each(scenarios)('$name', async (scenario) => {
    await server.play(scenario);
  });

  test('what is done is told once, and nothing of what was refused or tried', async () => {
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

  test('a batch is asked and told of like its operations by themselves', async () => {
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

  test('going back to what a hook refuses is refused, and else told of', async () => {
    await server.data('POST /api/collections:create', {
      body: { name: 'kept', fields: [{ name: 'note', type: 'string' }], options: { logging: true } },
    });
    const { id } = await server.data('POST /api/kept:create', { body: { note: 'throwz' } });
    const { database } = server.running.applications.main;
    await server.data(`POST /api/kept:update?filterByTk=${id}`, { body: { note: 'fine' } });
    await server.data(`POST /api/kept:update?filterByTk=${id}`, { body: { note: 'later' } });
    const entries = await server.data(`GET /api/kept:history?filterByTk=${id}`);
    const [first, second] = entries.toReversed();
    // What the hook refuses now was written before it was there.
    const text = database.dialect.shared
      ? "UPDATE _history SET changes=replace(changes::text,'throwz','throws')::jsonb"
      : "UPDATE _history SET changes=replace(changes,'throwz','throws')";
    await database.write((transaction) => transaction.run({ text, values: [] }));
    await server.play({
      name: 'refused',
      request: `POST /api/kept:revert?filterByTk=${id}&entry=${first.id}`,
      expect: { status: 500, body: { code: 'EXTENSION_FAILED' } },
    });
    happened.length = 0;
    await server.data(`POST /api/kept:revert?filterByTk=${id}&entry=${second.id}`);
    await toldOf('kept.updated');
  });

  test('what a trial begins too late is not written', async () => {
    const before = (await server.data('GET /api/orders:list?pageSize=1000')).length;
    await server.data('POST /api/orders:twice?dryRun=true', { body: { pieces: 1, late: true } });
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(await server.data('GET /api/orders:list?pageSize=1000')).toHaveLength(before);
    // and the line of writes goes on
    await server.data('POST /api/orders:create', { body: { pieces: 1 } });
  });

  test('hooks are asked about what is restored and moved, and about all that goes along', async () => {
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
      await server.play({ name: what, request, expect: { status: 422, body: { code: 'EXTENSION_REFUSED' } } });
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

  test('what is published is told too, with its payload', async () => {
    happened.length = 0;
    await server.data('POST /api/changes:publish', { body: { name: 'campaign.sent', payload: { to: 2 } } });
    await toldOf('campaign.sent');
    expect(happened[0]).toMatchObject({ name: 'campaign.sent', tk: null, changed: [], payload: { to: 2 } });
  });

  test('a field of an added type is filtered, sorted and documented as text', async () => {
    expect(await server.data('GET /api/orders:list?filter={"article":{"$startsWith":"ab-"}}&fields=article')).toEqual([
      { article: 'AB-123456' },
    ]);
    const { body } = await server.call('GET /api/docs:openapi');
    expect(body.paths['/api/orders:pieces'].get.summary).toBe('How many pieces are ordered');
    expect(JSON.stringify(body.components.schemas['orders.record'])).toContain('articleNumber');
  });
});

describe('what stops the start', () => {
  const bad: readonly [string, string, string][] = [
    ['no extension', 'export default 5', 'defineExtension'],
    ['no default export', 'export const a = 1', 'defineExtension'],
    ['a syntax error', 'export default {', 'cannot be loaded'],
    ['an error at load', 'throw new Error("boom")', 'boom'],
    ['no name', 'export default {}', 'name'],
    ['an unknown member', 'export default { name: "a", hooks: [] }', 'hooks'],
    [
      'a hook without a collection',
      'export default { name: "a", before: [{ actions: ["create"], run() {} }] }',
      'collection',
    ],
    [
      'a hook of no action',
      'export default { name: "a", before: [{ collection: "x", actions: ["list"], run() {} }] }',
      'create',
    ],
    ['a hook that does nothing', 'export default { name: "a", after: [{ events: ["*"] }] }', 'run'],
    ['a bad event', 'export default { name: "a", after: [{ events: ["x"], run() {} }] }', 'orders.created'],
    [
      'a generated action',
      'export default { name: "a", actions: [{ action: "x:list", summary: "", reads: true, permission: "public", run() {} }] }',
      'generated',
    ],
    [
      'an action without a permission',
      'export default { name: "a", actions: [{ action: "x:y", summary: "", reads: true, run() {} }] }',
      'permission',
    ],
    [
      'a type that is there',
      'export default { name: "a", fieldTypes: [{ name: "string", maxLength: 5, holds: () => true, give: "" }] }',
      'already',
    ],
  ];

  test.each(bad)('%s', async (_name, text, words) => {
    const path = folder({ 'bad.ts': text });
    await expect(loadExtensions(path)).rejects.toThrow(/^EXTENSIONS_DIR: bad\.ts: /);
    await expect(loadExtensions(path)).rejects.toThrow(words);
  });

  test('two of one name, and a folder that is not there', async () => {
    const twins = folder({ 'a.ts': 'export default { name: "a" }', 'b.ts': 'export default { name: "a" }' });
    await expect(loadExtensions(twins)).rejects.toThrow('b.ts: another extension');
    await expect(loadExtensions('/nowhere/at/all')).rejects.toThrow('cannot be read');
  });
});
