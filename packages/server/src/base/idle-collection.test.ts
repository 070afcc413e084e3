import { expect, test } from 'vitest';
import { IdleCollector } from './idle-collection.ts';

const megabyte = 1024 * 1024;

test('collects when the server has been idle for some time and its heap has grown, but not often', () => {
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
  const checkTimes = (times: number): number => {
    for (let time = 0; time < times; time += 1) collector.check();
    return collections;
  };
  expect(checkTimes(10)).toBe(0);
  work = 0.01;
  expect(checkTimes(2)).toBe(0);
  work = 0.5;
  checkTimes(1);
  work = 0.01;
  expect(checkTimes(2)).toBe(0);
  expect(checkTimes(1)).toBe(1);
  heap = 90 * megabyte;
  expect(checkTimes(18)).toBe(1);
  expect(checkTimes(6)).toBe(2);
  heap = 23 * megabyte; // too little memory was freed
  expect(checkTimes(60)).toBe(2);
});
