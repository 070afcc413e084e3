/** Records what one run of a read has cost, in the shape of its plan. */
import type { BoundStatement, Row } from '../../database/database.ts';
import type { PageResult } from '../../database/page-query.ts';
import { readVisitedRows } from '../../database/visited-rows.ts';
import type { ListPlan } from '../../query/read-plan.ts';
import type { RecordedPlan } from '../record-context.ts';
import type { RequestShape } from '../request-shapes.ts';

/** One run of a read. */
interface ReadRun {
  readonly statement: BoundStatement;
  /** When it began, by `performance.now()`. */
  readonly started: number;
  /** The rows of the statement. */
  readonly rows: readonly Row[];
}

/** Records a read that returns some records, or groups of them. */
export function recordRead(
  shape: RequestShape | null,
  { statement, started, rows, returned, hasMore }: ReadRun & { readonly returned: number; readonly hasMore: boolean },
): void {
  const milliseconds = performance.now() - started;
  shape?.record({ visited: readVisitedRows(rows), returned, hasMore, visitedByTotal: 0, milliseconds, statement });
}

interface ListRun extends ReadRun {
  readonly result: PageResult;
  /** Rows that the statement of the total visited. */
  readonly countVisited: number;
  readonly pageSize: number;
  /** Records that the page skips: no index avoids that. */
  readonly offset: number;
}

/** Records a page of a list. */
export function recordList({ shape, keyNames }: RecordedPlan<ListPlan>, run: ListRun): void {
  const { statement, started, rows, result, countVisited, pageSize, offset } = run;
  const read = keyNames ? Number(result.rows[0]?.[1] ?? 0) : result.rows.length;
  shape?.record({
    visited: Math.max(0, readVisitedRows(rows) - offset),
    returned: Math.min(read, pageSize),
    hasMore: read > pageSize,
    visitedByTotal: Math.max(0, countVisited - (result.total?.count ?? 0)),
    milliseconds: performance.now() - started,
    statement,
  });
}
