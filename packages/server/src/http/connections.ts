import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { countEarlyReplies } from './request-order.ts';

/** Limits of unread bytes of replies, which stay in memory until the client reads them. */
export interface UnreadLimits {
  /** A client that reads nothing of its replies for this long is disconnected. */
  readonly stalledMilliseconds: number;
  /**
   * Unread bytes of all connections. Above this limit, the connections with the most unread bytes are closed, if their
   * clients have read nothing for a while.
   */
  readonly bytes: number;
  /** How often the connections are checked. */
  readonly intervalMilliseconds: number;
}

/** The limits of the main thread. */
export const unreadLimits: UnreadLimits = {
  stalledMilliseconds: 60_000,
  bytes: 256 * 1024 * 1024,
  intervalMilliseconds: 5000,
};

/** A connection whose client has not read all bytes of its replies. */
interface UnreadConnection {
  /** Changes when the client reads bytes. */
  readonly progress: string;
  /** By `performance.now()`. */
  readonly since: number;
}

/** Every open connection of a server. Node's own list leaves out those that were upgraded. */
export class Connections {
  readonly #open = new Set<Socket>();
  readonly #limits: UnreadLimits;
  #unread = new Map<Socket, UnreadConnection>();

  constructor(server: Server, limits = unreadLimits) {
    this.#limits = limits;
    const timer = setInterval(() => this.#limitUnread(), limits.intervalMilliseconds).unref();
    server
      .on('close', () => clearInterval(timer))
      .on('connection', (socket: Socket) => {
        this.#open.add(socket);
        socket.once('close', () => this.#open.delete(socket));
      });
  }

  /** The number of open connections. */
  get count(): number {
    return this.#open.size;
  }

  /** Destroys all connections at once, without waiting for their requests. */
  destroyAll(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #limitUnread(): void {
    const { stalledMilliseconds, bytes, intervalMilliseconds } = this.#limits;
    const now = performance.now();
    const before = this.#unread;
    this.#unread = new Map();
    let total = 0;
    for (const socket of this.#open) {
      if (socket.writableLength === 0) continue;
      const progress = readProgress(socket);
      const last = before.get(socket);
      const since = last?.progress === progress ? last.since : now;
      if (now - since >= stalledMilliseconds) socket.destroy();
      else {
        this.#unread.set(socket, { progress, since });
        total += estimateUnread(socket);
      }
    }
    if (total <= bytes) return;
    const stalled = [...this.#unread].filter(([, { since }]) => now - since >= 2 * intervalMilliseconds);
    stalled.sort(([a], [b]) => estimateUnread(b) - estimateUnread(a));
    for (const [socket] of stalled) {
      if (total <= bytes) return;
      total -= estimateUnread(socket);
      socket.destroy();
    }
  }
}

/**
 * The bytes in memory for a connection. Replies that wait for the current one are assumed to be as long as that one.
 */
function estimateUnread(socket: Socket): number {
  return socket.writableLength * (1 + countEarlyReplies(socket));
}

/** The bytes that were written completely, and those that the system has not taken of the write under way. */
function readProgress(socket: Socket & { readonly _handle?: { readonly writeQueueSize?: number } | null }): string {
  return `${socket.bytesWritten - socket.writableLength} ${socket._handle?.writeQueueSize ?? 0}`;
}
