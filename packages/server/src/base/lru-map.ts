/** The limits of an {@link LruMap}. */
export interface LruBounds<V> {
  readonly entries: number;
  /** Limit of keys and values together, measured by `sizeOf`. */
  readonly bytes: number;
  /** A longer key is not stored: keys often contain a caller's text. */
  readonly keyLength: number;
  /** Estimated bytes of a value; a constant where all values are of one size. */
  readonly sizeOf: number | ((value: V) => number);
  /** Called once with each value that is no longer stored, and with one that is not stored at all. */
  readonly onEvict?: (value: V) => void;
}

/** Estimated bytes of one entry without its key and value. */
const entryOverhead = 100;

/**
 * A map with limits for entries and bytes that keeps recently used entries. New entries are in a young generation. When
 * it reaches half of either limit, it becomes the old generation, and the entries of the previous old generation are
 * evicted. Reading an old entry moves it to the young generation. An entry over half of the byte limit is not stored.
 *
 * The structure test `bounded-caches.test.ts` lists every instance.
 */
export class LruMap<V> {
  #young = new Map<string, V>();
  #old = new Map<string, V>();
  #youngBytes = 0;
  #oldBytes = 0;
  readonly #bounds: LruBounds<V>;

  constructor(bounds: LruBounds<V>) {
    this.#bounds = bounds;
  }

  /** Estimated bytes of all entries. */
  get bytes(): number {
    return this.#youngBytes + this.#oldBytes;
  }

  get(key: string): V | undefined {
    const value = this.#young.get(key);
    if (value !== undefined) return value;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: V): void {
    const { entries, bytes, keyLength } = this.#bounds;
    const size = this.#sizeOf(key, value);
    if (key.length > keyLength || size > bytes / 2) {
      this.delete(key);
      this.#bounds.onEvict?.(value);
      return;
    }
    const replaced = this.#young.get(key);
    if (replaced !== undefined) this.#youngBytes -= this.#sizeOf(key, replaced);
    this.#young.set(key, value);
    this.#youngBytes += size;
    if (replaced !== undefined && replaced !== value && replaced !== this.#old.get(key))
      this.#bounds.onEvict?.(replaced);
    if (this.#young.size < Math.max(1, entries >> 1) && this.#youngBytes < bytes / 2) return;
    const evicted = this.#old;
    this.#old = this.#young;
    this.#oldBytes = this.#youngBytes;
    this.#young = new Map();
    this.#youngBytes = 0;
    this.#drop(evicted, this.#old);
  }

  delete(key: string): void {
    const young = this.#young.get(key);
    if (young !== undefined) this.#youngBytes -= this.#sizeOf(key, young);
    const old = this.#old.get(key);
    if (old !== undefined) this.#oldBytes -= this.#sizeOf(key, old);
    this.#young.delete(key);
    this.#old.delete(key);
    if (young !== undefined) this.#bounds.onEvict?.(young);
    if (old !== undefined && old !== young) this.#bounds.onEvict?.(old);
  }

  clear(): void {
    const [young, old] = [this.#young, this.#old];
    this.#young = new Map();
    this.#old = new Map();
    this.#youngBytes = 0;
    this.#oldBytes = 0;
    this.#drop(old, young);
    this.#drop(young, this.#old);
  }

  /** @param stored the other generation. An entry that was read since is in both, and is not evicted. */
  #drop(evicted: ReadonlyMap<string, V>, stored: ReadonlyMap<string, V>): void {
    const { onEvict } = this.#bounds;
    if (!onEvict) return;
    for (const [key, value] of evicted) if (stored.get(key) !== value) onEvict(value);
  }

  /** The size must not change while an entry is stored. A character of a key counts as two bytes. */
  #sizeOf(key: string, value: V): number {
    const { sizeOf } = this.#bounds;
    return entryOverhead + 2 * key.length + (typeof sizeOf === 'number' ? sizeOf : sizeOf(value));
  }
}
