/**
 * A stream with a cleanup function, which is called exactly once: when the stream has ended, has failed, or is abandoned. That
 * includes a stream that was never read, for which a generator would not run its `finally`.
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
