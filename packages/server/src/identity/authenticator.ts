/**
 * From the Authorization header to a caller, or 401. Verified credentials are kept until the application's version
 * moves on, which every revocation, suspension and role change does.
 */

import { publicRole } from '../access/access-table.ts';
import { type Clock, isoTime } from '../base/clock.ts';
import { LruMap } from '../base/lru-map.ts';
import { type TokenHasher, tokenKind } from '../base/token.ts';
import type { Database } from '../database/database.ts';
import { findKey } from '../database/key-rows.ts';
import { extendLogin, findLogin, setLastUsedTimes } from '../database/login-rows.ts';
import { loadUser } from '../database/user-rows.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { Collection } from '../schema/registry.ts';
import { type Caller, formatActor } from './caller.ts';
import { findInactiveReason, type InactiveReason } from './key-status.ts';

const hour = 3_600_000;
/** How long a login lasts without use. */
export const loginLifetime = 7 * 24 * hour;
/** It slides in steps of this length: a write an hour, not one a request. */
const loginExtensionStep = hour;
/** Verified callers in memory, with their user records. */
const callerCacheBytes = 16 * 1024 * 1024;

export const anonymous: Caller = {
  type: 'anonymous',
  credentialId: null,
  credentialName: null,
  expiresAt: null,
  role: publicRole,
  roles: [],
  user: null,
};

/** The token of an Authorization header: exactly `Bearer`, one space, the token. */
export function parseBearerToken(header: string): string {
  const match = /^Bearer ([\x21-\x7e]+)$/.exec(header);
  if (!match) throw tokenInvalidError('Write exactly "Bearer", one space, and the token.');
  return match[1]!;
}

