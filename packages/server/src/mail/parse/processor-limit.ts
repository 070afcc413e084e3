import type { Worker } from 'node:worker_threads';

/** How many times as long as its limit a thread may take on a machine that is busy with other things. */
const patience = 6;

/**
 * Calls once a thread has used so many milliseconds of the processor from now on, or six times as many have passed. Time on the clock alone
 * would give up honest messages whenever the machine is busy.
 *
 * @returns what ends the watch.
 */
export function limitProcessorTime(worker: Worker, milliseconds: number, onTimeUp: () => void): () => void {
  const latest = performance.now() + patience * milliseconds;
  const before = processorTime(worker, 0);
  let watched = true;
  let timer: NodeJS.Timeout;
  const look = async (): Promise<void> => {
    const left = milliseconds - ((await processorTime(worker, Number.POSITIVE_INFINITY)) - (await before));
    const untilLatest = latest - performance.now();
    if (!watched) return;
    if (left <= 0 || untilLatest <= 0) onTimeUp();
    else wait(Math.max(20, Math.min(left, untilLatest)));
  };
  const wait = (time: number): void => {
    timer = setTimeout(() => void look(), time);
  };
  wait(milliseconds);
  return () => {
    watched = false;
    clearTimeout(timer);
  };
}

/** Milliseconds that a thread has used; `otherwise` where it does not say within a second. It answers while it computes. */
async function processorTime(worker: Worker, otherwise: number): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const timer = setTimeout(resolve, 1000, otherwise);
  worker.cpuUsage().then(
    ({ user, system }) => resolve((user + system) / 1000),
    () => resolve(otherwise),
  );
  const time = await promise;
  clearTimeout(timer);
  return time;
}
