/** How long a cursor of the event log is valid. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { cursorParts, EventLog } from '../support/event-log.ts';
import type { Json } from '../support/json.ts';
import { TestServer } from '../support/scenario.ts';

describeEngines('a cursor of changes:list', (engine) => {
  let server: TestServer;
  let log: EventLog;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    log = new EventLog(server);
    const fields = [{ name: 'title', type: 'string' }];
    await server.data('POST /api/collections:create', { body: { name: 'posts', fields } });
    await server.data('POST /api/posts:create', { body: [{ title: 'a' }, { title: 'b' }] });
  });
  afterAll(() => server.stop());

  const resync = async (cursor: string): Promise<void> => {
    const { data, meta } = await log.page(`?since=${cursor}`);
    expect([data, meta.resync, meta.hasNext]).toEqual([[], true, false]);
    expect((await log.page(`?since=${meta.nextCursor}`)).meta.resync).toBeUndefined();
  };
  /** A cursor with one of its {@link cursorParts} changed. */
  const remade = (cursor: string, place: number, change: (part: string) => string): string => {
    const parts = cursorParts(cursor);
    parts[place] = change(parts[place]!);
    return Buffer.from(parts.join('.')).toString('base64url');
  };

  test('is valid after a restart', async () => {
    const since = await log.end();
    await server.running.stop();
    await server.boot();
    await server.createKey('admin');
    const { data, meta } = await log.settled(`?since=${since}`, 'admin', 1);
    expect(meta.resync).toBeUndefined();
    expect(data.every(({ resource }: Json) => resource === 'apiKeys')).toBe(true);
  });

  test('of another log is answered with the request to reload', async () => {
    const since = await log.end();
    await resync(remade(since, 0, () => '00000000'));
  });

  test('from the future is answered with the request to reload', async () => {
    const since = await log.end();
    await resync(remade(since, 2, (number) => String(Number(number) + 1000)));
  });

  test('of an event that a restored backup does not contain is answered with the request to reload', async () => {
    const since = await log.end();
    await resync(remade(since, 3, () => '0badcafe'));
  });

  test('older than the retention is answered with the request to reload, and the newest event is kept', async () => {
    const first = (await log.page('?pageSize=1')).data[0].cursor;
    const { database, clock } = server.running.applications.main;
    const at = database.multiNode
      ? "now() - interval '31 days'"
      : `'${new Date(clock.now() - 31 * 86_400_000).toISOString()}'`;
    await database.write((transaction) => transaction.run({ text: `UPDATE _events SET at=${at}`, values: [] }));
    await server.running.applications.main.pruneEvents();
    expect((await log.page('?pageSize=1000')).data).toHaveLength(1);
    await resync(first);
  });

  test('is valid after the oldest events over the maximum number were removed', async () => {
    const { changes } = server.running.applications.main;
    await server.data('POST /api/posts:create', { body: Array.from({ length: 50 }, (_, n) => ({ title: `t${n}` })) });
    const { data } = await log.settled('?pageSize=1000', 'admin', 50);
    const before = '2000-01-01T00:00:00.000Z';
    while (await changes.prune({ before, maxEvents: 20, batchSize: 10 }))
      if ((await log.page('?pageSize=1000')).data.length < 20) break;
    const kept = (await log.page('?pageSize=1000')).data;
    expect(kept.length).toBeGreaterThanOrEqual(20);
    expect(kept.length).toBeLessThan(32);
    expect(kept.at(-1).cursor).toBe(data.at(-1).cursor);
    const { meta } = await log.page(`?since=${kept[0].cursor}`);
    expect(meta.resync).toBeUndefined();
  });
});
