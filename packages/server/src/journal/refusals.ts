import type { AuditContent } from '../database/audit-rows.ts';
import type { NewEntry } from './chain.ts';

/**
 * A refused request (401, 403 or 429), or with the code null a call of a tool that changed nothing. Keys, filters and bodies of the
 * request are never stored.
 */
export type Refusal = Omit<AuditContent, 'outcome' | 'count' | 'target'> & {
  /** The account or key of the refusal, if it is known. */
  readonly target: string | null;
  /** The network of the caller. */
  readonly network: string;
};

/** Counts of refusals by the properties that make them equal. */
type RefusalCounts = ReadonlyMap<string, RefusalCount>;

interface RefusalCount {
  readonly refusal: Refusal;
  count: number;
}

/** Maximum number of distinct refusals between two flushes. The rest is only counted by error code. */
const maxDistinctRefusals = 200;

/**
 * Counts equal refusals since the last flush. Memory and disk usage are bounded, also during a flood of requests.
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

  /** Returns the counts and resets them. */
  drain(): RefusalCounts {
    const counts = this.#counts;
    this.#counts = new Map();
    return counts;
  }

  /** Adds counts back that could not be written. */
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

/** The journal entries of counted refusals. */
export function toRefusalEntries(counts: RefusalCounts): NewEntry[] {
  return [...counts.values()].map(({ refusal: { network: _, ...refusal }, count }) => ({
    ...refusal,
    outcome: refusal.code === null ? 'done' : 'refused',
    count,
    source: null,
  }));
}
