import type { Logger } from '../base/logger.ts';
import { ApiError } from '../protocol/api-error.ts';

/** Thrown by `refuse`: what an extension says to the caller. */
class Refusal extends Error {
  readonly details: Readonly<Record<string, string>> | undefined;

  constructor(message: string, details: Readonly<Record<string, string>> | undefined) {
    super(message);
    this.details = details;
  }
}

export function refuse(message: string, details?: Readonly<Record<string, string>>): never {
  throw new Refusal(message, details);
}

/**
 * Runs code of an extension, for so long at most: what it throws, or does not end, becomes an error that names it.
 *
 * Code that never lets go of the event loop cannot be ended: extensions run in the server's own process.
 *
 * @throws ApiError `EXTENSION_REFUSED` with its own words, `EXTENSION_FAILED` for anything else.
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
    () => reject(new Error(`it did not end within ${milliseconds / 1000} seconds`)),
    milliseconds,
  );
  try {
    return await Promise.race([(async () => work(controller.signal))(), promise]);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    if (error instanceof Refusal)
      throw new ApiError('EXTENSION_REFUSED', error.message, error.details && { details: error.details });
    logger.error({ err: error, extension }, 'an extension failed');
    throw new ApiError('EXTENSION_FAILED', `The extension "${extension}" failed; the log says more.`);
  } finally {
    clearTimeout(timer);
    controller.abort();
  }
}
