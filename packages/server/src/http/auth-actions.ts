import { isoTime } from '../base/clock.ts';
import { tokenMissing } from '../identity/authenticator.ts';
import { credentialsOf, signIn, signOut } from '../identity/sign-in.ts';
import { ApiError } from '../protocol/api-error.ts';
import { createKey } from '../records/system/api-key-rules.ts';
import type { Answer, Call, SystemAction } from './call.ts';
import { knownParameters } from './known-parameters.ts';

/** `auth:` and the creation of keys. */
export const authActions: Readonly<Record<string, SystemAction>> = {
  'auth:signIn': { reads: false, public: true, journaled: true, run: runSignIn },
  'auth:signOut': { reads: false, journaled: true, run: runSignOut },
  'auth:check': { reads: true, run: runCheck },
  'apiKeys:create': { reads: false, run: runCreateKey },
};

async function runSignIn(call: Call): Promise<Answer> {
  const { application, limits, address } = call;
  const credentials = credentialsOf(call.body);
  await limits.checkSignIn(address, credentials.account);
  try {
    const signedIn = await signIn(application.signInContext, credentials);
    return { data: JSON.stringify(signedIn), act: { userId: signedIn.user['id'] as number } };
  } catch (error) {
    if (error instanceof ApiError && error.code === 'SIGN_IN_FAILED')
      await limits.failedSignIn(address, credentials.account);
    throw error;
  }
}

async function runSignOut(call: Call): Promise<Answer> {
  if (call.caller.type === 'anonymous') throw tokenMissing();
  await signOut(call.application.database, call.caller);
  await call.application.refresh();
  return { data: '1' };
}

async function runCheck({ application, caller }: Call): Promise<Answer> {
  if (caller.type === 'anonymous') throw tokenMissing();
  const { user } = caller;
  const data = {
    id: user?.['id'] ?? null,
    email: user?.['email'] ?? null,
    nickname: user?.['nickname'] ?? null,
    roles: caller.roles,
    currentRole: caller.role,
    application: application.name,
    credential: {
      type: caller.type,
      id: caller.credentialId,
      name: caller.credentialName,
      expiresAt: caller.expiresAt === null ? null : isoTime(caller.expiresAt),
    },
  };
  return { data: JSON.stringify(data) };
}

async function runCreateKey(call: Call): Promise<Answer> {
  const { application, applications, caller, requestId, body } = call;
  if (caller.type === 'anonymous') throw tokenMissing();
  knownParameters(call, [], false);
  const key = await createKey(application.recordContext(caller, requestId), body);
  await applications.noteKey(key['token'] as string, application.name);
  return { data: JSON.stringify(key) };
}
