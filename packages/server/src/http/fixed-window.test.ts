import { expect, test } from 'vitest';
import { FixedWindow } from './fixed-window.ts';

test('a window counts points and returns the time until the next one', () => {
  let now = 0;
  const windows = new FixedWindow({ points: 2, seconds: 10 }, 100, () => now);
  expect([windows.consume('a'), windows.consume('a'), windows.wait('a'), windows.wait('b')]).toEqual([0, 0, 10_000, 0]);
  now = 4000;
  expect([windows.consume('a'), windows.consume('b')]).toEqual([6000, 0]);
  windows.refund('a');
  expect([windows.consume('a'), windows.consume('a')]).toEqual([0, 6000]);
  now = 10_000;
  expect([windows.wait('a'), windows.consume('a')]).toEqual([0, 0]);
});

test('memory is bounded, and expired windows are removed', () => {
  let now = 0;
  const windows = new FixedWindow({ points: 1, seconds: 10 }, 1000, () => now);
  for (let each = 0; each < 5000; each += 1) windows.consume(`k${each}`);
  expect(windows.size).toBe(1000);
  expect([windows.consume('k4999') > 0, windows.consume('k0')]).toEqual([true, 0]);
  now = 10_000;
  for (let each = 0; each < 1000; each += 1) windows.consume(`n${each}`);
  for (let each = 0; each < 10; each += 1) windows.consume(`m${each}`);
  expect(windows.size).toBeLessThanOrEqual(1000);
});
