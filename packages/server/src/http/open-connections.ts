import { ApiError } from '../protocol/api-error.ts';

/** How many connections are held open for events, in all and for each credential: one may have a tenth of them. */
export class OpenConnections {
  readonly #most: number;
  readonly #what: string;
  readonly #ofName = new Map<string, number>();
  #open = 0;

  /** @param what they are called in refusals. */
  constructor(most: number, what: string) {
    this.#most = most;
    this.#what = what;
  }

  /**
   * Counts one more, until what is returned is called; further calls of it do nothing.
   *
   * @throws ApiError 503 where there are as many as there may be.
   */
  enter(): () => void {
    if (this.#open >= this.#most) throw busy(`The server has as many ${this.#what} as it may have; try again.`);
    this.#open += 1;
    return once(() => {
      this.#open -= 1;
    });
  }

  /** The same for a credential, or an address: whoever asks with it. */
  share(name: string): () => void {
    const taken = this.#ofName.get(name) ?? 0;
    if (taken >= this.#most / 10) throw busy(`The credential has as many ${this.#what} as it may have; close some.`);
    this.#ofName.set(name, taken + 1);
    return once(() => {
      const left = this.#ofName.get(name)! - 1;
      if (left === 0) this.#ofName.delete(name);
      else this.#ofName.set(name, left);
    });
  }

  /** Both at once. */
  enterAs(name: string): () => void {
    const leave = this.enter();
    try {
      const giveBack = this.share(name);
      return () => {
        giveBack();
        leave();
      };
    } catch (error) {
      leave();
      throw error;
    }
  }
}

function once(work: () => void): () => void {
  let done = false;
  return () => {
    if (!done) work();
    done = true;
  };
}

function busy(message: string): ApiError {
  return new ApiError('BUSY', message, { retryAfter: 10 });
}
