/**
 * Verifies the Authorization header: a caller, or 401. Verified credentials are cached until the application's version
 * changes, which every revocation, suspension and role change causes.
 */
import { adminRole, publicRole } from '../access/access-table.ts';
import { type Clock, isoTime } from '../base/clock.ts';
import { LruMap } from '../base/lru-map.ts';
import { type TokenHasher, tokenKind } from '../base/token.ts';
import type { Database } from '../database/database.ts';
import { findKey, findKeyById, type StoredKey } from '../database/key-rows.ts';
import { extendLogin, findLogin, findLoginById, type StoredLogin, setLastUsedTimes } from '../database/login-rows.ts';
import { loadUser } from '../database/user-rows.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { Collection } from '../schema/registry.ts';
import { type Caller, formatActor } from './caller.ts';
import { findInactiveReason, type InactiveReason } from './key-status.ts';

const hour = 3_600_000;
/** How long a login lasts without use. */
export const loginLifetime = 7 * 24 * hour;
/** The expiry is extended in steps of this length, so that at most one write per hour is needed. */
const loginExtensionStep = hour;
/** Memory for verified callers with their user records. */
const callerCacheBytes = 16 * 1024 * 1024;

/** The caller of a request without a credential. */
export const anonymous: Caller = {
  type: 'anonymous',
  credentialId: null,
  credentialName: null,
  expiresAt: null,
  role: publicRole,
  roles: [],
  user: null,
};

/** The caller of the operator's command line: it has the permissions of an administrator and is not a user. */
export const operator: Caller = { ...anonymous, type: 'operator', role: adminRole, roles: [adminRole] };

/** Parses an Authorization header: exactly `Bearer`, one space, and the token. @throws ApiError 401. */
export function parseBearerToken(header: string): string {
  const [, token] = /^Bearer ([\x21-\x7e]+)$/.exec(header) ?? [];
  if (token === undefined)
    throw tokenInvalidError('The header Authorization must be exactly "Bearer", one space, and the token.');
  return token;
}

/** When keys and logins were last used, by their ids, in milliseconds since the epoch. */
export interface CredentialUses {
  readonly keys: ReadonlyMap<number, number>;
  readonly logins: ReadonlyMap<number, number>;
}

