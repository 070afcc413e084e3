/** The keys of e-mails in requests. */
import { ApiError } from '../../protocol/api-error.ts';
import { requestByKeys } from '../../protocol/request-normaliser.ts';

const maxKeys = 1000;

/** The one e-mail that a request names, in `filterByTk` or as `id` in its body; null where it names none. */
export function parseEmailKey(filterByTk: unknown, id: unknown): number | null {
  if (filterByTk !== undefined && id !== undefined)
    throw new ApiError('PARAMETER_INVALID', 'Name the e-mail by "filterByTk" or by "id" in the body, not by both.');
  const requested = filterByTk ?? id;
  if (requested === undefined) return null;
  return toEmailKey(requestByKeys('get', requested).filterByTk);
}

/** The one e-mail that a request must name. @throws ApiError `TARGET_MISSING` */
export function requireEmailKey(filterByTk: unknown, id: unknown): number {
  const key = parseEmailKey(filterByTk, id);
  if (key === null) throw new ApiError('TARGET_MISSING', 'Name the e-mail by "filterByTk", or by "id" in the body.');
  return key;
}

/** The e-mails that a request names, in `filterByTk` or as `ids` in its body, each once. */
export function parseEmailKeys(filterByTk: unknown, ids: unknown): number[] {
  if ((filterByTk === undefined) === (ids === undefined))
    throw new ApiError('TARGET_MISSING', 'Name the e-mails by "filterByTk", or by "ids" in the body.');
  const { filterByTk: requested } = requestByKeys('update', filterByTk ?? ids);
  const keys = (Array.isArray(requested) ? requested : [requested]).map(toEmailKey);
  if (keys.length === 0 || keys.length > maxKeys) throw new ApiError('LIMIT_EXCEEDED', `Name 1 to ${maxKeys} e-mails.`);
  return [...new Set(keys)];
}

function toEmailKey(key: unknown): number {
  const number = typeof key === 'string' && /^\d{1,16}$/.test(key) ? Number(key) : key;
  if (typeof number === 'number' && Number.isSafeInteger(number)) return number;
  throw new ApiError('PARAMETER_INVALID', 'The id of an e-mail must be a whole number.');
}
