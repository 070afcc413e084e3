import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeEngines, type Store } from '../support/engines.ts';
import { defineOrders, makeOrders } from '../support/import-server.ts';
import type { Json } from '../support/json.ts';
import { ServerProcess } from '../support/server-process.ts';

const rows = 6000;

describeEngines('imports by servers that die', (engine) => {
  let store: Store;
  let servers: ServerProcess[] = [];
  beforeEach(async () => {
    store = await engine.store(true);
  });
  afterEach(async () => {
    for (const server of servers) await server.kill();
    servers = [];
    await store.remove();
  });

  async function start(): Promise<ServerProcess> {
    const server = await ServerProcess.start(store);
    servers.push(server);
    return server;
  }

  async function kill(server: ServerProcess): Promise<void> {
    servers = servers.filter((each) => each !== server);
    await server.kill();
  }

  async function startImport(server: ServerProcess): Promise<number> {
    const prepare = {
      data: (request: string, { body }: { body?: unknown } = {}) =>
        server.data(request.slice('POST /api/'.length), body),
    };
    await defineOrders(prepare as never);
    const reply = await fetch(`${server.url}/api/orders:import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.token}`, 'content-type': 'text/csv' },
      body: makeOrders(0, rows, (index) => (index % 600 === 7 ? 'abc' : '1.00')),
    });
    expect(reply.status).toBe(202);
    return ((await reply.json()) as Json).data.id;
  }

  /**
   * Waits until an import has reached a state. It takes some seconds until another server continues the import of a
   * killed one, and more frequent requests would take more time than the import.
   */
  async function waitUntil(server: ServerProcess, id: number, reached: (record: Json) => boolean): Promise<Json> {
    for (let attempt = 0; attempt < 1000; attempt += 1) {
      const record = await server.data(`imports:get?filterByTk=${id}`);
      if (record && reached(record)) return record;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    throw new Error(`the import ${id} did not get there`);
  }

  const hasEnded = ({ status }: Json): boolean => status !== 'pending' && status !== 'running';

  async function expectEveryRowOnce(server: ServerProcess): Promise<void> {
    const reply = await server.call('orders:query', {
      measures: [{ aggregation: 'count' }, { field: 'number', aggregation: 'count', distinct: true, alias: 'numbers' }],
    });
    const { data } = (await reply!.json()) as Json;
    expect(data).toEqual([{ count: rows - 10, numbers: rows - 10 }]);
    const refused = await fetch(`${server.url}/api/imports:refusedRows?filterByTk=1`, {
      headers: { authorization: `Bearer ${server.token}` },
    });
    expect((await refused.text()).trim().split('\r\n')).toHaveLength(1 + 10);
  }

  test('a restarted server continues the import of the killed one, and every row is imported once', async () => {
    let server = await start();
    const id = await startImport(server);
    for (const part of [1, 3000]) {
      await waitUntil(server, id, (record) => record.processed >= part);
      await kill(server);
      server = await start();
    }
    const record = await waitUntil(server, id, hasEnded);
    expect(record).toMatchObject({
      status: 'done',
      rows,
      processed: rows,
      created: rows - 10,
      refused: 10,
      error: null,
    });
    await expectEveryRowOnce(server);
  }, 120_000);

  test('a cancelled import stops, and rows that were already written stay', async () => {
    const server = await start();
    const id = await startImport(server);
    await waitUntil(server, id, (record) => record.processed > 0);
    const cancelled = await server.data(`imports:cancel?filterByTk=${id}`);
    expect(cancelled.status).toBe('cancelled');
    const { created, processed } = await waitUntil(server, id, hasEnded);
    expect(processed).toBeLessThan(rows);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const { meta } = (await (await server.call('orders:list', { pageSize: 1 }))!.json()) as Json;
    expect(meta.count).toBe(created);
  }, 60_000);

  if (engine.name === 'sqlite') return;

  test('one of two servers runs an import, and the other one continues it if the first is killed', async () => {
    const [first, second] = [await start(), await start()];
    const id = await startImport(first);
    await waitUntil(second, id, (record) => record.processed > 0);
    await kill(first);
    const record = await waitUntil(second, id, hasEnded);
    expect(record).toMatchObject({ status: 'done', processed: rows, created: rows - 10, refused: 10 });
    await expectEveryRowOnce(second);
  }, 120_000);
});
