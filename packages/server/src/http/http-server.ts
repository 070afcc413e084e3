/**
 * HTTP: one catch-all below /api/, our own routing behind it. Enters a request of any kind; leaves a reply in the common
 * shapes, also for what the HTTP library itself refuses.
 */
import { randomUUID } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type Application, mainName } from '../applications/application.ts';
import type { Applications } from '../applications/applications.ts';
import type { Lease } from '../applications/open-applications.ts';
import { bodyHash } from '../base/body-hash.ts';
import type { Config } from '../base/config.ts';
import type { Logger } from '../base/logger.ts';
import { LruMap } from '../base/lru-map.ts';
import type { Extension } from '../extensions/extension.ts';
import { anonymous, bearerToken, inRole, tokenMissing } from '../identity/authenticator.ts';
import type { Caller } from '../identity/caller.ts';
import { isReadAction, isRecordAction } from '../protocol/actions.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import { knownZone } from '../query/period.ts';
import type { Proof } from '../realtime/connection.ts';
import type { AccountSettings } from './account-settings.ts';
import { applicationActions } from './application-actions.ts';
import { auditActions } from './audit-actions.ts';
import { authActions } from './auth-actions.ts';
import { batchActions } from './batch-actions.ts';
import type { Answer, Call, DocumentAnswer, SystemAction } from './call.ts';
import { changeActions } from './change-actions.ts';
import { corsHeaders, corsVary, preflight } from './cors.ts';
import { definitionActions } from './definition-actions.ts';
import { docsActions } from './docs-actions.ts';
import { registerDocsPage } from './docs-page/docs-page.ts';
import { errorReply, mediaTypeUnsupported } from './error-reply.ts';
import { extensionActions } from './extension-actions.ts';
import { downloadHeaders, replyFile } from './file-reply.ts';
import { addressOf, endpointOf, noteAnswer, noteFailure, noteSilentAct } from './journaling.ts';
import { keyActions } from './key-actions.ts';
import { mailActions } from './mail-actions.ts';
import { type Once, onceApart, onceOf } from './once.ts';
import { permissionActions } from './permission-actions.ts';
import { RateLimits } from './rate-limits.ts';
import { isSocketRequest, RealtimeSockets, shouldUpgrade } from './realtime-sockets.ts';
import { runRecordAction } from './record-actions.ts';
import { relationReads, relationWrites, runRelationAction } from './relation-actions.ts';
import { parseBody, readParameters, readRecordRequest } from './request-reader.ts';
import { parseRoute, plainRoute, type Route, realtimePath, unknownRoute } from './route.ts';
import { noContent, notModified } from './status.ts';
import { refuseOnce, takeUploads, uploadOf } from './uploads.ts';
import { webhookActions } from './webhook-actions.ts';

export interface HttpParts {
  readonly applications: Applications;
  readonly config: Config;
  readonly logger: Logger;
  readonly accounts: AccountSettings;
  readonly extensions: readonly Extension[];
}

/** Actions written by hand, by `<resource>:<action>`. */
export const systemActions: Readonly<Record<string, SystemAction>> = {
  ...authActions,
  ...keyActions,
  ...permissionActions,
  ...definitionActions,
  ...applicationActions,
  ...auditActions,
  ...docsActions,
  ...webhookActions,
  ...changeActions,
  ...batchActions,
  ...mailActions,
};
/** Resources that have no generated actions. */
const actionOnly = new Set(['auth', 'collections', 'fields', 'applications', 'audit', 'docs', 'changes', 'realtime']);
/** Paths are kept by their text before anybody is known to ask: longer ones would hold memory for strangers. */
const longestKeptPath = 300;
const jsonType = 'application/json; charset=utf-8';
const commonHeaders = {
  'cache-control': 'private, no-cache',
  vary: 'Authorization, X-App, X-Role',
  'x-api-version': '1',
};

