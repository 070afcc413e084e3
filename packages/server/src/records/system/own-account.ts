/**
 * Operations of users on their own accounts, which need no grant: changing the password, resetting it by a mailed link, and
 * signing up. Each returns when its transaction is durable, with its event.
 */

import { isoTime } from '../../base/clock.ts';
import { makeToken, tokenKind } from '../../base/token.ts';
import { recordEvent } from '../../changes/record-event.ts';
import { bumpVersion } from '../../database/catalogue.ts';
import type { Transaction } from '../../database/database.ts';
import { deleteUserLogins } from '../../database/login-rows.ts';
import {
  consumeOneTimeToken,
  countOneTimeTokens,
  deleteUserOneTimeTokens,
  findOneTimeToken,
  insertOneTimeToken,
} from '../../database/one-time-tokens.ts';
import { hasUnchangedCredential, readPassword, replacePassword } from '../../database/password-rows.ts';
import { findAccount } from '../../database/user-rows.ts';
import { hashPassword, verifyPassword } from '../../identity/password.ts';
import { type AccountNames, findPasswordProblem } from '../../identity/password-rules.ts';
import { normaliseEmail } from '../../identity/sign-in.ts';
import { ApiError, invalidValues } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { normaliseRequest } from '../../protocol/request-normaliser.ts';
import type { Grant } from '../../query/grant.ts';
import { HashedSecrets } from '../hashed-secrets.ts';
import { getWriteSnapshot, inTransaction, type RecordContext, type TransactionContext } from '../record-context.ts';
import { withOnlyGrant } from '../with-grants.ts';
import { createRecords } from '../write/write-records.ts';
import { userRules } from './user-rules.ts';

/** How long a mailed link is valid, in milliseconds. */
export const resetLifetime = 3_600_000;
/** Maximum number of valid links of one user. No further link is sent until one of them expires. */
const maxActiveResets = 5;

/** The texts of a body with exactly these members. @throws ApiError 422 naming missing and unknown members. */
export function parseTexts<Name extends string>(
  body: unknown,
  required: readonly Name[],
  optional: readonly Name[] = [],
): Readonly<Record<Name, string>> {
  const given = isObject(body) ? body : {};
  const known: readonly string[] = [...required, ...optional];
  const details: Record<string, string> = {};
  for (const name of Object.keys(given))
    if (!known.includes(name)) details[name.slice(0, 60)] = `This member is unknown; give ${known.join(', ')}.`;
  for (const name of known) {
    const value = given[name];
    const absent = value === undefined || value === null;
    if (absent ? (required as readonly string[]).includes(name) : typeof value !== 'string' || value === '')
      details[name] = 'Give text.';
  }
  if (Object.keys(details).length > 0) throw invalidValues(details);
  return given as Record<Name, string>;
}

/** Checks a new password. @throws ApiError 422 naming the problem. */
export function checkNewPassword(password: string, names: AccountNames, member: string): void {
  const problem = findPasswordProblem(password, names);
  if (problem) throw invalidValues({ [member]: problem });
}

/**
 * Changes the password of the caller's user, and ends the user's other sessions.
 *
 * @throws ApiError `PASSWORD_WRONG` if the old password is wrong, also because of a concurrent change.
 */
export async function changePassword(
  context: RecordContext,
  userId: number,
  { oldPassword, newPassword }: { readonly oldPassword: string; readonly newPassword: string },
): Promise<void> {
  const stored = await readPassword(context.database, userId);
  checkNewPassword(newPassword, stored ?? {}, 'newPassword');
  const isMatch = await verifyPassword(oldPassword, stored?.passwordHash ?? null, 'callers');
  if (!stored || !isMatch) throw wrongPassword();
  if (newPassword === oldPassword)
    throw invalidValues({ newPassword: 'Give a password that differs from the current one.' });
  const hash = await hashPassword(newPassword);
  await inTransaction(context, async (tx) => {
    const change = { userId, hash, former: stored.passwordHash };
    if (!(await setPassword(tx, change))) throw wrongPassword();
  });
}

function wrongPassword(): ApiError {
  return new ApiError('PASSWORD_WRONG', 'The old password is wrong.', {
    details: { oldPassword: 'The password is wrong.' },
  });
}

/**
 * Creates a token with which the user with this address can set a new password. Null if there is no active user with the
 * address, or if the user already has the maximum number of tokens.
 */
