import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type OrderedRequest = Pick<IncomingMessage, 'socket' | 'method'>;
type OrderedResponse = Pick<ServerResponse, 'socket' | 'once'>;

/** Replies of a connection that wait in memory for an earlier one to be sent. A client may send many requests and read nothing. */
const maxWaitingReplies = 4;

interface WaitingRequest {
  readonly write: boolean;
  readonly begin: () => void;
  readonly resolve: () => void;
}

/** The pipelined requests of a connection that have not been answered. */
interface RunningRequests {
  count: number;
  /** Requests that run, or have been answered, while an earlier reply has not been sent. */
  early: number;
  /** Whether the running request may write. No other request then runs. */
  write: boolean;
  /** Requests that wait until they may run, in their order. */
  waiting: WaitingRequest[];
}

const running = Symbol('running requests');

/**
 * The order of the pipelined requests of a connection. Requests with safe methods run at the same time, as RFC 9112 (9.3.2) allows; a
 * request that may write begins when all earlier ones have been answered, and later ones wait for it. Only a few of them run while an
 * earlier reply has not been sent.
 */
export class RequestOrder {
  /** Runs a request when the order allows it: immediately if no other request of the connection is running. */
  async run<T>(request: OrderedRequest, response: OrderedResponse, work: () => Promise<T>): Promise<T> {
    const requests = findRequests(request.socket);
    const write = request.method !== 'GET' && request.method !== 'HEAD' && request.method !== 'OPTIONS';
    const begin = (): void => {
      addRequest(requests, write);
      // A response without a socket waits for an earlier one.
      if (response.socket === null) countEarly(requests, request, response);
    };
    if (requests.waiting.length === 0 && mayRun(requests, write)) begin();
    else await new Promise<void>((resolve) => requests.waiting.push({ write, begin, resolve }));
    try {
      return await work();
    } finally {
      requests.count -= 1;
      startWaiting(requests);
    }
  }
}

/** How many replies of a connection are in memory, or will be, until earlier ones have been sent. */
export function countEarlyReplies(socket: Socket & { readonly [running]?: RunningRequests }): number {
  return socket[running]?.early ?? 0;
}

function startWaiting(requests: RunningRequests): void {
  for (let next = requests.waiting[0]; next && mayRun(requests, next.write); next = requests.waiting[0]) {
    requests.waiting.shift();
    next.begin();
    next.resolve();
  }
}

function findRequests(socket: Socket & { [running]?: RunningRequests }): RunningRequests {
  const found = socket[running];
  if (found) return found;
  const requests: RunningRequests = { count: 0, early: 0, write: false, waiting: [] };
  socket[running] = requests;
  return requests;
}

function mayRun({ count, early, write: isExclusive }: RunningRequests, write: boolean): boolean {
  return early < maxWaitingReplies && (count === 0 || !(write || isExclusive));
}

/** Counts a request until its reply has been sent, or the connection has ended. */
function countEarly(requests: RunningRequests, { socket }: OrderedRequest, response: OrderedResponse): void {
  let isOpen = true;
  const end = (): void => {
    if (!isOpen) return;
    isOpen = false;
    requests.early -= 1;
    socket.off('close', abandon);
    startWaiting(requests);
  };
  const abandon = (): void => {
    // Nobody reads the replies of reads that have not begun.
    requests.waiting = requests.waiting.filter(({ write }) => write);
    end();
  };
  requests.early += 1;
  socket.once('close', abandon);
  response.once('close', end);
}

function addRequest(requests: RunningRequests, write: boolean): void {
  requests.count += 1;
  requests.write = write;
}
