/** Limits concurrent work in total and for each name, so that a slow name delays only itself. */
export class ConcurrencyLimiter {
  readonly #maxPerName: number;
  readonly #maxTotal: number;
  readonly #taken = new Map<string, number>();
  #total = 0;

  constructor(maxPerName: number, maxTotal: number) {
    this.#maxPerName = maxPerName;
    this.#maxTotal = maxTotal;
  }

  /** Acquires up to `wanted` slots of a name. @returns the number acquired; each must be released. */
  acquire(name: string, wanted: number): number {
    const used = this.#taken.get(name) ?? 0;
    const granted = Math.max(0, Math.min(wanted, this.#maxPerName - used, this.#maxTotal - this.#total));
    if (granted === 0) return 0;
    this.#taken.set(name, used + granted);
    this.#total += granted;
    return granted;
  }

  release(name: string, count = 1): void {
    const remaining = (this.#taken.get(name) ?? 0) - count;
    if (remaining > 0) this.#taken.set(name, remaining);
    else this.#taken.delete(name);
    this.#total -= count;
  }
}