/** Verifies API keys and logins of one application, with a cache. */
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
  /** Incremented by {@link invalidate}. A caller that was read before must not be cached after it. */
  #generation = 0;
  #usedKeys = new Map<number, number>();
  #usedLogins = new Map<number, number>();

  /** @param hashers of the current APP_KEY, then of the previous one during a rotation. */
  constructor(database: Database, hashers: readonly TokenHasher[], clock: Clock, users: () => Collection) {
    this.#database = database;
    this.#hashers = hashers;
    this.#clock = clock;
    this.#users = users;
  }

  /**
   * Verifies a token: synchronously if it is cached.
   *
   * @throws ApiError 401 for any credential that is not valid now.
   */
  authenticate(token: string): Caller | Promise<Caller> {
    const now = this.#clock.now();
    const cached = this.#callers.get(token);
    return cached && !shouldExtend(cached, now)
      ? this.#recordUse(cached, now)
      : this.#verify(token, now).then((caller) => this.#recordUse(caller, now));
  }

  /** Whether a token is valid now. Nothing is written, and the token does not count as used. */
  async accepts(token: string): Promise<boolean> {
    const now = this.#clock.now();
    try {
      const { expiresAt } = await this.#verify(token, now, false);
      return expiresAt === null || now < expiresAt;
    } catch (error) {
      if (error instanceof ApiError) return false;
      throw error;
    }
  }

  #recordUse(caller: Caller, now: number): Caller {
    if (caller.expiresAt !== null && now >= caller.expiresAt) throw tokenExpiredError(caller);
    if (caller.credentialId !== null)
      (caller.type === 'apiKey' ? this.#usedKeys : this.#usedLogins).set(caller.credentialId, now);
    return caller;
  }

  /** Removes all cached callers, because the version has changed. */
  invalidate(): void {
    this.#generation += 1;
    this.#callers.clear();
  }

  /** Stores when keys and logins were last used. */
  async flushLastUsed(): Promise<void> {
    const { keys, logins } = this.takeUses();
    await setLastUsedTimes(this.#database, 'apiKeys', toIsoTimes(keys));
    await setLastUsedTimes(this.#database, 'logins', toIsoTimes(logins));
  }

  /** Returns when keys and logins were used since the last call. */
  takeUses(): CredentialUses {
    const uses = { keys: this.#usedKeys, logins: this.#usedLogins };
    this.#usedKeys = new Map();
    this.#usedLogins = new Map();
    return uses;
  }

  /** Adds uses that another thread has recorded. */
  addUses({ keys, logins }: CredentialUses): void {
    for (const [id, time] of keys) this.#usedKeys.set(id, Math.max(time, this.#usedKeys.get(id) ?? 0));
    for (const [id, time] of logins) this.#usedLogins.set(id, Math.max(time, this.#usedLogins.get(id) ?? 0));
  }

  /** @param mayExtend whether a login lasts longer because it is used. */
  async #verify(token: string, now: number, mayExtend = true): Promise<Caller> {
    const kind = tokenKind(token);
    if (kind !== 'tbk' && kind !== 'tbs') throw tokenInvalidError('The token is malformed.');
    const generation = this.#generation;
    const hashes = this.#hashers.map((hasher) => hasher.hash(token));
    const caller =
      kind === 'tbk'
        ? await this.#keyCaller(await findKey(this.#database, hashes))
        : await this.#loginCaller(await findLogin(this.#database, hashes), now, mayExtend);
    if (!caller) throw unknownTokenError();
    if (generation === this.#generation) this.#callers.set(token, caller);
    return caller;
  }

  /**
   * The caller of a credential that has been verified before, if it is still valid.
   *
   * @throws ApiError 401
   */
  async resume(type: 'session' | 'apiKey', credentialId: number): Promise<Caller> {
    const now = this.#clock.now();
    const caller =
      type === 'apiKey'
        ? await this.#keyCaller(await findKeyById(this.#database, credentialId))
        : await this.#loginCaller(await findLoginById(this.#database, credentialId), now);
    if (!caller) throw unknownTokenError();
    return this.#recordUse(caller, now);
  }

  async #keyCaller(key: StoredKey | null): Promise<Caller | null> {
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

  async #loginCaller(login: StoredLogin | null, now: number, mayExtend = true): Promise<Caller | null> {
    const user = login && (await loadUser(this.#database, this.#users(), login.userId));
    if (!login || !user || user['status'] !== 'active') return null;
    let expiresAt = Date.parse(login.expiresAt);
    if (mayExtend && now < expiresAt && expiresAt - now < loginLifetime - loginExtensionStep) {
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
  roleLost: 'The user who created this API key no longer has its role.',
};

function estimateCallerSize({ user, roles }: Caller): number {
  return 500 + 100 * roles.length + (user === null ? 0 : 4 * JSON.stringify(user).length);
}

function toIsoTimes(used: ReadonlyMap<number, number>): Map<number, string> {
  return new Map([...used].map(([id, time]) => [id, isoTime(time)]));
}

/** Whether a cached login must be read again so that its expiry is extended. */
function shouldExtend({ type, expiresAt }: Caller, now: number): boolean {
  return type === 'session' && expiresAt !== null && expiresAt - now < loginLifetime - loginExtensionStep;
}

/** Returns the caller with the role of the X-Role header. API keys have one role and ignore the header. */
export function withRole(caller: Caller, wanted: string | undefined): Caller {
  if (wanted === undefined || caller.type !== 'session' || wanted === caller.role) return caller;
  if (!caller.roles.includes(wanted))
    throw new ApiError(
      'ROLE_NOT_HELD',
      'The header "X-Role" names a role that you do not have. Use one of your roles, or omit the header.',
    );
  return { ...caller, role: wanted };
}

/** 401 for an action that needs a credential. */
export function tokenMissingError(): ApiError {
  return new ApiError('TOKEN_MISSING', 'Unauthorized: invalid or missing token. Send "Authorization: Bearer <token>".');
}

/** @param about the key, if it exists but is not valid. */
function tokenInvalidError(reason: string, about?: string): ApiError {
  return new ApiError('TOKEN_INVALID', `Unauthorized: invalid or missing token. ${reason}`, {
    ...(about && { about }),
  });
}

function unknownTokenError(): ApiError {
  return tokenInvalidError('The token is unknown or revoked, or was created with another APP_KEY.');
}

function tokenExpiredError(caller: Caller): ApiError {
  const message = 'Unauthorized: invalid or missing token. The token has expired. Sign in again, or create a new key.';
  return new ApiError('TOKEN_EXPIRED', message, { about: formatActor(caller) ?? '' });
}
