import type { Grant } from '../query/grant.ts';
import { requireGrant } from '../records/read/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import type { Collection } from '../schema/registry.ts';
import { parseRecordId } from './auth-actions.ts';
import { readKnownParameters } from './known-parameters.ts';
import type { RequestContext } from './request-context.ts';

/** The record that a system action is about, as the request names it. It may not exist. */
export interface NamedRecord {
  readonly context: RecordContext;
  readonly collection: Collection;
  /** The grant of the caller for the required action. */
  readonly grant: Grant;
  readonly id: number;
}

/**
 * Reads `filterByTk` as the only parameter of a system action.
 *
 * @param action whose grant on the collection the caller needs.
 * @throws ApiError 403 without the grant, 400 for other parameters and for a value that is not an id.
 */
export function readNamedRecord(request: RequestContext, collectionName: string, action: string): NamedRecord {
  const { application, caller, requestId } = request;
  const context = application.recordContext(caller, requestId);
  const collection = context.registry.get(collectionName);
  const grant = requireGrant(context, collection, action);
  const { filterByTk } = readKnownParameters(request, ['filterByTk'], false);
  return { context, collection, grant, id: parseRecordId(filterByTk) };
}
