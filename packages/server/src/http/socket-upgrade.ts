import type { IncomingMessage } from 'node:http';
import { findCurrentReply } from './current-reply.ts';
import { carriesBody } from './request-head.ts';
import { realtimePath } from './route.ts';

/**
 * Whether a request becomes a WebSocket. All other requests with `Upgrade` get normal replies: other protocols, other paths, requests with
 * a body, and requests behind an earlier one whose reply is not complete, because the connection still belongs to that reply.
 */
export function shouldUpgrade(request: IncomingMessage): boolean {
  const { url = '', headers, socket } = request;
  return (
    headers.upgrade?.toLowerCase() === 'websocket' &&
    url.split('?')[0] === realtimePath &&
    !carriesBody(request) &&
    findCurrentReply(socket) === null
  );
}
