import { ApiError } from '../protocol/api-error.ts';

/** How many connections are held open for events, in all and for each credential: one may have a tenth of them. */
export class OpenConnections {
  readonly #most: number;
  readonly #what: string;
  readonly #ofName = new Map<string, number>();
  #open = 0;

  /** @param what they are called in refusals. */
  constructor(max: number, what: string) {
    this.#most = max;
    this.#what = what;
  }

  /**
   * Counts one more, until what is returned is called; further calls of it do nothing.
   *
   * @throws ApiError 503 where there are as many as there may be.
   */
  acquire(): () => void {
    if (this.#open >= this.#most) throw busyError(`The server has as many ${this.#what} as it may have; try again.`);
    this.#open += 1;
    return callOnce(() => {
      this.#open -= 1;
    });
  }

  /** The same for a credential, or an address: whoever asks with it. */
  acquireShare(name: string): () => void {
    const openOfName = this.#ofName.get(name) ?? 0;
    if (openOfName >= this.#most / 10)
      throw busyError(`The credential has as many ${this.#what} as it may have; close some.`);
    this.#ofName.set(name, openOfName + 1);
    return callOnce(() => {
      const remaining = this.#ofName.get(name)! - 1;
      if (remaining === 0) this.#ofName.delete(name);
      else this.#ofName.set(name, remaining);
    });
  }

  /** Both at once. */
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
