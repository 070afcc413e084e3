/** Describes slow requests for the log: names and operators, never values. Loaded with the first of them. */
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

export function logSlowRequest(logger: Logger, slow: SlowRequest): void {
  logger.warn({ ...slow, milliseconds: Math.round(slow.milliseconds) }, 'A request was slow.');
}
