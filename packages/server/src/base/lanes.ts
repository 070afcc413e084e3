/** Bounds how much goes on at once, in all and for each name, so that a slow one holds up nobody but itself. */
export class Lanes {
  readonly #perName: number;
  readonly #inAll: number;
  readonly #taken = new Map<string, number>();
  #total = 0;

  constructor(perName: number, inAll: number) {
    this.#perName = perName;
    this.#inAll = inAll;
  }

  /** Takes up to so many places of a name; returns how many it got. Each is given back by {@link Lanes.release}. */
  take(name: string, wanted: number): number {
    const used = this.#taken.get(name) ?? 0;
    const got = Math.max(0, Math.min(wanted, this.#perName - used, this.#inAll - this.#total));
    if (got === 0) return 0;
    this.#taken.set(name, used + got);
    this.#total += got;
    return got;
  }

  release(name: string, count = 1): void {
    const left = (this.#taken.get(name) ?? 0) - count;
    if (left > 0) this.#taken.set(name, left);
    else this.#taken.delete(name);
    this.#total -= count;
  }
}
