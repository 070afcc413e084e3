import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { FixedWindow } from './fixed-window.ts';
import { createSharedWindow, SharedWindow } from './shared-window.ts';

test('shared windows give the same results as windows of one thread', () => {
  for (let run = 0; run < 20; run += 1) {
    let now = 0;
    const limit = { points: 1 + (run % 4), seconds: 10 };
    const one = new FixedWindow(limit, 100_000, () => now);
    const state = createSharedWindow(limit, `seed ${run}`);
    const views = [new SharedWindow(state, () => now), new SharedWindow(state, () => now)];
    for (let step = 0; step < 2000; step += 1) {
      now += Math.floor(Math.random() * 400);
      const key = `key ${Math.floor(Math.random() * 30)}`;
      const view = views[step % 2]!;
      const kind = Math.random();
      if (kind < 0.6) expect(view.consume(key)).toBe(one.consume(key));
      else if (kind < 0.8) expect(view.wait(key)).toBe(one.wait(key));
      else if (kind < 0.9) expect(view.refund(key)).toBe(one.refund(key));
      else expect(view.charge(key, 2)).toBe(one.charge(key, 2));
    }
  }
});

test('memory is fixed, and few of 60,000 keys in use lose their window', () => {
  const window = new SharedWindow(createSharedWindow({ points: 1, seconds: 600 }, 'seed'));
  for (let key = 0; key < 60_000; key += 1) window.consume(`key ${key}`);
  let lost = 0;
  for (let key = 0; key < 60_000; key += 1) if (window.wait(`key ${key}`) === 0) lost += 1;
  expect(lost).toBeLessThan(600);
});

test('no point is lost when threads count at the same time', async () => {
  const state = createSharedWindow({ points: 1_000_000, seconds: 600 }, 'seed');
  const code = `
    import { parentPort, workerData } from 'node:worker_threads';
    const { SharedWindow } = await import(workerData.module);
    const window = new SharedWindow(workerData.state);
    for (let count = 0; count < 20000; count += 1) window.consume('key');
    parentPort.postMessage('done');`;
  const url = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  const module = new URL('./shared-window.ts', import.meta.url).href;
  const threads = [1, 2, 3].map(() => new Worker(url, { workerData: { state, module } }));
  await Promise.all(threads.map((each) => new Promise((resolve) => each.once('exit', resolve))));
  const window = new SharedWindow(state);
  window.charge('key', 1_000_000 - 60_000);
  expect(window.wait('key')).toBeGreaterThan(0);
  window.refund('key');
  expect(window.consume('key')).toBe(0);
  expect(window.consume('key')).toBeGreaterThan(0);
});

test('a thread waits for a lock whose holder is suspended', async () => {
  const state = createSharedWindow({ points: 1, seconds: 600 }, 'seed');
  // The locks are the last cells of the memory.
  const locks = new Int32Array(state.buffer, state.buffer.byteLength - 8192 * Int32Array.BYTES_PER_ELEMENT);
  locks.fill(1);
  const code = `
    import { workerData } from 'node:worker_threads';
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    workerData.fill(0);`;
  const holder = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), { workerData: locks });
  await new Promise((resolve) => holder.once('online', resolve));
  expect(new SharedWindow(state).consume('key')).toBe(0);
  expect(locks.every((lock) => lock === 0)).toBe(true);
});
