import type { ErrorLabel } from '../protocol/error-catalogue.ts';

/** The only place where labels become status numbers. */
export const statusByLabel: Readonly<Record<ErrorLabel, number>> = {
  'Bad Request': 400,
  Unauthorized: 401,
  Forbidden: 403,
  'No permissions': 403,
  'Not Found': 404,
  'Method Not Allowed': 405,
  Conflict: 409,
  'Precondition Failed': 412,
  'Payload Too Large': 413,
  'Expectation Failed': 417,
  'Unsupported Media Type': 415,
  'Validation Error': 422,
  'Too Many Requests': 429,
  'Headers Too Large': 431,
  'Internal Server Error': 500,
  'Service Unavailable': 503,
};
export const ok = 200;
export const accepted = 202;
export const found = 302;
export const notModified = 304;
export const noContent = 204;
export const notFound = statusByLabel['Not Found'];
export const partialContent = 206;
export const rangeUnsatisfiable = 416;
