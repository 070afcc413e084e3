import { hash } from 'node:crypto';
import type { RateLimit } from '../base/config.ts';
import { LruMap } from '../base/lru-map.ts';
import type { PointWindow } from './fixed-window.ts';

/** The data that threads need to count in the same windows. */
export interface SharedWindowState {
  readonly limit: RateLimit;
  readonly buffer: SharedArrayBuffer;
  /** Makes the positions of keys unpredictable. */
  readonly seed: string;
}

/** A key is in one of the slots of its group; when all of them are in use, the one that ends first is replaced. */
const groupSlots = 16;
const groups = 8192;
const slots = groupSlots * groups;
/** The cells of a slot: two parts of the hash of its key, and its points. */
const slotCells = 3;
const lockCells = groups;
/** A thread that holds a lock for longer has ended. On a busy machine, one that runs can be suspended for some ten milliseconds. */
const maxLockMilliseconds = 1000;
const maxSpinMilliseconds = 1;

/** Milliseconds of the monotonic clock, the same in all threads. */
const clockOffset = Number(process.hrtime.bigint() / 1000n) / 1000 - performance.now();
const monotonicNow = (): number => performance.now() + clockOffset;

/** Creates the memory of a {@link SharedWindow}: 131,072 keys. Pages that are not used take no memory. */
export function createSharedWindow(limit: RateLimit, seed: string): SharedWindowState {
  const bytes = slots * Float64Array.BYTES_PER_ELEMENT + (slots * slotCells + lockCells) * Int32Array.BYTES_PER_ELEMENT;
  return { limit, seed, buffer: new SharedArrayBuffer(bytes) };
}

/**
 * Counts points by key in windows that begin with a key's first point, like FixedWindow, for all threads of a process together. Its
 * memory is fixed, and holds the hashes of keys.
 */
export class SharedWindow implements PointWindow {
  readonly limit: RateLimit;
  readonly #seed: string;
  readonly #now: () => number;
  readonly #ends: Float64Array<SharedArrayBuffer>;
  readonly #cells: Int32Array<SharedArrayBuffer>;
  readonly #locks: Int32Array<SharedArrayBuffer>;
  /** A hash takes longer than everything else that is counted for a request. */
  readonly #hashed = new LruMap<HashedKey>({ entries: 2000, bytes: 512 * 1024, keyLength: 200, sizeOf: 100 });

  /** @param now for tests. */
  constructor({ limit, buffer, seed }: SharedWindowState, now: () => number = monotonicNow) {
    this.limit = limit;
    this.#seed = seed;
    this.#now = now;
    const cellsOffset = slots * Float64Array.BYTES_PER_ELEMENT;
    this.#ends = new Float64Array(buffer, 0, slots);
    this.#cells = new Int32Array(buffer, cellsOffset, slots * slotCells);
    this.#locks = new Int32Array(buffer, cellsOffset + slots * slotCells * Int32Array.BYTES_PER_ELEMENT, lockCells);
  }

  consume(key: string): number {
    const now = this.#now();
    return this.#withSlot(key, now, (slot) => {
      const points = this.#points(slot);
      if (points >= this.limit.points) return this.#end(slot) - now;
      this.#setPoints(slot, points + 1);
      return 0;
    });
  }

  wait(key: string): number {
    const now = this.#now();
    return this.#withSlot(key, null, (slot) =>
      this.#points(slot) >= this.limit.points ? Math.max(0, this.#end(slot) - now) : 0,
    );
  }

  charge(key: string, points: number): void {
    this.#withSlot(key, null, (slot) => {
      this.#setPoints(slot, Math.min(this.#points(slot) + points, 0x7fffffff));
      return 0;
    });
  }

  refund(key: string): void {
    this.#withSlot(key, null, (slot) => {
      const points = this.#points(slot);
      if (points > 0) this.#setPoints(slot, points - 1);
      return 0;
    });
  }

  /** @param begins the time at which a window begins if the key has none; null: no window begins, and the result is 0. */
  #withSlot(key: string, begins: number | null, work: (slot: number) => number): number {
    const hashed = this.#hash(key);
    const { group } = hashed;
    this.#lock(group);
    try {
      const slot = this.#find(hashed) ?? (begins === null ? null : this.#claim(hashed));
      if (slot === null) return 0;
      if (begins !== null && this.#end(slot) <= begins) {
        this.#ends[slot] = begins + this.limit.seconds * 1000;
        this.#setPoints(slot, 0);
      }
      return work(slot);
    } finally {
      Atomics.store(this.#locks, group, 0);
    }
  }

  #hash(key: string): HashedKey {
    const cached = this.#hashed.get(key);
    if (cached) return cached;
    const digest = Buffer.from(hash('sha1', this.#seed + key, 'buffer'));
    const group = digest.readUInt32LE(0) % groups;
    const hashed = { group, high: digest.readInt32LE(4), low: digest.readInt32LE(8) | 1 }; // never 0, which is an empty slot
    this.#hashed.set(key, hashed);
    return hashed;
  }

  #find({ group, high, low }: HashedKey): number | null {
    const first = group * groupSlots;
    for (let slot = first; slot < first + groupSlots; slot += 1)
      if (this.#cells[slot * slotCells] === high && this.#cells[slot * slotCells + 1] === low) return slot;
    return null;
  }

  /** The slot that ended or will end first. An unused one has ended long ago. */
  #claim({ group, high, low }: HashedKey): number {
    let oldest = group * groupSlots;
    for (let slot = oldest + 1; slot < (group + 1) * groupSlots; slot += 1)
      if (this.#end(slot) < this.#end(oldest)) oldest = slot;
    this.#cells[oldest * slotCells] = high;
    this.#cells[oldest * slotCells + 1] = low;
    this.#ends[oldest] = 0;
    return oldest;
  }

  #points(slot: number): number {
    return this.#cells[slot * slotCells + 2] ?? 0;
  }

  #end(slot: number): number {
    return this.#ends[slot] ?? 0;
  }

  #setPoints(slot: number, points: number): void {
    this.#cells[slot * slotCells + 2] = points;
  }

  /** Held for less than a microsecond. A thread may end while it holds a lock, so the wait has an end too. */
  #lock(group: number): void {
    if (Atomics.compareExchange(this.#locks, group, 0, 1) === 0) return;
    const startedAt = performance.now();
    while (Atomics.compareExchange(this.#locks, group, 0, 1) !== 0) {
      if (performance.now() - startedAt > maxLockMilliseconds) return;
      // Leaves the processor to the thread that holds the lock. That thread does not notify waiters, so the wait has a
      // time limit.
      if (performance.now() - startedAt > maxSpinMilliseconds) Atomics.wait(this.#locks, group, 1, 1);
    }
  }
}

/** Where the points of a key are, and the two parts of its hash that its slot contains. */
interface HashedKey {
  readonly group: number;
  readonly high: number;
  readonly low: number;
}
