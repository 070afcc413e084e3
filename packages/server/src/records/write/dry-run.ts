import { inTransaction, type RecordContext, type TransactionContext } from '../record-context.ts';

/** Carries the result of a dry run out of the transaction that it rolls back. */
class DryRunEnd extends Error {
  readonly result: unknown;

  constructor(result: unknown) {
    super('the dry run ends here');
    this.result = result;
  }
}

/**
 * Runs a write to its end and rolls it back.
 *
 * @param heavy many rows in one statement: it runs off the event loop.
 * @returns the result that the write would have had.
 */
export async function performDryRun<T>(
  context: RecordContext,
  write: (tx: TransactionContext) => Promise<T>,
  heavy = true,
): Promise<T> {
  try {
    const work = async (tx: TransactionContext): Promise<T> => {
      throw new DryRunEnd(await write(tx));
    };
    return await inTransaction(context, work, { heavy });
  } catch (error) {
    if (error instanceof DryRunEnd) return error.result as T;
    throw error;
  }
}
