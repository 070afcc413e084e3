import { mainApplicationName } from '../applications/application.ts';
import { applicationHasUsers } from '../applications/bootstrap.ts';
import { makeFirstAdmin } from '../applications/first-admin.ts';
import { isoTime } from '../base/clock.ts';
import { readDisplayName } from '../database/application-rows.ts';
import { readRoleTitles } from '../database/role-rows.ts';
import { tokenMissingError } from '../identity/authenticator.ts';
import type { Caller } from '../identity/caller.ts';
import { endOtherSessions, endSession, listSessions, requireOwnSession } from '../identity/sessions.ts';
import {
  findAccountByName,
  normaliseEmail,
  parseCredentials,
  type SignInResult,
  signIn,
  signOut,
  startLogin,
} from '../identity/sign-in.ts';
import { ApiError } from '../protocol/api-error.ts';
import { changePassword, parseTexts, resetPassword, signUp } from '../records/system/own-account.ts';
import { buildSessionCookie, isSameOrigin, readSessionCookie, requireSameOrigin } from './browser-session.ts';
import { readKnownParameters } from './known-parameters.ts';
import type { ActionResult, RequestContext, SystemAction } from './request-context.ts';
import { sendPasswordReset } from './reset-mail.ts';

/** The `auth` actions: sign-in, sign-up, sessions, passwords and the current caller. */
export const authActions: Readonly<Record<string, SystemAction>> = {
  'auth:signIn': { reads: false, public: true, journaled: true, run: runSignIn },
  'auth:keep': { reads: false, run: runKeepSession },
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

async function runSignIn(request: RequestContext): Promise<ActionResult> {
  const { application, limits, address } = request;
  const { account, password } = parseCredentials(request.body);
  const context = application.signInContext;
  const found = await findAccountByName(context, account);
  const named = found ? `user ${found.id}` : `nobody ${normaliseEmail(account).slice(0, 320)}`;
  const attempt = limits.startSignIn(address, application.name, named);
  try {
    readKnownParameters(request, [], false);
    const signedIn = await signIn(context, found, password);
    attempt.succeeded();
    return buildLoginResult(request, signedIn);
  } catch (error) {
    if (!isWrongPassword(error)) attempt.withdraw();
    throw error;
  }
}

/** Whether a password was checked and was wrong. */
function isWrongPassword(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 'SIGN_IN_FAILED' || error.code === 'PASSWORD_WRONG');
}

async function runSignOut(request: RequestContext): Promise<ActionResult> {
  const { application, caller } = request;
  if (caller.type === 'anonymous') throw tokenMissingError();
  readKnownParameters(request, [], false);
  if (caller.type !== 'session' || caller.credentialId === null) return { data: '1', adminAction: null };
  await signOut(application.database, caller.credentialId);
  await application.refresh();
  const headers = request.browser();
  return { data: '1', ...(isSameOrigin(headers) && { cookie: buildSessionCookie(application, null, headers) }) };
}

/** Stores the session in a cookie, for other tabs and for the same tab after a restart. */
async function runKeepSession(request: RequestContext): Promise<ActionResult> {
  const { application } = request;
  requireSession(request);
  readKnownParameters(request, [], false);
  const headers = request.browser();
  requireSameOrigin(headers, 'auth:keep');
  const { persistent } = (request.body ?? {}) as { persistent?: unknown };
  if (typeof persistent !== 'boolean')
    throw new ApiError('BODY_INVALID', 'The body of auth:keep must be {"persistent": true} or {"persistent": false}.');
  const cookieToken = { token: request.credential()!.token, persistent };
  return { data: '1', cookie: buildSessionCookie(application, cookieToken, headers) };
}

/** The session in the cookie, or null, with what a sign-in page needs to know. The cookie of an ended session is deleted. */
async function runResume(request: RequestContext): Promise<ActionResult> {
  const { application, accounts, settings } = request;
  readKnownParameters(request, [], false);
  const headers = request.browser();
  requireSameOrigin(headers, 'auth:resume');
  const cookieToken = readSessionCookie(application, headers);
  const caller = cookieToken && (await authenticateToken(application, cookieToken.token));
  const session =
    cookieToken && caller?.type === 'session'
      ? { user: caller.user, token: cookieToken.token, persistent: cookieToken.persistent }
      : null;
  const needsSetup = session === null && (await hasNoUsers(application));
  const { productTitle, accentColor } = settings.runtime.current;
  const data = JSON.stringify({ session, needsSetup, sendsMail: accounts.mail !== null, productTitle, accentColor });
  return cookieToken === null
    ? { data }
    : { data, cookie: buildSessionCookie(application, session && cookieToken, headers) };
}

/** Applications known to have users; they are not queried again. */
const applicationsWithUsers = new WeakSet<object>();

/** Whether the first admin has not been created yet. */
async function hasNoUsers(application: RequestContext['application']): Promise<boolean> {
  if (application.name !== mainApplicationName || applicationsWithUsers.has(application)) return false;
  if (!(await applicationHasUsers(application))) return true;
  applicationsWithUsers.add(application);
  return false;
}

