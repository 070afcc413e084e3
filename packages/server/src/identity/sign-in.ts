/** Signing in with account and password, and signing out. */
import { type Clock, isoTime } from '../base/clock.ts';
import { makeToken } from '../base/token.ts';
import { bumpVersion } from '../database/catalogue.ts';
import type { Database, Transaction } from '../database/database.ts';
import { deleteLogin, insertLogin } from '../database/login-rows.ts';
import { hasUnchangedCredential } from '../database/password-rows.ts';
import { findAccount, loadUser, type StoredAccount } from '../database/user-rows.ts';
import { ApiError, invalidValues } from '../protocol/api-error.ts';
import type { Collection } from '../schema/registry.ts';
import { loginLifetime } from './authenticator.ts';
import { verifyPassword } from './password.ts';

export interface SignInContext {
  readonly database: Database;
  readonly users: Collection;
  readonly clock: Clock;
  hashToken(token: string): string;
}

/** A new login with its token, which is returned only once. */
export interface SignInResult {
  readonly user: Record<string, unknown>;
  readonly token: string;
}

/** The credentials in a request body. `account` may be an e-mail address or a user name. */
export interface Credentials {
  readonly account: string;
  readonly password: string;
}

/** @throws ApiError 422 naming the missing properties. */
export function parseCredentials(body: unknown): Credentials {
  const input = (body !== null && typeof body === 'object' ? body : {}) as Record<string, unknown>;
  const account = input['email'] ?? input['account'] ?? input['username'];
  const details: Record<string, string> = {};
  if (typeof account !== 'string' || account === '') details['account'] = 'Give "email", "username" or "account".';
  if (typeof input['password'] !== 'string' || input['password'] === '') details['password'] = 'Give the password.';
  if (Object.keys(details).length > 0) throw invalidValues(details);
  return { account: account as string, password: input['password'] as string };
}

/** Finds an account by e-mail address, then by user name; null if there is none. */
export function findAccountByName(
  { database }: Pick<SignInContext, 'database'>,
  account: string,
): Promise<StoredAccount | null> {
  return findAccount(database, normaliseEmail(account), account);
}

/** Whether a text looks like an e-mail address. Only sending an e-mail to it can prove more. */
export function isEmail(text: string): boolean {
  return /^[^\s@]+@[^\s@]+$/.test(text);
}

/** E-mail addresses are compared without case, so they are stored in lower case. */
export function normaliseEmail(text: string): string {
  return text.trim().toLowerCase();
}

/**
 * Signs in. An unknown user, a wrong password and a suspended user cost the same time and get the same error.
 *
 * @throws ApiError `SIGN_IN_FAILED`, or `BUSY` if too many users sign in at the same time.
 */
export async function signIn(
  context: SignInContext,
  account: StoredAccount | null,
  password: string,
): Promise<SignInResult> {
  const hash = account?.passwordHash ?? null;
  const isMatch = await verifyPassword(password, hash, 'strangers');
  if (!account || hash === null || !isMatch || account.status !== 'active') throw signInFailedError(account);
  return startLogin(context, account.id, async (transaction) => {
    // If the password was changed during the check, its sessions have ended, and this one must not begin.
    if (!(await hasUnchangedCredential(context.database, transaction, account.id, { password: hash })))
      throw signInFailedError(account);
  });
}

function signInFailedError(account: StoredAccount | null): ApiError {
  return new ApiError('SIGN_IN_FAILED', 'Unauthorized: invalid or missing token. The account or password is wrong.', {
    ...(account && { about: `user:${account.id}` }),
  });
}

/**
 * Creates a login for a user whose credential has been verified.
 *
 * @param recheckCredential throws if the credential is no longer valid.
 */
export async function startLogin(
  { database, clock, users, hashToken }: SignInContext,
  userId: number,
  recheckCredential?: (transaction: Transaction) => Promise<void>,
): Promise<SignInResult> {
  const token = makeToken('tbs');
  const now = clock.now();
  const login = {
    userId,
    tokenHash: hashToken(token),
    createdAt: isoTime(now),
    expiresAt: isoTime(now + loginLifetime),
  };
  await database.write(async (transaction) => {
    await recheckCredential?.(transaction);
    await insertLogin(database, transaction, login);
  });
  const user = await loadUser(database, users, userId);
  if (!user) throw new ApiError('TOKEN_INVALID', 'Unauthorized: invalid or missing token. The user no longer exists.');
  return { user, token };
}

/** Ends a login, on all servers. */
export async function signOut(database: Database, loginId: number): Promise<void> {
  await database.write(async (transaction) => {
    await deleteLogin(database, transaction, loginId);
    await bumpVersion(transaction);
  });
}
