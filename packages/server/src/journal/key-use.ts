import { isoTime } from '../base/clock.ts';
import type { KeyUseDelta } from '../database/key-use-rows.ts';

interface Use {
  requests: number;
  failed: number;
  /** Milliseconds since the epoch; null while no request held a key that was good. */
  first: number | null;
  last: number | null;
  readonly endpoints: Map<string, number>;
}

/** Endpoints counted for one key; past it the least used one makes room and leaves its count (Metwally's space saving). */
export const endpointsCounted = 50;

/** What was done with each key since the last flush. On the path of every request: counts, nothing else. */
export class KeyUse {
  #uses = new Map<number, Use>();

  get size(): number {
    return this.#uses.size;
  }

  /** @param endpoint of an answered request; the names in it exist. */
  answered(key: number, endpoint: string, now: number): void {
    const use = this.#use(key);
    use.requests += 1;
    use.first ??= now;
    use.last = now;
    const known = use.endpoints.get(endpoint);
    if (known !== undefined) use.endpoints.set(endpoint, known + 1);
    else countNew(use.endpoints, endpoint);
  }

  /**
   * @param refused for who asked (401, 403, 429), and not for what was asked.
   * @param now null where the key itself did not hold any more: that is no use of it.
   */
  failed(key: number, refused: boolean, now: number | null): void {
    const use = this.#use(key);
    use.requests += 1;
    if (refused) use.failed += 1;
    use.first ??= now;
    use.last = now ?? use.last;
  }

  /** The counts to be written, and begins anew. */
  take(): KeyUseDelta[] {
    const uses = this.#uses;
    this.#uses = new Map();
    return [...uses].map(([id, { requests, failed, first, last, endpoints }]) => ({
      id,
      requests,
      failed,
      firstAt: first === null ? null : isoTime(first),
      lastAt: last === null ? null : isoTime(last),
      endpoints,
    }));
  }

  #use(key: number): Use {
    let use = this.#uses.get(key);
    if (!use) {
      use = { requests: 0, failed: 0, first: null, last: null, endpoints: new Map() };
      this.#uses.set(key, use);
    }
    return use;
  }
}

function countNew(endpoints: Map<string, number>, endpoint: string): void {
  let inherited = 0;
  if (endpoints.size >= endpointsCounted) {
    const [least, count] = [...endpoints].reduce((one, other) => (other[1] < one[1] ? other : one));
    endpoints.delete(least);
    inherited = count;
  }
  endpoints.set(endpoint, inherited + 1);
}
