/**
 * Answers successful reads of records in a reader thread, and plans writes of one record, which the main thread executes.
 * All other requests and all uncertain cases are left to the main thread, so errors, refusals and their journal entries
 * only occur there.
 */
import type { IncomingMessage } from 'node:http';
import { LruMap } from '../base/lru-map.ts';
import { formatEndpoint } from '../http/journaling.ts';
import { toNetwork } from '../http/network.ts';
import { credentialKey, openSharedWindow } from '../http/rate-limits.ts';
import type { ActionResult } from '../http/request-context.ts';
import { readRequestId, readTimeZone, refuseRepeatedHeaders, serverTimingHeader } from '../http/request-head.ts';
import { readParameters, readRecordRequest } from '../http/request-reader.ts';
import { parseRoute, type Route } from '../http/route.ts';
import type { SharedWindow } from '../http/shared-window.ts';
import { withWholeList } from '../http/whole-lists.ts';
import { anonymous, parseBearerToken, withRole } from '../identity/authenticator.ts';
import type { Caller } from '../identity/caller.ts';
import { normaliseQuery } from '../protocol/query-request.ts';
import { queryRecords } from '../records/read/query-records.ts';
import { getRecord, listRecords } from '../records/read/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import type { Collection } from '../schema/registry.ts';
import { canPlanWrite, ExecutedWriteFailed, isShortWrite } from './planned-writes.ts';
import type { ReaderApplication } from './reader-application.ts';
import type { ReaderSettings } from './reader-messages.ts';
import type { ShortBody } from './short-body.ts';

export type AnsweredResult = Extract<ActionResult, { data: string }>;

/** A request with its result. */
export interface AnsweredRequest {
  readonly result: AnsweredResult;
  readonly named: RecordRoute;
  readonly application: string;
}

export interface ReaderAnswersParts
  extends Pick<ReaderSettings, 'windows' | 'isBehindProxies' | 'extensionActions' | 'plansWrites'> {
  /** The open application of a name; null if it is not open here. */
  findApplication(name: string): ReaderApplication | null;
}

/** The action of a request, and its query. */
export interface RecordRoute {
  readonly route: Route;
  readonly query: string;
  readonly writes: boolean;
}

/** System collections that support the same reads as other collections, and are read often. */
const systemReads: ReadonlySet<string> = new Set(['users']);
const readActions = ['list', 'get', 'query'] as const;
const writeActions = ['create', 'update', 'destroy'] as const;
/** The actions that readers answer. */
export const readerActions = [...readActions, ...writeActions] as const;
const reads: ReadonlySet<string> = new Set(readActions);
const writes: ReadonlySet<string> = new Set(writeActions);
const maxCachedPath = 300;

type Writer = typeof import('./answer-write.ts');

