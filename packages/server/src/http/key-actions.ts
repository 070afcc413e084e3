import { tokenMissingError } from '../identity/authenticator.ts';
import { createKey, requireKeyRight, rotateKey } from '../records/system/api-key-rules.ts';
import { parseRecordId } from './auth-actions.ts';
import { readKnownParameters } from './known-parameters.ts';
import type { ActionResult, RequestContext, SystemAction } from './request-context.ts';

/** The actions of API keys that return a token. The others are record actions. */
export const keyActions: Readonly<Record<string, SystemAction>> = {
  'apiKeys:create': { reads: false, run: runCreate },
  'apiKeys:rotate': { reads: false, run: runRotate },
};

async function runCreate(request: RequestContext): Promise<ActionResult> {
  const { application, caller, requestId, body } = request;
  if (caller.type === 'anonymous') throw tokenMissingError();
  const context = application.recordContext(caller, requestId);
  requireKeyRight(context, 'create');
  readKnownParameters(request, [], false);
  return noteAndShowToken(request, await createKey(context, body));
}

async function runRotate(request: RequestContext): Promise<ActionResult> {
  const { application, caller, requestId, body } = request;
  if (caller.type === 'anonymous') throw tokenMissingError();
  const context = application.recordContext(caller, requestId);
  requireKeyRight(context, 'rotate');
  const { filterByTk } = readKnownParameters(request, ['filterByTk'], false);
  return noteAndShowToken(request, await rotateKey(context, parseRecordId(filterByTk), body));
}

/** Records the key in `main`, so that other applications can distinguish it from an unknown one. */
async function noteAndShowToken(
  { application, applications }: RequestContext,
  key: { readonly token: string },
): Promise<ActionResult> {
  await applications.recordTokenHome(key.token, application.name);
  return { data: JSON.stringify(key) };
}
