import type { AuditContent } from '../database/audit-rows.ts';
import type { NewEntry } from './chain.ts';

/** A refused request: 401, 403 or 429. What it asked for in detail (keys, filters, bodies) never comes here. */
export type Refusal = Omit<AuditContent, 'outcome' | 'count' | 'target'> & {
  /** The account or key that it was about, where the server knows it. */
  readonly target: string | null;
  /** Requests from here count as from one place. */
  readonly network: string;
};

/** Equal refusals, by what makes them equal. */
type RefusalCounts = ReadonlyMap<string, RefusalCount>;

interface RefusalCount {
  readonly refusal: Refusal;
  count: number;
}

/** Different refusals told apart between two flushes; the rest is told by its code alone. */
const maxDistinctRefusals = 200;

/**
 * Refusals since the last flush, equal ones counted: a flood costs a look into a map each, and neither memory nor disk
 * beyond a bound.
 */
export class RefusalCounter {
  #counts = new Map<string, RefusalCount>();

  get size(): number {
    return this.#counts.size;
  }

  count(refusal: Refusal, times = 1): void {
    const { actor, credential, role, action, target, code, network } = refusal;
    const key = `${code} ${action} ${actor} ${credential} ${role} ${target} ${network}`;
    const known = this.#counts.get(key);
    if (known) known.count += times;
    else if (this.#counts.size < maxDistinctRefusals) this.#counts.set(key, { refusal, count: times });
    else this.#countByCode(refusal, times);
  }

  /** What is to be written; begins anew. */
  drain(): RefusalCounts {
    const counts = this.#counts;
    this.#counts = new Map();
    return counts;
  }

  /** They could not be written: they are counted on. */
  restore(counts: RefusalCounts): void {
    const since = this.#counts;
    this.#counts = new Map(counts);
    for (const { refusal, count } of since.values()) this.count(refusal, count);
  }

  #countByCode({ at, code }: Refusal, times: number): void {
    const key = `${code}`;
    const known = this.#counts.get(key);
    const nobody = { actor: null, credential: null, role: null, action: null, target: null, address: null };
    if (known) known.count += times;
    else this.#counts.set(key, { refusal: { ...nobody, at, code, requestId: null, network: '' }, count: times });
  }
}

export function toRefusalEntries(counts: RefusalCounts): NewEntry[] {
  return [...counts.values()].map(({ refusal: { network: _, ...refusal }, count }) => ({
    ...refusal,
    outcome: 'refused',
    count,
    source: null,
  }));
}
