import { BlobStoreFault } from '../base/blob-store.ts';
import type { Logger } from '../base/logger.ts';
import { DatabaseFault } from '../database/database.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import { statusByLabel } from './status.ts';

/** An error reply: status, body text and headers. */
export interface ErrorReply {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** 415. @param cure the message. */
export function mediaTypeUnsupported(cure = 'Send the body as application/json.'): ApiError {
  return new ApiError('MEDIA_TYPE_UNSUPPORTED', cure);
}

/** 413. @param limit in bytes. */
export function bodyTooLarge(limit: number): ApiError {
  if (limit >= limits.bodyBytes)
    return new ApiError(
      'BODY_TOO_LARGE',
      `The body exceeds ${limit / 1024 / 1024} MiB. Split it into several requests.`,
    );
  return new ApiError(
    'BODY_TOO_LARGE',
    `The body exceeds ${limit / 1024} KiB, the limit for callers without a verified credential. Send "Authorization: Bearer <token>" for up to ${limits.bodyBytes / 1024 / 1024} MiB.`,
  );
}

/** Refusals of the HTTP library, by its error codes. */
const libraryErrors: Readonly<Record<string, () => ApiError>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () => bodyTooLarge(limits.bodyBytes),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => new ApiError('MEDIA_TYPE_UNSUPPORTED', 'Send the body as application/json.'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new ApiError('BODY_INVALID', 'The length of the body differs from the header "Content-Length".'),
  FST_ERR_BAD_URL: () => new ApiError('PARAMETER_INVALID', 'The path contains a percent escape that is not UTF-8.'),
  HPE_INVALID_URL: () =>
    new ApiError('PARAMETER_INVALID', 'The path or query contains a character that must be percent-encoded as UTF-8.'),
  ECONNRESET: () => new ApiError('BODY_INVALID', 'The request ended before it was complete.'),
  HPE_HEADER_OVERFLOW: () =>
    new ApiError('HEADERS_TOO_LARGE', 'The request line and headers exceed 80 KiB. Send long filters by POST.'),
  ERR_HTTP_REQUEST_TIMEOUT: () =>
    new ApiError('HEADER_INVALID', 'The request did not arrive within the time limit. Send it again.'),
};

/** Converts any thrown value to the common error shape. Unexpected errors are logged, and their cause is not sent. */
export function toErrorReply(thrown: unknown, requestId: string, logger: Logger): ErrorReply {
  const error = toApiError(thrown);
  if (error.code === 'INTERNAL' || error.code === 'APPLICATION_FAILED')
    logger.error({ err: thrown, requestId }, 'A request failed.');
  if (error.code === 'DATABASE_UNAVAILABLE')
    logger.warn({ cause: (thrown as Error).message, requestId }, 'The database is unavailable.');
  const { label, message, details, code, retryAfter, allow, rate, rows } = error;
  const body = JSON.stringify({
    error: label,
    message,
    ...(details && { details }),
    ...(rows && { errors: rows }),
    code,
    requestId,
    ...(retryAfter !== undefined && { retryAfter }),
  });
  const headers: Record<string, string> = {};
  if (retryAfter !== undefined) headers['retry-after'] = String(retryAfter);
  if (rate) {
    headers['ratelimit'] = `"${rate.policy}";r=0;t=${retryAfter}`;
    headers['ratelimit-policy'] = `"${rate.policy}";q=${rate.points};w=${rate.seconds}`;
  }
  if (allow !== undefined) headers['allow'] = allow;
  if (label === 'Unauthorized') headers['www-authenticate'] = 'Bearer';
  return { status: statusByLabel[label], body, headers };
}

function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof DatabaseFault && (thrown.kind === 'disk' || thrown.kind === 'unknownOutcome'))
    return new ApiError(
      'APPLICATION_FAILED',
      'The application failed at the stage "database": its storage does not respond or cannot be written to. Whether the request was executed is unknown. Check the data, or repeat the request with the same Idempotency-Key.',
    );
  // Nothing was written, so clients and proxies may repeat the request.
  if (thrown instanceof DatabaseFault && thrown.kind === 'unavailable')
    return new ApiError('DATABASE_UNAVAILABLE', 'The database is unavailable. Nothing was written. Try again later.', {
      retryAfter: 2,
    });
  if (thrown instanceof BlobStoreFault)
    return new ApiError(
      'FILES_UNAVAILABLE',
      'The storage of files is unavailable. No file was stored. Try again later.',
      { retryAfter: 5 },
    );
  if (thrown instanceof DatabaseFault && (thrown.kind === 'timeout' || thrown.kind === 'collision'))
    return new ApiError('BUSY', 'The request waited too long for other requests. Try again.', { retryAfter: 1 });
  if (thrown instanceof DatabaseFault && thrown.kind === 'keysExhausted')
    return new ApiError(
      'KEYS_EXHAUSTED',
      'A collection that the request writes to has no generated keys left. Give new records an explicit key.',
    );
  const createError = libraryErrors[(thrown as { code?: string } | null)?.code ?? ''];
  if (createError) return createError();
  const { statusCode } = (thrown ?? {}) as { statusCode?: number };
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return new ApiError('BODY_INVALID', 'The request is malformed.');
  return new ApiError('INTERNAL', 'The server failed unexpectedly. Its log has the cause under this requestId.');
}
