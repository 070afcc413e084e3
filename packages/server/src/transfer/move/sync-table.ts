/** Makes a table of the target equal to that of the source, and counts and digests what both contain. */
import { createHash, type Hash } from 'node:crypto';
import { DatabaseFault } from '../../database/database.ts';
import type { MoveTarget } from '../../database/move/move-stores.ts';
import {
  compareRowKeys,
  type KeyRange,
  type MovedRow,
  type MovedTable,
  wholeTable,
} from '../../database/move/moved-table.ts';

/** What one pass over a table found. If nothing was changed, both sides are equal. */
export interface TableComparison {
  readonly rows: number;
  /** Rows that were added to the target or removed from it. */
  readonly changed: number;
  /** SHA-256 of the rows of the source, and of those that the target had, hexadecimal. */
  readonly sourceDigest: string;
  readonly targetDigest: string;
}

/** Changes are written in transactions of about this many rows or characters. */
const maxPendingRows = 1000;
const maxPendingCharacters = 2 * 1024 * 1024;

/** What becomes equal to what. */
export interface TableSync {
  readonly table: MovedTable;
  /** The rows of the source in the order of the key, all of {@link range}. */
  readonly rows: AsyncGenerator<readonly MovedRow[]>;
  readonly target: MoveTarget;
  readonly range?: KeyRange;
}

/**
 * Compares all rows in the order of their keys and writes the differences to the target. The source may be written
 * meanwhile. If a call is interrupted, the next call continues its work, because equal rows are not written again.
 */
export async function syncTable({ table, rows, target, range = wholeTable }: TableSync): Promise<TableComparison> {
  const [sourceRows, targetRows] = [new RowReader(rows), new RowReader(target.rows(table, range))];
  const pending = new PendingChanges(target, table);
  try {
    let [from, to] = [await sourceRows.next(), await targetRows.next()];
    while (from !== null || to !== null) {
      const order = from === null ? 1 : to === null ? -1 : compareRowKeys(table, from, to);
      if (order !== 0 || !isEqual(from, to))
        await pending.add({ removed: order >= 0 ? to : null, added: order <= 0 ? from : null });
      // If the keys are equal, both readers advance.
      const [readSource, readTarget] = [order <= 0, order >= 0];
      if (readSource) from = await sourceRows.next();
      if (readTarget) to = await targetRows.next();
    }
    await pending.flush();
    return {
      rows: sourceRows.count,
      changed: pending.changed,
      sourceDigest: sourceRows.digest(),
      targetDigest: targetRows.digest(),
    };
  } finally {
    await sourceRows.close();
    await targetRows.close();
  }
}

/** The number of rows, and the SHA-256 of their values, hexadecimal. */
export interface RowsDigest {
  readonly rows: number;
  readonly sha256: string;
}

export async function digestRows(
  batches: AsyncIterable<readonly MovedRow[]> | Iterable<readonly MovedRow[]>,
): Promise<RowsDigest> {
  const hash = createHash('sha256');
  let rows = 0;
  for await (const batch of batches) {
    updateDigest(hash, batch);
    rows += batch.length;
  }
  return { rows, sha256: hash.digest('hex') };
}

/** It does not depend on how the rows are divided into batches. */
function updateDigest(hash: Hash, batch: readonly MovedRow[]): void {
  if (batch.length === 0) return;
  hash.update(JSON.stringify(batch).slice(1, -1));
  hash.update(',');
}

function isEqual(one: MovedRow | null, other: MovedRow | null): boolean {
  return one !== null && other !== null && one.every((each, index) => each === other[index]);
}

/** Reads rows one by one, and digests them. */
class RowReader {
  readonly #batches: AsyncGenerator<readonly MovedRow[]>;
  readonly #hash: Hash = createHash('sha256');
  #batch: readonly MovedRow[] = [];
  #index = 0;
  count = 0;

  constructor(batches: AsyncGenerator<readonly MovedRow[]>) {
    this.#batches = batches;
  }

  async next(): Promise<MovedRow | null> {
    while (this.#index === this.#batch.length) {
      const read = await this.#batches.next();
      if (read.done) return null;
      this.#batch = read.value;
      this.#index = 0;
      updateDigest(this.#hash, this.#batch);
    }
    const row = this.#batch[this.#index] ?? null;
    this.#index += 1;
    this.count += 1;
    return row;
  }

  digest(): string {
    return this.#hash.digest('hex');
  }

  async close(): Promise<void> {
    await this.#batches.return(undefined);
  }
}

/** Differences that are not written yet. */
class PendingChanges {
  readonly #target: MoveTarget;
  readonly #table: MovedTable;
  #removed: MovedRow[] = [];
  #added: MovedRow[] = [];
  #characters = 0;
  changed = 0;

  constructor(target: MoveTarget, table: MovedTable) {
    this.#target = target;
    this.#table = table;
  }

  async add({ removed, added }: { readonly removed: MovedRow | null; readonly added: MovedRow | null }): Promise<void> {
    if (removed) this.#removed.push(removed);
    if (added) this.#added.push(added);
    for (const each of added ?? []) this.#characters += each?.length ?? 4;
    this.changed += Number(removed !== null) + Number(added !== null);
    if (this.#removed.length + this.#added.length >= maxPendingRows || this.#characters >= maxPendingCharacters)
      await this.flush();
  }

  /**
   * An added row may have a unique value of a row that is only removed later. Then only the removals are written, and
   * the next pass adds the rows.
   */
  async flush(): Promise<void> {
    const [removed, added] = [this.#removed, this.#added];
    [this.#removed, this.#added, this.#characters] = [[], [], 0];
    if (removed.length + added.length === 0) return;
    try {
      await this.#target.apply(this.#table, { removed, added });
    } catch (error) {
      if (!(error instanceof DatabaseFault && error.kind === 'unique')) throw error;
      await this.#target.apply(this.#table, { removed, added: [] });
    }
  }
}
