/**
 * A bounded map that keeps what is used: entries live in a young generation, which becomes the old one when it holds
 * half of `capacity`; an old entry that is asked for is young again, the others go with their generation.
 */
export class LruMap<V> {
  #young = new Map<string, V>();
  #old = new Map<string, V>();
  readonly #half: number;

  constructor(capacity: number) {
    this.#half = Math.max(1, capacity >> 1);
  }

  get(key: string): V | undefined {
    const value = this.#young.get(key);
    if (value !== undefined) return value;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: V): void {
    this.#young.set(key, value);
    if (this.#young.size < this.#half) return;
    this.#old = this.#young;
    this.#young = new Map();
  }

  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}
