import { expect, test } from 'vitest';
import { IdleCollector } from './idle-collection.ts';

const megabyte = 1024 * 1024;

test('collects once when the server has become idle and its heap has grown', () => {
  let work = 0.9;
  let heap = 40 * megabyte;
  let collections = 0;
  const collector = new IdleCollector({
    measureWork: () => work,
    measureHeap: () => heap,
    collect: () => {
      collections += 1;
      heap = 20 * megabyte;
    },
  });
  collector.check();
  expect(collections).toBe(0);
  work = 0.01;
  collector.check();
  collector.check();
  expect(collections).toBe(1);
  heap = 90 * megabyte; // without work, the heap is not looked at
  collector.check();
  expect(collections).toBe(1);
  work = 0.5;
  collector.check();
  work = 0;
  heap = 23 * megabyte;
  collector.check();
  expect(collections).toBe(1);
  work = 0.5;
  collector.check();
  work = 0;
  heap = 30 * megabyte;
  collector.check();
  expect(collections).toBe(2);
});
