/** Lets one task wait for a signal or a timeout. A signal that comes while nobody waits ends the next wait at once. */
export class Wakeup {
  #isSignalled = false;
  #resolve: (() => void) | null = null;

  /** Ends the present or the next wait. */
  signal(): void {
    this.#isSignalled = true;
    this.#resolve?.();
  }

  /** Waits at most the given time. @returns whether a signal ended the wait. */
  async wait(milliseconds: number): Promise<boolean> {
    if (!this.#isSignalled) {
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#resolve = resolve;
        // A longer time than setTimeout takes would end at once.
        timer = setTimeout(resolve, Math.min(milliseconds, maxTimerMilliseconds)).unref();
      });
      clearTimeout(timer);
      this.#resolve = null;
    }
    const { isSignalled } = { isSignalled: this.#isSignalled };
    this.#isSignalled = false;
    return isSignalled;
  }
}

const maxTimerMilliseconds = 2 ** 31 - 1;
