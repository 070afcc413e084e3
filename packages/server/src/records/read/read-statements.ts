import { type BoundStatement, DatabaseFault, type Row } from '../../database/database.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { limits } from '../../protocol/limits.ts';
import type { RecordContext } from '../record-context.ts';

/** Runs one read statement, as {@link runReads} does. */
export async function runReadStatement(context: RecordContext, statement: BoundStatement): Promise<readonly Row[]> {
  const [rows] = await runReads(context, [statement]);
  return rows ?? [];
}

/**
 * Runs read statements in the open transaction, or in one read transaction of their own.
 *
 * @returns the rows of each statement.
 * @throws ApiError `QUERY_TIMEOUT` or `LIMIT_EXCEEDED` for faults of the database.
 */
export async function runReads(context: RecordContext, statements: readonly BoundStatement[]): Promise<Row[][]> {
  try {
    if (!context.tx) return await context.database.read(statements);
    const results: Row[][] = [];
    for (const statement of statements) results.push(await context.tx.run(statement));
    return results;
  } catch (error) {
    throw toReadError(error);
  }
}

function toReadError(error: unknown): unknown {
  if (!(error instanceof DatabaseFault)) return error;
  if (error.kind === 'timeout')
    return new ApiError(
      'QUERY_TIMEOUT',
      'The read took longer than 5 seconds and was stopped. Narrow it or add an index.',
      { retryAfter: 1 },
    );
  if (error.kind === 'range') return new ApiError('LIMIT_EXCEEDED', 'A sum exceeds the range of 64 bits.');
  if (error.kind === 'overflow')
    return new ApiError(
      'LIMIT_EXCEEDED',
      `A record has more than ${limits.appendedRecords} related records under "${error.message}"; list them instead.`,
    );
  return error;
}
