import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * The reply that belongs to the first request of a connection whose reply is not complete; null: all replies were sent. Node assigns the
 * connection to one reply after the other, so pipelined requests that come later have to wait.
 */
export function findCurrentReply(
  socket: Duplex & { readonly _httpMessage?: ServerResponse | null },
): ServerResponse | null {
  return socket._httpMessage ?? null;
}
