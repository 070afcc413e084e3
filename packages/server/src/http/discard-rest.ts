import type { IncomingMessage } from 'node:http';
import { limits } from '../protocol/limits.ts';
import { carriesBody } from './request-head.ts';

/**
 * Reads and discards the rest of a body, up to a limit; then the connection is closed. If it were closed immediately, the
 * client, which is still sending, would get a connection reset instead of the reply.
 */
export function discardRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed || !carriesBody(request)) return;
  let remaining: number = limits.discardedBytes;
  const close = (): void => void request.socket.destroy();
  const timer = setTimeout(close, limits.discardedMilliseconds);
  request.on('data', (chunk: Buffer) => {
    remaining -= chunk.length;
    if (remaining < 0) close();
  });
  request.on('error', () => {});
  request.once('close', () => clearTimeout(timer));
  request.resume();
}
