import type { RateLimit } from '../base/config.ts';

interface Window {
  points: number;
  /** Milliseconds of the monotonic clock. */
  readonly ends: number;
}

/** Counts points by key in windows that begin with a key's first point. */
export interface PointWindow {
  readonly limit: RateLimit;
  /** Takes a point. @returns 0, or the milliseconds until points are available, if none is left. */
  consume(key: string): number;
  /** Milliseconds until a point is available. Takes none. */
  wait(key: string): number;
  /** Takes points even if not enough are left. The balance stays negative until the window ends. */
  charge(key: string, points: number): void;
  /** Returns a point. */
  refund(key: string): void;
}

/**
 * Counts points by key in windows that begin with a key's first point. Memory is bounded: expired windows are dropped when
 * others begin, and above `capacity` the oldest window is dropped.
 */
export class FixedWindow implements PointWindow {
  readonly limit: RateLimit;
  readonly #now: () => number;
  readonly #capacity: number;
  /** Ordered by their end, since all have the same length. */
  readonly #windows = new Map<string, Window>();

  constructor(limit: RateLimit, capacity = 100_000, now: () => number = () => performance.now()) {
    this.limit = limit;
    this.#capacity = capacity;
    this.#now = now;
  }

  get size(): number {
    return this.#windows.size;
  }

  consume(key: string): number {
    const now = this.#now();
    const window = this.#windows.get(key);
    if (!window || window.ends <= now) this.#begin(key, now);
    else if (window.points >= this.limit.points) return window.ends - now;
    else window.points += 1;
    return 0;
  }

  wait(key: string): number {
    const window = this.#windows.get(key);
    return window && window.points >= this.limit.points ? Math.max(0, window.ends - this.#now()) : 0;
  }

  charge(key: string, points: number): void {
    const window = this.#windows.get(key);
    if (window) window.points += points;
  }

  refund(key: string): void {
    const window = this.#windows.get(key);
    if (window && window.points > 0) window.points -= 1;
  }

  #begin(key: string, now: number): void {
    this.#windows.delete(key);
    // Two for each new window, so that expired windows are removed faster than new ones begin.
    for (let dropped = 0; dropped < 2; dropped += 1) {
      const [oldest] = this.#windows;
      if (!oldest || (oldest[1].ends > now && this.#windows.size < this.#capacity)) break;
      this.#windows.delete(oldest[0]);
    }
    this.#windows.set(key, { points: 1, ends: now + this.limit.seconds * 1000 });
  }
}
