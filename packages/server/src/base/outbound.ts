/**
 * The only client for requests to addresses that users have given (protection against SSRF). It sends one POST or GET to
 * an address that it has checked, and reads a bounded part of the reply.
 *
 * It refuses schemes other than http and https, credentials in the address, private addresses unless the operator allows
 * them, and redirects. A name is resolved once, and the connection goes to the checked address, so that a name server that
 * answers differently the second time (DNS rebinding) gains nothing.
 */
import { request as requestHttps } from 'node:https';
import type { SecureContext } from 'node:tls';
import { nodeHttp } from './node-http.ts';
import { isAddress, isLoopbackName, normalizeHost, OutboundAllow } from './outbound-address.ts';
import { createFixedLookup, GuardedResolver, OutboundFailure, type Resolve, raceAbort } from './outbound-resolver.ts';

/** The reply to a request. */
export interface OutboundReply {
  readonly status: number;
  /** The beginning of the body, at most {@link outboundLimits.replyBytes} of it. */
  readonly text: string;
  readonly retryAfter: OutboundBytes['retryAfter'];
}

/** The reply to a request with its bytes, or the beginning of them. */
export interface OutboundBytes {
  readonly status: number;
  /** The header `Retry-After`, not parsed; null without one. */
  readonly retryAfter: string | null;
  readonly bytes: Buffer;
}

export interface OutboundOptions {
  /** The setting whose entries are `allow`; default: `OUTBOUND_ALLOW`. */
  readonly setting?: string;
  /** Entries of the setting. */
  readonly allow?: readonly string[] | OutboundAllow;
  /** Resolves a name; replaced by tests of malicious name servers. */
  readonly resolve?: Resolve;
  /** Time limit of the whole request: resolving, connecting, and reading the reply. */
  readonly totalMilliseconds?: number;
  /** The certificate authorities that are trusted; null or absent: those of the process. */
  readonly secureContext?: SecureContext | null;
}

/** The certificate of a host is not trusted, not valid, or for another name. */
export class CertificateFailure extends OutboundFailure {}

export const outboundLimits = {
  urlLength: 2000,
  connectMilliseconds: 5000,
  totalMilliseconds: 10_000,
  replyBytes: 4096,
  headerBytes: 16_384,
} as const;

/**
 * Sends requests to checked addresses.
 *
 *     const client = new OutboundClient({ allow: ['hooks.internal'] });
 *     const { status } = await client.post('https://example.com/hook', { 'content-type': 'application/json' }, '{}');
 */
export class OutboundClient {
  readonly #allow: OutboundAllow;
  readonly #setting: string;
  readonly #resolver: GuardedResolver;
  readonly #total: number;
  readonly #secureContext: SecureContext | null;

  constructor({
    allow = [],
    setting = 'OUTBOUND_ALLOW',
    resolve,
    totalMilliseconds = outboundLimits.totalMilliseconds,
    secureContext = null,
  }: OutboundOptions = {}) {
    this.#allow = allow instanceof OutboundAllow ? allow : new OutboundAllow(allow);
    this.#setting = setting;
    this.#resolver = new GuardedResolver(this.#allow, setting, resolve);
    this.#total = totalMilliseconds;
    this.#secureContext = secureContext;
  }

