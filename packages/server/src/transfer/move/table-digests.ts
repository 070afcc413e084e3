/** Counts and digests of a table whose ranges were compared one by one. */
import { createHash } from 'node:crypto';
import type { RowsDigest, TableComparison } from './sync-table.ts';

export interface ComparedRange {
  readonly source: RowsDigest;
  readonly target: RowsDigest;
  readonly changed: number;
}

export class TableDigests {
  readonly #source = createHash('sha256');
  readonly #target = createHash('sha256');
  #rows = 0;
  #changed = 0;

  add({ source, target, changed }: ComparedRange): void {
    this.#source.update(source.sha256);
    this.#target.update(target.sha256);
    this.#rows += source.rows;
    this.#changed += changed;
  }

  end(): TableComparison {
    return {
      rows: this.#rows,
      changed: this.#changed,
      sourceDigest: this.#source.digest('hex'),
      targetDigest: this.#target.digest('hex'),
    };
  }
}
