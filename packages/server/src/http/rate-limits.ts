import type { Config, RateLimit } from '../base/config.ts';
import { LruMap } from '../base/lru-map.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import { FixedWindow } from './fixed-window.ts';
import { networkOf } from './network.ts';
import { OpenConnections } from './open-connections.ts';

/** A sign-in under way: its point is taken before the password is looked at, so that parallel guesses count too. */
export interface Attempt {
  /** The password was right: it was no guess, and this network is known to the account from now on. */
  succeeded(): void;
  /** It came to nothing for another reason. */
  withdraw(): void;
}

/** How many pairs of account and network are remembered. */
const knownPairs = 20_000;

/** The buckets of this node. Keys are credentials that were verified, and addresses; never what a client chooses. */
export class RateLimits {
  readonly #credential: FixedWindow | null;
  readonly #anonymous: FixedWindow | null;
  readonly #signIn: FixedWindow | null;
  readonly #known = new LruMap<true>({
    entries: knownPairs,
    bytes: 16 * 1024 * 1024,
    keyLength: 600,
    sizeOf: 0,
  });
  /** Sockets and streams of events. */
  readonly connections: OpenConnections;
  /** Requests that wait for events. */
  readonly waiters = new OpenConnections(limits.waiters, 'waiting requests');

  constructor(
    config: Pick<Config, 'rateLimitCredential' | 'rateLimitAnonymous' | 'rateLimitSignIn' | 'realtimeSockets'>,
  ) {
    this.connections = new OpenConnections(config.realtimeSockets, 'open connections');
    this.#credential = windows(config.rateLimitCredential);
    this.#anonymous = windows(config.rateLimitAnonymous);
    this.#signIn = windows(config.rateLimitSignIn);
  }

  /** @throws ApiError 429 when the bucket is empty. */
  credential(application: string, type: string, id: number): void {
    if (this.#credential) take(this.#credential, `${application} ${type} ${id}`, 'credential');
  }

  /** What a request turns out to be beyond the one point that let it in. */
  charge(application: string, type: string, id: number, points: number): void {
    this.#credential?.charge(`${application} ${type} ${id}`, points);
  }

  anonymous(address: string): void {
    if (this.#anonymous) take(this.#anonymous, networkOf(address), 'anonymous');
  }

  /**
   * Before a sign-in. Failed ones count for the network they come from and for the account that they name; a network from
   * which the account's owner has signed in has a count of its own, so that guesses from elsewhere do not lock it out.
   *
   * @param account of the user who would be signed in, in whatever spelling; or the name of nobody.
   * @throws ApiError 429 where too many have failed.
   */
  signIn(address: string, application: string, account: string): Attempt {
    const bucket = this.#signIn;
    if (!bucket) return { succeeded: nothing, withdraw: nothing };
    const network = networkOf(address);
    const pair = `pair ${application} ${account} ${network}`;
    const keys = [`address ${network}`, this.#known.get(pair) ? pair : `account ${application} ${account}`];
    takeAll(bucket, keys);
    const withdraw = (): void => {
      for (const key of keys) bucket.giveBack(key);
    };
    const succeeded = (): void => {
      withdraw();
      this.#known.set(pair, true);
    };
    return { succeeded, withdraw };
  }

  /** What sends mail, tells whether an address is taken, or tries a token from a mail: held to the pace of failed sign-ins. */
  guess(address: string, what: string): void {
    if (this.#signIn) takeAll(this.#signIn, [`${what} ${networkOf(address)}`]);
  }
}

function nothing(): void {}

function windows(limit: RateLimit | null): FixedWindow | null {
  return limit && new FixedWindow(limit);
}

function take(bucket: FixedWindow, key: string, policy: string): void {
  const wait = bucket.take(key);
  if (wait > 0) throw limited(bucket, wait, policy);
}

/** A point of each, or of none. */
function takeAll(bucket: FixedWindow, keys: readonly string[]): void {
  const wait = Math.max(...keys.map((key) => bucket.wait(key)));
  if (wait > 0) throw limited(bucket, wait, 'sign-in');
  for (const key of keys) bucket.take(key);
}

function limited({ limit }: FixedWindow, wait: number, policy: string): ApiError {
  const retryAfter = Math.max(1, Math.ceil(wait / 1000));
  return new ApiError('RATE_LIMITED', `Too many requests; try again in ${retryAfter} seconds.`, {
    retryAfter,
    rate: { policy, ...limit },
  });
}
