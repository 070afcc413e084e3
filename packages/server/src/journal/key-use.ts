import { isoTime } from '../base/clock.ts';
import type { KeyUseDelta } from '../database/key-use-rows.ts';

interface UsageCounts {
  requests: number;
  failed: number;
  /** Milliseconds since the epoch; null while no request held a key that was good. */
  first: number | null;
  last: number | null;
  readonly endpoints: Map<string, number>;
}

/** Endpoints counted for one key; past it the least used one makes room and leaves its count (Metwally's space saving). */
export const maxCountedEndpoints = 50;

/** What was done with each key since the last flush. On the path of every request: counts, nothing else. */
export class KeyUsageCounter {
  #usages = new Map<number, UsageCounts>();

  get size(): number {
    return this.#usages.size;
  }

  /** @param endpoint of an answered request; the names in it exist. */
  countSuccess(key: number, endpoint: string, now: number): void {
    const usage = this.#getUsage(key);
    usage.requests += 1;
    usage.first ??= now;
    usage.last = now;
    const known = usage.endpoints.get(endpoint);
    if (known !== undefined) usage.endpoints.set(endpoint, known + 1);
    else addEndpoint(usage.endpoints, endpoint);
  }

  /**
   * @param isCallerRefused for who asked (401, 403, 429), and not for what was asked.
   * @param now null where the key itself did not hold any more: that is no use of it.
   */
  countFailure(key: number, isCallerRefused: boolean, now: number | null): void {
    const usage = this.#getUsage(key);
    usage.requests += 1;
    if (isCallerRefused) usage.failed += 1;
    usage.first ??= now;
    usage.last = now ?? usage.last;
  }

  /** The counts to be written, and begins anew. */
  drain(): KeyUseDelta[] {
    const usages = this.#usages;
    this.#usages = new Map();
    return [...usages].map(([id, { requests, failed, first, last, endpoints }]) => ({
      id,
      requests,
      failed,
      firstAt: first === null ? null : isoTime(first),
      lastAt: last === null ? null : isoTime(last),
      endpoints,
    }));
  }

  #getUsage(key: number): UsageCounts {
    let usage = this.#usages.get(key);
    if (!usage) {
      usage = { requests: 0, failed: 0, first: null, last: null, endpoints: new Map() };
      this.#usages.set(key, usage);
    }
    return usage;
  }
}

function addEndpoint(endpoints: Map<string, number>, endpoint: string): void {
  let inherited = 0;
  if (endpoints.size >= maxCountedEndpoints) {
    const [leastUsed, count] = [...endpoints].reduce((one, other) => (other[1] < one[1] ? other : one));
    endpoints.delete(leastUsed);
    inherited = count;
  }
  endpoints.set(endpoint, inherited + 1);
}
