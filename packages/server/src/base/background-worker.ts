/**
 * Background work of one process: runs one at a time, soon after it is woken and, if wanted, at a fixed interval.
 *
 *     const pruning = new BackgroundWorker({
 *       run: () => log.prune(),
 *       onError: (error) => logger.warn({ err: error }, 'Old events could not be deleted.'),
 *       intervalMilliseconds: 30_000,
 *     });
 *     pruning.start();
 *     pruning.wake();       // runs soon
 *     await pruning.stop(); // no run is under way afterwards
 *
 * Its timers do not keep the process alive.
 */
export interface BackgroundTask {
  /** One run. It should return early once {@link BackgroundWorker.isStopped} is true. */
  readonly run: () => Promise<void>;
  /** Receives the error of a failed run, unless the worker has been stopped meanwhile. The worker continues. */
  readonly onError: (error: unknown) => void;
  /** Wakes within this time share one run. Default: 0. */
  readonly debounceMilliseconds?: number;
  /** Pause between a run and one that was requested during it. Default: 0. */
  readonly pauseMilliseconds?: number;
  /** Also run at this interval, unless a run is under way. Default: never. */
  readonly intervalMilliseconds?: number | undefined;
}

/** Runs a {@link BackgroundTask} when it is woken, one run at a time. */
export class BackgroundWorker {
  readonly #task: BackgroundTask;
  #isStarted = false;
  #interval: NodeJS.Timeout | null = null;
  #timer: NodeJS.Timeout | null = null;
  /** When {@link #timer} fires, by `performance.now()`. */
  #wakeTime = 0;
  #running: Promise<void> | null = null;
  #shouldRunAgain = false;

  constructor(task: BackgroundTask) {
    this.#task = task;
  }

  /** Whether a run is under way, or is about to follow the last one. */
  get isRunning(): boolean {
    return this.#running !== null;
  }

  /** True before {@link start} and after {@link stop}. */
  get isStopped(): boolean {
    return !this.#isStarted;
  }

  /** Accepts wakes from now on. A stopped worker can be started again. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    const { intervalMilliseconds } = this.#task;
    if (intervalMilliseconds !== undefined)
      this.#interval = setInterval(() => {
        if (this.#running === null) void this.runNow();
      }, intervalMilliseconds).unref();
  }

  /**
   * Runs the task after the given time, or earlier if another wake asked for that. If a run is under way then, one more
   * follows it. Ignored while the worker is stopped.
   */
  wake(milliseconds = this.#task.debounceMilliseconds ?? 0): void {
    if (!this.#isStarted) return;
    const wakeTime = performance.now() + milliseconds;
    if (this.#timer !== null) {
      if (this.#wakeTime <= wakeTime) return;
      clearTimeout(this.#timer);
    }
    this.#wakeTime = wakeTime;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.runNow();
    }, milliseconds).unref();
  }

  /**
   * Runs the task now, or once more after the run under way.
   *
   * @returns resolves when no run is under way any more; never rejects.
   */
  runNow(): Promise<void> {
    if (!this.#isStarted) return Promise.resolve();
    this.#shouldRunAgain = true;
    this.#running ??= this.#runRequested();
    return this.#running;
  }

  /** Ends wakes and the interval. @returns resolves when no run is under way any more. */
  async stop(): Promise<void> {
    this.#isStarted = false;
    if (this.#interval !== null) clearInterval(this.#interval);
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#interval = null;
    this.#timer = null;
    await this.#running;
  }

  async #runRequested(): Promise<void> {
    const { run, onError, pauseMilliseconds = 0 } = this.#task;
    while (this.#shouldRunAgain && this.#isStarted) {
      this.#shouldRunAgain = false;
      try {
        await run();
      } catch (error) {
        if (this.#isStarted) onError(error);
      }
      if (this.#shouldRunAgain) await new Promise((resolve) => setTimeout(resolve, pauseMilliseconds));
    }
    // Not in a `finally` of the caller: a run that is requested before that `finally` would be lost.
    this.#running = null;
  }
}
