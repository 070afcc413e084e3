import { tokenMissing } from '../identity/authenticator.ts';
import { createKey, requireKeyRight, rotateKey } from '../records/system/api-key-rules.ts';
import { idOf } from './auth-actions.ts';
import type { Answer, Call, SystemAction } from './call.ts';
import { knownParameters } from './known-parameters.ts';

/** The actions of API keys that tell a token; the others are the generated ones. */
export const keyActions: Readonly<Record<string, SystemAction>> = {
  'apiKeys:create': { reads: false, run: runCreate },
  'apiKeys:rotate': { reads: false, run: runRotate },
};

async function runCreate(call: Call): Promise<Answer> {
  const { application, caller, requestId, body } = call;
  if (caller.type === 'anonymous') throw tokenMissing();
  const context = application.recordContext(caller, requestId);
  requireKeyRight(context, 'create');
  knownParameters(call, [], false);
  return told(call, await createKey(context, body));
}

async function runRotate(call: Call): Promise<Answer> {
  const { application, caller, requestId, body } = call;
  if (caller.type === 'anonymous') throw tokenMissing();
  const context = application.recordContext(caller, requestId);
  requireKeyRight(context, 'rotate');
  const { filterByTk } = knownParameters(call, ['filterByTk'], false);
  return told(call, await rotateKey(context, idOf(filterByTk), body));
}

/** Another application can tell the key from an unknown one. */
async function told({ application, applications }: Call, key: { readonly token: string }): Promise<Answer> {
  await applications.noteToken(key.token, application.name);
  return { data: JSON.stringify(key) };
}
