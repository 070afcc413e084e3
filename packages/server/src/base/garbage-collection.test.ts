import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

/** Keeps about 30 MB in use, leaves garbage that has survived young collections, and prints the largest size of the heap in MB. */
const program = `
const [module] = process.argv.slice(1);
if (module) (await import(module)).tuneGarbageCollection();
const inUse = Array.from({ length: 200_000 }, (_, index) => ({ index, text: 'value ' + index }));
const queue = [];
let largest = 0;
for (let round = 0; round < 2000; round += 1) {
  queue.push(Array.from({ length: 2000 }, (_, index) => ({ round, index })));
  if (queue.length > 50) queue.shift();
  if (round % 10 === 0) largest = Math.max(largest, process.memoryUsage().heapTotal);
}
console.log(Math.round(largest / 1e6), inUse.length);`;

function measureHeap(...args: readonly string[]): number {
  const flags = ['--max-semi-space-size=4', '--max-old-space-size=4096', '--input-type=module', '--eval', program];
  return Number.parseInt(execFileSync(process.execPath, [...flags, ...args], { encoding: 'utf8' }), 10);
}

test('garbage is collected before the heap has grown to a multiple of the objects in use', () => {
  const limited = measureHeap(new URL('./garbage-collection.ts', import.meta.url).href);
  expect(limited).toBeLessThan(100);
  expect(measureHeap()).toBeGreaterThan(limited * 1.3);
});
