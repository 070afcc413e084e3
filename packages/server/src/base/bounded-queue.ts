/** Runs work one after another, in the background of the reply that requested it. Work is rejected while the queue is full. */
export class BoundedQueue {
  readonly #maxWaiting: number;
  readonly #onError: (error: unknown) => void;
  readonly #waiting: (() => Promise<void>)[] = [];
  #running: Promise<void> | null = null;
  #closed = false;

  /** @param onError receives the error of failed work; the next work runs anyway. */
  constructor(maxWaiting: number, onError: (error: unknown) => void) {
    this.#maxWaiting = maxWaiting;
    this.#onError = onError;
  }

  /** Runs work in a later iteration of the event loop. @returns false if the queue is full. */
  add(work: () => Promise<void>): boolean {
    if (this.#closed || this.#waiting.length >= this.#maxWaiting) return false;
    this.#waiting.push(work);
    this.#running ??= this.#run();
    return true;
  }

  /** Resolves when no work is waiting or running. */
  async idle(): Promise<void> {
    await this.#running;
  }

  /** Rejects new work, waits for the queued work at most the given time, and drops the rest. */
  async close(maxMilliseconds: number): Promise<void> {
    this.#closed = true;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, maxMilliseconds);
    });
    await Promise.race([this.idle(), timeout]);
    clearTimeout(timer);
    this.#waiting.length = 0;
  }

  async #run(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    for (let work = this.#waiting.shift(); work; work = this.#waiting.shift())
      await work().catch((error: unknown) => this.#onError(error));
    this.#running = null;
  }
}
