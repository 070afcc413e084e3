/**
 * How an engine reads one page of rows. Engines differ in where the total comes from, how a stale statement is
 * recognised and how a large total is estimated; a {@link PageQuery} hides that from the planners and readers.
 */
import type { Row } from './database.ts';
import type { Sql } from './sql.ts';

export interface PageQueryParts {
  /** The query for the page's rows. */
  readonly rows: Sql;
  /** How many columns it has. */
  readonly columns: number;
  /** The rows that make up the total; null if no total is wanted. */
  readonly count: CountedRows | null;
  /** The total is exact up to this number. */
  readonly cap: number;
}

/** Rows of one table: `table` is quoted, `where` begins with ` WHERE ` or is empty. */
export interface CountedRows {
  readonly table: string;
  readonly where: Sql;
  /** Conditions on the same rows: one that search indexes answer if `when` holds, and one for a scan. */
  readonly indexed?: { readonly condition: Sql; readonly scan: Sql; readonly when: Sql };
}

export interface PageQuery {
  /** Reads the page, on some engines together with the total. */
  readonly page: Sql;
  /** Reads the total in one row; null if the page carries it, or where no total is wanted. */
  readonly count: Sql | null;
  /** Estimates a total that is larger than the cap; null if the total already is an estimate. */
  readonly estimate: { readonly statement: Sql; readonly read: (row: Row) => number } | null;
  /**
   * The rows of {@link PageQueryParts.rows} and their total, from the results of `page` and `count`.
   *
   * @throws StaleVersion when the statement was compiled for another snapshot.
   */
  readonly read: ReadPage;
}

export type ReadPage = (rows: readonly Row[], countRow?: Row | null) => PageResult;

export interface PageResult {
  readonly rows: readonly Row[];
  /** Null if no total is wanted. */
  readonly total: PageTotal | null;
}

/** A count above the cap that is not an estimate means more than the cap. */
export interface PageTotal {
  readonly count: number;
  readonly isEstimate: boolean;
}
