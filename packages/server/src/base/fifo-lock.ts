/** Runs one piece of work at a time, in the order in which it was asked for. */
export class FifoLock {
  #tail: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** How many are running or waiting. */
  get depth(): number {
    return this.#waiting;
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    const result = this.#waiting === 1 ? work() : this.#tail.then(work);
    this.#tail = result.then(this.#done, this.#done);
    return result;
  }

  readonly #done = (): void => {
    this.#waiting -= 1;
  };
}
