/**
 * Connections of a reader that write are forwarded to the main thread byte for byte, so their requests are not parsed twice. The first
 * request decides: programs that write mostly keep connections for it, and a connection that has begun with a write once also gets its
 * reads from the main thread, which answers everything.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** A write, or a read by POST, which readers hand over too. After a sign-in, a program mostly reads, so it is handed over as a single request. */
const write = /^(?:POST|PUT|PATCH|DELETE) \/api\/(?!auth:)/;
/** How many bytes decide. */
const decisiveBytes = 30;
/** A client that has sent nothing for this long gets the time limits of a connection that waits for a request. */
const waitMilliseconds = 1000;

/** Looks at the first bytes of each connection before the server does. @param forward takes a connection, whose bytes are still to be read. */
export function forwardWrites(server: Server, forward: (socket: Socket) => void): void {
  const [accept] = server.listeners('connection');
  if (!accept) throw new Error('An HTTP server has a listener for its connections.');
  server.off('connection', accept as (socket: Socket) => void);
  server.on('connection', (socket: Socket) => {
    const take = (first: Buffer | null): void => {
      clearTimeout(timer);
      socket.off('data', take).off('end', end).off('error', ignore).pause();
      if (first) socket.unshift(first);
      if (first && write.test(first.toString('latin1', 0, decisiveBytes))) forward(socket);
      else accept.call(server, socket);
      socket.resume();
    };
    const end = (): void => {
      clearTimeout(timer);
      socket.destroy();
    };
    const timer = setTimeout(() => take(null), waitMilliseconds).unref();
    socket.on('data', take).on('end', end).on('error', ignore);
    socket.once('close', () => clearTimeout(timer));
  });
}

function ignore(): void {}
