/** DNS lookups with a time limit and a bounded cache. */
import { Resolver } from 'node:dns/promises';
import { LruMap } from './lru-map.ts';

/** Looks up DNS records, in the forms in which `node:dns` returns them. */
export interface DnsResolver {
  /**
   * @param type such as `TXT`, `A` or `MX`.
   * @throws DnsFailure with the code `ENOTFOUND` or `ENODATA` where there are no such records; any other code is temporary.
   */
  resolve(name: string, type: string): Promise<readonly unknown[]>;
}

/** A lookup without records. `code` is one of `node:dns`, or `EBUSY` where too many lookups are under way. */
export class DnsFailure extends Error {
  readonly code: string;

  constructor(code: string, name: string, type: string) {
    super(`The ${type} records of "${name.slice(0, 260)}" could not be read: ${code}.`);
    this.name = 'DnsFailure';
    this.code = code;
  }
}

/** Whether a failure says that the records do not exist, so that a later lookup would fail in the same way. */
export function isMissing(code: string): boolean {
  return code === 'ENOTFOUND' || code === 'ENODATA' || code === 'EBADNAME';
}

export interface CachingDnsOptions {
  /** Queries the name servers. Default: the name servers of the system. Rejects with an error that has a `code`. */
  readonly lookup?: (name: string, type: string) => Promise<readonly unknown[]>;
  /** Time limit of one lookup. Default: 5 seconds. */
  readonly timeoutMilliseconds?: number;
}

/** A result: records, or the code of a failure. */
interface CachedAnswer {
  readonly records: readonly unknown[] | null;
  readonly code: string;
  /** By `performance.now()`. */
  readonly expires: number;
  readonly size: number;
}

const recordLifetime = 600_000;
const missingLifetime = 300_000;
/** A name server that does not respond is queried again only after this time. */
const failureLifetime = 30_000;
const maxConcurrentLookups = 256;
const maxNameLength = 253;
/** Larger answers are refused: keys and policies have at most a few kilobytes. */
const maxAnswerLength = 32 * 1024;

/** Queries the name servers of the system, caches answers for some minutes, and never waits longer than its limit. */
export class CachingDnsResolver implements DnsResolver {
  readonly #lookup: NonNullable<CachingDnsOptions['lookup']>;
  readonly #timeoutMilliseconds: number;
  readonly #cache = new LruMap<CachedAnswer>({
    entries: 20_000,
    bytes: 16 * 1024 * 1024,
    keyLength: 300,
    sizeOf: ({ size }) => size,
  });
  readonly #running = new Map<string, Promise<CachedAnswer>>();

  constructor(options: CachingDnsOptions = {}) {
    this.#lookup = options.lookup ?? createSystemLookup();
    this.#timeoutMilliseconds = options.timeoutMilliseconds ?? 5000;
  }

  async resolve(name: string, type: string): Promise<readonly unknown[]> {
    if (!isResolvable(name)) throw new DnsFailure('EBADNAME', name, type);
    const key = `${type} ${name.toLowerCase().replace(/\.$/, '')}`;
    const cached = this.#cache.get(key);
    const answer = cached && cached.expires > performance.now() ? cached : await this.#ask(key, name, type);
    if (answer.records === null) throw new DnsFailure(answer.code, name, type);
    return structuredClone(answer.records);
  }

  /** Equal lookups that are under way at the same time share one query. */
  async #ask(key: string, name: string, type: string): Promise<CachedAnswer> {
    const running = this.#running.get(key);
    if (running) return running;
    if (this.#running.size >= maxConcurrentLookups) throw new DnsFailure('EBUSY', name, type);
    const answer = this.#query(name, type);
    this.#running.set(key, answer);
    try {
      const received = await answer;
      this.#cache.set(key, received);
      return received;
    } finally {
      this.#running.delete(key);
    }
  }

  async #query(name: string, type: string): Promise<CachedAnswer> {
    try {
      const records = await withTimeout(this.#lookup(name, type), this.#timeoutMilliseconds);
      const size = JSON.stringify(records).length;
      if (size > maxAnswerLength) return toFailedAnswer('EBADRESP');
      return { records, code: '', expires: performance.now() + recordLifetime, size: 2 * size };
    } catch (error) {
      return toFailedAnswer(readCode(error));
    }
  }
}

function toFailedAnswer(code: string): CachedAnswer {
  const lifetime = isMissing(code) ? missingLifetime : failureLifetime;
  return { records: null, code, expires: performance.now() + lifetime, size: 50 };
}

function createSystemLookup(): NonNullable<CachingDnsOptions['lookup']> {
  let resolver: Resolver | null = null;
  return async (name, type) => {
    resolver ??= new Resolver({ timeout: 2000, tries: 2 });
    return (await resolver.resolve(name, type)) as readonly unknown[];
  };
}

async function withTimeout<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error('timeout'), { code: 'ETIMEOUT' })), milliseconds);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

function readCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'EUNKNOWN';
}

/** Letters, digits, hyphens, underscores and dots; labels of at most 63 characters. Other names have no records. */
function isResolvable(name: string): boolean {
  const written = name.replace(/\.$/, '');
  return written.length <= maxNameLength && /^(?:[\w-]{1,63}\.)*[\w-]{1,63}$/.test(written);
}
