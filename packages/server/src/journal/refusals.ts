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
type Counted = ReadonlyMap<string, Count>;

interface Count {
  readonly refusal: Refusal;
  count: number;
}

/** Different refusals told apart between two flushes; the rest is told by its code alone. */
const mostDistinct = 200;

/**
 * Refusals since the last flush, equal ones counted: a flood costs a look into a map each, and neither memory nor disk
 * beyond a bound.
 */
export class Refusals {
  #counted = new Map<string, Count>();

  get size(): number {
    return this.#counted.size;
  }

  note(refusal: Refusal, times = 1): void {
    const { actor, credential, role, action, target, code, network } = refusal;
    const key = `${code} ${action} ${actor} ${credential} ${role} ${target} ${network}`;
    const known = this.#counted.get(key);
    if (known) known.count += times;
    else if (this.#counted.size < mostDistinct) this.#counted.set(key, { refusal, count: times });
    else this.#noteRest(refusal, times);
  }

  /** What is to be written; begins anew. */
  take(): Counted {
    const counted = this.#counted;
    this.#counted = new Map();
    return counted;
  }

  /** They could not be written: they are counted on. */
  giveBack(counted: Counted): void {
    const since = this.#counted;
    this.#counted = new Map(counted);
    for (const { refusal, count } of since.values()) this.note(refusal, count);
  }

  #noteRest({ at, code }: Refusal, times: number): void {
    const key = `${code}`;
    const known = this.#counted.get(key);
    const nobody = { actor: null, credential: null, role: null, action: null, target: null, address: null };
    if (known) known.count += times;
    else this.#counted.set(key, { refusal: { ...nobody, at, code, requestId: null, network: '' }, count: times });
  }
}

export function refusalEntries(counted: Counted): NewEntry[] {
  return [...counted.values()].map(({ refusal: { network: _, ...refusal }, count }) => ({
    ...refusal,
    outcome: 'refused',
    count,
    source: null,
  }));
}
