/**
 * The one client for requests that others steer: to addresses that people have given. It sends one POST, or one GET, to an
 * address that it has looked at itself, and reads a bounded part of the reply.
 *
 * Refuses other schemes than http and https, credentials in the address, every address that is not a public one unless
 * the operator allows it, and redirects. A name is resolved once, and the connection goes to what was checked: a name
 * server that answers differently the second time gains nothing.
 */
import { lookup, Resolver } from 'node:dns/promises';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { isAddress, isLoopbackName, normalizeHost, OutboundAllow } from './outbound-address.ts';

/** What became of a request that was answered. */
export interface OutboundReply {
  readonly status: number;
  /** The beginning of the body, at most {@link outboundLimits.replyBytes} of it. */
  readonly text: string;
  readonly retryAfter: OutboundBytes['retryAfter'];
}

/** What a request was answered with, or the beginning of it. */
export interface OutboundBytes {
  readonly status: number;
  /** The header `Retry-After` as it stands; null without one. */
  readonly retryAfter: string | null;
  readonly bytes: Buffer;
}

/** Why a request got no answer, in words for whoever gave the address: no address of the inside stands in them. */
export class OutboundFailure extends Error {
  /** True where asking again cannot help: the address itself is refused. */
  readonly refused: boolean;

  constructor(message: string, refused = false) {
    super(message);
    this.name = 'OutboundFailure';
    this.refused = refused;
  }
}

export type Resolve = (host: string, signal: AbortSignal) => Promise<readonly string[]>;

export interface OutboundOptions {
  /** Entries of `OUTBOUND_ALLOW`. */
  readonly allow?: readonly string[];
  /** Addresses of a name; for tests of name servers that lie. */
  readonly resolve?: Resolve;
  /** For the whole request: name, connection, and as much of the reply as is read. */
  readonly totalMilliseconds?: number;
}

export const outboundLimits = {
  urlLength: 2000,
  connectMilliseconds: 5000,
  totalMilliseconds: 10_000,
  replyBytes: 4096,
  headerBytes: 16_384,
} as const;

export class OutboundClient {
  readonly #allow: OutboundAllow;
  readonly #resolve: Resolve;
  readonly #total: number;

  constructor({ allow = [], resolve, totalMilliseconds = outboundLimits.totalMilliseconds }: OutboundOptions = {}) {
    this.#allow = new OutboundAllow(allow);
    this.#resolve = resolve ?? ((host, signal) => this.#addressesOf(host, signal));
    this.#total = totalMilliseconds;
  }

