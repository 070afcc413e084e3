/**
 * The state of a SQLite store that the threads of one process share, in shared memory: how many transactions it has
 * committed, in all and for each group of tables, and whether it is being closed.
 *
 * The writing thread counts a transaction after its COMMIT and before it acknowledges it. A reading thread copies the
 * counters before it begins a read transaction. What it then reads is therefore never older than its copy, and a reader
 * whose copy equals the counters has seen every acknowledged write.
 */

const commitCell = 0;
const closedCell = 1;
const everyTableCell = 2;
const firstTableCell = 3;
/** Tables share a counter if their names have the same hash; a change of one then also counts for the others. */
const tableCells = 256;
const cellCount = firstTableCell + tableCells;

/** The shared counters of a store. */
export class SharedCounters {
  readonly buffer: SharedArrayBuffer;
  readonly #cells: Int32Array<SharedArrayBuffer>;

  /** @param buffer of the counters of another thread; new counters without it. */
  constructor(buffer = new SharedArrayBuffer(cellCount * Int32Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#cells = new Int32Array(buffer);
  }

  /** Counts a committed transaction. @param tables that it changed; `*`: any. */
  countCommit(tables: Iterable<string>): void {
    for (const table of tables) Atomics.add(this.#cells, findTableCell(table), 1);
    Atomics.add(this.#cells, commitCell, 1); // last: a thread that sees it also sees those of the tables
  }

  get commits(): number {
    return Atomics.load(this.#cells, commitCell);
  }

  /** Whether the store is being closed: no thread may read it any more. */
  get isClosed(): boolean {
    return Atomics.load(this.#cells, closedCell) === 1;
  }

  close(): void {
    Atomics.store(this.#cells, closedCell, 1);
  }

  /** A copy of all counters, for {@link sumTableCounters}. */
  copy(): Int32Array {
    const commits = this.commits;
    const copy = new Int32Array(this.#cells);
    copy[commitCell] = commits; // the others may be newer, but are not older
    return copy;
  }
}

/** The number of commits in a copy of the counters. */
export function readCommits(copy: Int32Array): number {
  return Atomics.load(copy, commitCell);
}

/** A number that differs if one of the tables was changed between two copies of the counters. */
export function sumTableCounters(copy: Int32Array, tables: readonly string[]): number {
  let sum = Atomics.load(copy, everyTableCell);
  for (const table of tables) sum += Atomics.load(copy, findTableCell(table));
  return sum;
}

/** FNV-1a. */
function findTableCell(table: string): number {
  if (table === '*') return everyTableCell;
  let hash = 0x811c9dc5;
  for (let index = 0; index < table.length; index += 1) hash = Math.imul(hash ^ table.charCodeAt(index), 0x01000193);
  return firstTableCell + ((hash >>> 0) % tableCells);
}
