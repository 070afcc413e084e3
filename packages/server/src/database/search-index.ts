/**
 * Search indexes: the trigrams of the folded text of one field, as an engine stores and looks them up.
 *
 * An index only proposes records. A statement that uses one still contains the exact condition, so its result is that
 * of a scan.
 */
import type { Param, Sql } from './sql.ts';

/** A search index, and the column whose text it covers. */
export interface SearchIndex {
  readonly name: string;
  readonly table: string;
  readonly column: string;
}

/** How a text must match; `like` and `ilike` take patterns. */
export type SearchOperator = 'contains' | 'startsWith' | 'endsWith' | 'like' | 'ilike';

/** A condition on the text of a column that has a search index. */
export interface SearchTest {
  readonly index: string;
  readonly column: Sql;
  readonly operator: SearchOperator;
  /** The text or pattern; null if a variable has no value. */
  readonly operand: Param;
  /** The exact condition, as a scan tests it. */
  readonly exact: Sql;
}

/** The statements about search indexes that engines write differently. */
export interface SearchIndexSql {
  /**
   * Creates an empty index, and the triggers or other parts that maintain it with each write. Runs in the transaction
   * of the definition change.
   */
  create(index: SearchIndex): Sql[];
  /** Creates the parts that maintain an index again, if a rebuild of its table has removed them. */
  maintain(index: SearchIndex): Sql[];
  /** Drops an index in the transaction of the definition change. */
  drop(name: string): Sql[];
  /** Fills an index in batches of rows; null for an engine that builds it in one statement. */
  readonly batches: SearchIndexBatches | null;
  /** Builds an index in one statement, outside of a transaction; null for an engine that fills it in batches. */
  readonly concurrent: ConcurrentSearchIndex | null;
  /** Looks up candidates by row id, in their order; null if the planner of the engine does that. */
  readonly lookUp: SearchLookUp | null;
  /** The condition of a test in a form for which the planner uses the index; null if {@link lookUp} is used instead. */
  readonly indexed: ((test: SearchTest) => Sql) | null;
  /** A list of records is first searched in this many records in the order of the list; 0: it is not. */
  readonly probeLimit: number;
  /** Rows of one INSERT into a table that has search indexes. */
  readonly rowsPerInsert: number;
}

export interface SearchIndexBatches {
  /** One row: the last row id of the next batch, null if no rows are left, and the number of its rows. */
  next(index: SearchIndex, after: Param, size: number): Sql;
  /** Adds the rows of a batch. Rows that a write has already added are replaced. */
  fill(index: SearchIndex, after: Param, until: Param): Sql;
}

export interface ConcurrentSearchIndex {
  /** Statements that the engine needs before it can build search indexes. A refusal is not an error. */
  readonly prepare: readonly string[];
  /** One row with the schema of the operator class; no row if search indexes cannot be built. */
  readonly probe: Sql;
  /** For administrators: why search indexes cannot be built, and the cure. */
  readonly missing: string;
  create(index: SearchIndex, operatorClassSchema: string): Sql;
  /** Collects statistics about the folded text. Without them, the planner does not know how rare a word is. */
  analyze(index: SearchIndex): Sql;
  /**
   * The names of all search indexes in the store, and whether each is valid. The remains of an interrupted build are
   * not valid.
   */
  readonly list: Sql;
  dropConcurrently(name: string): Sql;
  /** The builds that are under way, also those of servers that have died. Rows: see {@link RunningBuild}. */
  readonly running: Sql;
  /** Ends builds. */
  interrupt(builds: readonly RunningBuild[]): Sql;
}

/** A build that the engine runs: its index and process, done and total units, and whether a change of its table waits for it. */
export type RunningBuild = readonly [name: string, process: number, done: number, total: number, isAwaited: boolean];

export interface SearchLookUp {
  /** The row id of a candidate, and of the row `alias`. */
  readonly rowId: Sql;
  rowIdOf(alias: string): Sql;
  /** The row ids of candidates, as the column `id`. @param further a condition on {@link rowId}, for example bounds of a page. */
  candidates(index: string, expression: Param, further: Sql | null): Sql;
  /** The expression of an operand; null if it contains no trigram. */
  expression(operator: SearchOperator, operand: string): string;
}
