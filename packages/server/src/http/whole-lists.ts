import { limits } from '../protocol/limits.ts';
import type { RecordRequest } from '../protocol/record-request.ts';

/** Collections whose lists are complete unless a page is requested. */
const wholeLists = new Set(['roles', 'permissions', 'apiKeys', 'applications', 'users', 'webhooks']);

/** Requests all records if the request names no page and the list of its collection is complete by default. */
export function withWholeList(collection: string, request: RecordRequest): RecordRequest {
  const { pageSize, page, after } = request;
  const isWhole = wholeLists.has(collection) && pageSize === null && page === 1 && after === null;
  return isWhole ? { ...request, pageSize: limits.wholeList } : request;
}
