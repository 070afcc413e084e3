import { randomUUID } from 'node:crypto';
import type { Config, RateLimit } from '../base/config.ts';
import { LruMap } from '../base/lru-map.ts';
import type { Caller } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import { FixedWindow, type PointWindow } from './fixed-window.ts';
import { toNetwork } from './network.ts';
import { OpenConnections } from './open-connections.ts';
import { createSharedWindow, SharedWindow, type SharedWindowState } from './shared-window.ts';

/** A running sign-in. Its point is taken before the password is checked, so that parallel guesses count too. */
export interface SignInAttempt {
  /** The password was correct: returns the point, and remembers the network for the account. */
  succeeded(): void;
  /** It failed for another reason: returns the point. */
  withdraw(): void;
}

/** The windows in which all threads of the process count requests; null for limits that are off. */
export interface SharedRequestWindows {
  readonly credential: SharedWindowState | null;
  readonly anonymous: SharedWindowState | null;
}

/** Creates the windows of {@link SharedRequestWindows}. */
export function createSharedRequestWindows({
  rateLimitCredential,
  rateLimitAnonymous,
}: Pick<Config, 'rateLimitCredential' | 'rateLimitAnonymous'>): SharedRequestWindows {
  const seed = randomUUID();
  return {
    credential: rateLimitCredential && createSharedWindow(rateLimitCredential, seed),
    anonymous: rateLimitAnonymous && createSharedWindow(rateLimitAnonymous, seed),
  };
}

/** The name under which the requests of a credential are counted. */
export function credentialKey(application: string, { type, credentialId }: Caller): string {
  return `${application} ${type} ${credentialId}`;
}

/** Maximum number of remembered pairs of account and network. */
const maxKnownPairs = 20_000;

/** The rate limits of this server. Keys are verified credentials and addresses, never values that a client chooses. */
export class RateLimits {
  readonly #credential: PointWindow | null;
  readonly #anonymous: PointWindow | null;
  #signIn: FixedWindow | null;
  readonly #known = new LruMap<true>({
    entries: maxKnownPairs,
    bytes: 16 * 1024 * 1024,
    keyLength: 600,
    sizeOf: 0,
  });
  /** Sockets and streams of events. */
  readonly connections: OpenConnections;
  /** Requests that wait for events. */
  readonly waiters = new OpenConnections(limits.waiters, 'waiting requests');

  /** @param shared the windows for requests, if other threads count in them too. */
  constructor(
    config: Pick<Config, 'rateLimitCredential' | 'rateLimitAnonymous' | 'rateLimitSignIn' | 'realtimeSockets'>,
    shared: SharedRequestWindows | null = null,
  ) {
    this.connections = new OpenConnections(config.realtimeSockets, 'open connections');
    this.#credential = shared ? openSharedWindow(shared.credential) : createWindow(config.rateLimitCredential);
    this.#anonymous = shared ? openSharedWindow(shared.anonymous) : createWindow(config.rateLimitAnonymous);
    this.#signIn = createWindow(config.rateLimitSignIn);
  }

  /** Counts failed sign-ins with another limit. The same limit changes nothing. */
  setSignInLimit(limit: RateLimit | null): void {
    const { points, seconds } = this.#signIn?.limit ?? {};
    if (limit?.points !== points || limit?.seconds !== seconds) this.#signIn = createWindow(limit);
  }

  /** @throws ApiError 429 if the limit is reached. */
  countCredential(application: string, caller: Caller): void {
    if (this.#credential) consumePoint(this.#credential, credentialKey(application, caller), 'credential');
  }

  /** Charges a request more than the one point that admitted it. */
  charge(application: string, caller: Caller, points: number): void {
    this.#credential?.charge(credentialKey(application, caller), points);
  }

  countAnonymous(address: string): void {
    if (this.#anonymous) consumePoint(this.#anonymous, toNetwork(address), 'anonymous');
  }

  /**
   * Begins a sign-in. Failed sign-ins count for their network and for their account. A network from which the account has
   * signed in before is counted separately, so that guesses from elsewhere do not lock out its owner.
   *
   * @param account the canonical name of the account, whether or not it exists.
   * @throws ApiError 429 after too many failed sign-ins.
   */
  startSignIn(address: string, application: string, account: string): SignInAttempt {
    const bucket = this.#signIn;
    if (!bucket) return { succeeded: noop, withdraw: noop };
    const network = toNetwork(address);
    const pair = `pair ${application} ${account} ${network}`;
    const keys = [`address ${network}`, this.#known.get(pair) ? pair : `account ${application} ${account}`];
    consumePoints(bucket, keys);
    const withdraw = (): void => {
      for (const key of keys) bucket.refund(key);
    };
    const succeeded = (): void => {
      withdraw();
      this.#known.set(pair, true);
    };
    return { succeeded, withdraw };
  }

  /** Actions that send e-mail, reveal whether an address is used, or try a token have the limit of failed sign-ins. */
  countGuess(address: string, what: string): void {
    if (this.#signIn) consumePoints(this.#signIn, [`${what} ${toNetwork(address)}`]);
  }
}

function noop(): void {}

function createWindow(limit: RateLimit | null): FixedWindow | null {
  return limit && new FixedWindow(limit);
}

/** The view of this thread of a shared window. */
export function openSharedWindow(state: SharedWindowState | null): SharedWindow | null {
  return state && new SharedWindow(state);
}

function consumePoint(bucket: PointWindow, key: string, policy: string): void {
  const wait = bucket.consume(key);
  if (wait > 0) throw rateLimitError(bucket, wait, policy);
}

/** Takes a point of every key, or of none. */
function consumePoints(bucket: PointWindow, keys: readonly string[]): void {
  const wait = Math.max(...keys.map((key) => bucket.wait(key)));
  if (wait > 0) throw rateLimitError(bucket, wait, 'sign-in');
  for (const key of keys) bucket.consume(key);
}

function rateLimitError({ limit }: PointWindow, wait: number, policy: string): ApiError {
  const retryAfter = Math.max(1, Math.ceil(wait / 1000));
  return new ApiError('RATE_LIMITED', `Too many requests. Try again in ${retryAfter} seconds.`, {
    retryAfter,
    rate: { policy, ...limit },
  });
}
