/** Counts requests, logs slow ones, reports the timing of a request to administrators, and loads the code that shows the counts. */
import type { ServerResponse } from 'node:http';
import { RequestMetrics } from '../base/metrics.ts';
import type { Tracing } from '../base/tracing/tracing.ts';
import { readActions, writeActions } from '../protocol/actions.ts';
import type { ActionTable } from './action-table.ts';
import type { ServerActivity } from './activity/server-activity.ts';
import type { HttpParts } from './incoming-request.ts';
import type { MetricsSources } from './metrics/metrics-page.ts';
import type { MetricsReplies } from './metrics/metrics-replies.ts';
import { relationReads, relationWrites } from './relation-actions.ts';
import type { Replies } from './replies.ts';
import type { RequestContext, SystemAction } from './request-context.ts';
import { serverTimingHeader } from './request-head.ts';
import { formatRoute, type Route } from './route.ts';

/** A request under way. Times are those of `performance.now()`. */
export interface ObservedRequest {
  readonly startedAt: number;
  /** Whether it requests Server-Timing. */
  readonly isTimed: boolean;
  /** The index of its action in the metrics. */
  action: number;
  /** When its caller was verified; 0: not yet, or not timed. */
  verifiedAt: number;
  /** Null until its caller is verified. */
  context: RequestContext | null;
}

export interface RequestObserverParts {
  readonly actions: ActionTable;
  readonly server: HttpParts;
  /** The number of open connections, of all threads. */
  readonly connections: () => number;
  /** The number of open WebSockets and event streams. */
  readonly sockets: () => number;
  /** Aborted when the server stops. */
  readonly stopped: AbortSignal;
}

/**
 * The delay, in milliseconds, after which the minutes of the last hour are counted, so that the start does not wait for
 * this code.
 */
const activityDelay = 10_000;

/** Observes the requests below /api/ of the main thread. */
export class RequestObserver {
  readonly metrics: RequestMetrics;
  readonly #parts: RequestObserverParts;
  /** The indexes of system actions, so that no name is built for a request. */
  readonly #systemIndexes: ReadonlyMap<SystemAction, number>;
  readonly #startedAt = Date.now();
  #underWay = 0;
  #metricsReplies: Promise<MetricsReplies> | null = null;
  #activity: Promise<ServerActivity> | null = null;

  constructor(parts: RequestObserverParts) {
    this.#parts = parts;
    const systemNames = Object.entries(parts.actions).map(([key, action]) => ({ name: toActionName(key), action }));
    const names = systemNames.map(({ name }) => name);
    this.metrics = new RequestMetrics([...readActions, ...writeActions, ...relationReads, ...relationWrites, ...names]);
    this.#systemIndexes = new Map(systemNames.map(({ name, action }) => [action, this.metrics.find(name)]));
    const timer = setTimeout(() => void this.loadActivity(), activityDelay).unref();
    parts.stopped.addEventListener('abort', () => clearTimeout(timer), { once: true });
  }

  /** The requests that have no reply yet. */
  get underWay(): number {
    return this.#underWay;
  }

  /** The handler of requests for `/metrics`. */
  loadMetrics(replies: Replies): Promise<MetricsReplies> {
    const token = this.#parts.server.config.metricsToken;
    this.#metricsReplies ??= import('./metrics/metrics-replies.ts').then(
      (each) => new each.MetricsReplies({ ...this.#sources(), token, replies }),
    );
    return this.#metricsReplies;
  }

  /** What the server did in the last hour. */
  loadActivity(): Promise<ServerActivity> {
    this.#activity ??= import('./activity/server-activity.ts').then(
      (each) => new each.ServerActivity(this.#sources(), this.#startedAt, this.#parts.stopped),
    );
    return this.#activity;
  }

  #sources(): MetricsSources {
    const { server, connections, sockets } = this.#parts;
    const { applications, health, readers, config } = server;
    return {
      ...{ applications, health, readers, connections, sockets },
      dataDir: config.dataDir,
      requests: this.metrics,
      requestsUnderWay: () => this.#underWay,
    };
  }

  begin(headers: Readonly<Record<string, unknown>>): ObservedRequest {
    this.#underWay += 1;
    const isTimed = headers[serverTimingHeader] !== undefined;
    return { startedAt: performance.now(), isTimed, action: 0, verifiedAt: 0, context: null };
  }

  /** Notes which action a request names. */
  setAction(observed: ObservedRequest, action: SystemAction | undefined, route: Route): void {
    observed.action = action ? (this.#systemIndexes.get(action) ?? 0) : this.metrics.find(route.action);
  }

  /** Notes that the caller of a request was verified. */
  setContext(observed: ObservedRequest, context: RequestContext): void {
    observed.context = context;
    if (observed.isTimed && observed.verifiedAt === 0) observed.verifiedAt = performance.now();
  }

  /** Adds Server-Timing to a reply whose head is not written yet. */
  addTiming({ startedAt, verifiedAt, isTimed, context }: ObservedRequest, response: ServerResponse): void {
    if (!isTimed || context === null || !isAdministrator(context)) return;
    const now = performance.now();
    const phases = { auth: verifiedAt - startedAt, action: now - verifiedAt, total: now - startedAt };
    const entries = Object.entries(phases).map(([name, duration]) => `${name};dur=${duration.toFixed(2)}`);
    response.setHeader('server-timing', entries.join(', '));
  }

  /** Counts a request whose reply has been handed to the connection. The bytes of a stream may still follow. */
  end(observed: ObservedRequest, status: number): void {
    this.#underWay -= 1;
    const milliseconds = performance.now() - observed.startedAt;
    this.metrics.count(observed.action, status, milliseconds);
    const { tracing, config } = this.#parts.server;
    if (tracing !== null) this.#trace(tracing, observed, status);
    const { slowRequestMilliseconds } = config;
    if (slowRequestMilliseconds !== null && milliseconds >= slowRequestMilliseconds)
      void this.#logSlow(observed, status, milliseconds);
  }

  #trace(tracing: Tracing, { action, context }: ObservedRequest, status: number): void {
    const route = context !== null && status < 400 ? context.route : null;
    tracing.describeRequest({
      application: context?.application.name ?? null,
      action: this.metrics.getName(action),
      resource: route?.resource ?? null,
      route: route && formatRoute(route),
      status,
    });
  }

  async #logSlow({ action, context }: ObservedRequest, status: number, milliseconds: number): Promise<void> {
    const { logSlowRequest, readShape } = await import('./slow-requests.ts');
    const succeeded = context !== null && status < 400;
    logSlowRequest(this.#parts.server.logger, {
      application: context?.application.name ?? null,
      action: this.metrics.getName(action),
      resource: succeeded ? context.route.resource : null,
      status,
      milliseconds,
      shape: succeeded ? readShape(context.route, context.recordRequest, context.parameters) : null,
    });
  }
}

/** The name of an action in metrics: `batch` for `batch:`. */
function toActionName(key: string): string {
  return key.replace(/:$/, '');
}

function isAdministrator({ application, caller }: RequestContext): boolean {
  return application.recordContext(caller, null).access.roles.get(caller.role)?.allowConfigure ?? false;
}
