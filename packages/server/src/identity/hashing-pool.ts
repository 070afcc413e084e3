import { availableParallelism } from 'node:os';
import { ApiError } from '../protocol/api-error.ts';

/** Who waits: strangers who try to sign in, or callers whose credential was verified. Neither line holds up the other. */
export type HashingQueue = 'strangers' | 'callers';

/** How many may wait in a line: at 30 ms each the last one waits a second. */
const maxQueueLength = 32;

/**
 * Runs costly work on the threads beside the event loop, a few at once, the two lines in turns. Those threads also make
 * writes durable, and on small machines share the processor with the event loop: so one of two cores, two of more.
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

  /** @throws ApiError `BUSY` at once where the line is full. */
  async run<T>(queue: HashingQueue, work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#concurrency) await this.#waitForSlot(queue);
    else this.#running += 1;
    try {
      return await work();
    } finally {
      this.#releaseSlot();
    }
  }

  #waitForSlot(line: HashingQueue): Promise<void> {
    if (this.#queues[line].length >= this.#maxQueued)
      throw new ApiError('BUSY', 'Too many passwords are being checked at this moment; try again.', { retryAfter: 2 });
    return new Promise((resolve) => this.#queues[line].push(resolve));
  }

  /** Hands the place over to the one who waits, so that nobody slips in between. */
  #releaseSlot(): void {
    const otherQueue: HashingQueue = this.#next === 'callers' ? 'strangers' : 'callers';
    const waiting = this.#queues[this.#next].shift() ?? this.#queues[otherQueue].shift();
    this.#next = otherQueue;
    if (waiting) waiting();
    else this.#running -= 1;
  }
}
