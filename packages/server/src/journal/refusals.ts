import type { AuditContent } from '../database/audit-rows.ts';

/** A refused request: 401, 403 or 429. What it asked for in detail (keys, filters, bodies) never comes here. */
export type Refusal = Omit<AuditContent, 'outcome' | 'count' | 'target'> & {
  /** The account or key that it was about, where the server knows it. */
  readonly target: string | null;
  /** Requests from here count as from one place. */
  readonly network: string;
};

interface Counted {
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
  #counted = new Map<string, Counted>();

  get size(): number {
    return this.#counted.size;
  }

  note(refusal: Refusal): void {
    const { actor, credential, role, action, target, code, network } = refusal;
    const key = `${code} ${action} ${actor} ${credential} ${role} ${target} ${network}`;
    const known = this.#counted.get(key);
    if (known) known.count += 1;
    else if (this.#counted.size < mostDistinct) this.#counted.set(key, { refusal, count: 1 });
    else this.#noteRest(refusal);
  }

  /** The entries to be written, and begins anew. */
  take(): AuditContent[] {
    const counted = this.#counted;
    this.#counted = new Map();
    return [...counted.values()].map(({ refusal: { network: _, ...refusal }, count }) => ({
      ...refusal,
      outcome: 'refused',
      count,
    }));
  }

  #noteRest({ at, code }: Refusal): void {
    const key = `${code}`;
    const known = this.#counted.get(key);
    const nobody = { actor: null, credential: null, role: null, action: null, target: null, address: null };
    if (known) known.count += 1;
    else this.#counted.set(key, { refusal: { ...nobody, at, code, requestId: null, network: '' }, count: 1 });
  }
}
