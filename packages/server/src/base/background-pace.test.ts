import { expect, test } from 'vitest';
import { BackgroundPace } from './background-pace.ts';
import { processCounters } from './metrics.ts';

/** Works for some milliseconds. */
function work(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

async function measureRest(pace: BackgroundPace): Promise<number> {
  const from = performance.now();
  await pace.rest();
  return performance.now() - from;
}

test('background work rests as long as its last part took, and only while there are requests', async () => {
  const pace = new BackgroundPace();
  work(60);
  expect(await measureRest(pace)).toBeLessThan(30);
  processCounters.requests += 1;
  work(60);
  expect(await measureRest(pace)).toBeGreaterThan(50);
  // Others are expected soon after it.
  work(60);
  expect(await measureRest(pace)).toBeGreaterThan(50);
});

test('a rest after a long part is bounded', async () => {
  const pace = new BackgroundPace();
  processCounters.requests += 1;
  work(700);
  expect(await measureRest(pace)).toBeLessThan(650);
});
