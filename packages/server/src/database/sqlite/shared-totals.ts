/**
 * The totals of lists that the threads of one process share, in memory of a fixed size. A reader may not count for
 * long: it finds here what the main thread has counted.
 */
import { hash } from 'node:crypto';
import type { Row, TotalsOfState } from '../database.ts';

const slots = 4096;
/**
 * The cells of a slot: its version, three parts of the hash of its key, the counter in two parts, and the numbers of a
 * row in two parts each.
 */
const rowLength = 3;
const keyCell = 1;
const counterCell = 4;
const rowCell = 6;
const slotCells = rowCell + 2 * rowLength;
const twoTo32 = 2 ** 32;
/** In the place of NULL. */
const noValue = -1;

/** Creates the memory of {@link SharedTotals}: 192 KB, of which unused pages take none. */
export function createSharedTotals(): SharedArrayBuffer {
  return new SharedArrayBuffer(slots * slotCells * Int32Array.BYTES_PER_ELEMENT);
}

/** Rows of counts by a key and the counter of the tables that were counted. A new entry replaces the one in its slot. */
export class SharedTotals {
  readonly #cells: Int32Array<SharedArrayBuffer>;

  constructor(buffer: SharedArrayBuffer) {
    this.#cells = new Int32Array(buffer);
  }

  /** Totals of one state of the tables. @param counter differs between states. */
  ofState(counter: number): TotalsOfState {
    return { find: (key) => this.#find(key, counter), note: (key, row) => this.#note(key, counter, row) };
  }

  #find(key: string, counter: number): Row | null {
    const { first, parts } = this.#locate(key);
    const version = Atomics.load(this.#cells, first);
    if (version % 2 !== 0) return null; // it is being written
    const isSame = parts.every((part, index) => Atomics.load(this.#cells, first + keyCell + index) === part);
    if (!isSame || this.#readNumber(first + counterCell) !== counter) return null;
    const row = Array.from({ length: rowLength }, (_, index) => this.#readNumber(first + rowCell + 2 * index));
    // Another thread may have written meanwhile.
    return Atomics.load(this.#cells, first) === version ? row.map((each) => (each === noValue ? null : each)) : null;
  }

  /** Rows that do not consist of three whole numbers or NULL are not stored. */
  #note(key: string, counter: number, row: Row): void {
    const numbers = row.map((value) => (value === null ? noValue : value));
    if (numbers.length !== rowLength || !numbers.every(isWhole)) return;
    const { first, parts } = this.#locate(key);
    const version = Atomics.load(this.#cells, first);
    // Where another thread is writing, or has ended while it wrote, this entry is left out.
    if (version % 2 !== 0 || Atomics.compareExchange(this.#cells, first, version, version + 1) !== version) return;
    for (const [index, part] of parts.entries()) Atomics.store(this.#cells, first + keyCell + index, part);
    this.#writeNumber(first + counterCell, counter);
    for (const [index, value] of numbers.entries()) this.#writeNumber(first + rowCell + 2 * index, value as number);
    Atomics.store(this.#cells, first, (version + 2) | 0);
  }

  #locate(key: string): { first: number; parts: readonly number[] } {
    // Cryptographic: nobody can choose a key that finds the total of another.
    const digest = hash('sha256', key, 'buffer');
    const parts = [digest.readInt32LE(0), digest.readInt32LE(4), digest.readInt32LE(8)];
    return { first: (digest.readUInt32LE(12) % slots) * slotCells, parts };
  }

  #readNumber(cell: number): number {
    return Atomics.load(this.#cells, cell) * twoTo32 + (Atomics.load(this.#cells, cell + 1) >>> 0);
  }

  #writeNumber(cell: number, value: number): void {
    Atomics.store(this.#cells, cell, Math.floor(value / twoTo32));
    Atomics.store(this.#cells, cell + 1, value | 0);
  }
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= noValue;
}
