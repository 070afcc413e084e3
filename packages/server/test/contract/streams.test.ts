import { expect, onTestFinished, test } from 'vitest';
import { describeEngines, type Engine } from '../support/engines.ts';
import { startLargeCollectionServer } from '../support/large-collection-server.ts';

/**
 * Enough records to fill the memory many times, but few enough that a slow machine can still sort them within the time
 * limit of a read;
 * `STREAM_RECORDS=1000000` for more. PostgreSQL gets fewer, because creating them takes longer than the streams.
 */
const recordsOf = ({ name }: Engine): number =>
  Number(process.env['STREAM_RECORDS'] ?? (name === 'sqlite' ? 300_000 : 150_000));
const newline = 10;

describeEngines('streams', (engine) => {
  const records = recordsOf(engine);
  const leftOut = Math.round(records * 0.7);
  test(`${records} records are sent in bounded memory, as lines and as a list, in any order`, {
    timeout: 300_000,
  }, async () => {
    const store = await startLargeCollectionServer(engine, records);
    onTestFinished(() => store.remove());
    const lines = async (query: string): Promise<{ count: number; last: { n: number; id: number }; took: number }> => {
      const from = performance.now();
      const headers = { ...store.headers, accept: 'application/x-ndjson' };
      const reply = await fetch(`${store.server.url}/api/items:list?paginate=false&${query}`, { headers });
      let count = 0;
      let tail = Buffer.alloc(0);
      for await (const chunk of reply.body!) {
        for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, at + 1)) count += 1;
        tail = Buffer.concat([tail, chunk]).subarray(-1000); // the longest line is shorter than this
      }
      const last = tail.toString().trimEnd().split('\n').at(-1)!;
      return { count, last: JSON.parse(last), took: performance.now() - from };
    };

    const before = store.server.peakMemory;
    const plain = await lines('');
    expect([plain.count, plain.last.n]).toEqual([records, records]);
    const list = await fetch(`${store.server.url}/api/items:list?paginate=false&sort=-id`, { headers: store.headers });
    let bytes = 0;
    for await (const chunk of list.body!) bytes += chunk.length;
    expect(bytes).toBeGreaterThan(records * 100);
    const inOrder = store.server.peakMemory;
    if (before !== null && inOrder !== null) {
      expect(inOrder).toBeLessThan(256);
      // Pages that survive collections of the young generation would add more than 90 MB (12 to 61 were measured
      // without them).
      if (engine.name === 'postgres') expect(inOrder - before).toBeLessThan(80);
    }
    // No index has this order: a separate sort for each page would take most of an hour.
    const sorted = await lines(`sort=-words&fields=id,n&filter={"n":{"$not":{"$between":[2,${leftOut}]}}}`);
    expect([sorted.count, sorted.last.id]).toEqual([records - leftOut + 1, 1]); // the text "one" sorts before all those that begin with "some"
    const after = store.server.peakMemory;
    process.stdout.write(
      `${engine.name}: ${Math.round(records / (plain.took / 1000))} lines/s, in an order of no index ${Math.round(sorted.count / (sorted.took / 1000))}; at most ${before?.toFixed(0)}, ${inOrder?.toFixed(0)}, ${after?.toFixed(0)} MB\n`,
    );
    // The keys that are read ahead stay in memory as texts until they are garbage-collected.
    if (after !== null) expect(after).toBeLessThan(350);
  });
});
