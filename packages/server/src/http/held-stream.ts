/**
 * A stream that holds something: what it holds is let go exactly once, when the stream has ended, has failed, or is
 * given up, also by somebody who never took a piece of it (a generator that was never begun does not run its `finally`).
 */
export function heldStream<T>(pieces: AsyncGenerator<T>, letGo: () => void): AsyncGenerator<T> {
  let held = true;
  const ended = (): void => {
    if (!held) return;
    held = false;
    letGo();
  };
  const watched = async (step: Promise<IteratorResult<T>>): Promise<IteratorResult<T>> => {
    try {
      const result = await step;
      if (result.done) ended();
      return result;
    } catch (error) {
      ended();
      throw error;
    }
  };
  return {
    next: () => watched(pieces.next()),
    return: (value) => watched(pieces.return(value)),
    throw: (error) => watched(pieces.throw(error)),
    [Symbol.asyncIterator]() {
      return this;
    },
    [Symbol.asyncDispose]: async () => {
      await watched(pieces.return(undefined));
    },
  };
}
