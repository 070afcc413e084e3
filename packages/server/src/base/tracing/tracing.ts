/**
 * Traces with OpenTelemetry: spans of requests and of the work that they cause, sent to a collector with OTLP over HTTP. This module
 * and its libraries are only loaded if an endpoint is set.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { hostname } from 'node:os';
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { hrTime, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TracingConfig } from '../tracing-config.ts';
import { ReportingExporter } from './reporting-exporter.ts';

/** The time after which queued spans are sent. */
const batchMilliseconds = 1000;
/** The size of the queue. While the collector does not respond, further spans are discarded. */
const maxWaitingSpans = 2048;
const exportMilliseconds = 5000;
/** How long a stop waits for the collector. */
const stopMilliseconds = 1000;

/** The request or work that is under way. */
interface ActiveWork {
  readonly context: Context;
  readonly span: Span;
  /** Functions that end spans as soon as it is known that this thread replies; null: spans end immediately. */
  readonly deferred: (() => void)[] | null;
  readonly isQuiet: boolean;
  /**
   * Timers that were started by the work still find it in the AsyncLocalStorage after its end, but are no longer part
   * of it.
   */
  isEnded: boolean;
}

/** The description of a span. Attributes must not contain data of users. */
export interface SpanDescription {
  readonly name: string;
  readonly kind: 'client' | 'internal';
  readonly attributes: Attributes;
}

/** What is known of a request when its reply is complete. */
export interface TracedRequest {
  readonly application: string | null;
  readonly action: string;
  /** Null if the request was refused: the name may then be any text that the client has sent. */
  readonly resource: string | null;
  /** The path with placeholders for keys; null if {@link resource} is null. */
  readonly route: string | null;
  readonly status: number;
}

export interface TracedHead {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Creates spans, and sends them in the background. */
export class Tracing {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;
  readonly #work = new AsyncLocalStorage<ActiveWork>();
  readonly #propagator = new W3CTraceContextPropagator();

