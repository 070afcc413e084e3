/** What requests about mail share. */
import { decide } from '../access/grants.ts';
import { ApiError } from '../protocol/api-error.ts';
import { isObject } from '../protocol/json-text.ts';
import type { RecordContext } from '../records/record-context.ts';
import type { RequestContext } from './request-context.ts';

/** Messages that are whole before they are stored are held against no filter. */
export function refuseRowFilter({ caller, access, registry }: RecordContext): void {
  if (decide(caller.role, 'emails', 'create', { table: access, registry }).row?.filter)
    throw new ApiError('NO_PERMISSION', 'A role with a row filter on emails does not bring messages in.');
}

/** @param known members that it may have; null for any. */
export function readBodyObject(
  { body, route }: RequestContext,
  known: readonly string[] | null,
): Record<string, unknown> {
  if (body === undefined || body === null) return {};
  if (!isObject(body)) throw new ApiError('BODY_INVALID', `${route.resource}:${route.action} takes an object.`);
  const unknown = known && Object.keys(body).find((name) => !known.includes(name));
  if (unknown)
    throw new ApiError('BODY_INVALID', `${route.resource}:${route.action} knows no "${unknown.slice(0, 60)}".`);
  return body;
}
