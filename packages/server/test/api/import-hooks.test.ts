/** Imports next to everything that a write causes: hooks, events, webhooks and history; and imports that are stopped midway. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { importText, makeOrders, startImportServer, waitForImport } from '../support/import-server.ts';
import type { Json } from '../support/json.ts';
import { makeExtensionsFolder } from '../support/orders-extension.ts';
import type { TestServer } from '../support/scenario.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';

/** Records the calls of the hooks. A test can define an action that runs when the hook gets a certain number. */
const extension = `
import { defineExtension } from '@tablinum/server/extension';
export const before: unknown[] = [];
export const after: unknown[] = [];
export const actions = new Map<string, () => void | Promise<void>>();
export default defineExtension({
  name: 'observer',
  before: [
    {
      collection: 'orders',
      actions: ['create', 'update'],
      async run({ values, action, key, refuse }) {
        before.push([action, key, values.number ?? values.note]);
        await actions.get(String(values.number))?.();
        if (values.note === 'refused') refuse('This row is refused.', { note: 'Give another note.' });
        if (values.number === 'renamed') return { ...values, number: 'R-1' };
        if (values.note === 'trimmed ') return { ...values, note: 'trimmed' };
      },
    },
    {
      collection: 'roles',
      actions: ['create'],
      run({ values }) {
        before.push(['role', values.name]);
      },
    },
  ],
  after: [{ events: ['orders.*'], run: ({ name, tk }) => void after.push([name, tk]) }],
});
`;
const folder = makeExtensionsFolder({ 'observer.ts': extension });
const observed: { before: unknown[][]; after: string[][]; actions: Map<string, () => void | Promise<void>> } =
  await import(pathToFileURL(join(folder, 'observer.ts')).href);