export async function createReset(
  context: RecordContext,
  email: string,
): Promise<{ to: string; token: string } | null> {
  const { database, clock } = context;
  const to = normaliseEmail(email);
  const found = await findAccount(database, to, null);
  if (found?.status !== 'active') return null;
  const token = makeToken('tbr');
  const now = clock.now();
  const isCreated = await database.write(
    async (transaction) => {
      // If the address has changed since it was found, the old mailbox is no longer a credential.
      if (!(await hasUnchangedCredential(database, transaction, found.id, { email: to }))) return false;
      const active = { userId: found.id, purpose: 'reset', now: isoTime(now) } as const;
      if ((await countOneTimeTokens(database, transaction, active)) >= maxActiveResets) return false;
      const expiresAt = isoTime(now + resetLifetime);
      const row = { purpose: 'reset', userId: found.id, tokenHash: context.hashToken(token), expiresAt } as const;
      await insertOneTimeToken(database, transaction, row);
      return true;
    },
    { snapshot: getWriteSnapshot(context) },
  );
  return isCreated ? { to, token } : null;
}

/**
 * Sets a password by a mailed token. A token works once; all sessions and other tokens of the user end.
 *
 * @param hashes of the token, under every valid APP_KEY.
 * @throws ApiError `LINK_INVALID` for a token that is unknown, used or expired.
 */
export async function resetPassword(
  context: RecordContext,
  { token, password }: { readonly token: string; readonly password: string },
  hashes: readonly string[],
): Promise<void> {
  const { database, clock } = context;
  const now = (): string => isoTime(clock.now());
  const found = tokenKind(token) === 'tbr' ? await findOneTimeToken(database, 'reset', hashes, now()) : null;
  if (!found || found.userId === null) throw linkInvalidError();
  const userId = found.userId;
  checkNewPassword(password, (await readPassword(database, userId)) ?? {}, 'password');
  const hash = await hashPassword(password);
  await inTransaction(context, async (tx) => {
    if (!(await consumeOneTimeToken(database, tx.tx, { purpose: 'reset', tokenHashes: hashes, now: now() })))
      throw linkInvalidError();
    if (!(await setPassword(tx, { userId, hash, former: null }))) throw linkInvalidError();
  });
}

/** A mailed link that cannot be used. */
export function linkInvalidError(): ApiError {
  return new ApiError('LINK_INVALID', 'The link is unknown, used or expired. Request a new one.');
}

/** Writes a password, and ends the logins and tokens of the old one. False if `former` is no longer the current hash. */
async function setPassword(
  tx: TransactionContext,
  change: { readonly userId: number; readonly hash: string; readonly former: string | null },
): Promise<boolean> {
  const { database, caller, clock } = tx;
  const transaction = tx.tx;
  const time = isoTime(clock.now());
  transaction.touch('users');
  if (!(await replacePassword(database, transaction, { ...change, at: time }))) return false;
  await deleteUserLogins(database, transaction, change.userId, caller.type === 'session' ? caller.credentialId : null);
  await deleteUserOneTimeTokens(database, transaction, change.userId);
  await emitUserUpdated(tx, transaction, change.userId, time);
  await bumpVersion(transaction);
  await tx.refresh();
  return true;
}

/** The event of a changed user. It does not name the password. */
async function emitUserUpdated(
  tx: TransactionContext,
  transaction: Transaction,
  userId: number,
  time: string,
): Promise<void> {
  const { caller, requestId, changes } = tx;
  const event = recordEvent('users', 'updated', [userId], { caller, requestId, isAudited: true });
  await changes.append(transaction, event, time);
}

const signUpMembers = ['email', 'username', 'nickname', 'password'];
/** Allows only these members. Roles and status of a new user are set by the server. */
const signUpGrant: Grant = { identity: 'sign-up', rows: null, may: (field) => signUpMembers.includes(field.name) };

/**
 * Creates a user for a caller without a credential, with the default roles.
 *
 * @param body `{email, password, username?, nickname?}`.
 * @returns the id of the user.
 * @throws ApiError 422 for other members and invalid values; 409 for an e-mail address or user name that is taken.
 */
export async function signUp(context: RecordContext, body: unknown): Promise<number> {
  const given = parseTexts(body, ['email', 'password'], ['username', 'nickname']);
  checkNewPassword(given.password, given, 'password');
  // Passwords of callers without a credential have their own queue in the hashing pool.
  const secrets = new HashedSecrets(new Map([[given.password, [await hashPassword(given.password, 'strangers')]]]));
  const signUpContext = withOnlyGrant(
    { ...context, secrets },
    { resource: 'users', action: 'create', grant: signUpGrant },
  );
  const request = normaliseRequest('create', {}, false);
  const { keys } = await createRecords(signUpContext, context.registry.get('users'), request, {
    body: given,
    rules: userRules,
  });
  return keys[0] as number;
}
