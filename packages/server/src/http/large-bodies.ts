import { Lanes } from '../base/lanes.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';

interface Waiter {
  readonly sender: string;
  start(): void;
}

/**
 * Turns of request bodies that are large: each takes several times its length in memory while it is read and parsed. Who has
 * no turn yet waits, and the client is not read from meanwhile.
 */
export class LargeBodies {
  readonly #turns = new Lanes(limits.largeBodiesOfSender, limits.largeBodies);
  readonly #waiting = new Set<Waiter>();

  /**
   * Waits for a turn; call {@link leave} when it is over.
   *
   * @param sender of whom few have a turn at the same time.
   * @param ended the connection was closed, so the turn is no longer wanted.
   * @throws ApiError 503 `BUSY` where no turn came in {@link limits.largeBodyWaitMilliseconds}, or too many wait.
   */
  async enter(sender: string, ended: AbortSignal): Promise<void> {
    if (this.#turns.take(sender, 1) === 1) return;
    if (this.#waiting.size >= limits.largeBodiesWaiting) throw busy();
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        ended.removeEventListener('abort', giveUp);
        this.#waiting.delete(waiter);
      };
      const giveUp = (): void => {
        stop();
        reject(busy());
      };
      const start = (): void => {
        stop();
        resolve();
      };
      const waiter = { sender, start };
      const timer = setTimeout(giveUp, limits.largeBodyWaitMilliseconds);
      ended.addEventListener('abort', giveUp, { once: true });
      this.#waiting.add(waiter);
    });
  }

  leave(sender: string): void {
    this.#turns.release(sender);
    for (const waiter of this.#waiting) if (this.#turns.take(waiter.sender, 1) === 1) waiter.start();
  }
}

export function busy(): ApiError {
  return new ApiError('BUSY', 'The server is receiving too many request bodies at the moment. Try again later.', {
    retryAfter: 1,
  });
}