/** Answers requests for records, or leaves them to the main thread. */
export class ReaderAnswers {
  readonly #parts: ReaderAnswersParts;
  readonly #credentialWindow: SharedWindow | null;
  readonly #anonymousWindow: SharedWindow | null;
  /** `other`: no action that readers answer. */
  readonly #routes = new LruMap<Route | 'other'>({
    entries: 1000,
    bytes: 1024 * 1024,
    keyLength: maxCachedPath,
    sizeOf: 1000,
  });

  #writer: Promise<Writer> | null = null;

  constructor(parts: ReaderAnswersParts) {
    this.#parts = parts;
    this.#credentialWindow = openSharedWindow(parts.windows.credential);
    this.#anonymousWindow = openSharedWindow(parts.windows.anonymous);
  }

  /** What a request names, if readers may answer it; null: the main thread must answer it. */
  recognise(request: IncomingMessage): RecordRoute | null {
    const { method, url = '', headers } = request;
    if (headers.expect !== undefined || headers[serverTimingHeader] !== undefined) return null;
    const mayWrite = method === 'POST' && this.#parts.plansWrites && isShortWrite(request);
    if (!mayWrite && !isPlainRead(request)) return null;
    const queryStart = url.indexOf('?');
    const route = this.#findRoute(queryStart < 0 ? url : url.slice(0, queryStart));
    if (route === null || writes.has(route.action) !== mayWrite) return null;
    return { route, query: queryStart < 0 ? '' : url.slice(queryStart + 1), writes: mayWrite };
  }

  /**
   * The result of a request; null: the main thread must answer it.
   *
   * @param received the body of a write; null without one.
   * @throws ExecutedWriteFailed
   */
  answer(request: IncomingMessage, named: RecordRoute, received: ShortBody | null): Promise<AnsweredRequest | null> {
    const application = this.#parts.findApplication((request.headers['x-app'] as string | undefined) ?? 'main');
    if (!application) return Promise.resolve(null);
    // A write is executed by the main thread, so the application waits for it before it is closed. A read is not interrupted.
    return named.writes
      ? application.run(() => this.#answerIn(application, request, named, received))
      : this.#answerIn(application, request, named, received);
  }

  async #answerIn(
    application: ReaderApplication,
    request: IncomingMessage,
    named: RecordRoute,
    received: ShortBody | null,
  ): Promise<AnsweredRequest | null> {
    let refund: (() => void) | null = null;
    try {
      if (!(named.writes ? application.isLoaded : application.isCurrent())) return null;
      const collection = application.registry.find(named.route.resource);
      if (!collection || !mayAnswer(collection, named)) return null;
      refuseRepeatedHeaders(request.rawHeaders);
      const caller = await authenticate(request, application);
      if (named.writes && caller.type === 'anonymous') return null;
      refund = this.#count(application, caller, request);
      if (refund === null) return null;
      const zone = readTimeZone(request.headers['x-timezone']);
      const context = application.createContext(caller, zone, named.writes ? readRequestId(request) : null);
      const result = named.writes
        ? await (await this.#loadWriter()).writeRecord(named, received, context, collection)
        : await readRecords(named, context, collection);
      if (result === null) refund();
      else application.countSuccess(caller, formatEndpoint(named.route));
      return result && { result, named, application: application.name };
    } catch (error) {
      if (error instanceof ExecutedWriteFailed) throw error;
      refund?.();
      return null;
    }
  }

  #loadWriter(): Promise<Writer> {
    this.#writer ??= import('./answer-write.ts');
    return this.#writer;
  }

  #findRoute(path: string): Route | null {
    if (path.length > maxCachedPath) return null;
    let route = this.#routes.get(path);
    if (!route) {
      route = this.#parseRoute(path) ?? 'other';
      this.#routes.set(path, route);
    }
    return route === 'other' ? null : route;
  }

  #parseRoute(path: string): Route | null {
    if (!/^\/api\/\w+:\w+(?:\/[\w.-]+)?$/.test(path)) return null;
    const route = parseRoute(path);
    const isOwn = !this.#parts.extensionActions.has(`${route.resource}:${route.action}`);
    return isOwn && route.of === null && (reads.has(route.action) || writes.has(route.action)) ? route : null;
  }

  /**
   * Takes a point of the rate limit. @returns a function that returns the point; null if none is left, or the address
   * of the client is not certain.
   */
  #count(application: ReaderApplication, caller: Caller, { socket }: IncomingMessage): (() => void) | null {
    const isAnonymous = caller.type === 'anonymous';
    const window = isAnonymous ? this.#anonymousWindow : this.#credentialWindow;
    if (!window) return noop;
    const address = this.#parts.isBehindProxies ? undefined : socket.remoteAddress;
    if (isAnonymous && address === undefined) return null;
    const key = isAnonymous ? toNetwork(address ?? '') : credentialKey(application.name, caller);
    return window.consume(key) > 0 ? null : () => window.refund(key);
  }
}

function noop(): void {}

/** Whether a request without a body may be a read that readers answer. */
function isPlainRead({ method, headers }: IncomingMessage): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false;
  return headers['content-length'] === undefined && headers['transfer-encoding'] === undefined;
}

function mayAnswer(collection: Collection, { route, writes: isWrite }: RecordRoute): boolean {
  if (isWrite) return canPlanWrite(collection, route.action);
  return !collection.system || systemReads.has(collection.name);
}

async function authenticate({ headers }: IncomingMessage, { authenticator }: ReaderApplication): Promise<Caller> {
  if (headers.authorization === undefined) return anonymous;
  const caller = await authenticator.authenticate(parseBearerToken(headers.authorization));
  return withRole(caller, headers['x-role'] as string | undefined);
}

/**
 * Null for a list without pages, which is a stream. Errors are thrown, and the main thread then answers the request.
 */
async function readRecords(
  { route, query }: RecordRoute,
  context: RecordContext,
  collection: Collection,
): Promise<AnsweredResult | null> {
  if (route.action === 'query') {
    const parsed = normaliseQuery(readParameters(route, query, undefined, false));
    return { data: await queryRecords(context, collection, parsed), counter: 0 };
  }
  const request = readRecordRequest(route, query, undefined, false);
  if (route.action === 'get') {
    const { data, counter } = await getRecord(context, collection, request);
    return { data, counter };
  }
  if (!request.paginate) return null;
  const { data, meta } = await listRecords(context, collection, withWholeList(collection.name, request));
  return { data, meta, counter: 0 };
}
