import { expect, test } from 'vitest';
import { countTurns } from '../../test/support/event-loop-turns.ts';
import { TimeSlices } from './time-slices.ts';

async function run(steps: number): Promise<void> {
  const slices = new TimeSlices();
  for (let step = 0; step < steps; step += 1) if (slices.isOver) await slices.next();
}

test('other work runs after each slice of three milliseconds', async () => {
  const turns = await countTurns(() => run(300));
  expect(turns).toBeGreaterThanOrEqual(90);
  expect(turns).toBeLessThanOrEqual(110);
});

test('work that ends within the first slice does not wait', async () => {
  expect(await countTurns(() => run(2))).toBe(0);
});
