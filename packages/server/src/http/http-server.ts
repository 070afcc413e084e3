/**
 * The HTTP layer: one catch-all route below /api/ with its own router. Every request gets a reply in the common shapes, also if
 * the HTTP library refuses it.
 */
import type { AddressInfo, Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Application } from '../applications/application.ts';
import type { Lease } from '../applications/application-lease.ts';
import { LruMap } from '../base/lru-map.ts';
import type { RequestMetrics } from '../base/metrics.ts';
import { decodeAddress } from '../files/signed-address.ts';
import { anonymous, tokenMissingError } from '../identity/authenticator.ts';
import type { Caller } from '../identity/caller.ts';
import { hasParametersInBody } from '../protocol/actions.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import {
  type ActionTable,
  findSystemAction,
  hasSystemAction,
  isKnownRoute,
  isReadRequest,
  runAction,
  systemActions,
} from './action-table.ts';
import { buildSenderKey, Callers } from './callers.ts';
import { connectionSettings } from './connection-settings.ts';
import { Connections } from './connections.ts';
import { corsVary, isCorsDisabled, registerCors, sameOriginVary } from './cors.ts';
import { discardRest } from './discard-rest.ts';
import { registerDocsPage } from './docs-page/docs-page.ts';
import { extensionActions } from './extension-actions.ts';
import { readAddressSignature, readSignedFile } from './file-actions.ts';
import { requireFreePort } from './free-port.ts';
import { registerHealth } from './health.ts';
import { type IdempotencyKey, readIdempotencyKey } from './idempotency.ts';
import type { HttpParts, IncomingRequest } from './incoming-request.ts';
import { formatEndpoint, journalFailure, journalSuccess, toIpAddress } from './journaling.ts';
import { RateLimits } from './rate-limits.ts';
import { isSocketRequest, RealtimeSockets } from './realtime-sockets.ts';
import { registerRecipientPages } from './recipient-pages.ts';
import { Replies } from './replies.ts';
import { disableBodyParsing, hasBody, parseBody, RequestBodies } from './request-body.ts';
import type { ActionResult, RequestContext } from './request-context.ts';
import { readCredential, readRequestId, readTimeZone, refuseRepeatedHeaders } from './request-head.ts';
import { type ObservedRequest, RequestObserver } from './request-observer.ts';
import { RequestOrder } from './request-order.ts';
import { readParameters, readRecordRequest } from './request-reader.ts';
import { mcpPath, parsePlainRoute, parseRoute, type Route, realtimePath, unknownRoute } from './route.ts';
import { shouldUpgrade } from './socket-upgrade.ts';
import { streamWithCleanup } from './stream-with-cleanup.ts';
import { openUpload, readUploadType, refuseIdempotencyKey } from './uploads.ts';
import { registerWebInterface } from './web/web-interface.ts';

/** Routes are cached by path before the caller is known. */
const maxCachedPath = 300;
/** The Model Context Protocol is no part of the API that OpenAPI describes. */
const mcpActions: ActionTable = {
  // A repeated message is refused if it has an Idempotency-Key, so no reply is stored.
  'mcp:': {
    reads: false,
    storesReply: true,
    run: async (request) => (await import('./mcp/serve-mcp.ts')).serveMcp(request),
  },
};
/** The paths with the same handling of requests. */
const apiUrls = ['/api/*', mcpPath];
/** No route has a schema of Fastify, so the compilers of its schemas, a second Ajv, are not loaded. */
const noSchemas = { buildValidator: refuseSchemas, buildSerializer: refuseSchemas };
/** How long a stop waits for running requests. The complete stop takes less than five seconds. */
const shutdownGraceMilliseconds = 3000;

/**
 * The HTTP server of all applications.
 *
 *     const http = new HttpServer({ applications, config, settings, logger, accounts, extensions, health });
 *     const url = await http.listen(); // http://127.0.0.1:4180
 *     await http.close();              // waits for running requests, at most three seconds
 */
