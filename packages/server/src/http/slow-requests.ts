/** Describes slow requests for the log and for administrators: names and operators, never values. Loaded with the first of them. */
import type { Logger } from '../base/logger.ts';
import { normaliseQuery } from '../protocol/query-request.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import type { Route } from './route.ts';

/** A request that took longer than SLOW_REQUEST_MS. */
export interface SlowRequest {
  readonly application: string | null;
  readonly action: string;
  /** The collection or resource; null if the request was refused, since its name is then only what the client has sent. */
  readonly resource: string | null;
  readonly status: number;
  readonly milliseconds: number;
  /** The names and operators of its filter, fields, sort and relations, as they are compiled; null: it has none. */
  readonly shape: string | null;
}

/** Longer shapes are cut. */
const maxShapeLength = 1000;

/** The shape of a successful request. Its parameters are parsed a second time, so it is called for slow requests only. */
export function readShape(
  { action }: Route,
  recordRequest: () => RecordRequest,
  parameters: () => Readonly<Record<string, unknown>>,
): string | null {
  try {
    const { shape } = action === 'query' ? normaliseQuery(parameters()) : recordRequest();
    return shape.length > maxShapeLength ? `${shape.slice(0, maxShapeLength)}…` : shape;
  } catch {
    return null;
  }
}

/** Slow requests with the same action, resource and shape in the last hour. */
export interface SlowShape extends Pick<SlowRequest, 'application' | 'action' | 'resource' | 'shape'> {
  readonly requests: number;
  /** Milliseconds of the slowest one. */
  readonly slowest: number;
  /** When the last one was answered, in milliseconds since 1970. */
  readonly lastAt: number;
}

const keptMilliseconds = 3_600_000;
const keptShapes = 200;
/** The shapes of all servers in this process. The shape of the most recent request is last. */
const recentShapes = new Map<string, SlowShape>();

function keepShape({ application, action, resource, shape, milliseconds }: SlowRequest, now: number): void {
  const key = JSON.stringify([application, action, resource, shape]);
  const before = recentShapes.get(key);
  const counted = before && now - before.lastAt < keptMilliseconds ? before : { requests: 0, slowest: 0 };
  recentShapes.delete(key);
  const slowest = Math.max(counted.slowest, Math.round(milliseconds));
  recentShapes.set(key, { application, action, resource, shape, requests: counted.requests + 1, slowest, lastAt: now });
  const [oldest] = recentShapes.keys();
  if (recentShapes.size > keptShapes && oldest !== undefined) recentShapes.delete(oldest);
}

/** The shapes of slow requests in the last hour, the slowest first. @param most the maximum number. */
export function listSlowShapes(most: number, now: number): SlowShape[] {
  return [...recentShapes.values()]
    .filter(({ lastAt }) => now - lastAt < keptMilliseconds)
    .sort((one, other) => other.slowest - one.slowest)
    .slice(0, most);
}

/** Writes a slow request to the log, and keeps it for an hour. */
export function logSlowRequest(logger: Logger, slow: SlowRequest): void {
  keepShape(slow, Date.now());
  logger.warn({ ...slow, milliseconds: Math.round(slow.milliseconds) }, 'A request was slow.');
}
