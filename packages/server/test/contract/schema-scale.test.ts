import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngines } from '../support/engines.ts';
import { TestServer } from '../support/scenario.ts';

const definition = (name: string): object => ({
  name,
  fields: [
    { name: 'title', type: 'string', index: true },
    { name: 'amount', type: 'decimal', precision: 10, scale: 2 },
    { name: 'previous', type: 'belongsTo', target: 'first' },
  ],
});

describeEngines('two thousand collections', (engine) => {
  let server: TestServer;
  const created: number[] = [];
  let made = 0;
  async function timed(): Promise<number> {
    const times: number[] = [];
    for (let count = 0; count < 7; count += 1) {
      made += 1;
      const from = performance.now();
      await server.data('POST /api/collections:create', { body: definition(`single${made}`) });
      times.push(performance.now() - from);
    }
    return times.sort((one, other) => one - other)[3]!;
  }
  beforeAll(async () => {
    server = await TestServer.start(engine);
    await server.data('POST /api/collections:create', { body: { name: 'first' } });
    created.push(await timed());
    for (let set = 0; set < 8; set += 1)
      await server.data('POST /api/collections:apply', {
        body: Array.from({ length: 250 }, (_, index) => definition(`c${set * 250 + index}`)),
      });
    created.push(await timed());
  }, 240_000);
  afterAll(() => server.stop());

  test('the 2,001st costs less than 50 ms more than the second', () => {
    const [second, last] = created as [number, number];
    process.stdout.write(`${engine.name}: a collection ${second.toFixed(1)} ms, beside 2,000 ${last.toFixed(1)} ms\n`);
    expect(last - second).toBeLessThan(50);
  });

  test('a start with them takes less than three seconds', async () => {
    await server.running.stop();
    const from = performance.now();
    await server.boot();
    process.stdout.write(`${engine.name}: a start with 2,000 ${(performance.now() - from).toFixed(0)} ms\n`);
    expect(performance.now() - from).toBeLessThan(3000);
    expect(await server.data('GET /api/c1999:list?appends=previous')).toEqual([]);
  });
});
