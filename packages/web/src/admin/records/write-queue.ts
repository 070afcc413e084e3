/** Runs writes one after another. A write that fails does not stop those after it. */
export class WriteQueue {
  #last: Promise<unknown> = Promise.resolve();
  #count = 0;

  /** A write is running or waiting. */
  get isRunning(): boolean {
    return this.#count > 0;
  }

  run<T>(write: () => Promise<T>): Promise<T> {
    this.#count += 1;
    const result = this.#last.then(write).finally(() => {
      this.#count -= 1;
    });
    this.#last = result.catch(() => {});
    return result;
  }
}
