import type { Clock } from '../../src/base/clock.ts';

export const hour = 3_600_000;
export const day = 24 * hour;

/** A clock that runs in real time, and jumps when a test calls it. */
export class MovingClock implements Clock {
  #ahead = 0;

  now(): number {
    return Date.now() + this.#ahead;
  }

  advance(milliseconds: number): void {
    this.#ahead += milliseconds;
  }
}