export class HttpServer {
  readonly #parts: HttpParts;
  readonly #fastify: FastifyInstance;
  readonly #limits: RateLimits;
  readonly #callers: Callers;
  readonly #replies: Replies;
  readonly #observer: RequestObserver;
  readonly #bodies = new RequestBodies();
  readonly #order = new RequestOrder();
  readonly #routes = new LruMap<Route>({
    entries: 2000,
    bytes: 4 * 1024 * 1024,
    keyLength: maxCachedPath,
    sizeOf: 1000,
  });
  readonly #actions: ActionTable;
  readonly #sockets: RealtimeSockets;
  readonly #connections: Connections;
  readonly #stopped = new AbortController();
  #stopping = false;

  constructor(parts: HttpParts) {
    this.#parts = parts;
    this.#limits = new RateLimits(parts.config, parts.readers?.windows);
    parts.settings.runtime.watch(({ rateLimitSignIn }) => this.#limits.setSignInLimit(rateLimitSignIn));
    const added = extensionActions(parts.extensions, systemActions, parts.logger);
    this.#actions = { ...systemActions, ...mcpActions, ...added };
    this.#observer = new RequestObserver({
      actions: this.#actions,
      server: parts,
      connections: () => this.#connections.count + (parts.readers?.connections ?? 0),
      sockets: () => this.#limits.connections.count,
      stopped: this.#stopped.signal,
    });
    this.#sockets = new RealtimeSockets(parts, this.#limits);
    this.#callers = new Callers({
      applications: parts.applications,
      limits: this.#limits,
      isBehindProxies: parts.config.trustedProxies !== null,
      operatorToken: parts.operatorToken,
      host: parts.config.host,
    });
    this.#replies = new Replies(parts.logger, isCorsDisabled(parts.config.corsOrigins) ? sameOriginVary : corsVary);
    this.#fastify = Fastify({
      logger: false,
      bodyLimit: limits.bodyBytes,
      requestTimeout: 0, // an upload may take long: bodies have limits of their own
      keepAliveTimeout: connectionSettings.keepAliveTimeout,
      forceCloseConnections: 'idle',
      return503OnClosing: false, // the server's own reply has the common shape
      trustProxy: parts.config.trustedProxies ?? false,
      http: { ...connectionSettings, shouldUpgradeCallback: shouldUpgrade },
      schemaController: { compilersFactory: noSchemas },
      routerOptions: { querystringParser: () => ({}) },
      frameworkErrors: (error, request, reply) => this.#replies.refuse(error, request, reply),
      clientErrorHandler: (error, socket) => this.#replies.refuseRaw(error, socket),
    });
    this.#connections = new Connections(this.#fastify.server);
    this.#register();
  }

  /** Starts to listen. @returns the URL. */
  async listen(): Promise<string> {
    const { host, port } = this.#parts.config;
    if (this.#parts.readers) await requireFreePort(host, port);
    return this.#fastify.listen({ host, port, ...(this.#parts.readers && { reusePort: true }) });
  }

  /** Where it listens. */
  get boundAddress(): AddressInfo {
    return this.#fastify.server.address() as AddressInfo;
  }

  /** The requests of all threads. */
  get metrics(): RequestMetrics {
    return this.#observer.metrics;
  }

  /** Serves a connection that another thread has accepted. */
  takeOver(socket: Socket): void {
    this.#fastify.server.emit('connection', socket);
  }

  /**
   * Refuses new requests and waits for running ones. Idle connections are closed, and all others after
   * {@link shutdownGraceMilliseconds}.
   */
  async close(): Promise<void> {
    this.#stopping = true;
    this.#stopped.abort();
    const graceTimer = setTimeout(() => this.#connections.destroyAll(), shutdownGraceMilliseconds);
    await this.#sockets.close();
    const idle = setInterval(() => this.#fastify.server.closeIdleConnections(), 50);
    await this.#fastify.close().finally(() => {
      clearInterval(idle);
      clearTimeout(graceTimer);
    });
  }

  #register(): void {
    const fastify = this.#fastify;
    registerCors(fastify, this.#parts.config.corsOrigins, apiUrls, this.#replies);
    disableBodyParsing(fastify);
    fastify.setErrorHandler((error, request, reply) => this.#replies.refuse(error, request, reply));
    fastify.setNotFoundHandler((request, reply) => this.#replies.refuse(unknownRoute(), request, reply));
    const shared = { ...this.#parts, callers: this.#callers, replies: this.#replies };
    registerHealth(fastify, { ...shared, stopping: () => (this.#stopping ? stoppingError() : null) });
    registerRecipientPages(fastify, { ...shared, limits: this.#limits });
    fastify.get('/metrics', async (request, reply) =>
      (await this.#observer.loadMetrics(this.#replies)).answer(request, reply),
    );
    registerDocsPage(fastify);
    registerWebInterface(fastify);
    fastify.server.on('checkExpectation', (request, response) => this.#replies.refuseExpectation(request, response));
    fastify.server.on('upgrade', (request, socket, head) => this.#sockets.routeUpgrade(request, socket, head, fastify));
    fastify.get(realtimePath, (request, reply) =>
      isSocketRequest(request.raw) ? this.#upgrade(request, reply) : this.#handle(request, reply),
    );
    const { tracing } = this.#parts;
    const handler = tracing
      ? (request: FastifyRequest, reply: FastifyReply) =>
          tracing.traceRequest(request, () => this.#handle(request, reply))
      : (request: FastifyRequest, reply: FastifyReply) => this.#handle(request, reply);
    for (const url of apiUrls)
      fastify.route({ method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'], url, handler });
  }

  async #handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const requestId = readRequestId(request);
    const observed = this.#observer.begin(request.headers);
    try {
      if (this.#stopping) throw stoppingError();
      const result = await this.#order.run(request.raw, reply.raw, () =>
        this.#answer(request, reply, requestId, observed),
      );
      discardRest(request.raw);
      this.#observer.addTiming(observed, reply.raw);
      return this.#replies.send(result, request, reply, requestId);
    } catch (error) {
      return this.#replies.refuse(error, request, reply);
    } finally {
      this.#observer.end(observed, reply.raw.statusCode);
    }
  }

  #upgrade(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    try {
      if (this.#stopping) throw stoppingError();
      this.#sockets.accept(request.raw, this.#callers.readClientAddress(request));
      return reply.hijack();
    } catch (error) {
      return this.#replies.refuse(error, request, reply);
    }
  }

  #createAbortSignal({ raw }: FastifyReply): AbortSignal {
    const closed = new AbortController();
    raw.once('close', () => closed.abort());
    return AbortSignal.any([closed.signal, this.#stopped.signal]);
  }

  async #answer(
    request: FastifyRequest,
    reply: FastifyReply,
    requestId: string,
    observed: ObservedRequest,
  ): Promise<ActionResult> {
    const { url = '' } = request.raw;
    const queryStart = url.indexOf('?');
    const path = queryStart < 0 ? url : url.slice(0, queryStart);
    const route = parsePlainRoute(path, request.method) ?? this.#route(path);
    const query = queryStart < 0 ? '' : url.slice(queryStart + 1);
    const action = findSystemAction(this.#actions, route);
    this.#observer.setAction(observed, action, route);
    const reads = isReadRequest(request.method, action, route);
    refuseRepeatedHeaders(request.raw.rawHeaders);
    const signature = readAddressSignature(route, request);
    const found = this.#parts.applications.find(
      signature === null ? (request.headers['x-app'] as string | undefined) : decodeAddress(signature)?.application,
    );
    const lease = found instanceof Promise ? await found : found;
    const address = this.#callers.readClientAddress(request);
    const known = (application: Application): boolean => action !== undefined || isKnownRoute(application, route);
    const details = { action, route, signature, reads, query, request, reply, requestId, address, known, observed };
    const incoming: IncomingRequest = { ...details, caller: null, counted: false, upload: null, received: null };
    try {
      const result = await this.#run(lease, incoming);
      journalSuccess(lease.application, incoming);
      return 'stream' in result ? retainLeaseForStream(lease, result) : result;
    } catch (error) {
      journalFailure(lease.application, incoming, error);
      throw error;
    } finally {
      incoming.received?.then(({ release }) => release(), noop);
      lease.release();
    }
  }

  /** Runs before the body is read: verifies the credential and the rate limit. */
  async #receive(lease: Lease, incoming: IncomingRequest): Promise<string | undefined> {
    if (incoming.received === null) {
      const verifying = this.#caller(lease, incoming);
      incoming.caller = verifying instanceof Promise ? await verifying : verifying;
      this.#count(lease, incoming, incoming.caller);
      incoming.received = this.#bodies.receive(
        incoming.request,
        incoming.caller,
        buildSenderKey(lease, incoming.caller, incoming.address),
      );
    }
    return (await incoming.received).text;
  }

  #count(lease: Lease, incoming: IncomingRequest, caller: Caller): void {
    if (!incoming.counted) this.#callers.count(lease, caller, incoming.address);
    incoming.counted = true;
  }

  #run(lease: Lease, incoming: IncomingRequest): Promise<ActionResult> {
    const { application, error: unusable } = lease;
    const { action, route, reads, query, request, reply, requestId, address } = incoming;
    return application.withCurrentSnapshot(async () => {
      // The credential may be revoked while the body arrives: it is verified again below.
      const text = !unusable && hasBody(request.raw) ? await this.#receive(lease, incoming) : undefined;
      if (action || unusable) await application.ensureCurrent();
      const verifying = this.#caller(lease, incoming);
      const found = verifying instanceof Promise ? await verifying : verifying;
      const caller = reads
        ? found
        : { ...found, origin: { address: toIpAddress(address), action: formatEndpoint(route) } };
      incoming.caller = caller;
      this.#count(lease, incoming, caller);
      if (unusable) throw caller.type === 'anonymous' && !action?.public ? tokenMissingError() : unusable;
      const isReadByPost = request.method === 'POST' && (reads || hasParametersInBody(route.action));
      const body = text === undefined ? undefined : parseBody(text);
      const zone = readTimeZone(request.headers['x-timezone']);
      incoming.upload ??= openUpload(request);
      const context: RequestContext = {
        application,
        applications: this.#parts.applications,
        caller,
        contextNow: async () => application.recordContext(await this.#caller(lease, incoming), requestId, zone),
        route,
        method: request.method,
        parameters: () => readParameters(route, query, body, isReadByPost),
        recordRequest: () => readRecordRequest(route, query, body, isReadByPost),
        body,
        text,
        upload: incoming.upload,
        ifMatch: request.headers['if-match'],
        config: this.#parts.config,
        settings: this.#parts.settings,
        actions: this.#actions,
        zone,
        headers: request.headers,
        address,
        browser: () => ({ ...request.headers, isHttps: request.protocol === 'https' }),
        retain: () => lease.duplicate(),
        credential: () => readCredential(request),
        abortSignal: () => this.#createAbortSignal(reply),
        requestId,
        limits: this.#limits,
        accounts: this.#parts.accounts,
        activity: () => this.#observer.loadActivity(),
        hasSystemAction,
        idempotencyKey: this.#readIdempotencyKey(request, text, caller),
        tx: null,
      };
      this.#observer.setContext(incoming.observed, context);
      // With `await`, two microtasks less than by returning the promise.
      return await runAction(action, context);
    });
  }

  /** Reads by POST can be repeated safely: for them, the header is only validated. */
  #readIdempotencyKey(request: FastifyRequest, text: string | undefined, caller: Caller): IdempotencyKey | null {
    const { headers, raw, method } = request;
    const header = headers['idempotency-key'];
    if (header === undefined || method !== 'POST') return null;
    return readUploadType(request) !== null
      ? refuseIdempotencyKey()
      : readIdempotencyKey(header, raw.url ?? '', text, caller);
  }

  #route(path: string): Route {
    const cached = this.#routes.get(path);
    if (cached) return cached;
    const route = parseRoute(path);
    this.#routes.set(path, route);
    return route;
  }

  #caller(lease: Lease, { action, route, signature, request, address }: IncomingRequest): Promise<Caller> | Caller {
    if (signature !== null)
      return this.#callers.authenticateAddress(signature, readSignedFile(route, request), lease, address);
    return action?.public ? anonymous : this.#callers.authenticate(request, lease, address);
  }
}

function refuseSchemas(): never {
  throw new Error('routes have no schemas');
}

function noop(): void {}

function stoppingError(): ApiError {
  return new ApiError('STOPPING', 'The server is stopping. Try again.', { retryAfter: 5 });
}

/** Keeps the application open until a streamed reply ends. */
function retainLeaseForStream(lease: Lease, result: Extract<ActionResult, { stream: unknown }>): ActionResult {
  const retained = lease.duplicate();
  return { ...result, stream: streamWithCleanup(result.stream, () => retained.release()) };
}
