import { isoTime } from '../base/clock.ts';
import type { KeyUseDelta } from '../database/key-use-rows.ts';

interface UsageCounts {
  requests: number;
  failed: number;
  /** Milliseconds since the epoch; null before the first request with a valid key. */
  first: number | null;
  last: number | null;
  readonly endpoints: Map<string, number>;
}

/** Maximum number of endpoints for one key. Above it, a new one replaces the least used one and inherits its count (Space-Saving). */
export const maxCountedEndpoints = 50;

/** Counts the uses of each key since the last flush. It only counts, because every request calls it. */
export class KeyUsageCounter {
  #usages = new Map<number, UsageCounts>();

  get size(): number {
    return this.#usages.size;
  }

  /** @param endpoint of a successful request; its names exist. */
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
   * @param isCallerRefused the refusal was because of the caller (401, 403, 429), not the request.
   * @param now null if the key was no longer valid: that does not count as a use.
   */
  countFailure(key: number, isCallerRefused: boolean, now: number | null): void {
    const usage = this.#getUsage(key);
    usage.requests += 1;
    if (isCallerRefused) usage.failed += 1;
    usage.first ??= now;
    usage.last = now ?? usage.last;
  }

  /** Adds what another thread has counted. */
  add({ id, requests, failed, firstAt, lastAt, endpoints }: KeyUseDelta): void {
    const usage = this.#getUsage(id);
    usage.requests += requests;
    usage.failed += failed;
    usage.first ??= firstAt === null ? null : Date.parse(firstAt);
    if (lastAt !== null) usage.last = Math.max(usage.last ?? 0, Date.parse(lastAt));
    for (const [endpoint, count] of endpoints) {
      const known = usage.endpoints.get(endpoint);
      if (known !== undefined) usage.endpoints.set(endpoint, known + count);
      else addEndpoint(usage.endpoints, endpoint, count);
    }
  }

  /** Returns the counts and resets them. */
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

function addEndpoint(endpoints: Map<string, number>, endpoint: string, added = 1): void {
  let inherited = 0;
  if (endpoints.size >= maxCountedEndpoints) {
    const [leastUsed, count] = [...endpoints].reduce((one, other) => (other[1] < one[1] ? other : one));
    endpoints.delete(leastUsed);
    inherited = count;
  }
  endpoints.set(endpoint, inherited + added);
}
