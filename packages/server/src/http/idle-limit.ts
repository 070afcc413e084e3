import { ApiError } from '../protocol/api-error.ts';

/**
 * Passes pieces on, and fails if none arrives for a time. An upload may take long, but a client that has stopped sending must not
 * keep its connection and what it has begun.
 *
 * @throws ApiError `BODY_INVALID`
 */
export async function* limitIdleTime<T>(pieces: AsyncIterable<T>, milliseconds: number): AsyncGenerator<T> {
  const iterator = pieces[Symbol.asyncIterator]();
  try {
    for (;;) {
      const idle = Promise.withResolvers<never>();
      const timer = setTimeout(() => idle.reject(idleError(milliseconds)), milliseconds);
      const next = await Promise.race([iterator.next(), idle.promise]).finally(() => clearTimeout(timer));
      if (next.done) return;
      yield next.value;
    }
  } finally {
    // Not awaited: it waits for the piece that does not arrive.
    void iterator.return?.().catch(() => {});
  }
}

function idleError(milliseconds: number): ApiError {
  return new ApiError('BODY_INVALID', `No bytes of the body have arrived for ${milliseconds / 1000} seconds.`);
}