  /** What is wrong with an address before any name is looked up, with the cure; null: nothing. */
  findUrlProblem(text: unknown): string | null {
    if (typeof text !== 'string' || text.length > outboundLimits.urlLength)
      return `Give an address such as https://example.com/hook, at most ${outboundLimits.urlLength} characters.`;
    if (!/^https?:\/\/[^\s\\/][^\s\\]*$/i.test(text) || !URL.canParse(text))
      return 'Give a whole address that begins with http:// or https://.';
    const url = new URL(text);
    if (url.username !== '' || url.password !== '') return 'Leave user and password out of the address.';
    if (url.port === '0') return 'The address names no port that can be reached.';
    const host = normalizeHost(url);
    if (host === '') return 'The address names no host.';
    if (this.#allow.allowsHost(host)) return null;
    if (isLoopbackName(host) || (isAddress(host) && !this.#allow.allowsAddress(host)))
      return 'The address lies inside the network of the server; give a public one, or have the operator name it in OUTBOUND_ALLOW.';
    return null;
  }

  /**
   * Sends one POST.
   *
   * @param signal ends it early.
   * @throws OutboundFailure when there is no answer in time, or the address is refused.
   */
  async post(
    text: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal?: AbortSignal,
  ): Promise<OutboundReply> {
    const length = String(Buffer.byteLength(body));
    const request = { method: 'POST', headers: { ...headers, 'content-length': length }, body } as const;
    const { bytes, ...reply } = await this.#request(text, request, outboundLimits.replyBytes, signal);
    return { ...reply, text: bytes.toString('latin1') }; // a byte is a character: what is kept of a binary reply is bounded too
  }

  /**
   * Gets what lies at an address; nothing of whoever asks goes along but the headers that are given.
   *
   * @param maxBytes bytes that are read; whether there are more is seen by one more than that.
   * @throws OutboundFailure as {@link post}.
   */
  get(
    text: string,
    headers: Readonly<Record<string, string>>,
    maxBytes: number,
    signal?: AbortSignal,
  ): Promise<OutboundBytes> {
    return this.#request(text, { method: 'GET', headers, body: null }, maxBytes + 1, signal);
  }

  async #request(
    text: string,
    request: OutboundRequest,
    maxBytes: number,
    signal: AbortSignal | undefined,
  ): Promise<OutboundBytes> {
    const problem = this.findUrlProblem(text);
    if (problem) throw new OutboundFailure(problem, true);
    const url = new URL(text);
    const timeout = AbortSignal.timeout(this.#total);
    const abortSignal = signal ? AbortSignal.any([signal, timeout]) : timeout;
    try {
      const addresses = await raceAbort(this.#checked(normalizeHost(url), abortSignal), abortSignal);
      return await send(url, addresses, request, maxBytes, abortSignal);
    } catch (error) {
      if (timeout.aborted && !(error instanceof OutboundFailure && error.refused))
        throw new OutboundFailure(`No answer within ${this.#total / 1000} seconds.`);
      throw error instanceof OutboundFailure ? error : new OutboundFailure(describeError(error));
    }
  }

  /** The addresses to connect to: all of a name's are held against the rules, so that none of them is a way in. */
  async #checked(host: string, signal: AbortSignal): Promise<readonly string[]> {
    if (isAddress(host)) return [host]; // problemOf has looked at it
    const addresses = await this.#resolve(host, signal);
    if (addresses.length === 0) throw new OutboundFailure('The name of the host is not known.');
    if (!this.#allow.allowsHost(host) && !addresses.every((each) => this.#allow.allowsAddress(each)))
      throw new OutboundFailure(
        'The name leads to an address inside the network of the server, which OUTBOUND_ALLOW does not name.',
        true,
      );
    return addresses;
  }

  /**
   * Names that the operator has allowed are looked up the system's way, /etc/hosts included. All others are asked of the
   * name servers directly: the system's way holds a thread each, of the few that disk syncs need too.
   */
  async #addressesOf(host: string, signal: AbortSignal): Promise<readonly string[]> {
    if (this.#allow.allowsHost(host)) return (await lookup(host, { all: true })).map(({ address }) => address);
    const resolver = new Resolver({ timeout: 2000, tries: 2 });
    signal.addEventListener('abort', () => resolver.cancel(), { once: true });
    const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    return found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  }
}

interface OutboundRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

function send(
  url: URL,
  addresses: readonly string[],
  { method, headers, body }: OutboundRequest,
  maxBytes: number,
  signal: AbortSignal,
): Promise<OutboundBytes> {
  const { promise, resolve, reject } = Promise.withResolvers<OutboundBytes>();
  const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
    method,
    headers,
    agent: false, // a kept connection would outlive what was checked of it
    lookup: createFixedLookup(addresses),
    maxHeaderSize: outboundLimits.headerBytes,
    signal,
  });
  const connecting = setTimeout(
    () => request.destroy(new OutboundFailure('The host does not accept the connection.')),
    outboundLimits.connectMilliseconds,
  );
  request.on('socket', (socket) => socket.once('connect', () => clearTimeout(connecting)));
  request.on('error', reject);
  request.on('close', () => {
    clearTimeout(connecting);
    reject(new OutboundFailure('The host closed the connection without an answer.'));
  });
  request.on('response', (response) => {
    const status = response.statusCode ?? 0;
    const chunks: Buffer[] = [];
    let length = 0;
    const done = (): void => {
      const retryAfter = response.headers['retry-after'] ?? null;
      resolve({ status, retryAfter, bytes: Buffer.concat(chunks).subarray(0, maxBytes) });
      request.destroy();
    };
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= maxBytes) done();
    });
    response.on('end', done);
    response.on('error', reject);
  });
  request.end(body ?? undefined);
  return promise;
}

/** Answers every look-up with what was checked. */
function createFixedLookup(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  return (_host, options, callback) => {
    if (options.all) callback(null, found);
    else callback(null, found[0]!.address, found[0]!.family);
  };
}

function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const end = (): void => reject(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', end));
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The host refuses the connection.',
  ECONNRESET: 'The host broke the connection off.',
  ENOTFOUND: 'The name of the host is not known.',
  EHOSTUNREACH: 'The host cannot be reached.',
  ENETUNREACH: 'The host cannot be reached.',
  HPE_HEADER_OVERFLOW: 'The headers of the reply are too large.',
};

/** An engine's code in plain words; nothing else of the error, which may name addresses. */
function describeError(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: string; name?: string };
  if (name === 'AbortError') return 'The request was ended.';
  if (code !== undefined && reasons[code]) return reasons[code];
  return code === undefined ? 'The request failed.' : `The request failed (${code}).`;
}
