import { setTimeout as wait } from 'node:timers/promises';
import { processCounters } from './metrics.ts';

/** The length of a rest, as a multiple of the time that the part before it took. */
const restShare = 1;
const maxRestMilliseconds = 500;
/** More requests are expected for this long after a request. Reader threads report theirs four times a second. */
const expectedMilliseconds = 2000;

/**
 * Leaves time for requests between the parts of long background work: while the server replies to requests, each part is followed by a
 * rest that is as long as the part, at most half a second. Without requests, the work is not slowed down.
 *
 *     const pace = new BackgroundPace();
 *     for (const part of parts) {
 *       await write(part);
 *       await pace.rest();
 *     }
 *
 * Where the work waits between two parts for something else, it calls `begin` before the next part.
 */
export class BackgroundPace {
  #begin = performance.now();
  #requests = processCounters.requests;
  #requestsUntil = 0;

  /** Starts to measure a part. The constructor and {@link rest} do so too. */
  begin(): void {
    this.#begin = performance.now();
  }

  /** Ends a part. Waits if there were requests in the last seconds. */
  async rest(): Promise<void> {
    const now = performance.now();
    const { requests } = processCounters;
    if (requests > this.#requests) this.#requestsUntil = now + expectedMilliseconds;
    this.#requests = requests;
    if (now < this.#requestsUntil) await wait(Math.min((now - this.#begin) * restShare, maxRestMilliseconds));
    this.begin();
  }
}
