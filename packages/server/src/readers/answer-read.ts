/**
 * Answers successful reads of records in a reader thread. All other requests and all uncertain cases are left to the
 * main thread, so errors, refusals and their journal entries only occur there.
 */
import type { IncomingMessage } from 'node:http';
import { LruMap } from '../base/lru-map.ts';
import { formatEndpoint } from '../http/journaling.ts';
import { toNetwork } from '../http/network.ts';
import { credentialKey, openSharedWindow } from '../http/rate-limits.ts';
import type { ActionResult } from '../http/request-context.ts';
import { readTimeZone, refuseRepeatedHeaders, serverTimingHeader } from '../http/request-head.ts';
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
import type { ReaderApplication } from './reader-application.ts';
import type { ReaderSettings } from './reader-messages.ts';

type AnsweredRead = Extract<ActionResult, { data: string }>;

/** A read with its result. */
export interface AnsweredRequest {
  readonly result: AnsweredRead;
  readonly read: ReadRoute;
  readonly application: string;
}

export interface ReadAnswersParts extends Pick<ReaderSettings, 'windows' | 'isBehindProxies' | 'extensionActions'> {
  /** The open application of a name; null if it is not open here. */
  findApplication(name: string): ReaderApplication | null;
}

export interface ReadRoute {
  readonly route: Route;
  readonly query: string;
}

/** System collections that support the same reads as other collections, and are read often. */
const systemReads: ReadonlySet<string> = new Set(['users']);
/** The actions that readers answer. */
export const readerActions = ['list', 'get', 'query'] as const;
const readActions: ReadonlySet<string> = new Set(readerActions);
const maxCachedPath = 300;

/** Answers reads of records, or leaves them to the main thread. */
export class ReadAnswers {
  readonly #parts: ReadAnswersParts;
  readonly #credentialWindow: SharedWindow | null;
  readonly #anonymousWindow: SharedWindow | null;
  /** `other`: not a read of records. */
  readonly #routes = new LruMap<Route | 'other'>({
    entries: 1000,
    bytes: 1024 * 1024,
    keyLength: maxCachedPath,
    sizeOf: 1000,
  });

  constructor(parts: ReadAnswersParts) {
    this.#parts = parts;
    this.#credentialWindow = openSharedWindow(parts.windows.credential);
    this.#anonymousWindow = openSharedWindow(parts.windows.anonymous);
  }

  /** The result of a read; null: the main thread must answer it. Never rejects. */
  async answer(request: IncomingMessage): Promise<AnsweredRequest | null> {
    const read = this.#recognise(request);
    if (read === null) return null;
    let refund: (() => void) | null = null;
    try {
      const application = this.#parts.findApplication((request.headers['x-app'] as string | undefined) ?? 'main');
      if (!application?.isCurrent()) return null;
      const collection = application.registry.find(read.route.resource);
      if (!collection || (collection.system && !systemReads.has(collection.name))) return null;
      refuseRepeatedHeaders(request.rawHeaders);
      const caller = await authenticate(request, application);
      refund = this.#count(application, caller, request);
      if (refund === null) return null;
      const context = application.createContext(caller, readTimeZone(request.headers['x-timezone']));
      const result = await readRecords(read, context, collection);
      if (result === null) refund();
      else application.countSuccess(caller, formatEndpoint(read.route));
      return result && { result, read, application: application.name };
    } catch {
      refund?.();
      return null;
    }
  }

  /** Recognises reads without a body whose path has no escapes. */
  #recognise({ method, url = '', headers }: IncomingMessage): ReadRoute | null {
    if (method !== 'GET' && method !== 'HEAD') return null;
    if (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined) return null;
    if (headers.expect !== undefined || headers[serverTimingHeader] !== undefined) return null;
    const queryStart = url.indexOf('?');
    const path = queryStart < 0 ? url : url.slice(0, queryStart);
    const route = this.#findRoute(path);
    return route && { route, query: queryStart < 0 ? '' : url.slice(queryStart + 1) };
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
    return isOwn && route.of === null && readActions.has(route.action) ? route : null;
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

async function authenticate({ headers }: IncomingMessage, { authenticator }: ReaderApplication): Promise<Caller> {
  if (headers.authorization === undefined) return anonymous;
  const caller = await authenticator.authenticate(parseBearerToken(headers.authorization));
  return withRole(caller, headers['x-role'] as string | undefined);
}

/**
 * Null for a list without pages, which is a stream. Errors are thrown, and the main thread then answers the request.
 */
async function readRecords(
  { route, query }: ReadRoute,
  context: RecordContext,
  collection: Collection,
): Promise<AnsweredRead | null> {
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
