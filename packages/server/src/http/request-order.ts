import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

type OrderedRequest = Pick<IncomingMessage, 'socket' | 'method'>;

/** The pipelined requests of a connection that have not been answered. */
interface RunningRequests {
  count: number;
  /** Whether the running one may write. It then runs alone. */
  write: boolean;
  /** Those that wait for their turn, in their order. */
  readonly waiting: { readonly write: boolean; readonly start: () => void }[];
}

const running = Symbol('running requests');

/**
 * The order of the pipelined requests of a connection. Requests with safe methods run at the same time, as RFC 9112 (9.3.2) allows; a
 * request that may write begins when all earlier ones have been answered, and later ones wait for it.
 */
export class RequestOrder {
  /** Runs a request when it is its turn: at once, if no other request of the connection is running. */
  async run<T>(request: OrderedRequest, work: () => Promise<T>): Promise<T> {
    const requests = findRequests(request.socket);
    const write = request.method !== 'GET' && request.method !== 'HEAD' && request.method !== 'OPTIONS';
    if (requests.waiting.length === 0 && mayRun(requests, write)) addRequest(requests, write);
    else await new Promise<void>((start) => requests.waiting.push({ write, start }));
    try {
      return await work();
    } finally {
      requests.count -= 1;
      startWaiting(requests);
    }
  }
}

function startWaiting(requests: RunningRequests): void {
  for (let next = requests.waiting[0]; next && mayRun(requests, next.write); next = requests.waiting[0]) {
    requests.waiting.shift();
    addRequest(requests, next.write);
    next.start();
  }
}

function findRequests(socket: Socket & { [running]?: RunningRequests }): RunningRequests {
  socket[running] ??= { count: 0, write: false, waiting: [] };
  return socket[running];
}

function mayRun({ count, write: isAlone }: RunningRequests, write: boolean): boolean {
  return count === 0 || !(write || isAlone);
}

function addRequest(requests: RunningRequests, write: boolean): void {
  requests.count += 1;
  requests.write = write;
}
