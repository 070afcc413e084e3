/** The sessions (logins) of one user, as the user sees and ends them. */
import { isoTime } from '../base/clock.ts';
import { bumpVersion } from '../database/catalogue.ts';
import type { Database } from '../database/database.ts';
import { deleteOwnLogin, deleteUserLogins, type LoginRow, readLogins } from '../database/login-rows.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { Caller } from './caller.ts';

/** A session that holds now; `current` is the one that asks. */
export interface Session extends LoginRow {
  readonly current: boolean;
}

interface OwnSession {
  readonly userId: number;
  readonly sessionId: number;
}

/** @throws ApiError `SESSION_NEEDED` for a key: it acts for its creator, but has no sessions. */
export function requireOwnSession({ type, credentialId, user }: Caller): OwnSession {
  if (type === 'session' && user) return { userId: user['id'] as number, sessionId: credentialId! };
  throw new ApiError('SESSION_NEEDED', 'This belongs to a user who has signed in; an API key does not do it.');
}

export async function listSessions(
  database: Database,
  { userId, sessionId }: OwnSession,
  now: number,
): Promise<Session[]> {
  const logins = await readLogins(database, userId, isoTime(now));
  return logins.map((login) => ({ ...login, current: login.id === sessionId }));
}

/** Ends one session of the user for the next request on every node. @throws ApiError 404 for any other. */
export async function endSession(database: Database, { userId }: OwnSession, id: number): Promise<void> {
  await database.write(async (transaction) => {
    if (!(await deleteOwnLogin(database, transaction, userId, id)))
      throw new ApiError('RECORD_UNKNOWN', 'You have no session of that id.');
    await bumpVersion(transaction);
  });
}

/** Ends every session of the user but the one that asks; returns how many. */
export async function endOtherSessions(database: Database, { userId, sessionId }: OwnSession): Promise<number> {
  return database.write(async (transaction) => {
    const ended = await deleteUserLogins(database, transaction, userId, sessionId);
    if (ended > 0) await bumpVersion(transaction);
    return ended;
  });
}
