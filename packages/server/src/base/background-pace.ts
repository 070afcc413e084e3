import { setTimeout as wait } from 'node:timers/promises';
import { processCounters } from './metrics.ts';

/** The rest after a part, in relation to the time that the part took. */
const restShare = 1;
const maxRestMilliseconds = 500;
/** From this rate on, background work leaves time. Below it are health checks, and a page that shows how far an import has got. */
const busyPerSecond = 5;
/** How long requests are counted to find their rate. Reader threads report theirs four times a second. */
const countedMilliseconds = 500;

/**
 * Leaves time for requests between the parts of long background work: while the server replies to some requests a second, each part is
 * followed by a rest that is as long as the part, at most half a second. Otherwise the work is not slowed down.
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
  #countedFrom = performance.now();
  #requests = processCounters.requests;
  #isBusy = false;

  /** A part begins. After the start and after a rest, this is not needed. */
  begin(): void {
    this.#begin = performance.now();
  }

  /** Waits, if the server is replying to requests. Call it after each part. */
  async rest(): Promise<void> {
    const now = performance.now();
    const counted = now - this.#countedFrom;
    if (counted >= countedMilliseconds) {
      const { requests } = processCounters;
      this.#isBusy = requests - this.#requests > (busyPerSecond * counted) / 1000;
      this.#requests = requests;
      this.#countedFrom = now;
    }
    if (this.#isBusy) await wait(Math.min((now - this.#begin) * restShare, maxRestMilliseconds));
    this.begin();
  }
}
