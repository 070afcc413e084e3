/** How the engine's planner reads the tables of a statement. */

/** One table of a statement, or one of its indexes. */
export interface TableAccess {
  readonly table: string;
  /** The name of the index; null: the table itself, or its primary key. */
  readonly index: string | null;
  /** Whether values are looked up; otherwise the rows are read one after the other. */
  readonly seeks: boolean;
}

/** The access paths of one statement. */
export interface StatementAccess {
  readonly tables: readonly TableAccess[];
  /** Whether rows are sorted after they have been read. */
  readonly sorts: boolean;
  /** How many rows the page of the statement visits, by the planner's statistics; null if the engine counts them instead. */
  readonly visited: number | null;
  /** How many rows its total visits besides those that it counts; null like {@link visited}. */
  readonly visitedByTotal: number | null;
}
