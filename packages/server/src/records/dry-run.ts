import { inTransaction, type RecordContext, type TransactionContext } from './record-context.ts';

/** Carries what a trial came to out of the transaction that it takes back. */
class DryRunEnd extends Error {
  readonly result: unknown;

  constructor(result: unknown) {
    super('the trial ends here');
    this.result = result;
  }
}

/** Runs a write to its end and takes it back; what it would have answered is returned. */
export async function performDryRun<T>(
  context: RecordContext,
  write: (tx: TransactionContext) => Promise<T>,
): Promise<T> {
  try {
    const work = async (tx: TransactionContext): Promise<T> => {
      throw new DryRunEnd(await write(tx));
    };
    return await inTransaction(context, work, { heavy: true });
  } catch (error) {
    if (error instanceof DryRunEnd) return error.result as T;
    throw error;
  }
}