describeEngines('imports and what they cause', (engine) => {
  let server: TestServer;
  let receiver: WebhookReceiver;
  beforeAll(async () => {
    receiver = await WebhookReceiver.start();
    server = await startImportServer(engine, { env: { EXTENSIONS_DIR: folder, OUTBOUND_ALLOW: '127.0.0.1' } });
  });
  beforeEach(async () => {
    await server.call('POST /api/orders:destroy?filter={"id":{"$gt":0}}');
    await expect.poll(() => server.running.applications.main.imports.isBusy).toBe(false);
    observed.before.length = 0;
    observed.actions.clear();
  });
  afterAll(async () => {
    await server?.stop();
    await receiver?.stop();
  });

  const countOrders = async (): Promise<number> => {
    const body = { measures: [{ aggregation: 'count' }] };
    const [{ count }] = await server.data('POST /api/orders:query', { body });
    return count;
  };

  test('each row passes the before hooks once, although other rows are refused', async () => {
    await importText(server, '', 'number\r\nA-5\r\n');
    await expect.poll(() => observed.after.at(-1)?.[0]).toBe('orders.created');
    observed.before.length = 0;
    observed.after.length = 0;
    const rows = [
      ...Array.from({ length: 60 }, (_, index) => `A-${index},`),
      'B-1,refused',
      'B-2,trimmed ',
      'B-2,twice',
      'renamed,',
      'R-1,the same after the hook',
    ];
    const reply = await importText(server, '?skipInvalid=true', `number,note\r\n${rows.join('\r\n')}\r\n`);
    expect(reply.body.data, reply.text).toMatchObject({ status: 'done', processed: 65, created: 61, refused: 4 });
    expect(observed.before.map(([, , number]) => number)).toEqual(rows.map((row) => row.split(',')[0]));
    const ids = (await server.data('GET /api/orders:list?fields=id&sort=id&pageSize=1000')).slice(1);
    await expect.poll(() => observed.after.length).toBe(61);
    expect(new Set(observed.after.map(String))).toEqual(new Set(ids.map(({ id }: Json) => `orders.created,${id}`)));
    const refused = await server.call(`GET /api/imports:refusedRows?filterByTk=${reply.body.data.id}`);
    expect(refused.text).toContain('62,Give another note.');
    expect(await server.data('GET /api/orders:list?filter={"number":"B-2"}&fields=note')).toEqual([
      { note: 'trimmed' },
    ]);
  });

  test('updates pass the hooks with the key of their record and without the match fields', async () => {
    await importText(server, '', 'number,note\r\nA-1,one\r\nA-2,two\r\n');
    const [first, second] = await server.data('GET /api/orders:list?fields=id&sort=number');
    observed.before.length = 0;
    const file = 'number,note\r\nA-1,trimmed \r\nA-2,refused\r\nA-3,new\r\n';
    const reply = await importText(server, '?mode=upsert&matchFields=number&skipInvalid=true', file);
    expect(reply.body.data, reply.text).toMatchObject({ created: 1, updated: 1, refused: 1 });
    expect(observed.before).toEqual([
      ['update', first.id, 'trimmed '],
      ['update', second.id, 'refused'],
      ['create', null, 'A-3'],
    ]);
    expect(await server.data('GET /api/orders:list?fields=number,note&sort=number')).toEqual([
      { number: 'A-1', note: 'trimmed' },
      { number: 'A-2', note: 'two' },
      { number: 'A-3', note: 'new' },
    ]);
  });

  test('a system collection with hooks: each row passes them once', async () => {
    const reply = await importText(server, '?skipInvalid=true', 'name\r\nfirst\r\nadmin\r\nsecond\r\n', {
      to: 'roles',
    });
    expect(reply.body.data, reply.text).toMatchObject({ created: 2, refused: 1 });
    expect(observed.before).toEqual([
      ['role', 'first'],
      ['role', 'admin'],
      ['role', 'second'],
    ]);
  });

  test('a dry run causes no event, message, history entry, import or key, and applies the changes of hooks', async () => {
    const webhook = { url: receiver.url('/hook'), events: ['orders.*'], role: 'editor' };
    const { id: webhookId } = await server.data('POST /api/webhooks:create', { body: webhook });
    await importText(server, '', 'number\r\nA-1\r\n');
    await expect.poll(() => observed.after.at(-1)?.[0]).toBe('orders.created');
    observed.after.length = 0;
    await receiver.messages('/hook', 1);
    await expect
      .poll(async () => (await server.data(`GET /api/webhooks/${webhookId}/deliveries:list`))[0]?.status)
      .toBe('delivered');
    const before = await server.readSnapshot();
    const cursor = await server.lastCursor();
    for (const file of [makeOrders(2, 30), `${makeOrders(2, 1200)}renamed,1\r\nR-1,2\r\n`]) {
      const { status, body } = await importText(server, '?dryRun=true', file);
      const isLong = file.includes('renamed');
      expect({ status, data: body.data }).toMatchObject({
        status: 200,
        data: isLong
          ? { created: 1201, refused: 1, errors: [{ line: 1203, field: 'number' }] }
          : { created: 30, refused: 0 },
      });
    }
    expect(await server.readSnapshot()).toBe(before);
    expect(await server.lastCursor()).toBe(cursor);
    const [{ id: last }] = await server.data('GET /api/orders:list?fields=id&sort=-id');
    const { id } = await server.data('POST /api/orders:create', { body: { number: 'A-2' } });
    // PostgreSQL does not give back the numbers of a sequence.
    if (engine.name === 'sqlite') expect(id).toBe(last + 1);
    await expect.poll(() => observed.after).toEqual([['orders.created', String(id)]]);
    expect(await receiver.messages('/hook', 2)).toHaveLength(2);
    await server.data(`POST /api/webhooks:destroy?filterByTk=${webhookId}`);
  });

  test('a batch cannot contain an import', async () => {
    await server.play({
      name: 'an import in a batch',
      request: 'POST /api/batch',
      body: { operations: [{ op: 'import', resource: 'orders', values: { file: 1 } }] },
      expect: { status: 400, code: 'BODY_INVALID', body: { message: expect.stringContaining('"op" must be one of') } },
    });
  });

  /** Starts an import of 2,000 rows, and stops all imports after its first transaction, which has 1,000 rows. */
  async function startAndPause(as: string): Promise<number> {
    const { imports } = server.running.applications.main;
    const paused = new Promise<void>((resolve, reject) => {
      observed.actions.set('A-700', () => {
        observed.actions.clear();
        imports.close().then(resolve, reject);
      });
    });
    const { status, body, text } = await importText(server, '', makeOrders(0, 2000), { as });
    expect(status, text).toBe(202);
    await paused;
    expect(await server.data(`GET /api/imports:get?filterByTk=${body.data.id}`)).toMatchObject({
      status: 'running',
      processed: 1000,
    });
    return body.data.id;
  }

  test('an import that continues after a pause writes each row once', async () => {
    const id = await startAndPause('ann');
    server.running.applications.main.imports.begin();
    expect(await waitForImport(server, id)).toMatchObject({ status: 'done', processed: 2000, created: 2000 });
    expect(await countOrders()).toBe(2000);
  });

  async function expectFailure(id: number, reason: string): Promise<void> {
    server.running.applications.main.imports.begin();
    expect(await waitForImport(server, id)).toMatchObject({
      status: 'failed',
      rows: 2000,
      processed: 1000,
      created: 1000,
      error: expect.stringContaining(reason),
    });
    expect(await countOrders()).toBe(1000);
  }

  test('an import that has begun fails when its user is suspended; the rows that were written stay', async () => {
    const id = await startAndPause('ann');
    await server.data('POST /api/users:update?filter={"email":"ann@example.com"}', { body: { status: 'suspended' } });
    await expectFailure(id, 'The user who started the import is not active any more');
  });

  test('an import that has begun fails when its role loses a permission; the rows that were written stay', async () => {
    await server.data('POST /api/roles:create', { body: { name: 'importer' } });
    const permission = { role: 'importer', resource: 'orders', actions: ['import', 'create'] };
    const { id: permissionId } = await server.data('POST /api/permissions:create', { body: permission });
    await server.createKey('importer');
    const id = await startAndPause('importer');
    await server.data(`POST /api/permissions:destroy?filterByTk=${permissionId}`);
    await expectFailure(id, 'The role does not allow import on orders.');
  });

  test('a cancel of an import that has ended, or was cancelled, changes nothing and shows its status', async () => {
    const { body } = await importText(server, '', 'number\r\nB-1\r\n');
    const finished = await server.data(`GET /api/imports:get?filterByTk=${body.data.id}`);
    const cursor = await server.lastCursor();
    expect(await server.data(`POST /api/imports:cancel?filterByTk=${body.data.id}`)).toEqual(finished);
    expect(await server.lastCursor()).toBe(cursor);
    const id = await startAndPause('admin');
    const cancelled = await server.data(`POST /api/imports:cancel?filterByTk=${id}`);
    expect(cancelled).toMatchObject({ status: 'cancelled', processed: 1000, created: 1000, error: null });
    const after = await server.lastCursor();
    expect(await server.data(`POST /api/imports:cancel?filterByTk=${id}`)).toEqual(cancelled);
    expect(await server.lastCursor()).toBe(after);
    server.running.applications.main.imports.begin();
    expect(await countOrders()).toBe(1001);
  });

  test.each([
    ['the last part', 'A-3900', 'done'],
    ['an earlier part', 'A-700', 'cancelled'],
  ] as const)('a cancel during the transaction of %s has a status that matches the rows', async (_, number, status) => {
    const { imports } = server.running.applications.main;
    let cancelled: Promise<boolean> | null = null;
    observed.actions.set(number, async () => {
      observed.actions.clear();
      const [{ id }] = await server.data('GET /api/imports:list?sort=-id&pageSize=1');
      cancelled = imports.cancel(id, {});
      await new Promise((resolve) => setTimeout(resolve, 300)); // the cancel waits for this transaction
    });
    const { body } = await importText(server, '', makeOrders(0, 4000));
    const { processed, created, ...record } = await waitForImport(server, body.data.id);
    expect(record).toMatchObject({ status, error: null });
    expect(await cancelled).toBe(status === 'cancelled');
    if (status === 'done') expect(processed).toBe(4000);
    else expect(processed).toBeLessThan(4000);
    await expect.poll(() => imports.isBusy).toBe(false);
    expect({ created, count: await countOrders() }).toEqual({ created: processed, count: processed });
  });
});
