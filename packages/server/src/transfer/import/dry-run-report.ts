/** The reply to a dry run, which is collected row by row. */
import { TextSpool } from '../../base/text-spool.ts';
import type { RefusedRow } from '../../database/import-rows.ts';
import { limits } from '../../protocol/limits.ts';
import { toRowError } from './import-row.ts';

/** Refused rows whose cells are shown, and how much of each. */
const maxShown = { rows: 100, cells: 100, length: 100 } as const;

/** What a dry run found in some rows. */
interface CheckedRows {
  readonly created: number;
  readonly updated: number;
  readonly refused: readonly RefusedRow[];
}

/**
 * Counts what an import would do, and collects why rows are refused:
 * `{"rows": 2, "created": 1, "updated": 0, "refused": 1, "truncated": false, "errors": [{"line": 3, "column": "Price", …}]}`.
 * The errors can be longer than the memory of a request, so they are JSON text in a {@link TextSpool}.
 */
export class DryRunReport {
  readonly #maxErrors: number;
  readonly #errors = new TextSpool();
  readonly #counts = { rows: 0, created: 0, updated: 0, refused: 0 };
  #listed = 0;

  /** @param maxErrors refused rows that are listed; null: all, up to `limits.dryRunErrorBytes`. */
  constructor(maxErrors: number | null) {
    this.#maxErrors = maxErrors ?? Number.POSITIVE_INFINITY;
  }

  async add(rows: number, { created, updated, refused }: CheckedRows): Promise<void> {
    this.#counts.rows += rows;
    this.#counts.created += created;
    this.#counts.updated += updated;
    this.#counts.refused += refused.length;
    for (const each of refused) {
      if (this.#listed >= this.#maxErrors || this.#errors.bytes > limits.dryRunErrorBytes) return;
      const { path: _, ...error } = toRowError(each);
      const cells = this.#listed < maxShown.rows ? each.cells.slice(0, maxShown.cells).map(shorten) : null;
      await this.#errors.append(`${this.#listed === 0 ? '' : ','}${JSON.stringify({ ...error, cells })}`);
      this.#listed += 1;
    }
  }

  /** Whether the whole report is in memory. */
  get isShort(): boolean {
    return this.#errors.isShort;
  }

  /** The report as JSON text. */
  async *toJson(): AsyncGenerator<Uint8Array> {
    const truncated = this.#counts.refused > this.#listed;
    yield Buffer.from(`${JSON.stringify({ ...this.#counts, truncated }).slice(0, -1)},"errors":[`);
    yield* this.#errors.read();
    yield Buffer.from(']}');
  }

  /** Frees the temporary file. */
  close(): Promise<void> {
    return this.#errors.close();
  }
}

/** Collects a report. The caller closes it. */
export async function collectDryRun(
  maxErrors: number | null,
  work: (report: DryRunReport) => Promise<void>,
): Promise<DryRunReport> {
  const report = new DryRunReport(maxErrors);
  try {
    await work(report);
    return report;
  } catch (error) {
    await report.close();
    throw error;
  }
}

function shorten(cell: string | null): string | null {
  return cell?.slice(0, maxShown.length).toWellFormed() ?? null;
}
