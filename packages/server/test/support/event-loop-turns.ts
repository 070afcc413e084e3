import { onTestFinished, vi } from 'vitest';

/**
 * Runs work with a clock that advances by a millisecond at each reading.
 *
 * @returns how often other work could run on the event loop in the meantime.
 */
export async function countTurns(work: () => Promise<unknown>): Promise<number> {
  let time = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (time += 1));
  onTestFinished(() => clock.mockRestore());
  let turns = 0;
  let isRunning = true;
  const count = (): void => {
    turns += 1;
    if (isRunning) setImmediate(count);
  };
  setImmediate(count);
  try {
    await work();
  } finally {
    isRunning = false;
    clock.mockRestore();
  }
  return turns;
}
