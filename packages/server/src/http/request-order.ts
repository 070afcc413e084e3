import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** The requests of one connection that have not been answered. */
interface RunningRequests {
  count: number;
  /** Whether one of them may write. */
  write: boolean;
  /** Resolves when all of them have been answered. */
  done: Promise<unknown>;
}

/**
 * Runs the pipelined requests of a connection in their order. Requests with safe methods run at the same time, as RFC 9112
 * (9.3.2) allows; a request that may write begins when all earlier ones have been answered, and later ones wait for it.
 */
export class RequestOrder {
  readonly #running = new WeakMap<Socket, RunningRequests>();

  /** @param work answers the request. It runs at once if no other request of the connection is running. */
  run<T>({ socket, method }: Pick<IncomingMessage, 'socket' | 'method'>, work: () => Promise<T>): Promise<T> {
    const write = method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS';
    const earlier = this.#running.get(socket);
    const mustWait = earlier !== undefined && (write || earlier.write);
    const result = mustWait ? earlier.done.then(work) : work();
    const settled = result.then(noop, noop);
    const requests = earlier ?? { count: 0, write, done: settled };
    if (earlier) {
      requests.write ||= write;
      requests.done = Promise.all([earlier.done, settled]);
    } else this.#running.set(socket, requests);
    requests.count += 1;
    void settled.then(() => {
      requests.count -= 1;
      if (requests.count === 0) this.#running.delete(socket);
    });
    return result;
  }
}

function noop(): void {}
