/**
 * Moves connections that write from a reader to the main thread, so that their requests are not parsed and sent twice.
 * The first request of a connection decides, because programs that write mostly use separate connections for that. A
 * moved connection also gets its reads from the main thread, which answers everything.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { MessagePort, Transferable } from 'node:worker_threads';
import type { MovedConnection } from './reader-messages.ts';

/**
 * Matches a write, or a read by POST, which readers hand over too. Actions of `auth` do not match: after a sign-in, a
 * program mostly reads, so only that request is handed over.
 */
const write = /^(?:POST|PUT|PATCH|DELETE) \/api\/(?!auth:)/;
/** The number of bytes that decide. */
const decisiveBytes = 30;
/** A client that has sent nothing for this long gets the time limits of a connection that waits for a request. */
const waitMilliseconds = 1000;
/** The counters of the bytes that a socket has read and written. */
const counters = ['bytesRead', 'bytesWritten'] as const;

/** Looks at the first bytes of each connection before the server does. @param move takes a connection and the bytes that were read. */
export function moveWrites(server: Server, move: (socket: Socket, first: Buffer) => void): void {
  const [accept] = server.listeners('connection');
  if (!accept) throw new Error('An HTTP server has a listener for its connections.');
  server.off('connection', accept as (socket: Socket) => void);
  server.on('connection', (socket: Socket) => {
    const take = (first: Buffer | null): void => {
      clearTimeout(timer);
      socket.off('data', take).off('end', end).off('error', ignore).pause();
      if (first && write.test(first.toString('latin1', 0, decisiveBytes))) move(socket, first);
      else {
        if (first) socket.unshift(first);
        accept.call(server, socket);
        socket.resume();
      }
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

/**
 * Sends a connection to the thread at the other end of a port.
 *
 * @returns false if that cannot be done: bytes wait to be written, or Node is too old.
 */
export function sendConnection(port: Pick<MessagePort, 'postMessage'>, socket: Socket, first: Buffer): boolean {
  const bytes = Uint8Array.from(first);
  const message: MovedConnection = { kind: 'connection', socket, first: bytes };
  // Node refuses sockets that have read or written something, because their bytes could be lost. Here, the bytes that
  // were read are sent along.
  for (const counter of counters) Object.defineProperty(socket, counter, { value: 0, configurable: true });
  try {
    port.postMessage(message, [socket as unknown as Transferable, bytes.buffer]);
    return true;
  } catch {
    for (const counter of counters) Reflect.deleteProperty(socket, counter);
    return false;
  }
}

/** Gives a connection that another thread has sent to a function that serves it. */
export function receiveConnection({ socket, first }: MovedConnection, serve: (socket: Socket) => void): void {
  socket.unshift(first);
  serve(socket);
  socket.resume();
}

function ignore(): void {}
