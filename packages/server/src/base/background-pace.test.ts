import { expect, test } from 'vitest';
import { BackgroundPace } from './background-pace.ts';
import { processCounters } from './metrics.ts';

/** Works for some milliseconds, while the server replies to some requests. */
function work(milliseconds: number, requests: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
  processCounters.requests += requests;
}

async function measureRest(pace: BackgroundPace): Promise<number> {
  const from = performance.now();
  await pace.rest();
  return performance.now() - from;
}

test('background work rests as long as its last part took, at most half a second, and only while there are requests', async () => {
  const pace = new BackgroundPace();
  work(600, 2);
  expect(await measureRest(pace)).toBeLessThan(100);
  work(1500, 20);
  const rest = await measureRest(pace);
  expect(rest).toBeGreaterThan(450);
  expect(rest).toBeLessThan(1400);
  work(100, 0);
  expect(await measureRest(pace)).toBeLessThan(100);
});

test('a wait for something else is not part of the work', async () => {
  const pace = new BackgroundPace();
  work(600, 10);
  pace.begin();
  expect(await measureRest(pace)).toBeLessThan(100);
});
