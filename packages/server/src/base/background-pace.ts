import { setTimeout as wait } from 'node:timers/promises';
import { processCounters } from './metrics.ts';

/** The pause after a part, as a multiple of the part's duration. */
const restShare = 1;
const maxRestMilliseconds = 500;
/**
 * From this request rate on, background work pauses. Health checks and a page that polls the progress of an import stay
 * below it.
 */
const busyPerSecond = 5;
/**
 * The period over which requests are counted to measure their rate. Reader threads report their requests four times a
 * second.
 */
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
 * If the work waits for something else between two parts, it calls `begin` before the next part.
 */
export class BackgroundPace {
  #begin = performance.now();
  #countedFrom = performance.now();
  #requests = processCounters.requests;
  #isBusy = false;

  /** Marks the beginning of a part. It need not be called after the constructor or after {@link rest}. */
  begin(): void {
    this.#begin = performance.now();
  }

  /** Pauses if the server is replying to requests. Call it after each part. */
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
