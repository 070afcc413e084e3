import { isObject } from '../../protocol/json-text.ts';
import type { RecordRequest } from '../../protocol/record-request.ts';
import { type FieldWrite, refuseDeniedLists } from '../write/denied-fields.ts';

/** The parameters that say which members of a body are written. */
export type FieldLists = Pick<RecordRequest, 'whitelist' | 'blacklist' | 'updateAssociationValues'>;

/**
 * Drops the members of a body, or of each body of a list, that `whitelist` and `blacklist` leave out.
 *
 * @throws ApiError `FIELD_DENIED` if they, or `updateAssociationValues`, name fields that the role may not write.
 */
export function applyFieldLists(write: FieldWrite, body: unknown, lists: FieldLists): unknown {
  refuseDeniedLists(write, lists);
  const { whitelist, blacklist } = lists;
  if (whitelist === null && blacklist.length === 0) return body;
  const isAllowed = ([name]: [string, unknown]): boolean =>
    (whitelist === null || whitelist.includes(name)) && !blacklist.includes(name);
  const pickAllowed = (each: unknown): unknown =>
    isObject(each) ? Object.fromEntries(Object.entries(each).filter(isAllowed)) : each;
  return Array.isArray(body) ? body.map(pickAllowed) : pickAllowed(body);
}
