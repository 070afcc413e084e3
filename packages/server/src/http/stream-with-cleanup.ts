/**
 * A stream that holds something: what it holds is let go exactly once, when the stream has ended, has failed, or is
 * given up, also by somebody who never took a piece of it (a generator that was never begun does not run its `finally`).
 */
export function streamWithCleanup<T>(pieces: AsyncGenerator<T>, cleanUp: () => void): AsyncGenerator<T> {
  let isOpen = true;
  const finish = (): void => {
    if (!isOpen) return;
    isOpen = false;
    cleanUp();
  };
  const watchStep = async (step: Promise<IteratorResult<T>>): Promise<IteratorResult<T>> => {
    try {
      const result = await step;
      if (result.done) finish();
      return result;
    } catch (error) {
      finish();
      throw error;
    }
  };
  return {
    next: () => watchStep(pieces.next()),
    return: (value) => watchStep(pieces.return(value)),
    throw: (error) => watchStep(pieces.throw(error)),
    [Symbol.asyncIterator]() {
      return this;
    },
    [Symbol.asyncDispose]: async () => {
      await watchStep(pieces.return(undefined));
    },
  };
}
