import { expect, test } from 'vitest';
import { BackgroundPace } from './background-pace.ts';
import { processCounters } from './metrics.ts';

/** Uses the CPU for some milliseconds, and counts requests as if the server had replied to them. */
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

test('background work pauses as long as its last step took, at most half a second, and only while there are requests', async () => {
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

test('the time before begin is not counted as work', async () => {
  const pace = new BackgroundPace();
  work(600, 10);
  pace.begin();
  expect(await measureRest(pace)).toBeLessThan(100);
});
