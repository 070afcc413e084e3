import type { Config, RateLimit } from '../base/config.ts';
import { LruMap } from '../base/lru-map.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import { FixedWindow } from './fixed-window.ts';
import { toNetwork } from './network.ts';
import { OpenConnections } from './open-connections.ts';

/** A sign-in under way: its point is taken before the password is looked at, so that parallel guesses count too. */
export interface SignInAttempt {
  /** The password was right: it was no guess, and this network is known to the account from now on. */
  succeeded(): void;
  /** It came to nothing for another reason. */
  withdraw(): void;
}

/** How many pairs of account and network are remembered. */
const maxKnownPairs = 20_000;

/** The buckets of this node. Keys are credentials that were verified, and addresses; never what a client chooses. */
export class RateLimits {
  readonly #credential: FixedWindow | null;
  readonly #anonymous: FixedWindow | null;
  readonly #signIn: FixedWindow | null;
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

  constructor(
    config: Pick<Config, 'rateLimitCredential' | 'rateLimitAnonymous' | 'rateLimitSignIn' | 'realtimeSockets'>,
  ) {
    this.connections = new OpenConnections(config.realtimeSockets, 'open connections');
    this.#credential = createWindow(config.rateLimitCredential);
    this.#anonymous = createWindow(config.rateLimitAnonymous);
    this.#signIn = createWindow(config.rateLimitSignIn);
  }

  /** @throws ApiError 429 when the bucket is empty. */
  countCredential(application: string, type: string, id: number): void {
    if (this.#credential) consumePoint(this.#credential, `${application} ${type} ${id}`, 'credential');
  }

  /** What a request turns out to be beyond the one point that let it in. */
  charge(application: string, type: string, id: number, points: number): void {
    this.#credential?.charge(`${application} ${type} ${id}`, points);
  }

  countAnonymous(address: string): void {
    if (this.#anonymous) consumePoint(this.#anonymous, toNetwork(address), 'anonymous');
  }

  /**
   * Before a sign-in. Failed ones count for the network they come from and for the account that they name; a network from
   * which the account's owner has signed in has a count of its own, so that guesses from elsewhere do not lock it out.
   *
   * @param account of the user who would be signed in, in whatever spelling; or the name of nobody.
   * @throws ApiError 429 where too many have failed.
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

  /** What sends mail, tells whether an address is taken, or tries a token from a mail: held to the pace of failed sign-ins. */
  countGuess(address: string, what: string): void {
    if (this.#signIn) consumePoints(this.#signIn, [`${what} ${toNetwork(address)}`]);
  }
}

function noop(): void {}

function createWindow(limit: RateLimit | null): FixedWindow | null {
  return limit && new FixedWindow(limit);
}

function consumePoint(bucket: FixedWindow, key: string, policy: string): void {
  const wait = bucket.consume(key);
  if (wait > 0) throw rateLimitError(bucket, wait, policy);
}

/** A point of each, or of none. */
function consumePoints(bucket: FixedWindow, keys: readonly string[]): void {
  const wait = Math.max(...keys.map((key) => bucket.wait(key)));
  if (wait > 0) throw rateLimitError(bucket, wait, 'sign-in');
  for (const key of keys) bucket.consume(key);
}

function rateLimitError({ limit }: FixedWindow, wait: number, policy: string): ApiError {
  const retryAfter = Math.max(1, Math.ceil(wait / 1000));
  return new ApiError('RATE_LIMITED', `Too many requests; try again in ${retryAfter} seconds.`, {
    retryAfter,
    rate: { policy, ...limit },
  });
}