  /** What is wrong with an address, with the cure; null if it may be used. Does not resolve names. */
  findUrlProblem(text: unknown): string | null {
    if (typeof text !== 'string' || text.length > outboundLimits.urlLength)
      return `Give an address such as https://example.com/hook, at most ${outboundLimits.urlLength} characters.`;
    if (!/^https?:\/\/[^\s\\/][^\s\\]*$/i.test(text) || !URL.canParse(text))
      return 'Give a complete address that begins with http:// or https://.';
    const url = new URL(text);
    if (url.username !== '' || url.password !== '') return 'Remove the user name and password from the address.';
    if (url.port === '0') return 'The port of the address must not be 0.';
    const host = normalizeHost(url);
    if (host === '') return 'The address has no host. Give an address such as https://example.com/hook.';
    if (this.#allow.allowsHost(host)) return null;
    if (isLoopbackName(host) || (isAddress(host) && !this.#allow.allowsAddress(host)))
      return `The address is not public. Give a public address, or ask an administrator of the server to add it to ${this.#setting}.`;
    return null;
  }

  /**
   * Sends one POST.
   *
   * @param signal aborts the request.
   * @throws OutboundFailure if no reply arrives in time, or the address is refused.
   */
  async post(
    text: string,
    headers: Readonly<Record<string, string>>,
    body: string | Uint8Array,
    signal?: AbortSignal,
  ): Promise<OutboundReply> {
    const request = createPost(headers, body);
    const { bytes, ...reply } = await this.#request(text, request, outboundLimits.replyBytes, signal);
    return { ...reply, text: bytes.toString('latin1') }; // one character per byte, so that the text of a binary reply is bounded too
  }

  /**
   * Sends one POST and returns its reply with the bytes of the body.
   *
   * @param form headers and body.
   * @param maxBytes limit of the content of the reply. One more byte is read, so that a caller can detect longer
   * content.
   * @throws OutboundFailure as {@link post}.
   */
  exchange(
    text: string,
    form: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
    maxBytes: number,
    signal?: AbortSignal,
  ): Promise<OutboundBytes> {
    return this.#request(text, createPost(form.headers, form.body), maxBytes + 1, signal);
  }

  /**
   * Gets the content of an address. Only the given headers are sent.
   *
   * @param maxBytes limit of the content. One more byte is read, so that a caller can detect longer content.
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
      const addresses = await raceAbort(this.#resolver.resolve(normalizeHost(url), abortSignal), abortSignal);
      const connection = { addresses, secureContext: this.#secureContext, signal: abortSignal };
      return await send(url, connection, request, maxBytes);
    } catch (error) {
      if (timeout.aborted && !(error instanceof OutboundFailure && error.refused))
        throw new OutboundFailure(`The host did not reply within ${this.#total / 1000} seconds.`);
      throw error instanceof OutboundFailure ? error : toFailure(error);
    }
  }
}

interface OutboundRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
}

function createPost(headers: Readonly<Record<string, string>>, body: string | Uint8Array): OutboundRequest {
  return { method: 'POST', headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) }, body };
}

/** How the host of a request is connected to. */
interface OutboundConnection {
  /** Checked addresses of the host. */
  readonly addresses: readonly string[];
  readonly secureContext: SecureContext | null;
  readonly signal: AbortSignal;
}

function send(
  url: URL,
  { addresses, secureContext, signal }: OutboundConnection,
  { method, headers, body }: OutboundRequest,
  maxBytes: number,
): Promise<OutboundBytes> {
  const { promise, resolve, reject } = Promise.withResolvers<OutboundBytes>();
  const request = (url.protocol === 'https:' ? requestHttps : nodeHttp.request)(url, {
    method,
    headers,
    agent: false, // a pooled connection would outlive the check of its address
    lookup: createFixedLookup(addresses),
    maxHeaderSize: outboundLimits.headerBytes,
    ...(secureContext && { secureContext }),
    signal,
  });
  const connecting = setTimeout(
    () => request.destroy(new OutboundFailure('The host did not accept the connection in time.')),
    outboundLimits.connectMilliseconds,
  );
  request.on('socket', (socket) => socket.once('connect', () => clearTimeout(connecting)));
  request.on('error', reject);
  request.on('close', () => {
    clearTimeout(connecting);
    reject(new OutboundFailure('The host closed the connection without a reply.'));
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

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The host refuses the connection.',
  ECONNRESET: 'The host reset the connection.',
  ENOTFOUND: 'The host name is unknown.',
  EHOSTUNREACH: 'The host cannot be reached.',
  ENETUNREACH: 'The host cannot be reached.',
  HPE_HEADER_OVERFLOW: 'The headers of the reply are too large.',
};

const certificateCode =
  /CERT_|SELF_SIGNED_CERT|UNABLE_TO_(?:VERIFY|GET_ISSUER)|INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH/;

function toFailure(error: unknown): OutboundFailure {
  const { code } = (error ?? {}) as { code?: unknown };
  const message = describeError(error);
  return typeof code === 'string' && certificateCode.test(code)
    ? new CertificateFailure(message)
    : new OutboundFailure(message);
}

/** Describes an error by its code. The rest of the error may contain private addresses. */
function describeError(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: string; name?: string };
  if (name === 'AbortError') return 'The request was aborted.';
  if (code !== undefined && reasons[code]) return reasons[code];
  return code === undefined ? 'The request failed.' : `The request failed (${code}).`;
}
