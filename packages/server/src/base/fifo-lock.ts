/** Runs work one at a time, in the order of the calls. */
export class FifoLock {
  #tail: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** The number of calls that are running or waiting. */
  get depth(): number {
    return this.#waiting;
  }

  /** @returns the result of the work, or its error. */
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
