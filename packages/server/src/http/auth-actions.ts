import { makeFirstAdmin } from '../applications/first-admin.ts';
import { isoTime } from '../base/clock.ts';
import { tokenMissing } from '../identity/authenticator.ts';
import { endOtherSessions, endSession, listSessions, sessionOf } from '../identity/sessions.ts';
import {
  accountOf,
  credentialsOf,
  emailForm,
  type SignedIn,
  signIn,
  signOut,
  startLogin,
} from '../identity/sign-in.ts';
import { ApiError } from '../protocol/api-error.ts';
import { changePassword, resetPassword, signUp, textsOf } from '../records/system/own-account.ts';
import type { Answer, Call, SystemAction } from './call.ts';
import { knownParameters } from './known-parameters.ts';
import { sendReset } from './reset-mail.ts';

/** `auth:` – who calls, and how people come by accounts and back into them. */
export const authActions: Readonly<Record<string, SystemAction>> = {
  'auth:signIn': { reads: false, public: true, journaled: true, run: runSignIn },
  'auth:signOut': { reads: false, journaled: true, run: runSignOut },
  'auth:check': { reads: true, run: runCheck },
  'auth:sessions': { reads: true, run: runSessions },
  'auth:endSession': { reads: false, journaled: true, run: runEndSession },
  'auth:endOtherSessions': { reads: false, journaled: true, run: runEndOtherSessions },
  'auth:changePassword': { reads: false, run: runChangePassword },
  'auth:signUp': { reads: false, public: true, run: runSignUp },
  'auth:lostPassword': { reads: false, public: true, run: runLostPassword },
  'auth:resetPassword': { reads: false, public: true, run: runResetPassword },
  'auth:setup': { reads: false, public: true, run: runSetup },
};

async function runSignIn(call: Call): Promise<Answer> {
  const { application, limits, address } = call;
  const { account, password } = credentialsOf(call.body);
  const context = application.signInContext;
  const found = await accountOf(context, account);
  const named = found ? `user ${found.id}` : `nobody ${emailForm(account).slice(0, 320)}`;
  const attempt = limits.signIn(address, application.name, named);
  try {
    knownParameters(call, [], false);
    const signedIn = await signIn(context, found, password);
    attempt.succeeded();
    return { data: JSON.stringify(signedIn), act: { userId: signedIn.user['id'] as number } };
  } catch (error) {
    if (!isGuess(error)) attempt.withdraw();
    throw error;
  }
}

/** Whether a password was looked at, and was wrong. */
function isGuess(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 'SIGN_IN_FAILED' || error.code === 'PASSWORD_WRONG');
}

async function runSignOut(call: Call): Promise<Answer> {
  const { application, caller } = call;
  if (caller.type === 'anonymous') throw tokenMissing();
  knownParameters(call, [], false);
  if (caller.type !== 'session') return { data: '1', act: null };
  await signOut(application.database, caller.credentialId!);
  await application.refresh();
  return { data: '1' };
}

async function runCheck(call: Call): Promise<Answer> {
  const { application, caller } = call;
  if (caller.type === 'anonymous') throw tokenMissing();
  knownParameters(call, [], false);
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

function ownSession({ caller }: Call): ReturnType<typeof sessionOf> {
  if (caller.type === 'anonymous') throw tokenMissing();
  return sessionOf(caller);
}

async function runSessions(call: Call): Promise<Answer> {
  const own = ownSession(call);
  knownParameters(call, [], false);
  const { database, clock } = call.application;
  return { data: JSON.stringify(await listSessions(database, own, clock.now())) };
}

async function runEndSession(call: Call): Promise<Answer> {
  const own = ownSession(call);
  const { filterByTk } = knownParameters(call, ['filterByTk'], false);
  await endSession(call.application.database, own, idOf(filterByTk));
  await call.application.refresh();
  return { data: '1' };
}

async function runEndOtherSessions(call: Call): Promise<Answer> {
  const own = ownSession(call);
  knownParameters(call, [], false);
  const ended = await endOtherSessions(call.application.database, own);
  if (ended === 0) return { data: '0', act: null };
  await call.application.refresh();
  return { data: String(ended) };
}

/** The key of one record in a parameter of an action of the server's own: text in a query, a number in a body. */
export function idOf(parameter: unknown, name = 'filterByTk'): number {
  const text = typeof parameter === 'number' ? String(parameter) : parameter;
  if (typeof text === 'string' && /^[1-9]\d{0,9}$/.test(text) && Number(text) < 2 ** 31) return Number(text);
  throw new ApiError('PARAMETER_INVALID', `${name} must name one record by its id.`);
}

async function runChangePassword(call: Call): Promise<Answer> {
  const { userId } = ownSession(call);
  const { application, caller, requestId, limits, address } = call;
  knownParameters(call, [], false);
  const passwords = textsOf(call.body, ['oldPassword', 'newPassword']);
  // A stolen session is no way to try passwords faster than at the door.
  const attempt = limits.signIn(address, application.name, `user ${userId}`);
  try {
    await changePassword(application.recordContext(caller, requestId), userId, passwords);
    attempt.succeeded();
    return { data: '1' };
  } catch (error) {
    if (!isGuess(error)) attempt.withdraw();
    throw error;
  }
}

async function runSignUp(call: Call): Promise<Answer> {
  const { application, caller, requestId, limits, address, accounts } = call;
  if (accounts.signUpApplications?.has(application.name) === false)
    throw new ApiError('SIGN_UP_CLOSED', 'Nobody signs up here; ask an administrator for an account.');
  knownParameters(call, [], false);
  limits.guess(address, 'sign-up');
  const userId = await signUp(application.recordContext(caller, requestId), call.body);
  return signedIn(await startLogin(application.signInContext, userId));
}

/** The same reply for everybody, before anybody is looked for: who has an account here is not told, nor by the time it takes. */
async function runLostPassword(call: Call): Promise<Answer> {
  const { accounts, limits, address, application, applications, requestId } = call;
  const { mail } = accounts;
  if (!mail) throw new ApiError('MAIL_OFF', 'This server sends no mail; ask an administrator for a new password.');
  knownParameters(call, [], false);
  const { email } = textsOf(call.body, ['email']);
  limits.guess(address, 'lost-password');
  mail.queue.add(() => sendReset(applications, mail, { application: application.name, email, requestId }));
  return { data: '1' };
}

async function runResetPassword(call: Call): Promise<Answer> {
  const { application, caller, requestId, limits, address } = call;
  knownParameters(call, [], false);
  const given = textsOf(call.body, ['token', 'password']);
  limits.guess(address, 'link');
  await resetPassword(application.recordContext(caller, requestId), given, application.hashesOf(given.token));
  return { data: '1' };
}

async function runSetup(call: Call): Promise<Answer> {
  const { application, limits, address } = call;
  knownParameters(call, [], false);
  limits.guess(address, 'link');
  return signedIn(await makeFirstAdmin(application, call.body));
}

function signedIn(login: SignedIn): Answer {
  return { data: JSON.stringify(login) };
}
