import { adminRole } from '../access/access-table.ts';
import { isoTime } from '../base/clock.ts';
import { bumpVersion } from '../database/catalogue.ts';
import type { Database, Transaction } from '../database/database.ts';
import { deleteUserLogins } from '../database/login-rows.ts';
import { deleteUserOneTimeTokens } from '../database/one-time-tokens.ts';
import { readUserRoles, setUserRoles } from '../database/role-rows.ts';
import { activateUser, findAccount, insertUser, type NewUser, readUser } from '../database/user-rows.ts';
import { anonymous } from '../identity/authenticator.ts';
import { startLogin } from '../identity/sign-in.ts';
import { ApiError } from '../protocol/api-error.ts';
import { updateInactiveReasons } from '../records/system/key-inactive-reason.ts';
import type { Application } from './application.ts';

/**
 * Gives an admin of `main` a login in another application, as the user with the same e-mail address or user name: made
 * where it is not there, and active and admin afterwards.
 *
 * Nobody has proved that such a user is the same person: anyone may have taken the name where people sign up. So one that
 * was no admin before gets the password that the caller has in `main`, and whatever was begun under the former one ends.
 *
 * @throws ApiError 403 when the caller is no user.
 */
export async function createApplicationLogin(
  main: Application,
  application: Application,
  userId: number | null,
): Promise<{ user: Record<string, unknown>; token: string }> {
  const user = userId === null ? null : await readUser(main.database, userId);
  if (!user) throw new ApiError('ROLE_NOT_HELD', 'Only a user who is admin of "main" enters an application.');
  const { database, clock } = application;
  const found = await findAccount(database, user.email, user.username);
  const id = await database.write(async (transaction) => {
    const time = isoTime(clock.now());
    const targetUserId = found?.id ?? (await insertUser(database, transaction, { ...user, at: time }));
    const existingRoles = found ? await readUserRoles(database, transaction, [targetUserId]) : [];
    if (found?.status === 'active' && existingRoles.includes(adminRole)) return targetUserId;
    if (found) await takeOverAccount(database, transaction, targetUserId, user);
    await setUserRoles(database, transaction, targetUserId, [...new Set([...existingRoles, adminRole])]);
    const actor = { database, clock, changes: application.changes, caller: anonymous, requestId: null };
    await updateInactiveReasons(actor, transaction, targetUserId);
    transaction.touch('users');
    await bumpVersion(transaction);
    return targetUserId;
  });
  await application.refresh();
  return startLogin(application.signInContext, id);
}

async function takeOverAccount(
  database: Database,
  transaction: Transaction,
  id: number,
  { passwordHash }: Pick<NewUser, 'passwordHash'>,
): Promise<void> {
  await activateUser(database, transaction, id, passwordHash);
  await deleteUserLogins(database, transaction, id);
  await deleteUserOneTimeTokens(database, transaction, id);
}
