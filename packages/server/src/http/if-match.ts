import { ApiError } from '../protocol/api-error.ts';
import type { Match } from '../records/write-steps.ts';

/** An entity tag (RFC 9110, 8.8.3), weak or strong. */
const tag = String.raw`(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"`;
const tags = new RegExp(String.raw`^[\t ,]*${tag}(?:[\t ]*,[\t ,]*${tag})*[\t ,]*$`);
const counter = /"(\d{1,15})(?:\.[^"]*)?"/g;

/**
 * The counters in `"<counter>.<hash>", …`; the hash and `W/` do not matter. Tags that this server did not make have none,
 * and so match no record.
 *
 * @throws ApiError 400 for what is neither `*` nor a list of entity tags.
 */
export function matchOf(header: string | undefined): Match {
  if (header === undefined) return null;
  if (header.trim() === '*') return 'any';
  if (!tags.test(header))
    throw new ApiError('HEADER_INVALID', '"If-Match" takes the ETag of a get, such as "3.abc", a list of ETags, or *.');
  return [...header.matchAll(counter)].map(([, digits]) => Number(digits));
}
