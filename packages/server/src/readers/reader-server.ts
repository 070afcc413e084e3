import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { RequestMetrics } from '../base/metrics.ts';
import type { Tracing } from '../base/tracing/tracing.ts';
import { connectionSettings } from '../http/connection-settings.ts';
import { Connections, unreadLimits } from '../http/connections.ts';
import { buildCorsHeaders, corsVary, isCorsDisabled, sameOriginVary } from '../http/cors.ts';
import { JsonReplies } from '../http/json-reply.ts';
import { carriesBody, readRequestId } from '../http/request-head.ts';
import { RequestOrder } from '../http/request-order.ts';
import { readParameters, readRecordRequest } from '../http/request-reader.ts';
import { formatRoute } from '../http/route.ts';
import type { SlowRequest } from '../http/slow-requests.ts';
import { shouldUpgrade } from '../http/socket-upgrade.ts';
import { HandOver, type MoveConnection } from './hand-over.ts';
import { moveWrites } from './moved-connections.ts';
import { type AnsweredRequest, type ReaderAnswers, type RecordRoute, readerActions } from './reader-answers.ts';
import type { ReaderSettings, RequestCounts } from './reader-messages.ts';
import { receiveShortBody, type ShortBody } from './short-body.ts';

export interface ReaderServerParts
  extends Pick<ReaderSettings, 'host' | 'port' | 'handOverPath' | 'corsOrigins' | 'slowMilliseconds'> {
  readonly answers: ReaderAnswers;
  readonly moveConnection: MoveConnection;
  /** Refuses a request that could not be parsed. */
  readonly refuseRaw: (error: unknown, socket: Socket) => void;
  readonly reportSlow: (request: SlowRequest) => void;
  /** Null: no traces are sent. */
  readonly tracing: Tracing | null;
}

/** How long a stop waits for running requests. */
const shutdownGraceMilliseconds = 3000;
const maxUnreadBytes = 64 * 1024 * 1024;

/** The HTTP server of a reader: answers what {@link ReaderAnswers} can answer, and hands over everything else. */
export class ReaderServer {
  readonly #parts: ReaderServerParts;
  readonly #server: Server;
  readonly #connections: Connections;
  readonly #handOver: HandOver;
  readonly #replies: JsonReplies;
  readonly #order = new RequestOrder();
  readonly #metrics = new RequestMetrics(readerActions);
  #reportedConnections = 0;
  #stopping = false;
  #answered = 0;
  #handedOver = 0;

  constructor(parts: ReaderServerParts) {
    this.#parts = parts;
    this.#handOver = new HandOver(parts.handOverPath, parts.moveConnection);
    this.#replies = new JsonReplies(isCorsDisabled(parts.corsOrigins) ? sameOriginVary : corsVary);
    this.#server = createServer({ ...connectionSettings, shouldUpgradeCallback: shouldUpgrade });
    moveWrites(this.#server, (socket, first) => {
      this.#handedOver += 1;
      this.#handOver.handOverConnection(socket, first);
    });
    this.#connections = new Connections(this.#server, { ...unreadLimits, bytes: maxUnreadBytes });
    const { tracing } = parts;
    const answer = tracing
      ? (request: IncomingMessage, response: ServerResponse): Promise<void> =>
          tracing.traceRequest(readHead(request), () => this.#handle(request, response), true)
      : (request: IncomingMessage, response: ServerResponse): Promise<void> => this.#handle(request, response);
    // A failure only concerns its own connection; without a handler it would end the thread.
    const handle = (request: IncomingMessage, response: ServerResponse): void =>
      void this.#order.run(request, response, () => answer(request, response)).catch(() => request.socket.destroy());
    this.#server
      .on('request', handle)
      .on('checkContinue', handle)
      .on('checkExpectation', handle)
      .on('upgrade', (request, _, head) => this.#handOver.upgrade(request, head))
      .on('clientError', (error, socket) => parts.refuseRaw(error, socket as Socket));
  }

  /** Listens on the port that the main thread also listens on. */
  async listen(): Promise<void> {
    const { host, port } = this.#parts;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once('error', reject).listen({ host, port, reusePort: true }, resolve);
    await promise;
    this.#server.off('error', reject);
  }

  /** Leaves all new requests to the main thread, which refuses them, and waits for running ones. */
  async close(): Promise<void> {
    this.#stopping = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    const idle = setInterval(() => this.#server.closeIdleConnections(), 50);
    const grace = setTimeout(() => this.#connections.destroyAll(), shutdownGraceMilliseconds);
    await promise;
    clearInterval(idle);
    clearTimeout(grace);
  }

  /** Returns the numbers of requests since the last call; null if there was none, and no connection was opened or closed. */
  takeCounts(): RequestCounts | null {
    const connections = this.#connections.count;
    const hasRequests = this.#answered + this.#handedOver > 0;
    if (!hasRequests && connections === this.#reportedConnections) return null;
    const actions = this.#metrics.drain();
    const counts = { answered: this.#answered, handedOver: this.#handedOver, actions, connections };
    this.#reportedConnections = connections;
    this.#answered = 0;
    this.#handedOver = 0;
    return counts;
  }

  /** Resolves when the main thread has answered. A request whose connection has ended has no address, and nobody reads its reply. */
  async #leave(request: IncomingMessage, response: ServerResponse, received: ShortBody | null): Promise<void> {
    if (request.socket.destroyed) return;
    this.#handedOver += 1;
    await this.#handOver.send(request, response, received);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const startedAt = performance.now();
    const { answers } = this.#parts;
    const named = this.#stopping ? null : answers.recognise(request);
    const received = named?.writes && carriesBody(request) ? await receiveShortBody(request) : null;
    const answered = named && (await answers.answer(request, named, received));
    if (answered === null) return this.#leave(request, response, received);
    this.#answered += 1;
    const { corsOrigins } = this.#parts;
    if (!isCorsDisabled(corsOrigins))
      for (const [name, value] of Object.entries(buildCorsHeaders(corsOrigins, request.headers)))
        response.setHeader(name, value);
    const head = readHead(request);
    const status = this.#replies.send(answered.result, head, response, readRequestId(request));
    this.#count(answered, status, performance.now() - startedAt);
  }

  #count({ application, named }: AnsweredRequest, status: number, milliseconds: number): void {
    this.#metrics.count(this.#metrics.find(named.route.action), status, milliseconds);
    const { slowMilliseconds, tracing } = this.#parts;
    if (tracing !== null) {
      const { action, resource } = named.route;
      tracing.describeRequest({ application, action, resource, route: formatRoute(named.route), status });
    }
    if (slowMilliseconds !== null && milliseconds >= slowMilliseconds)
      void this.#reportSlow(application, named, { status, milliseconds });
  }

  async #reportSlow(
    application: string,
    { route, query }: RecordRoute,
    outcome: Pick<SlowRequest, 'status' | 'milliseconds'>,
  ): Promise<void> {
    const { readShape } = await import('../http/slow-requests.ts');
    const shape = readShape(
      route,
      () => readRecordRequest(route, query, undefined, false),
      () => readParameters(route, query, undefined, false),
    );
    const { action, resource } = route;
    this.#parts.reportSlow({ application, action, resource, ...outcome, shape });
  }
}

function readHead({
  method = 'GET',
  headers,
}: IncomingMessage): Pick<IncomingMessage, 'headers'> & { readonly method: string } {
  return { method, headers };
}