async function authenticateToken(application: RequestContext['application'], token: string): Promise<Caller | null> {
  try {
    return await application.authenticator.authenticate(token);
  } catch (error) {
    if (error instanceof ApiError && error.label === 'Unauthorized') return null;
    throw error;
  }
}

async function runCheck(request: RequestContext): Promise<ActionResult> {
  const { application, applications, caller } = request;
  if (caller.type === 'anonymous') throw tokenMissingError();
  readKnownParameters(request, [], false);
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

function requireSession({ caller }: RequestContext): ReturnType<typeof requireOwnSession> {
  if (caller.type === 'anonymous') throw tokenMissingError();
  return requireOwnSession(caller);
}

async function runSessions(request: RequestContext): Promise<ActionResult> {
  const session = requireSession(request);
  readKnownParameters(request, [], false);
  const { database, clock } = request.application;
  return { data: JSON.stringify(await listSessions(database, session, clock.now())) };
}

async function runEndSession(request: RequestContext): Promise<ActionResult> {
  const session = requireSession(request);
  const { filterByTk } = readKnownParameters(request, ['filterByTk'], false);
  await endSession(request.application.database, session, parseRecordId(filterByTk));
  await request.application.refresh();
  return { data: '1' };
}

async function runEndOtherSessions(request: RequestContext): Promise<ActionResult> {
  const session = requireSession(request);
  readKnownParameters(request, [], false);
  const ended = await endOtherSessions(request.application.database, session);
  if (ended === 0) return { data: '0', adminAction: null };
  await request.application.refresh();
  return { data: String(ended) };
}

/** Parses the id of one record in a parameter of a system action: text in a query, a number in a body. */
export function parseRecordId(parameter: unknown, name = 'filterByTk'): number {
  const text = typeof parameter === 'number' ? String(parameter) : parameter;
  if (typeof text === 'string' && /^[1-9]\d{0,9}$/.test(text) && Number(text) < 2 ** 31) return Number(text);
  throw new ApiError('PARAMETER_INVALID', `The parameter "${name}" must be the id of one record.`);
}

async function runChangePassword(request: RequestContext): Promise<ActionResult> {
  const { userId } = requireSession(request);
  const { application, caller, requestId, limits, address } = request;
  readKnownParameters(request, [], false);
  const passwords = parseTexts(request.body, ['oldPassword', 'newPassword']);
  // The rate limit of sign-ins applies, so that a stolen session cannot be used to guess the password.
  const attempt = limits.startSignIn(address, application.name, `user ${userId}`);
  try {
    await changePassword(application.recordContext(caller, requestId), userId, passwords);
    attempt.succeeded();
    return { data: '1' };
  } catch (error) {
    if (!isWrongPassword(error)) attempt.withdraw();
    throw error;
  }
}

async function runSignUp(request: RequestContext): Promise<ActionResult> {
  const { application, caller, requestId, limits, address, accounts } = request;
  if (accounts.signUpApplications?.has(application.name) === false)
    throw new ApiError('SIGN_UP_CLOSED', 'Sign-up is closed in this application. Ask an administrator for an account.');
  readKnownParameters(request, [], false);
  limits.countGuess(address, 'sign-up');
  const userId = await signUp(application.recordContext(caller, requestId), request.body);
  return buildLoginResult(request, await startLogin(application.signInContext, userId));
}

/** Replies before the account is looked up, so that neither reply nor time reveals who has an account. */
async function runLostPassword(request: RequestContext): Promise<ActionResult> {
  const { accounts, limits, address, application, applications, requestId } = request;
  const { mail } = accounts;
  if (!mail)
    throw new ApiError('MAIL_OFF', 'This server does not send e-mails. Ask an administrator for a new password.');
  readKnownParameters(request, [], false);
  const { email } = parseTexts(request.body, ['email']);
  limits.countGuess(address, 'lost-password');
  mail.queue.add(() => sendPasswordReset(applications, mail, { application: application.name, email, requestId }));
  return { data: '1' };
}

async function runResetPassword(request: RequestContext): Promise<ActionResult> {
  const { application, caller, requestId, limits, address } = request;
  readKnownParameters(request, [], false);
  const given = parseTexts(request.body, ['token', 'password']);
  limits.countGuess(address, 'link');
  await resetPassword(
    application.recordContext(caller, requestId),
    given,
    application.hashTokenWithAllKeys(given.token),
  );
  return { data: '1' };
}

async function runSetup(request: RequestContext): Promise<ActionResult> {
  const { application, limits, address } = request;
  readKnownParameters(request, [], false);
  limits.countGuess(address, 'link');
  return buildLoginResult(request, await makeFirstAdmin(application, request.body));
}

/** The reply with a new login's token. `main` records its application, in case the application's database cannot be opened later. */
async function buildLoginResult(
  { application, applications }: RequestContext,
  login: SignInResult,
): Promise<ActionResult> {
  await applications.recordTokenHome(login.token, application.name);
  return { data: JSON.stringify(login), adminAction: { userId: login.user['id'] as number } };
}
