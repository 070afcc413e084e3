import { type BoundStatement, DatabaseFault, type Row } from '../../database/database.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { limits } from '../../protocol/limits.ts';
import type { RecordContext } from '../record-context.ts';

/** Runs read statements, in the transaction under way where there is one; what the database refuses comes out as the error that the caller reads. */
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
    return new ApiError('QUERY_TIMEOUT', 'The read took longer than 5 seconds and was ended.', { retryAfter: 1 });
  if (error.kind === 'range') return new ApiError('LIMIT_EXCEEDED', 'A sum is past what 64 bits hold.');
  if (error.kind === 'overflow') {
    return new ApiError(
      'LIMIT_EXCEEDED',
      `A record has more than ${limits.appendedRecords} related records under "${error.message}"; list them instead.`,
    );
  }
  return error;
}