export class Authenticator {
  readonly #database: Database;
  readonly #hashers: readonly TokenHasher[];
  readonly #clock: Clock;
  readonly #users: () => Collection;
  readonly #callers = new LruMap<Caller>({
    entries: 10_000,
    bytes: callerCacheBytes,
    keyLength: 200,
    sizeOf: estimateCallerSize,
  });
  /** Counts the times that all was forgotten: what was read before such a moment is not kept after it. */
  #generation = 0;
  #usedKeys = new Map<number, number>();
  #usedLogins = new Map<number, number>();

  /** @param hashers of the current APP_KEY, then of the former one where a rotation runs. */
  constructor(database: Database, hashers: readonly TokenHasher[], clock: Clock, users: () => Collection) {
    this.#database = database;
    this.#hashers = hashers;
    this.#clock = clock;
    this.#users = users;
  }

  /**
   * At once where the token was verified before.
   *
   * @throws ApiError 401 for any credential that does not hold now.
   */
  authenticate(token: string): Caller | Promise<Caller> {
    const now = this.#clock.now();
    const cached = this.#callers.get(token);
    return cached && !shouldExtend(cached, now)
      ? this.#recordUse(cached, now)
      : this.#verify(token, now).then((caller) => this.#recordUse(caller, now));
  }

  #recordUse(caller: Caller, now: number): Caller {
    if (caller.expiresAt !== null && now >= caller.expiresAt) throw tokenExpiredError(caller);
    (caller.type === 'apiKey' ? this.#usedKeys : this.#usedLogins).set(caller.credentialId!, now);
    return caller;
  }

  /** The version has moved on. */
  invalidate(): void {
    this.#generation += 1;
    this.#callers.clear();
  }

  /** Writes down when keys and logins were last used; at most a minute behind. */
  async flushLastUsed(): Promise<void> {
    const [keys, logins] = [this.#usedKeys, this.#usedLogins];
    this.#usedKeys = new Map();
    this.#usedLogins = new Map();
    await setLastUsedTimes(this.#database, 'apiKeys', toIsoTimes(keys));
    await setLastUsedTimes(this.#database, 'logins', toIsoTimes(logins));
  }

  async #verify(token: string, now: number): Promise<Caller> {
    const kind = tokenKind(token);
    if (kind !== 'tbk' && kind !== 'tbs') throw tokenInvalidError('The token is malformed.');
    const generation = this.#generation;
    const hashes = this.#hashers.map((hasher) => hasher.hash(token));
    const caller = kind === 'tbk' ? await this.#keyCaller(hashes) : await this.#loginCaller(hashes, now);
    if (!caller) throw unknownTokenError();
    if (generation === this.#generation) this.#callers.set(token, caller);
    return caller;
  }

  async #keyCaller(hashes: readonly string[]): Promise<Caller | null> {
    const key = await findKey(this.#database, hashes);
    if (!key) return null;
    const user = key.creatorId === null ? null : await loadUser(this.#database, this.#users(), key.creatorId);
    const reason = user && findInactiveReason(key, { status: user['status'] as string, roles: user.roles });
    if (reason) throw tokenInvalidError(inactiveMessages[reason], `apiKey:${key.id}`);
    return {
      type: 'apiKey',
      credentialId: key.id,
      credentialName: key.name,
      expiresAt: key.expiresAt === null ? null : Date.parse(key.expiresAt),
      role: key.role,
      roles: [key.role],
      user,
    };
  }

  async #loginCaller(hashes: readonly string[], now: number): Promise<Caller | null> {
    const login = await findLogin(this.#database, hashes);
    const user = login && (await loadUser(this.#database, this.#users(), login.userId));
    if (!login || !user || user['status'] !== 'active') return null;
    let expiresAt = Date.parse(login.expiresAt);
    if (now < expiresAt && expiresAt - now < loginLifetime - loginExtensionStep) {
      expiresAt = now + loginLifetime;
      await extendLogin(this.#database, login.id, isoTime(expiresAt));
    }
    const { roles } = user;
    const preferred = user['defaultRole'] as string | null;
    const role = preferred !== null && roles.includes(preferred) ? preferred : (roles[0] ?? publicRole);
    return { type: 'session', credentialId: login.id, credentialName: null, expiresAt, role, roles, user };
  }
}

const inactiveMessages: Readonly<Record<InactiveReason, string>> = {
  makerSuspended: 'The user who created this API key is suspended.',
  roleLost: 'The user who created this API key no longer holds its role.',
};

function estimateCallerSize({ user, roles }: Caller): number {
  return 500 + 100 * roles.length + (user === null ? 0 : 4 * JSON.stringify(user).length);
}

function toIsoTimes(used: ReadonlyMap<number, number>): Map<number, string> {
  return new Map([...used].map(([id, time]) => [id, isoTime(time)]));
}

/** A login slides also while it is kept here. */
function shouldExtend({ type, expiresAt }: Caller, now: number): boolean {
  return type === 'session' && expiresAt! - now < loginLifetime - loginExtensionStep;
}

/** The caller in the role that X-Role asks for. Keys have one role and ignore it. */
export function withRole(caller: Caller, wanted: string | undefined): Caller {
  if (wanted === undefined || caller.type !== 'session' || wanted === caller.role) return caller;
  if (!caller.roles.includes(wanted)) throw new ApiError('ROLE_NOT_HELD', 'X-Role names a role that you do not hold.');
  return { ...caller, role: wanted };
}

export function tokenMissingError(): ApiError {
  return new ApiError('TOKEN_MISSING', 'Unauthorized: invalid or missing token. Send "Authorization: Bearer <token>".');
}

/** @param about the key, where it is known and yet does not hold. */
function tokenInvalidError(reason: string, about?: string): ApiError {
  return new ApiError('TOKEN_INVALID', `Unauthorized: invalid or missing token. ${reason}`, {
    ...(about && { about }),
  });
}

function unknownTokenError(): ApiError {
  return tokenInvalidError('The token is unknown or revoked, or was created with another APP_KEY.');
}

function tokenExpiredError(caller: Caller): ApiError {
  const message = 'Unauthorized: invalid or missing token. It has expired; make a new one.';
  return new ApiError('TOKEN_EXPIRED', message, { about: formatActor(caller) ?? '' });
}
