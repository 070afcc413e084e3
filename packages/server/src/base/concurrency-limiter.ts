/** Bounds how much goes on at once, in all and for each name, so that a slow one holds up nobody but itself. */
export class ConcurrencyLimiter {
  readonly #perName: number;
  readonly #inAll: number;
  readonly #taken = new Map<string, number>();
  #total = 0;

  constructor(maxPerName: number, maxTotal: number) {
    this.#perName = maxPerName;
    this.#inAll = maxTotal;
  }

  /** Takes up to so many places of a name; returns how many it got. Each is given back by {@link ConcurrencyLimiter.release}. */
  acquire(name: string, wanted: number): number {
    const used = this.#taken.get(name) ?? 0;
    const granted = Math.max(0, Math.min(wanted, this.#perName - used, this.#inAll - this.#total));
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
