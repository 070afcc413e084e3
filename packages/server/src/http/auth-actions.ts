import { mainName } from '../applications/application.ts';
import { hasUsers } from '../applications/birth.ts';
import { makeFirstAdmin } from '../applications/first-admin.ts';
import { isoTime } from '../base/clock.ts';
import { readDisplayName } from '../database/application-rows.ts';
import { readRoleTitles } from '../database/identity-store.ts';
import { tokenMissing } from '../identity/authenticator.ts';
import type { Caller } from '../identity/caller.ts';
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
import { cookieOf, isOwnPage, keptToken, requireOwnPage } from './browser-session.ts';
import type { Answer, Call, SystemAction } from './call.ts';
import { knownParameters } from './known-parameters.ts';
import { sendReset } from './reset-mail.ts';

/** `auth:` – who calls, and how people come by accounts and back into them. */
export const authActions: Readonly<Record<string, SystemAction>> = {
  'auth:signIn': { reads: false, public: true, journaled: true, run: runSignIn },
  'auth:keep': { reads: false, run: runKeep },
  'auth:resume': { reads: false, public: true, run: runResume },
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
    return loggedIn(call, signedIn);
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
  const headers = call.browser();
  return { data: '1', ...(isOwnPage(headers) && { cookie: cookieOf(application, null, headers) }) };
}

/** The browser keeps the session: another tab, or the same one after a restart, goes on with it. */
async function runKeep(call: Call): Promise<Answer> {
  const { application } = call;
  ownSession(call);
  knownParameters(call, [], false);
  const headers = call.browser();
  requireOwnPage(headers, 'auth:keep');
  const { persistent } = (call.body ?? {}) as { persistent?: unknown };
  if (typeof persistent !== 'boolean')
    throw new ApiError('BODY_INVALID', 'The body of auth:keep must be {"persistent": true} or {"persistent": false}.');
  const kept = { token: call.proof()!.token, persistent };
  return { data: '1', cookie: cookieOf(application, kept, headers) };
}

/** The session that the browser keeps, or null; one that is over is forgotten. And what a sign-in page has to know. */
async function runResume(call: Call): Promise<Answer> {
  const { application, accounts } = call;
  knownParameters(call, [], false);
  const headers = call.browser();
  requireOwnPage(headers, 'auth:resume');
  const kept = keptToken(application, headers);
  const caller = kept && (await callerOf(application, kept.token));
  const session =
    kept && caller?.type === 'session' ? { user: caller.user, token: kept.token, persistent: kept.persistent } : null;
  const needsSetup = session === null && (await lacksUsers(application));
  const data = JSON.stringify({ session, needsSetup, sendsMail: accounts.mail !== null });
  return kept === null ? { data } : { data, cookie: cookieOf(application, session && kept, headers) };
}

/** Applications known to have users; they are not queried again. */
const withUsers = new WeakSet<object>();

/** Whether the first administrator is still to be made. */
async function lacksUsers(application: Call['application']): Promise<boolean> {
  if (application.name !== mainName || withUsers.has(application)) return false;
  if (!(await hasUsers(application))) return true;
  withUsers.add(application);
  return false;
}

async function callerOf(application: Call['application'], token: string): Promise<Caller | null> {
  try {
    return await application.authenticator.authenticate(token);
  } catch (error) {
    if (error instanceof ApiError && error.label === 'Unauthorized') return null;
    throw error;
  }
}

async function runCheck(call: Call): Promise<Answer> {
  const { application, applications, caller } = call;
  if (caller.type === 'anonymous') throw tokenMissing();
  knownParameters(call, [], false);
  const { user } = caller;
  const [roleTitles, applicationDisplayName] = await Promise.all([
    readRoleTitles(application.database, [...new Set([...caller.roles, caller.role])]),
    readDisplayName(applications.main.database, application.name),
  ]);
  const data = {
    id: user?.['id'] ?? null,
    email: user?.['email'] ?? null,
    nickname: user?.['nickname'] ?? null,
    roles: caller.roles,
    currentRole: caller.role,
    roleTitles,
    application: application.name,
    applicationDisplayName,
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
  return loggedIn(call, await startLogin(application.signInContext, userId));
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
  return loggedIn(call, await makeFirstAdmin(application, call.body));
}

/** The reply with a new login's token. Its application is recorded in `main`, in case its own database fails to open. */
async function loggedIn({ application, applications }: Call, login: SignedIn): Promise<Answer> {
  await applications.noteToken(login.token, application.name);
  return { data: JSON.stringify(login), act: { userId: login.user['id'] as number } };
}
