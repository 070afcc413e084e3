/** How a server without users gets its first one: by a link that is printed at the start and works once. */

import { adminRole } from '../access/access-table.ts';
import { isoTime } from '../base/clock.ts';
import { makeToken, tokenKind } from '../base/token.ts';
import { recordEvent } from '../changes/record-event.ts';
import { bumpVersion } from '../database/catalogue.ts';
import {
  consumeOneTimeToken,
  deleteSetupTokens,
  findOneTimeToken,
  insertOneTimeToken,
} from '../database/one-time-tokens.ts';
import { setUserRoles } from '../database/role-rows.ts';
import { countUsers, insertUser } from '../database/user-rows.ts';
import { anonymous } from '../identity/authenticator.ts';
import { hashPassword } from '../identity/password.ts';
import { isEmail, normaliseEmail, type SignInResult, startLogin } from '../identity/sign-in.ts';
import { invalidValues } from '../protocol/api-error.ts';
import { checkNewPassword, linkInvalidError, parseTexts } from '../records/system/own-account.ts';
import type { Application } from './application.ts';

export const setupTokenHours = 24;

/** A token for the first admin of an application that has no users. Links of earlier starts work until they end. */
export async function makeSetupToken(application: Application): Promise<string> {
  const { database, clock } = application;
  const token = makeToken('tbi');
  const expiresAt = isoTime(clock.now() + setupTokenHours * 3_600_000);
  const row = {
    purpose: 'setup',
    userId: null,
    tokenHash: application.hashTokenWithAllKeys(token)[0]!,
    expiresAt,
  } as const;
  await database.write((transaction) => insertOneTimeToken(database, transaction, row));
  return token;
}

/**
 * Makes the first admin by a setup token, and a login for it.
 *
 * @throws ApiError `LINK_INVALID` where the token does not work, or somebody is there already; 422 for bad values.
 */
export async function makeFirstAdmin(application: Application, body: unknown): Promise<SignInResult> {
  const { database, clock } = application;
  const { token, email, password, nickname } = parseTexts(body, ['token', 'email', 'password'], ['nickname']);
  const hashes = application.hashTokenWithAllKeys(token);
  const now = isoTime(clock.now());
  if (tokenKind(token) !== 'tbi' || !(await findOneTimeToken(database, 'setup', hashes, now))) throw linkInvalidError();
  if (!isEmail(normaliseEmail(email)) || email.length > 320) throw invalidValues({ email: 'Give an e-mail address.' });
  if (nickname && nickname.length > 255) throw invalidValues({ nickname: 'Give at most 255 characters.' });
  checkNewPassword(password, { email }, 'password');
  const passwordHash = await hashPassword(password);
  const admin = { email: normaliseEmail(email), username: null, nickname: nickname ?? 'Admin', passwordHash };
  const id = await database.write(async (transaction) => {
    // First of all, so that two nodes do not both find nobody.
    await bumpVersion(transaction);
    const isTokenValid = await consumeOneTimeToken(database, transaction, {
      purpose: 'setup',
      tokenHashes: hashes,
      now,
    });
    if (!isTokenValid || (await countUsers(database, transaction)) > 0) throw linkInvalidError();
    transaction.touch('users');
    const userId = await insertUser(database, transaction, { ...admin, at: now });
    await setUserRoles(database, transaction, userId, [adminRole]);
    await deleteSetupTokens(database, transaction);
    const details = { caller: anonymous, changed: ['email', 'nickname', 'roles'], isAudited: true };
    await application.changes.append(transaction, recordEvent('users', 'created', [userId], details), now);
    return userId;
  });
  await application.refresh();
  return startLogin(application.signInContext, id);
}
