import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type BackgroundTask, BackgroundWorker } from './background-worker.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface Run {
  readonly finish: () => void;
  readonly fail: (error: Error) => void;
}

/** A worker whose runs last until the test ends them. */
function startWorker(task: Partial<BackgroundTask> = {}): { worker: BackgroundWorker; runs: Run[]; errors: unknown[] } {
  const runs: Run[] = [];
  const errors: unknown[] = [];
  const run = (): Promise<void> =>
    new Promise((resolve, reject) => {
      runs.push({ finish: resolve, fail: reject });
    });
  const worker = new BackgroundWorker({ run, onError: (error) => errors.push(error), ...task });
  worker.start();
  return { worker, runs, errors };
}

/** Expects that one run starts after the given time, and that none follows it. */
async function expectOneRun(runs: readonly Run[], milliseconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(milliseconds);
  expect(runs).toHaveLength(1);
  runs[0]?.finish();
  await vi.advanceTimersByTimeAsync(5000);
  expect(runs).toHaveLength(1);
}

test('wakes within the debounce time share one run', async () => {
  const { worker, runs } = startWorker({ debounceMilliseconds: 20 });
  worker.wake();
  await vi.advanceTimersByTimeAsync(10);
  worker.wake();
  expect(runs).toHaveLength(0);
  await expectOneRun(runs, 10);
});

test('an earlier wake replaces a later one', async () => {
  const { worker, runs } = startWorker();
  worker.wake(1000);
  worker.wake(5);
  worker.wake(2000);
  await expectOneRun(runs, 5);
});

test('wakes during a run cause exactly one more, after the pause', async () => {
  const { worker, runs } = startWorker({ pauseMilliseconds: 3 });
  const idle = worker.runNow();
  void worker.runNow();
  worker.wake(0);
  await vi.advanceTimersByTimeAsync(100);
  expect(runs).toHaveLength(1);
  runs[0]?.finish();
  await vi.advanceTimersByTimeAsync(2);
  expect([runs.length, worker.isRunning]).toEqual([1, true]);
  await vi.advanceTimersByTimeAsync(1);
  expect(runs).toHaveLength(2);
  runs[1]?.finish();
  await idle;
  expect(worker.isRunning).toBe(false);
  await vi.advanceTimersByTimeAsync(100);
  expect(runs).toHaveLength(2);
});

test('the interval starts a run, but requests no other one while a run is in progress', async () => {
  const { runs } = startWorker({ intervalMilliseconds: 100 });
  await vi.advanceTimersByTimeAsync(350);
  expect(runs).toHaveLength(1);
  runs[0]?.finish();
  await vi.advanceTimersByTimeAsync(49);
  expect(runs).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(runs).toHaveLength(2);
});

test('a failed run is reported, and the next wake runs again', async () => {
  const { worker, runs, errors } = startWorker();
  const first = worker.runNow();
  runs[0]?.fail(new Error('disk full'));
  await first;
  expect(errors).toEqual([new Error('disk full')]);
  worker.wake();
  await vi.advanceTimersByTimeAsync(0);
  expect(runs).toHaveLength(2);
});

test('stopping a worker waits for its run, discards requested runs, and reports no error', async () => {
  const { worker, runs, errors } = startWorker({ intervalMilliseconds: 100 });
  void worker.runNow();
  void worker.runNow();
  worker.wake(50);
  let isStopped = false;
  const stopping = worker.stop().then(() => {
    isStopped = true;
  });
  await vi.advanceTimersByTimeAsync(1000);
  expect([isStopped, worker.isStopped, runs.length]).toEqual([false, true, 1]);
  runs[0]?.fail(new Error('aborted'));
  await vi.advanceTimersByTimeAsync(0);
  await stopping;
  worker.wake();
  await worker.runNow();
  await vi.advanceTimersByTimeAsync(1000);
  expect([runs.length, errors]).toEqual([1, []]);
});

test('a worker that was stopped can be started again, even while its last run ends', async () => {
  const { worker, runs } = startWorker();
  void worker.runNow();
  void worker.stop();
  worker.start();
  worker.wake();
  await vi.advanceTimersByTimeAsync(10);
  expect(runs).toHaveLength(1);
  runs[0]?.finish();
  await vi.advanceTimersByTimeAsync(10);
  expect(runs).toHaveLength(2);
});
