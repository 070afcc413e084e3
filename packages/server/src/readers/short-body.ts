/** Reads short bodies in a reader, before it is known which thread answers the request. */
import type { IncomingMessage } from 'node:http';

/** What has arrived of a short body. */
export interface ShortBody {
  readonly bytes: Buffer;
  /** Otherwise the rest can still be read from the request. */
  readonly isComplete: boolean;
}

/** The maximum length of a short body, in bytes. */
const maxShortBody = 64 * 1024;
/** Before the time limit of the main thread begins, which gets the rest of slower bodies. */
const patienceMilliseconds = 5000;

/** Whether a body is short. A client that waits for `100 Continue` sends none until the main thread agrees. */
export function isShortBody({ headers }: IncomingMessage): boolean {
  return headers.expect === undefined && Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= maxShortBody;
}

/** Reads a short body, for five seconds. Never rejects: a body that ends early is not complete. */
export function receiveShortBody(request: IncomingMessage): Promise<ShortBody> {
  const { promise, resolve } = Promise.withResolvers<ShortBody>();
  const pieces: Buffer[] = [];
  const settle = (isComplete: boolean): void => {
    clearTimeout(timer);
    request.off('data', receive).off('end', end).off('error', abort).off('close', abort);
    const [first] = pieces;
    resolve({ bytes: first && pieces.length === 1 ? first : Buffer.concat(pieces), isComplete });
  };
  const receive = (piece: Buffer): void => void pieces.push(piece);
  const end = (): void => settle(true);
  const abort = (): void => settle(false);
  const timer = setTimeout(() => {
    request.pause();
    settle(false);
  }, patienceMilliseconds);
  request.on('data', receive).on('end', end).on('error', abort).on('close', abort);
  return promise;
}
