/** Names that an error offers in the place of an unknown one. */
import { ApiError } from './api-error.ts';

/** So many names stand in one message. */
const maxNames = 30;

/** Names as a message lists them: `id, title, and 3 more`. */
export function formatNames(names: Iterable<string>): string {
  const all = [...names];
  const more = all.length - maxNames;
  return more > 0 ? `${all.slice(0, maxNames).join(', ')}, and ${more} more` : all.join(', ');
}

/** @param known the parameters that the action takes. */
export function parameterUnknown(action: string, name: string, known: Iterable<string>): ApiError {
  const names = formatNames(known);
  const cure = names === '' ? 'It takes no parameters.' : `Its parameters are: ${names}.`;
  return new ApiError('PARAMETER_UNKNOWN', `The action "${action}" has no parameter  "${name.slice(0, 60)}". ${cure}`);
}
