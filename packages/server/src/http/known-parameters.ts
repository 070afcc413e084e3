import { isReadAction } from '../protocol/actions.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { Call } from './call.ts';
import { refuseUnmatched } from './if-match.ts';

/** The parameters of an action that knows only these; every write knows `dryRun` where `tries` says so. Writes refuse an If-Match that they would pass over. */
export function knownParameters(call: Call, names: readonly string[], tries = true): Readonly<Record<string, unknown>> {
  const parameters = call.parameters();
  const { resource, action } = call.route;
  if (!isReadAction(action)) refuseUnmatched(call);
  const mayTry = tries && !isReadAction(action);
  const unknown = Object.keys(parameters).find((name) => !names.includes(name) && !(mayTry && name === 'dryRun'));
  if (unknown !== undefined)
    throw new ApiError('PARAMETER_UNKNOWN', `${resource}:${action} knows no parameter "${unknown.slice(0, 60)}".`);
  return parameters;
}

/** `dryRun=true`: everything runs and is taken back; the reply says what would be. */
export function isTrial({ dryRun }: Readonly<Record<string, unknown>>): boolean {
  if (dryRun === undefined || dryRun === 'false') return false;
  if (dryRun === 'true') return true;
  throw new ApiError('PARAMETER_INVALID', 'dryRun must be true or false.');
}
