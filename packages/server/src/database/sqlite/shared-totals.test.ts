import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { createSharedTotals, SharedTotals } from './shared-totals.ts';

test.each([[[0, 0, 0]], [[12, null, 3]], [[2 ** 31, 2 ** 32, 2 ** 53 - 1]]])(
  'the row %j is found by its key and its state',
  (row) => {
    const totals = new SharedTotals(createSharedTotals());
    expect(totals.ofState(1).find('a')).toBeNull();
    totals.ofState(1).note('a', row);
    expect(totals.ofState(1).find('a')).toEqual(row);
    expect(totals.ofState(2).find('a')).toBeNull();
    expect(totals.ofState(1).find('b')).toBeNull();
  },
);

test.each([[[1, 2]], [[1, 2, 3, 4]], [[1.5, 2, 3]], [[-2, 2, 3]], [['1', 2, 3]], [[2 ** 53, 2, 3]]])(
  'the row %j is not stored',
  (row) => {
    const totals = new SharedTotals(createSharedTotals());
    totals.ofState(1).note('a', row as never);
    expect(totals.ofState(1).find('a')).toBeNull();
  },
);

test('a row never mixes values of two writes, while threads write to the same slots', async () => {
  const buffer = createSharedTotals();
  const source = `
    const { workerData, parentPort } = require('node:worker_threads');
    import(workerData.module).then(({ SharedTotals }) => {
      const totals = new SharedTotals(workerData.buffer);
      for (let round = 1; round <= 60000; round += 1) {
        const value = round * 4294967296 + workerData.thread;
        totals.ofState(7).note('k' + (round % 3), [value, value, value]);
      }
      parentPort.postMessage('done');
    });`;
  const module = new URL('shared-totals.ts', import.meta.url).href;
  const workers = [1, 2].map((thread) => new Worker(source, { eval: true, workerData: { buffer, module, thread } }));
  let running = workers.length;
  for (const worker of workers) worker.once('exit', () => (running -= 1));
  const totals = new SharedTotals(buffer);
  let seen = 0;
  while (running > 0) {
    for (let round = 0; round < 3000; round += 1) {
      const row = totals.ofState(7).find(`k${round % 3}`);
      if (row === null) continue;
      seen += 1;
      if (row[0] !== row[1] || row[1] !== row[2]) throw new Error(`mixed: ${row.join()}`);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(seen).toBeGreaterThan(0);
});
