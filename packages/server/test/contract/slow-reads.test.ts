import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

/**
 * 480 searches in every record: at least ten seconds of work on a fast machine. The words are not ASCII, because SQLite
 * needs less than
 * half of the time for ASCII words.
 */
const endless = JSON.stringify({
  filter: { $or: Array.from({ length: 480 }, (_, index) => ({ words: { $includes: `no such wörd ${index}` } })) },
  count: 'none',
});
/**
 * A search in the last third of the records, whose texts end with `amet 20000` to `amet 29999`: it takes longer than
 * the limit of the
 * event loop, and well below five seconds on a slow machine.
 */
const long = (word: string): string =>
  `filter=${encodeURIComponent(JSON.stringify({ id: { $gt: 20_000 }, words: { $includes: word } }))}`;

describeEngines('slow reads', (engine) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.start(engine);
    const make = (action: string, body: unknown): Promise<unknown> => server.data(`POST /api/${action}`, { body });
    await make('collections:create', {
      name: 'items',
      fields: [{ name: 'words', type: 'string' }],
      options: { timestamps: false },
    });
    const words = 'lorem ipsum dolor sit amet '.repeat(36);
    for (let batch = 0; batch < 30; batch += 1)
      await make(
        'items:create',
        Array.from({ length: 1000 }, (_, index) => ({ words: `${words}${batch * 1000 + index}` })),
      );
  }, 120_000);
  afterAll(() => server.stop());

  test('a read that takes too long ends with 503 and delays no other request', { timeout: 240_000 }, async () => {
    const from = performance.now();
    let going = true;
    const waits: number[] = [];
    const others = (async () => {
      while (going) {
        const at = performance.now();
        expect((await server.call('GET /api/items:get?filterByTk=5&fields=id')).status).toBe(200);
        waits.push(performance.now() - at);
      }
    })();
    const reply = await server.call('POST /api/items:list', { body: endless });
    const took = performance.now() - from;
    going = false;
    await others;
    if (reply.status === 200) throw new Error(`the read was not slow: ${took} ms`);
    expect(reply).toMatchObject({ status: 503, body: { error: 'Service Unavailable', code: 'QUERY_TIMEOUT' } });
    expect(reply.headers.get('retry-after')).toBe('1');
    expect(took).toBeGreaterThan(4500);
    expect(took).toBeLessThan(20_000);
    waits.sort((a, b) => a - b);
    // A request that waited for the long read would take five seconds.
    expect(waits[Math.floor(waits.length * 0.99)]).toBeLessThan(3000);
  });

  test('a long count is correct for several identical parallel requests', async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => server.call(`GET /api/items:list?pageSize=1&${long('amet 2')}`)),
    );
    expect(new Set(replies.map((reply) => reply.body.meta.count))).toEqual(new Set([10_000]));
    await server.data('POST /api/items:create', { body: { words: 'amet 2' } });
    expect((await server.call(`GET /api/items:list?pageSize=1&${long('amet 2')}`)).body.meta.count).toBe(10_001);
  });
});
