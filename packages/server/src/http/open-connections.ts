import { ApiError } from '../protocol/api-error.ts';

/** Limits open connections in total, and for each credential to a tenth of that. */
export class OpenConnections {
  readonly #most: number;
  readonly #what: string;
  readonly #ofName = new Map<string, number>();
  #open = 0;

  /** @param what the name of the connections in refusals. */
  constructor(max: number, what: string) {
    this.#most = max;
    this.#what = what;
  }

  /** The number of open connections. */
  get count(): number {
    return this.#open;
  }

  /**
   * Counts one connection.
   *
   * @returns a function that releases it; further calls do nothing.
   * @throws ApiError 503 if the limit is reached.
   */
  acquire(): () => void {
    if (this.#open >= this.#most) throw busyError(`The server has reached its limit of ${this.#what}. Try again.`);
    this.#open += 1;
    return callOnce(() => {
      this.#open -= 1;
    });
  }

  /** As {@link acquire}, for one credential or address. */
  acquireShare(name: string): () => void {
    const openOfName = this.#ofName.get(name) ?? 0;
    if (openOfName >= this.#most / 10)
      throw busyError(`The credential has reached its limit of ${this.#what}. Close some of them.`);
    this.#ofName.set(name, openOfName + 1);
    return callOnce(() => {
      const remaining = this.#ofName.get(name)! - 1;
      if (remaining === 0) this.#ofName.delete(name);
      else this.#ofName.set(name, remaining);
    });
  }

  /** As {@link acquire}, in total and for one credential. */
  acquireFor(name: string): () => void {
    const release = this.acquire();
    try {
      const releaseShare = this.acquireShare(name);
      return () => {
        releaseShare();
        release();
      };
    } catch (error) {
      release();
      throw error;
    }
  }
}

function callOnce(work: () => void): () => void {
  let done = false;
  return () => {
    if (!done) work();
    done = true;
  };
}

function busyError(message: string): ApiError {
  return new ApiError('BUSY', message, { retryAfter: 10 });
}
