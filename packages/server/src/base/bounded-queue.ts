/** Work done one after the other, after the reply that asked for it; what comes while the line is full is left out. */
export class BoundedQueue {
  readonly #most: number;
  readonly #failed: (error: unknown) => void;
  readonly #waiting: (() => Promise<void>)[] = [];
  #running: Promise<void> | null = null;
  #closed = false;

  /** @param onError told of work that threw; the next goes on. */
  constructor(maxWaiting: number, onError: (error: unknown) => void) {
    this.#most = maxWaiting;
    this.#failed = onError;
  }

  /** Takes work up in a later turn of the event loop; returns whether there was room. */
  add(work: () => Promise<void>): boolean {
    if (this.#closed || this.#waiting.length >= this.#most) return false;
    this.#waiting.push(work);
    this.#running ??= this.#run();
    return true;
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    await this.#running;
  }

  /** Takes nothing more; waits for what is there, at most so long, and leaves out the rest. */
  async close(patienceMilliseconds: number): Promise<void> {
    this.#closed = true;
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, patienceMilliseconds);
    });
    await Promise.race([this.idle(), patience]);
    clearTimeout(timer);
    this.#waiting.length = 0;
  }

  async #run(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    for (let work = this.#waiting.shift(); work; work = this.#waiting.shift())
      await work().catch((error: unknown) => this.#failed(error));
    this.#running = null;
  }
}
