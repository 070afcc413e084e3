import { ApiError } from '../protocol/api-error.ts';
import type { Match } from '../records/write-records.ts';

/** The counter in `"<counter>.<hash>"`; the hash and `W/` do not matter. @throws ApiError 400 for another form. */
export function matchOf(header: string | undefined): Match {
  if (header === undefined) return null;
  if (header.trim() === '*') return 'any';
  const counter = /^\s*(?:W\/)?"(\d{1,15})(?:\.[^"]*)?"\s*$/.exec(header)?.[1];
  if (counter === undefined) throw new ApiError('HEADER_INVALID', 'If-Match takes the ETag of a get, such as "3.abc".');
  return Number(counter);
}
