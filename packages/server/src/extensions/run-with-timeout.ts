import type { Logger } from '../base/logger.ts';
import { ApiError } from '../protocol/api-error.ts';

/** Thrown by `refuse`. */
class Refusal extends Error {
  readonly details: Readonly<Record<string, string>> | undefined;

  constructor(message: string, details: Readonly<Record<string, string>> | undefined) {
    super(message);
    this.details = details;
  }
}

/** The `refuse` function that extensions receive. @param details messages by field. */
export function refuse(message: string, details?: Readonly<Record<string, string>>): never {
  throw new Refusal(message, details);
}

/**
 * Runs code of an extension with a time limit. Code that blocks the event loop cannot be ended: extensions run in the
 * server's own process.
 *
 * @throws ApiError `EXTENSION_REFUSED` with the message of `refuse`, `EXTENSION_FAILED` for any other error and after the
 * time limit.
 */
export async function runWithTimeout<T>(
  extension: string,
  milliseconds: number,
  logger: Logger,
  work: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`It did not end within ${milliseconds / 1000} seconds.`)),
    milliseconds,
  );
  try {
    return await Promise.race([(async () => work(controller.signal))(), promise]);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    if (error instanceof Refusal)
      throw new ApiError('EXTENSION_REFUSED', error.message, error.details && { details: error.details });
    logger.error({ err: error, extension }, 'An extension failed.');
    throw new ApiError('EXTENSION_FAILED', `The extension "${extension}" failed. The log of the server has the cause.`);
  } finally {
    clearTimeout(timer);
    controller.abort();
  }
}
