/**
 * WebSockets on `/api/realtime` (RFC 6455): upgrades, limits and closing. The messages are in realtime-socket.ts.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { WebSocket, WebSocketServer } from 'ws';
import type { Applications } from '../applications/applications.ts';
import type { StoredSettings } from '../applications/stored-settings.ts';
import type { Config } from '../base/config.ts';
import { loadLater } from '../base/load-later.ts';
import type { Logger } from '../base/logger.ts';
import { nodeHttp } from '../base/node-http.ts';
import { limits } from '../protocol/limits.ts';
import { findCurrentReply } from './current-reply.ts';
import type { RateLimits } from './rate-limits.ts';
import { closeCodes, RealtimeSocket } from './realtime-socket.ts';

export interface SocketParts {
  readonly settings: StoredSettings;
  readonly applications: Applications;
  readonly config: Config;
  readonly logger: Logger;
}

interface Upgrade {
  readonly socket: Socket;
  readonly head: Buffer;
  /** Sends a refusal. Released after the upgrade, so that the request can be freed. */
  readonly response: ServerResponse;
}

const heartbeatMilliseconds = 30_000;
/** Maximum time of the closing handshake. */
const closeMilliseconds = 1000;

const loadWebSockets = loadLater<typeof import('ws')>('ws');

function createServer(): WebSocketServer {
  return new (loadWebSockets().WebSocketServer)({
    noServer: true,
    maxPayload: limits.messageBytes,
    perMessageDeflate: false,
  });
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();

/** Whether a request is a WebSocket upgrade. */
export function isSocketRequest(request: IncomingMessage): boolean {
  return upgrades.has(request);
}

/** All WebSocket connections of the server. */
export class RealtimeSockets {
  readonly #parts: SocketParts;
  readonly #limits: RateLimits;
  #server: WebSocketServer | null = null;
  readonly #open = new Set<RealtimeSocket>();
  readonly #beat: NodeJS.Timeout;

  constructor(parts: SocketParts, rateLimits: RateLimits) {
    this.#parts = parts;
    this.#limits = rateLimits;
    this.#beat = setInterval(() => {
      for (const socket of this.#open) socket.checkAlive();
    }, heartbeatMilliseconds).unref();
  }

  /** Routes an upgrade like any request, so that refusals have the common shape. */
  routeUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, fastify: FastifyInstance): void {
    socket.on('error', () => socket.destroy());
    // `shouldUpgrade` excludes this. A connection that belongs to another reply cannot be assigned to this one.
    if (findCurrentReply(socket) !== null) return void socket.destroy();
    const response = new nodeHttp.ServerResponse(request);
    upgrades.set(request, { socket: socket as Socket, head, response });
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Socket);
    response.on('finish', () => socket.end());
    fastify.routing(request, response);
  }

  /** @throws ApiError 429 for too many of one address, 503 for too many in total. */
  accept(request: IncomingMessage, address: string): void {
    this.#limits.countAnonymous(address);
    const { socket, head, response } = upgrades.get(request)!;
    if (socket.destroyed) return; // the client has disconnected meanwhile; no close event follows
    const release = this.#limits.connections.acquire();
    response.detachSocket(socket);
    socket.once('close', release);
    this.#server ??= createServer();
    this.#server.handleUpgrade(request, socket, head, (webSocket) => this.#begin(webSocket, request, address));
  }

  /** Asks all clients to reconnect, and terminates sockets that do not respond. */
  async close(): Promise<void> {
    clearInterval(this.#beat);
    await Promise.all([...this.#open].map((socket) => socket.closeAndWait('restart', closeMilliseconds)));
    this.#server?.close();
  }

  #begin(webSocket: WebSocket, request: IncomingMessage, address: string): void {
    const { applications, logger } = this.#parts;
    const releases: (() => void)[] = [];
    const socket = new RealtimeSocket(webSocket, {
      applications,
      logger,
      address,
      limits: this.#limits,
      acquireShare: (credential) => releases.push(this.#limits.connections.acquireShare(credential)),
    });
    this.#open.add(socket);
    webSocket.once('close', () => {
      this.#open.delete(socket);
      for (const release of releases) release();
    });
    if (!this.#isAllowed(request))
      webSocket.close(closeCodes.origin, 'Web pages of this origin may not connect. Add it to CORS_ORIGINS.');
  }

  /** Whether the origin is this host or is allowed by CORS. Programs send no origin. */
  #isAllowed({ headers }: IncomingMessage): boolean {
    const { origin, host } = headers;
    if (origin === undefined) return true;
    const { config, settings } = this.#parts;
    const { corsOrigins } = config;
    const { publicUrl } = settings.runtime.current;
    if (corsOrigins === null || corsOrigins.has(origin)) return true;
    if (!URL.canParse(origin)) return false;
    const originUrl = new URL(origin);
    return originUrl.host === host || (publicUrl !== null && originUrl.origin === new URL(publicUrl).origin);
  }
}
