import { availableParallelism } from 'node:os';
import { ApiError } from '../protocol/api-error.ts';

/** Two queues: unauthenticated sign-ins, and callers with a verified credential. Neither delays the other. */
export type HashingQueue = 'strangers' | 'callers';

/** Maximum length of a queue: at 30 ms each, the last request in it waits a second. */
const maxQueueLength = 32;

/**
 * Limits expensive work on the thread pool, and alternates between the two queues. The same threads sync writes to
 * disk, and on small machines they share the processor with the event loop. So the pool uses one core of two, and two
 * cores of more than two.
 */
export class HashingPool {
  readonly #concurrency: number;
  readonly #maxQueued: number;
  readonly #queues: Readonly<Record<HashingQueue, (() => void)[]>> = { strangers: [], callers: [] };
  #running = 0;
  #next: HashingQueue = 'callers';

  constructor(concurrency = Math.min(2, Math.max(1, availableParallelism() - 1)), maxQueued = maxQueueLength) {
    this.#concurrency = concurrency;
    this.#maxQueued = maxQueued;
  }

  /** @throws ApiError `BUSY` immediately if the queue is full. */
  async run<T>(queue: HashingQueue, work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#concurrency) await this.#waitForSlot(queue);
    else this.#running += 1;
    try {
      return await work();
    } finally {
      this.#releaseSlot();
    }
  }

  #waitForSlot(queue: HashingQueue): Promise<void> {
    if (this.#queues[queue].length >= this.#maxQueued)
      throw new ApiError('BUSY', 'Too many passwords are being checked at the moment. Try again.', { retryAfter: 2 });
    return new Promise((resolve) => this.#queues[queue].push(resolve));
  }

  /** Passes the slot directly to the next waiting work, so that no other work can take it. */
  #releaseSlot(): void {
    const otherQueue: HashingQueue = this.#next === 'callers' ? 'strangers' : 'callers';
    const waiting = this.#queues[this.#next].shift() ?? this.#queues[otherQueue].shift();
    this.#next = otherQueue;
    if (waiting) waiting();
    else this.#running -= 1;
  }
}
