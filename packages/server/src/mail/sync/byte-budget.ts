/**
 * The memory that messages on their way from mail servers to the store may take, for all accounts of this server. Each batch of messages
 * acquires its bytes before it is fetched and releases them when it is stored, in the order of the requests, so that hundreds of
 * accounts take turns.
 *
 *     const release = await budget.acquire(totalSize, signal);
 *     try { … } finally { release(); }
 */
export class ByteBudget {
  readonly #maxBytes: number;
  readonly #waiting: Waiter[] = [];
  #used = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes that are acquired now. */
  get used(): number {
    return this.#used;
  }

  /**
   * Waits until the bytes fit. More bytes than the whole budget count as the whole budget.
   *
   * @returns the function that releases the bytes; further calls of it have no effect.
   * @throws the reason of the signal when it is aborted during the wait.
   */
  acquire(bytes: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        bytes: Math.min(bytes, this.#maxBytes),
        grant: () => {
          signal.removeEventListener('abort', abort);
          resolve(this.#createRelease(waiter.bytes));
        },
      };
      const abort = (): void => {
        const index = this.#waiting.indexOf(waiter);
        if (index >= 0) this.#waiting.splice(index, 1);
        reject(signal.reason);
        this.#grant();
      };
      signal.addEventListener('abort', abort, { once: true });
      this.#waiting.push(waiter);
      this.#grant();
    });
  }

  #createRelease(bytes: number): () => void {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#used -= bytes;
      this.#grant();
    };
  }

  #grant(): void {
    for (let next = this.#waiting[0]; next && this.#used + next.bytes <= this.#maxBytes; next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#used += next.bytes;
      next.grant();
    }
  }
}

interface Waiter {
  readonly bytes: number;
  readonly grant: () => void;
}
