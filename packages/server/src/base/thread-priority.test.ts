import { getPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { lowerThreadPriority } from './thread-priority.ts';

test.skipIf(process.platform !== 'linux')('only the thread that asks gets a lower priority', async () => {
  const module = new URL('./thread-priority.ts', import.meta.url).href;
  const source = `
    const { readlinkSync } = require('node:fs');
    const { getPriority } = require('node:os');
    const { parentPort, workerData } = require('node:worker_threads');
    void import(workerData).then(({ lowerThreadPriority }) => {
      lowerThreadPriority();
      const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
      parentPort.postMessage([getPriority(thread), getPriority(process.pid)]);
    });`;
  const before = getPriority(process.pid);
  const worker = new Worker(source, { eval: true, workerData: module });
  const found = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  await worker.terminate();
  expect(found).toEqual([before + 5, before]);
});

test.skipIf(process.platform !== 'linux')('the main thread of a process keeps its priority', () => {
  const before = getPriority(process.pid);
  lowerThreadPriority();
  expect(getPriority(process.pid)).toBe(before);
});
