import { isReadAction } from '../protocol/actions.ts';
import { booleanExpected } from '../protocol/api-error.ts';
import { requireKnownNames } from '../protocol/known-names.ts';
import { refuseUnsupportedIfMatch } from './if-match.ts';
import type { RequestContext } from './request-context.ts';

/**
 * The parameters of an action. Parameters other than `names` are refused; writes also accept `dryRun` unless
 * `allowsDryRun` is false. A write that does not support If-Match refuses the header.
 */
export function readKnownParameters(
  request: RequestContext,
  names: readonly string[],
  allowsDryRun = true,
): Readonly<Record<string, unknown>> {
  const parameters = request.parameters();
  const { resource, action } = request.route;
  if (!isReadAction(action)) refuseUnsupportedIfMatch(request);
  const mayDryRun = allowsDryRun && !isReadAction(action);
  const known = new Set(mayDryRun ? [...names, 'dryRun'] : names);
  requireKnownNames(`${resource}:${action}`, parameters, known);
  return parameters;
}

/** Whether `dryRun=true`: the write is executed and rolled back, and the reply shows the result. */
export function isDryRun({ dryRun }: Readonly<Record<string, unknown>>): boolean {
  if (dryRun === undefined || dryRun === 'false') return false;
  if (dryRun === 'true') return true;
  throw booleanExpected('dryRun');
}
