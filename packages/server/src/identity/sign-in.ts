/** Logins: from account and password to a token, and back out. */
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

/** A login with the token that it is used by, told once. */
export interface SignInResult {
  readonly user: Record<string, unknown>;
  readonly token: string;
}

/** Who wants in, as the body says: `account` may be an e-mail address or a user name. */
export interface Credentials {
  readonly account: string;
  readonly password: string;
}

/** @throws ApiError 422 naming what is missing. */
export function parseCredentials(body: unknown): Credentials {
  const input = (body !== null && typeof body === 'object' ? body : {}) as Record<string, unknown>;
  const account = input['email'] ?? input['account'] ?? input['username'];
  const details: Record<string, string> = {};
  if (typeof account !== 'string' || account === '') details['account'] = 'Give email, username or account.';
  if (typeof input['password'] !== 'string' || input['password'] === '') details['password'] = 'Give the password.';
  if (Object.keys(details).length > 0) throw invalidValues(details);
  return { account: account as string, password: input['password'] as string };
}

/** Who an account name may mean; null: nobody. Both are looked for alike, by e-mail address first. */
export function findAccountByName(
  { database }: Pick<SignInContext, 'database'>,
  account: string,
): Promise<StoredAccount | null> {
  return findAccount(database, normaliseEmail(account), account);
}

/** Whether a text can be an e-mail address: what is mailed to it shows the rest. */
export function isEmail(text: string): boolean {
  return /^[^\s@]+@[^\s@]+$/.test(text);
}

/** E-mail addresses are compared without case, so they are kept in lower case. */
export function normaliseEmail(text: string): string {
  return text.trim().toLowerCase();
}

/**
 * Unknown user, wrong password and suspended user cost the same and answer alike.
 *
 * @throws ApiError `SIGN_IN_FAILED`, or `BUSY` where too many want in at once.
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
    // The password may have changed while it was looked at: its sessions have ended, and this is none of the new one.
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
 * Makes a login for a user whose right to it has been proved.
 *
 * @param recheckCredential throws where the proof holds no longer.
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
  return { user: (await loadUser(database, users, userId))!, token };
}

/** Ends a login for the next request on every node. */
export async function signOut(database: Database, loginId: number): Promise<void> {
  await database.write(async (transaction) => {
    await deleteLogin(database, transaction, loginId);
    await bumpVersion(transaction);
  });
}
