/** Lists of known names in error messages about unknown ones. */
import { ApiError } from './api-error.ts';

/** Maximum number of names in one message. */
const maxNames = 30;

/** Names as an error message lists them: `id, title, and 3 more`. */
export function formatNames(names: Iterable<string>): string {
  const all = [...names];
  const more = all.length - maxNames;
  return more > 0 ? `${all.slice(0, maxNames).join(', ')}, and ${more} more` : all.join(', ');
}

/**
 * Refuses unknown parameters.
 *
 * @param parameters the parameters of the request, by name.
 * @throws ApiError `PARAMETER_UNKNOWN` naming the first of them, and the known ones.
 */
export function requireKnownNames(action: string, parameters: object, known: ReadonlySet<string>): void {
  const unknown = Object.keys(parameters).find((name) => !known.has(name));
  if (unknown === undefined) return;
  const names = formatNames(known);
  const cure = names === '' ? 'It takes no parameters.' : `Its parameters are: ${names}.`;
  const problem = `The action "${action}" has no parameter "${unknown.slice(0, 60)}".`;
  throw new ApiError('PARAMETER_UNKNOWN', `${problem} ${cure}`);
}
