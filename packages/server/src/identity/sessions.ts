/** Lists and ends the sessions (logins) of one user, on behalf of that user. */
import { isoTime } from '../base/clock.ts';
import { bumpVersion } from '../database/catalogue.ts';
import type { Database } from '../database/database.ts';
import { deleteOwnLogin, deleteUserLogins, type LoginRow, readLogins } from '../database/login-rows.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { Caller } from './caller.ts';

/** A valid session. `current`: the session of the request itself. */
export interface Session extends LoginRow {
  readonly current: boolean;
}

interface OwnSession {
  readonly userId: number;
  readonly sessionId: number;
}

/** The session of the caller. @throws ApiError `SESSION_NEEDED` for an API key, which has no sessions. */
export function requireOwnSession({ type, credentialId, user }: Caller): OwnSession {
  if (type === 'session' && user && credentialId !== null)
    return { userId: user['id'] as number, sessionId: credentialId };
  throw new ApiError('SESSION_NEEDED', 'This action needs the token of a user who has signed in, not an API key.');
}

/** All valid sessions of the user. @param now milliseconds since the epoch. */
export async function listSessions(
  database: Database,
  { userId, sessionId }: OwnSession,
  now: number,
): Promise<Session[]> {
  const logins = await readLogins(database, userId, isoTime(now));
  return logins.map((login) => ({ ...login, current: login.id === sessionId }));
}

/** Ends one session of the user, on all servers. @throws ApiError 404 if the user has no such session. */
export async function endSession(database: Database, { userId }: OwnSession, id: number): Promise<void> {
  await database.write(async (transaction) => {
    if (!(await deleteOwnLogin(database, transaction, userId, id)))
      throw new ApiError('RECORD_UNKNOWN', 'You have no session with this id.');
    await bumpVersion(transaction);
  });
}

/** Ends all other sessions of the user. @returns their number. */
export async function endOtherSessions(database: Database, { userId, sessionId }: OwnSession): Promise<number> {
  return database.write(async (transaction) => {
    const ended = await deleteUserLogins(database, transaction, userId, sessionId);
    if (ended > 0) await bumpVersion(transaction);
    return ended;
  });
}
