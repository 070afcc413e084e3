/** The reply to a dry run, which is collected row by row. */
import type { RefusedRow } from '../../database/import-rows.ts';
import { limits } from '../../protocol/limits.ts';
import { toRowError } from './import-row.ts';

/** Refused rows whose cells are shown, and how much of each. */
const maxShown = { rows: 100, cells: 100, length: 100 } as const;

/** A refused row of a dry run. */
export interface DryRunError {
  readonly line: number;
  readonly column: string | null;
  readonly field: string | null;
  readonly value: string | null;
  readonly reason: string;
  /** The texts of the row, in the order of the columns; null if there are too many errors to show them. */
  readonly cells: readonly (string | null)[] | null;
}

/** What an import would do. */
export interface DryRunReport {
  readonly rows: number;
  readonly created: number;
  readonly updated: number;
  readonly refused: number;
  readonly errors: readonly DryRunError[];
  /** Whether there are more errors. */
  readonly truncated: boolean;
}

export class DryRunCounts {
  #rows = 0;
  #created = 0;
  #updated = 0;
  #refused = 0;
  readonly #errors: DryRunError[] = [];

  add(rows: number, outcome: { created: number; updated: number; refused: readonly RefusedRow[] }): void {
    const { created, updated, refused } = outcome;
    this.#rows += rows;
    this.#created += created;
    this.#updated += updated;
    this.#refused += refused.length;
    for (const each of refused.slice(0, limits.dryRunErrors - this.#errors.length)) {
      const { path: _, ...error } = toRowError(each);
      const cells = this.#errors.length < maxShown.rows ? each.cells.slice(0, maxShown.cells).map(shorten) : null;
      this.#errors.push({ ...error, cells });
    }
  }

  get report(): DryRunReport {
    const [rows, created, updated, refused] = [this.#rows, this.#created, this.#updated, this.#refused];
    return { rows, created, updated, refused, errors: this.#errors, truncated: refused > this.#errors.length };
  }
}

function shorten(cell: string | null): string | null {
  return cell?.slice(0, maxShown.length).toWellFormed() ?? null;
}
