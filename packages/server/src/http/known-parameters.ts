import { isReadAction } from '../protocol/actions.ts';
import { notTruth } from '../protocol/api-error.ts';
import { parameterUnknown } from '../protocol/known-names.ts';
import type { Call } from './call.ts';
import { refuseUnmatched } from './if-match.ts';

/** The parameters of an action that knows only these; every write knows `dryRun` where `tries` says so. Writes refuse an If-Match that they would pass over. */
export function knownParameters(call: Call, names: readonly string[], tries = true): Readonly<Record<string, unknown>> {
  const parameters = call.parameters();
  const { resource, action } = call.route;
  if (!isReadAction(action)) refuseUnmatched(call);
  const mayTry = tries && !isReadAction(action);
  const known = mayTry ? [...names, 'dryRun'] : names;
  const unknown = Object.keys(parameters).find((name) => !known.includes(name));
  if (unknown !== undefined) throw parameterUnknown(`${resource}:${action}`, unknown, known);
  return parameters;
}

/** `dryRun=true`: everything runs and is taken back; the reply says what would be. */
export function isTrial({ dryRun }: Readonly<Record<string, unknown>>): boolean {
  if (dryRun === undefined || dryRun === 'false') return false;
  if (dryRun === 'true') return true;
  throw notTruth('dryRun');
}
