import { type RecordContext, together } from './record-context.ts';

/** Carries what a trial came to out of the transaction that it takes back. */
class TrialEnd extends Error {
  readonly result: unknown;

  constructor(result: unknown) {
    super('the trial ends here');
    this.result = result;
  }
}

/** Runs a write to its end and takes it back; what it would have answered is returned. */
export async function tried<T>(context: RecordContext, write: (inside: RecordContext) => Promise<T>): Promise<T> {
  try {
    const work = async (inside: RecordContext): Promise<T> => {
      throw new TrialEnd(await write(inside));
    };
    return await together(context, work, { heavy: true });
  } catch (error) {
    if (error instanceof TrialEnd) return error.result as T;
    throw error;
  }
}
