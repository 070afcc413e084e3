import type { Worker } from 'node:worker_threads';

/** How many times as long as its limit a thread may take on a machine that is busy with other things. */
const wallClockFactor = 6;

/**
 * Calls once a thread has used so many milliseconds of the processor from now on, or six times as many have passed. Time on the clock alone
 * would give up honest messages whenever the machine is busy.
 *
 * @returns what ends the watch.
 */
export function limitProcessorTime(worker: Worker, milliseconds: number, onTimeUp: () => void): () => void {
  const deadline = performance.now() + wallClockFactor * milliseconds;
  const before = processorTime(worker, 0);
  let isActive = true;
  let timer: NodeJS.Timeout;
  const check = async (): Promise<void> => {
    const remaining = milliseconds - ((await processorTime(worker, Number.POSITIVE_INFINITY)) - (await before));
    const untilDeadline = deadline - performance.now();
    if (!isActive) return;
    if (remaining <= 0 || untilDeadline <= 0) onTimeUp();
    else wait(Math.max(20, Math.min(remaining, untilDeadline)));
  };
  const wait = (time: number): void => {
    timer = setTimeout(() => void check(), time);
  };
  wait(milliseconds);
  return () => {
    isActive = false;
    clearTimeout(timer);
  };
}

/** Milliseconds that a thread has used; `otherwise` where it does not say within a second. It answers while it computes. */
async function processorTime(worker: Worker, fallback: number): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const timer = setTimeout(resolve, 1000, fallback);
  worker.cpuUsage().then(
    ({ user, system }) => resolve((user + system) / 1000),
    () => resolve(fallback),
  );
  const time = await promise;
  clearTimeout(timer);
  return time;
}