/** What a request asks, as far as it is known before the application is. */
interface Asked {
  readonly action: SystemAction | undefined;
  readonly route: Route;
  readonly reads: boolean;
  readonly query: string;
  readonly wanted: string | undefined;
  readonly header: string | undefined;
  readonly request: FastifyRequest;
  readonly requestId: string;
  readonly address: string;
  readonly known: (application: Application) => boolean;
  /** Null until the credential has been looked at. */
  caller: Caller | null;
}

export class HttpServer {
  readonly #parts: HttpParts;
  readonly #fastify: FastifyInstance;
  readonly #limits: RateLimits;
  readonly #common: typeof commonHeaders;
  readonly #routes = new LruMap<Route>(2000);
  readonly #startedAt = performance.now();
  readonly #actions: Readonly<Record<string, SystemAction>>;
  readonly #sockets: RealtimeSockets;
  readonly #stopped = new AbortController();
  #stopping = false;

  constructor(parts: HttpParts) {
    this.#parts = parts;
    this.#limits = new RateLimits(parts.config);
    const added = extensionActions(parts.extensions, systemActions, parts.logger);
    this.#actions = { ...systemActions, ...added };
    this.#sockets = new RealtimeSockets(parts, this.#limits);
    this.#common = isClosed(parts.config.corsOrigins) ? commonHeaders : { ...commonHeaders, vary: corsVary };
    this.#fastify = Fastify({
      logger: false,
      bodyLimit: limits.bodyBytes,
      exposeHeadRoutes: false,
      requestTimeout: 60_000,
      keepAliveTimeout: 65_000,
      forceCloseConnections: 'idle',
      return503OnClosing: false, // ours has the common shape
      trustProxy: parts.config.trustedProxies ?? false,
      http: { maxHeaderSize: limits.headerBytes, shouldUpgradeCallback: shouldUpgrade },
      routerOptions: { querystringParser: () => ({}) },
      frameworkErrors: (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
        this.#refuse(error, request, reply),
      clientErrorHandler: (error: unknown, socket: Socket) => this.#refuseRaw(error, socket),
    } as object);
    this.#register();
  }

  /** Listens; returns the address it got. */
  async listen(): Promise<string> {
    const { host, port } = this.#parts.config;
    return this.#fastify.listen({ host, port });
  }

  /** Refuses new requests, lets those under way finish. A connection that falls idle meanwhile is closed. */
  async close(): Promise<void> {
    this.#stopping = true;
    this.#stopped.abort();
    await this.#sockets.close();
    const idle = setInterval(() => this.#fastify.server.closeIdleConnections(), 50);
    await this.#fastify.close().finally(() => clearInterval(idle));
  }

  #register(): void {
    const fastify = this.#fastify;
    this.#openToPages(this.#parts.config.corsOrigins);
    fastify.removeAllContentTypeParsers();
    fastify.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => done(null, body));
    // Clients name some type for a body that is empty: then it does not matter.
    fastify.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) =>
      body.length === 0 ? done(null, body) : done(mediaTypeUnsupported()),
    );
    takeUploads(fastify);
    fastify.setErrorHandler((error, request, reply) => this.#refuse(error, request, reply));
    fastify.setNotFoundHandler((request, reply) => this.#refuse(unknownRoute(), request, reply));
    for (const path of ['/api/health', '/live', '/ready'])
      fastify.get(path, (request, reply) => this.#health(request, reply));
    registerDocsPage(fastify);
    fastify.server.on('upgrade', (request, socket, head) => this.#sockets.asRequest(request, socket, head, fastify));
    fastify.get(realtimePath, (request, reply) =>
      isSocketRequest(request.raw) ? this.#upgrade(request, reply) : this.#handle(request, reply),
    );
    fastify.route({
      method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      url: '/api/*',
      handler: (request, reply) => this.#handle(request, reply),
    });
  }

  /** Set on the socket's own reply, whoever writes it. */
  #openToPages(origins: ReadonlySet<string> | null): void {
    if (isClosed(origins)) return;
    this.#fastify.addHook('onRequest', (request, reply, done) => {
      for (const [name, value] of Object.entries(corsHeaders(origins, request.headers)))
        reply.raw.setHeader(name, value);
      done();
    });
    this.#fastify.options('/api/*', (request, reply) => {
      const headers = preflight(origins, request.headers);
      return headers ? reply.code(noContent).headers(headers).send() : this.#refuse(unknownRoute(), request, reply);
    });
  }

  #health(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const uptime = Math.floor((performance.now() - this.#startedAt) / 1000);
    if (this.#stopping && request.raw.url === '/ready')
      return this.#refuse(new ApiError('STOPPING', 'The server is stopping.', { retryAfter: 5 }), request, reply);
    return reply
      .header('content-type', jsonType)
      .header('cache-control', 'no-store')
      .send(JSON.stringify({ data: { status: 'ok', uptime } }));
  }

  async #handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const requestId = requestIdOf(request);
    try {
      if (this.#stopping)
        throw new ApiError('STOPPING', 'The server is stopping; try another node or try again.', { retryAfter: 5 });
      const answer = await this.#answer(request, requestId);
      return this.#reply(answer, request, reply, requestId);
    } catch (error) {
      return this.#refuse(error, request, reply);
    }
  }

  #upgrade(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    try {
      if (this.#stopping) throw new ApiError('STOPPING', 'The server is stopping.', { retryAfter: 5 });
      this.#sockets.accept(request.raw, this.#addressOf(request));
      return reply.hijack();
    } catch (error) {
      return this.#refuse(error, request, reply);
    }
  }

  #gone({ raw }: FastifyRequest): AbortSignal {
    const left = new AbortController();
    raw.socket.once('close', () => left.abort());
    return AbortSignal.any([left.signal, this.#stopped.signal]);
  }

  async #answer(request: FastifyRequest, requestId: string): Promise<Answer> {
    const url = request.raw.url!;
    const mark = url.indexOf('?');
    const path = mark < 0 ? url : url.slice(0, mark);
    const route = plainRoute(path, request.method) ?? this.#route(path);
    const query = mark < 0 ? '' : url.slice(mark + 1);
    const action = systemActionOf(this.#actions, route);
    const reads = action ? action.reads : isReadAction(route.action);
    if (!route.plain) checkMethod(request.method, reads, Boolean(action) || isKnownAction(route));
    refuseRepeatedHeaders(request.raw.rawHeaders);
    const header = request.headers.authorization;
    const wanted = request.headers['x-app'] as string | undefined;
    const found = this.#parts.applications.find(wanted);
    const lease = found instanceof Promise ? await found : found;
    const address = this.#addressOf(request);
    const known = (application: Application): boolean => action !== undefined || isNamed(application, route);
    const asked: Asked = {
      action,
      route,
      reads,
      query,
      wanted,
      header,
      request,
      requestId,
      address,
      known,
      caller: null,
    };
    try {
      const answer = await this.#run(lease, asked);
      noteAnswer(lease.application, asked);
      return 'stream' in answer ? streamedUnder(lease, answer) : answer;
    } catch (error) {
      noteFailure(lease.application, asked, error);
      throw error;
    } finally {
      lease.release();
    }
  }

  #run(lease: Lease, asked: Asked): Promise<Answer> {
    const { application, error: unusable } = lease;
    const { action, route, reads, query, request, requestId, address } = asked;
    let counted = false;
    return application.current(async () => {
      if (action || unusable) await application.ensureCurrent();
      const found = await this.#caller(lease, asked);
      const caller = reads ? found : { ...found, origin: { address: addressOf(address), action: endpointOf(route) } };
      asked.caller = caller;
      if (!counted) this.#count(application, caller, address);
      counted = true;
      if (unusable) throw caller.type === 'anonymous' && !action?.public ? tokenMissing() : unusable;
      const readByPost = reads && request.method === 'POST';
      const body = typeof request.body === 'string' ? parseBody(request.body) : undefined;
      const zone = zoneOf(request.headers['x-timezone']);
      const call: Call = {
        application,
        applications: this.#parts.applications,
        caller,
        contextNow: async () => application.recordContext(await this.#caller(lease, asked), requestId, zone),
        route,
        method: request.method,
        parameters: () => readParameters(route, query, body, readByPost),
        request: () => readRecordRequest(route, query, body, readByPost),
        body,
        upload: uploadOf(request),
        ifMatch: request.headers['if-match'],
        zone,
        accept: request.headers.accept,
        acceptEncoding: request.headers['accept-encoding'],
        address,
        lastEventId: request.headers['last-event-id'],
        hold: () => lease.again(),
        proof: () => proofOf(request),
        gone: () => this.#gone(request),
        requestId,
        limits: this.#limits,
        accounts: this.#parts.accounts,
        handWritten,
        once: this.#onceOf(request, caller),
        inside: null,
      };
      return run(action, call);
    });
  }

  /** Reads by POST change nothing, however often they are asked: for them the header is checked alone. */
  #onceOf(request: FastifyRequest, caller: Caller): Once | null {
    const { headers, raw, body, method } = request;
    const header = headers['idempotency-key'];
    if (header === undefined || method !== 'POST') return null;
    return uploadOf(request) ? refuseOnce() : onceOf(header, raw.url!, body, caller);
  }

  #route(path: string): Route {
    const kept = this.#routes.get(path);
    if (kept) return kept;
    const route = parseRoute(path);
    if (path.length <= longestKeptPath) this.#routes.set(path, route);
    return route;
  }

  async #caller(lease: Lease, asked: Asked): Promise<Caller> {
    const { header, request, action } = asked;
    if (header === undefined || action?.public) return anonymous;
    try {
      return inRole(
        await lease.application.authenticator.authenticate(bearerToken(header)),
        request.headers['x-role'] as string | undefined,
      );
    } catch (error) {
      throw await this.#refusal(error, lease, asked);
    }
  }

  /** A credential that holds in another application is told apart from one that holds nowhere. */
  async #refusal(error: unknown, lease: Lease, { header, wanted, address }: Asked): Promise<unknown> {
    if (!(error instanceof ApiError) || error.label !== 'Unauthorized') return error;
    // Guessing at tokens is held to the limit of callers without one.
    this.#limits.anonymous(address);
    if (error.code !== 'TOKEN_INVALID' || !/^Bearer \S+$/.test(header!)) return error;
    const { applications } = this.#parts;
    const token = bearerToken(header!);
    if (lease.error?.code === 'APPLICATION_STOPPED' && (await applications.loginHoldsInStopped(token, wanted!)))
      return lease.error;
    if (!(await applications.keyHoldsElsewhere(token, lease.application.name))) return error;
    return (
      lease.error ??
      new ApiError(
        'APPLICATION_MISMATCH',
        `The key belongs to another application than "${wanted ?? mainName}"; name its own in X-App.`,
      )
    );
  }

  #count(application: Application, caller: Caller, address: string): void {
    if (caller.type === 'anonymous') this.#limits.anonymous(address);
    else this.#limits.credential(application.name, caller.type, caller.credentialId!);
  }

  /** Who asks; what a trusted proxy passes on counts where it is an address at all. */
  #addressOf({ ip, socket }: FastifyRequest): string {
    if (this.#parts.config.trustedProxies === null || isIP(ip) !== 0) return ip;
    return socket.remoteAddress ?? ip;
  }

  /** Written to the socket directly: nothing of the library's own reply is needed, and it costs as much as a keyed read. */
  #reply(answer: Answer, request: FastifyRequest, reply: FastifyReply, requestId: string): FastifyReply {
    if ('stream' in answer) {
      return reply
        .headers({ ...this.#common, ...downloadHeaders(answer), 'x-request-id': requestId })
        .send(Readable.from(answer.stream, { objectMode: false }));
    }
    if ('file' in answer) return replyFile(answer, request, reply, requestId);
    if ('document' in answer) return this.#replyDocument(answer, request, reply, requestId);
    const body =
      answer.meta === undefined
        ? `{"data":${answer.data}}`
        : `{"data":${answer.data},"meta":${JSON.stringify(answer.meta)}}`;
    reply.hijack();
    const tag = answer.counter === undefined ? undefined : `"${answer.counter}.${bodyHash(body)}"`;
    const asked = request.method === 'POST' ? undefined : request.headers['if-none-match'];
    if (tag !== undefined && asked !== undefined && matches(asked, tag)) {
      reply.raw.writeHead(notModified, { ...this.#common, 'x-request-id': requestId, etag: tag }).end();
      return reply;
    }
    const headers = bodyHeaders(this.#common, requestId, body);
    if (answer.replayed) headers['idempotency-replayed'] = 'true';
    reply.raw
      .writeHead(200, tag === undefined ? headers : { ...headers, etag: tag })
      .end(request.method === 'HEAD' ? undefined : body);
    return reply;
  }

  #replyDocument(
    { document, encoding, tag }: DocumentAnswer,
    request: FastifyRequest,
    reply: FastifyReply,
    requestId: string,
  ): FastifyReply {
    const headers = {
      ...commonHeaders,
      vary: `${commonHeaders.vary}, Accept-Encoding`,
      'x-request-id': requestId,
      etag: tag,
      ...(encoding !== null && { 'content-encoding': encoding }),
    };
    const asked = request.method === 'POST' ? undefined : request.headers['if-none-match'];
    reply.hijack();
    if (asked !== undefined && matches(asked, tag)) reply.raw.writeHead(notModified, headers).end();
    else
      reply.raw
        .writeHead(200, { ...headers, 'content-type': jsonType, 'content-length': document.length })
        .end(request.method === 'HEAD' ? undefined : document);
    return reply;
  }

  #refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const requestId = requestIdOf(request);
    const { status, body, headers } = errorReply(error, requestId, this.#parts.logger);
    return reply
      .code(status)
      .headers({
        ...headers,
        'content-type': jsonType,
        'cache-control': 'no-store',
        'x-request-id': requestId,
        'x-api-version': '1',
      })
      .send(body);
  }

  /** A request that never became one: the answer is written to the socket by hand. */
  #refuseRaw(error: unknown, socket: Socket): void {
    if (!socket.writable || (error as { code?: string }).code === 'ECONNRESET') return void socket.destroy();
    const { status, body } = errorReply(
      Object.assign(Object(error) as object, { statusCode: 400 }),
      randomUUID(),
      this.#parts.logger,
    );
    const head = `HTTP/1.1 ${status} ${status === 431 ? 'Request Header Fields Too Large' : 'Bad Request'}`;
    socket.end(
      `${head}\r\nContent-Type: ${jsonType}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  }
}

/** No page of another origin may call. */
function isClosed(origins: ReadonlySet<string> | null): boolean {
  return origins?.size === 0;
}

function bodyHeaders(common: typeof commonHeaders, requestId: string, body: string): OutgoingHttpHeaders {
  return {
    ...common,
    'x-request-id': requestId,
    'content-type': jsonType,
    'content-length': Buffer.byteLength(body),
  };
}

/** Fields have a path below their collection too, `/api/collections/<name>/fields:<action>`. */
function systemActionOf(
  actions: Readonly<Record<string, SystemAction>>,
  { resource, action, of }: Route,
): SystemAction | undefined {
  if (of !== null && !(of.collection === 'collections' && resource === 'fields')) return undefined;
  return actions[of ? `collections/fields:${action}` : `${resource}:${action}`];
}

/** Whether a path names what the application has; other names are the caller's own invention. */
function isNamed({ registry }: Application, route: Route): boolean {
  if (!isKnownAction(route)) return false;
  const collection = registry.find(route.of?.collection ?? route.resource);
  return collection !== null && (route.of === null || collection.byName.get(route.resource)?.relation != null);
}

function handWritten(resource: string, action: string): boolean {
  return actionOnly.has(resource) || systemActions[`${resource}:${action}`] !== undefined;
}

function isKnownAction({ action, of }: Route): boolean {
  return of === null ? isRecordAction(action) : relationReads.has(action) || relationWrites.has(action);
}

/** A streamed reply uses its application until it ends. */
function streamedUnder(lease: Lease, answer: Extract<Answer, { stream: unknown }>): Answer {
  const held = lease.again();
  const stream = async function* (): AsyncGenerator<string | Uint8Array> {
    try {
      yield* answer.stream;
    } finally {
      held.release();
    }
  };
  return { ...answer, stream: stream() };
}

const zones = new LruMap<string>(500);

/** The caller's time zone, by IANA name or offset. */
function zoneOf(header: string | string[] | undefined): string {
  if (header === undefined) return 'UTC';
  const name = String(header);
  const zone = zones.get(name) ?? (name.length <= 60 ? knownZone(name) : null);
  if (zone === null)
    throw new ApiError(
      'HEADER_INVALID',
      'X-Timezone takes an IANA name or an offset, such as Europe/Berlin or +01:00.',
    );
  zones.set(name, zone);
  return zone;
}

/** Runs an action; what a caller without a credential may not do is 401, not 403. */
async function run(action: SystemAction | undefined, call: Call): Promise<Answer> {
  try {
    if (action) return await runSystem(action, call);
    if (call.route.of) return await runRelationAction(call);
    if (actionOnly.has(call.route.resource)) throw unknownRoute();
    return await runRecordAction(call);
  } catch (error) {
    const refusal = error instanceof ApiError && (error.code === 'NO_PERMISSION' || error.code === 'FIELD_DENIED');
    if (refusal && call.caller.type === 'anonymous') throw tokenMissing();
    throw error;
  }
}

/** A write that keeps its reply itself stands in one transaction; the others are claimed before and kept after. */
function runSystem(action: SystemAction, call: Call): Promise<Answer> {
  const plain = (each: Call): Promise<Answer> => (action.journaled ? journaled(action, each) : action.run(each));
  return call.once && !action.reads && !action.keepsReply ? onceApart(call, plain) : plain(call);
}

/** An act that leaves no event is told of before its reply leaves. */
async function journaled(action: SystemAction, call: Call): Promise<Answer> {
  const answer = await action.run(call);
  await noteSilentAct(call, answer);
  return answer;
}

function proofOf({ headers }: FastifyRequest): Proof | null {
  const { authorization } = headers;
  if (authorization === undefined) return null;
  return { token: bearerToken(authorization), role: headers['x-role'] as string | undefined };
}

function checkMethod(method: string, reads: boolean, known: boolean): void {
  if (method === 'POST' || !known) return;
  if (reads && (method === 'GET' || method === 'HEAD')) return;
  const allow = reads ? 'GET, HEAD, POST' : 'POST';
  throw new ApiError('METHOD_NOT_ALLOWED', `This action answers ${allow}; nothing was changed.`, { allow });
}

/** Node keeps the first of two Authorization headers silently; two of them are a contradiction. */
function refuseRepeatedHeaders(raw: readonly string[]): void {
  let authorization = 0;
  let app = 0;
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index]!;
    if (name.length === 13 && name.toLowerCase() === 'authorization') authorization += 1;
    else if (name.length === 5 && name.toLowerCase() === 'x-app') app += 1;
  }
  if (authorization > 1) throw new ApiError('HEADER_INVALID', 'The header Authorization is given twice.');
  if (app > 1) throw new ApiError('HEADER_INVALID', 'The header X-App is given twice.');
}

function requestIdOf(request: FastifyRequest): string {
  const given = request.headers['x-request-id'];
  if (typeof given === 'string' && /^[\x21-\x7e]{1,128}$/.test(given)) return given;
  const made = randomUUID();
  request.headers['x-request-id'] = made;
  return made;
}

function matches(header: string, tag: string): boolean {
  return header.trim() === '*' || header.split(',').some((each) => each.trim().replace(/^W\//, '') === tag);
}
