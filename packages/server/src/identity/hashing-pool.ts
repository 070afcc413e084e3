import { availableParallelism } from 'node:os';
import { ApiError } from '../protocol/api-error.ts';

/** Who waits: strangers who try to sign in, or callers whose credential was verified. Neither line holds up the other. */
export type Line = 'strangers' | 'callers';

/** How many may wait in a line: at 30 ms each the last one waits a second. */
const longestLine = 32;

/**
 * Runs costly work on the threads beside the event loop, a few at once, the two lines in turns. Those threads also make
 * writes durable, and on small machines share the processor with the event loop: so one of two cores, two of more.
 */
export class HashingPool {
  readonly #atOnce: number;
  readonly #longest: number;
  readonly #lines: Readonly<Record<Line, (() => void)[]>> = { strangers: [], callers: [] };
  #running = 0;
  #next: Line = 'callers';

  constructor(atOnce = Math.min(2, Math.max(1, availableParallelism() - 1)), longest = longestLine) {
    this.#atOnce = atOnce;
    this.#longest = longest;
  }

  /** @throws ApiError `BUSY` at once where the line is full. */
  async run<T>(line: Line, work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#atOnce) await this.#turn(line);
    else this.#running += 1;
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  #turn(line: Line): Promise<void> {
    if (this.#lines[line].length >= this.#longest)
      throw new ApiError('BUSY', 'Too many passwords are being checked at this moment; try again.', { retryAfter: 2 });
    return new Promise((resolve) => this.#lines[line].push(resolve));
  }

  /** Hands the place over to the one who waits, so that nobody slips in between. */
  #leave(): void {
    const other: Line = this.#next === 'callers' ? 'strangers' : 'callers';
    const waiting = this.#lines[this.#next].shift() ?? this.#lines[other].shift();
    this.#next = other;
    if (waiting) waiting();
    else this.#running -= 1;
  }
}
