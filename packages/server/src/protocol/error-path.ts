/** The keys of an error's details: paths into the request body, such as `[3].fields[1].target`. */
import type { ErrorDetails } from './api-error.ts';

/**
 * Appends a name or an index to a path: `tags` and `[2]` become `tags[2]`, `author` and `name` become `author.name`.
 */
export function joinErrorPath(path: string, rest: string): string {
  if (path === '') return rest;
  return rest.startsWith('[') ? `${path}${rest}` : `${path}.${rest}`;
}

/** Puts details below a path: `{"title": "…"}` below `[3]` becomes `{"[3].title": "…"}`. */
export function prefixDetails(path: string, details: ErrorDetails = {}): Record<string, string> {
  const prefixed: Record<string, string> = {};
  for (const [rest, text] of Object.entries(details)) prefixed[joinErrorPath(path, rest)] = text;
  return prefixed;
}