  /** @param warn is called when the collector begins to reject spans or not to respond. */
  constructor(config: TracingConfig, warn: (message: string) => void) {
    const exporter = new OTLPTraceExporter({
      url: config.url,
      headers: { ...config.headers },
      timeoutMillis: exportMilliseconds,
      concurrencyLimit: 2,
    });
    const processor = new BatchSpanProcessor({
      exporter: new ReportingExporter(exporter, warn),
      scheduledDelayMillis: batchMilliseconds,
      maxQueueSize: maxWaitingSpans,
      exportTimeoutMillis: 2 * exportMilliseconds,
    });
    const own = { 'host.name': hostname(), ...config.resource, 'service.name': config.serviceName };
    this.#provider = new TracerProvider({
      resource: defaultResource().merge(resourceFromAttributes(own)),
      sampler: createSampler(config),
      spanProcessors: [processor],
    });
    this.#tracer = this.#provider.getTracer('tablinum');
  }

  /** Whether the running work is part of a trace that is sent. */
  get isActive(): boolean {
    const active = this.#work.getStore();
    return active !== undefined && !active.isQuiet && !active.isEnded && active.span.isRecording();
  }

  /**
   * Runs the work of a request in a span, which continues the trace of the header `traceparent`.
   *
   * @param isDeferred whether its spans are only sent if {@link describeRequest} is called, because another thread may reply instead.
   */
  traceRequest<T>({ method, headers }: TracedHead, work: () => Promise<T>, isDeferred = false): Promise<T> {
    const parent = this.#propagator.extract(ROOT_CONTEXT, headers, headerGetter);
    const attributes = { 'http.request.method': method };
    const span = this.#tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent);
    const active = createWork(trace.setSpan(parent, span), span, isDeferred ? [] : null);
    return this.#work.run(active, async () => {
      try {
        return await work();
      } finally {
        active.isEnded = true;
        if (!isDeferred) span.end();
      }
    });
  }

  /** Adds name and attributes to the span of the running request. */
  describeRequest({ application, action, resource, route, status }: TracedRequest): void {
    const active = this.#work.getStore();
    if (!active) return;
    const { span, deferred } = active;
    const attributes = {
      'http.route': route,
      'http.response.status_code': status,
      'tablinum.application': application,
      'tablinum.action': action,
      'tablinum.resource': resource,
    };
    for (const [name, value] of Object.entries(attributes)) if (value !== null) span.setAttribute(name, value);
    // The names of system actions begin with their resource.
    span.updateName(resource === null || action.includes(':') ? action : `${resource}:${action}`);
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    if (deferred === null) return;
    for (const end of deferred) end();
    span.end();
  }

  /**
   * Runs work in a child span of the running work, or in a new trace. Only the type of an error is recorded, because
   * the message may contain values.
   *
   * @param work receives a function that adds an attribute to the span.
   */
  trace<T>(
    { name, kind, attributes }: SpanDescription,
    work: (add: (name: string, value: string | number) => void) => T,
  ): T {
    const found = this.#work.getStore();
    const outer = found?.isEnded ? undefined : found;
    const context = outer?.context ?? ROOT_CONTEXT;
    const options = { kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL, attributes };
    const span = this.#tracer.startSpan(name, options, context);
    const active = createWork(trace.setSpan(context, span), span, outer?.deferred ?? null);
    const end = (error: unknown = null): void => {
      if (error !== null) {
        span.setStatus({ code: SpanStatusCode.ERROR });
        span.setAttribute('error.type', readErrorType(error));
      }
      active.isEnded = true;
      const time = hrTime();
      if (active.deferred) active.deferred.push(() => span.end(time));
      else span.end();
    };
    return this.#work.run(active, () => settle(() => work((key, value) => span.setAttribute(key, value)), end));
  }

  /** Runs work without creating spans for its parts. */
  quietly<T>(work: () => T): T {
    const active = this.#work.getStore();
    return active ? this.#work.run({ ...active, isQuiet: true }, work) : work();
  }

  /** Sends the queued spans, and waits at most one second for this. Never rejects. */
  async close(): Promise<void> {
    const { promise: timeout, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, stopMilliseconds);
    await Promise.race([this.#provider.shutdown().catch(() => {}), timeout]);
    clearTimeout(timer);
  }
}

function createWork(context: Context, span: Span, deferred: ActiveWork['deferred']): ActiveWork {
  return { context, span, deferred, isQuiet: false, isEnded: false };
}

/** Runs work that may return a promise, and calls `end` when it has ended. */
function settle<T>(work: () => T, end: (error?: unknown) => void): T {
  try {
    const result = work();
    if (!(result instanceof Promise)) {
      end();
      return result;
    }
    return result.then(
      (value: unknown) => {
        end();
        return value;
      },
      (error: unknown) => {
        end(error);
        throw error;
      },
    ) as T;
  } catch (error) {
    end(error);
    throw error;
  }
}

/** Returns a code such as ECONNREFUSED, the kind of a database fault, or the name of the error. */
function readErrorType(error: unknown): string {
  const { code, kind, name } = (error ?? {}) as Readonly<Record<'code' | 'kind' | 'name', unknown>>;
  const type = [code, kind, name].find((each) => typeof each === 'string' && /^\w{1,60}$/.test(each));
  return typeof type === 'string' ? type : 'unknown';
}

const headerGetter = {
  keys: (headers: TracedHead['headers']): string[] => Object.keys(headers),
  get: (headers: TracedHead['headers'], name: string): string | string[] | undefined => headers[name],
};

function createSampler({ sampler, ratio }: TracingConfig): Sampler {
  const kind = sampler.replace('parentbased_', '');
  const root =
    kind === 'always_on'
      ? new AlwaysOnSampler()
      : kind === 'always_off'
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(ratio);
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}
