import type { Worker } from 'node:worker_threads';

/** The maximum elapsed time is this many times the limit, because the machine may be busy. */
const wallClockFactor = 6;

/**
 * Calls back when a thread has used the given processor time from now on, or when six times as much time has passed. A limit of
 * the elapsed time only would abort normal messages whenever the machine is busy.
 *
 * @returns a function that ends the watch.
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

/**
 * Processor time of a thread in milliseconds; `otherwise` if it is not known within a second. Works while the thread is
 * busy.
 */
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
