import { setImmediate as afterOthers } from 'node:timers/promises';

/** How long work may run on the event loop before other requests are processed. */
const sliceMilliseconds = 3;

/**
 * Divides long work on the event loop into slices, by time: the same number of rows can take a hundred times as long in another
 * collection.
 *
 *     const slices = new TimeSlices();
 *     for (const row of rows) {
 *       if (slices.isOver) await slices.next();
 *       check(row);
 *     }
 */
export class TimeSlices {
  #end = performance.now() + sliceMilliseconds;

  /** Whether the work has run long enough. */
  get isOver(): boolean {
    return performance.now() >= this.#end;
  }

  /** Waits until other requests have been processed. */
  async next(): Promise<void> {
    await afterOthers();
    this.#end = performance.now() + sliceMilliseconds;
  }
}
