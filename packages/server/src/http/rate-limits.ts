import { isIPv6 } from 'node:net';
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import type { Config, RateLimit } from '../base/config.ts';
import { ApiError } from '../protocol/api-error.ts';

/** The buckets of this node. Keys are credentials that were verified, and addresses; never what a client chooses. */
export class RateLimits {
  readonly #credential: RateLimiterMemory | null;
  readonly #anonymous: RateLimiterMemory | null;
  readonly #signIn: RateLimiterMemory | null;

  constructor(config: Pick<Config, 'rateLimitCredential' | 'rateLimitAnonymous' | 'rateLimitSignIn'>) {
    this.#credential = limiter(config.rateLimitCredential);
    this.#anonymous = limiter(config.rateLimitAnonymous);
    this.#signIn = limiter(config.rateLimitSignIn);
  }

  /** @throws ApiError 429 when the bucket is empty. */
  async credential(application: string, type: string, id: number): Promise<void> {
    if (this.#credential) await take(this.#credential, `${application} ${type} ${id}`);
  }

  async anonymous(address: string): Promise<void> {
    if (this.#anonymous) await take(this.#anonymous, networkOf(address));
  }

  /** Before a sign-in: refuses where too many have failed. */
  async checkSignIn(address: string, account: string): Promise<void> {
    if (!this.#signIn) return;
    for (const key of signInKeys(address, account)) {
      const state = await this.#signIn.get(key);
      if (state && state.consumedPoints >= this.#signIn.points) throw limited(state);
    }
  }

  /** After a failed sign-in. */
  async failedSignIn(address: string, account: string): Promise<void> {
    if (!this.#signIn) return;
    for (const key of signInKeys(address, account)) await this.#signIn.penalty(key, 1);
  }
}

function signInKeys(address: string, account: string): string[] {
  return [`address ${networkOf(address)}`, `account ${account.trim().toLowerCase().slice(0, 320)}`];
}

function limiter(limit: RateLimit | null): RateLimiterMemory | null {
  return limit && new RateLimiterMemory({ points: limit.points, duration: limit.seconds });
}

async function take(bucket: RateLimiterMemory, key: string): Promise<void> {
  try {
    await bucket.consume(key, 1);
  } catch (state) {
    throw limited(state as RateLimiterRes);
  }
}

function limited(state: RateLimiterRes): ApiError {
  const retryAfter = Math.max(1, Math.ceil(state.msBeforeNext / 1000));
  return new ApiError('RATE_LIMITED', `Too many requests; try again in ${retryAfter} seconds.`, { retryAfter });
}

/** One household: an IPv4 address, or the /64 of an IPv6 one. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped) return mapped[1]!;
  if (!isIPv6(address)) return address;
  const [head = '', tail = ''] = address.split('%')[0]!.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === '' ? [] : tail.split(':');
  const middle = address.includes('::') ? new Array<string>(8 - left.length - right.length).fill('0') : [];
  return [...left, ...middle, ...right]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
