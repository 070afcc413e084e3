import { ConcurrencyLimiter } from '../base/concurrency-limiter.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';

interface Waiter {
  readonly sender: string;
  start(): void;
}

/**
 * Limits concurrent large request bodies: each takes several times its length in memory while it is read and parsed. Requests
 * without a slot wait, and are not read meanwhile.
 */
export class LargeBodies {
  readonly #limiter = new ConcurrencyLimiter(limits.largeBodiesOfSender, limits.largeBodies);
  readonly #waiting = new Set<Waiter>();

  /**
   * Waits for a slot; call {@link release} afterwards.
   *
   * @param sender the slots of one sender are limited.
   * @param abortSignal aborted when the connection is closed.
   * @throws ApiError 503 `BUSY` without a slot in {@link limits.largeBodyWaitMilliseconds}, or if too many requests wait.
   */
  async acquire(sender: string, abortSignal: AbortSignal): Promise<void> {
    if (this.#limiter.acquire(sender, 1) === 1) return;
    if (this.#waiting.size >= limits.largeBodiesWaiting) throw bodiesBusyError();
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        abortSignal.removeEventListener('abort', giveUp);
        this.#waiting.delete(waiter);
      };
      const giveUp = (): void => {
        stop();
        reject(bodiesBusyError());
      };
      const start = (): void => {
        stop();
        resolve();
      };
      const waiter = { sender, start };
      const timer = setTimeout(giveUp, limits.largeBodyWaitMilliseconds);
      abortSignal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.add(waiter);
    });
  }

  release(sender: string): void {
    this.#limiter.release(sender);
    for (const waiter of this.#waiting) if (this.#limiter.acquire(waiter.sender, 1) === 1) waiter.start();
  }
}

/** 503 while too many bodies are received. */
export function bodiesBusyError(): ApiError {
  return new ApiError('BUSY', 'The server is receiving too many request bodies at the moment. Try again later.', {
    retryAfter: 1,
  });
}
