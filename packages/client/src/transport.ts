/**
 * One request: headers, retries and errors. A refusal changes nothing, so 429 and 503 are retried for all requests. After a
 * network error the request may have been executed, so only reads and writes with an Idempotency-Key are retried.
 */
import { Failure, readFailure } from './failure.ts';
import { buildQueryString } from './query-string.ts';
import { type Progress, upload } from './upload.ts';

export interface ClientOptions {
  /** The address of the server, without `/api`. Default in a browser: the origin of the page. */
  readonly url?: string;
  /** An API key or the token of a login. A function is called for each request. */
  readonly token?: string | (() => string | null) | null;
  /** The application. Default: `main`. */
  readonly application?: string;
  /** One of the roles that the signed-in user holds. */
  readonly role?: string | (() => string | null) | null;
  /** The time zone of date filters, such as `Europe/Berlin`. */
  readonly timeZone?: string;
  /** Maximum number of retries. Default: 3. */
  readonly retries?: number;
  /** Maximum wait before a retry, in seconds; a longer Retry-After fails immediately. Default: 10. */
  readonly maxRetryWait?: number;
  readonly fetch?: typeof fetch;
  /** How the text of replies is parsed, for example with a parser that keeps all digits of numbers. The default is JSON.parse. */
  readonly parseJson?: (text: string) => unknown;
  /** Called after each attempt with whether the server replied. */
  readonly onReached?: (reached: boolean) => void;
  /**
   * Called when the server no longer accepts the token of a request. Resolve to true once `token` returns a new one:
   * the request is then sent again.
   */
  readonly renewToken?: (expired: string) => Promise<boolean>;
}

export interface RequestOptions {
  readonly method?: 'GET' | 'POST';
  readonly query?: object;
  /** Sent as JSON, except FormData and Blob. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The write is refused unless the record still has this version, from `ETag` or `versions`. */
  readonly ifMatch?: string | number;
  /** Repeated requests with the same key are executed once. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
  /** Receives the number of sent bytes of a Blob. */
  readonly progress?: Progress;
}

/** A reply of the common shape, with its ETag. */
export interface Reply<T, M = unknown> {
  readonly data: T;
  readonly meta: M;
  readonly etag: string | null;
}

/** The origin of the page; undefined outside a browser. */
function getPageOrigin(): string | undefined {
  return (globalThis as { location?: { origin: string } }).location?.origin;
}

/** Who sends a request. */
interface Credential {
  readonly token: string | null;
  readonly role: string | null;
}

/** A filter in a URL may have 64 KiB; longer reads go by POST. */
const maxQueryLength = 8000;

export class Transport {
  readonly options: ClientOptions;
  readonly base: string;

  constructor(options: ClientOptions) {
    this.options = options;
    this.base = (options.url ?? getPageOrigin() ?? '').replace(/\/$/, '');
  }

  /**
   * Calls an action.
   *
   * @param path the path after `/api/`, such as `posts:list`.
   * @throws Failure if the request is refused or the server cannot be reached.
   */
  async call<T, M = unknown>(path: string, options: RequestOptions = {}): Promise<Reply<T, M>> {
    const response = await this.send(path, options);
    const text = await response.text().catch((error: unknown) => throwNetworkError(error, options.signal));
    const { parseJson = JSON.parse } = this.options;
    try {
      const { data, meta } = parseJson(text) as { data: T; meta: M };
      return { data, meta, etag: response.headers.get('etag') };
    } catch {
      throw new Failure(response.status, {
        code: 'REPLY_UNREADABLE',
        message: `The reply of ${path} is not JSON.`,
      });
    }
  }

  /** The raw reply, for streams and documents. */
  async send(path: string, options: RequestOptions): Promise<Response> {
    const { retries = 3, maxRetryWait = 10, onReached } = this.options;
    // Every retry has the credential of the first attempt: meanwhile, another user may have signed in.
    let credential = this.#credential();
    for (let attempt = 0; ; attempt += 1) {
      const { token } = credential;
      try {
        const response = await this.#once(path, options, credential);
        onReached?.(true);
        return response;
      } catch (error) {
        if (error instanceof Failure) onReached?.(!error.unreachable);
        if (token && isTokenInvalid(error) && (await this.options.renewToken?.(token))) {
          credential = this.#credential();
          attempt -= 1;
          continue;
        }
        const wait = error instanceof Failure ? computeRetryDelay(error, options, attempt) : null;
        if (wait === null || wait > maxRetryWait || attempt >= retries) throw error;
        await sleep(wait * 1000, options.signal);
      }
    }
  }

  #credential(): Credential {
    const { token, role } = this.options;
    return {
      token: (typeof token === 'function' ? token() : token) ?? null,
      role: (typeof role === 'function' ? role() : role) ?? null,
    };
  }

  async #once(path: string, options: RequestOptions, credential: Credential): Promise<Response> {
    const { method, url, body } = resolveTarget(`${this.base}/api/${path}`, options);
    const request = {
      method,
      headers: this.#headers(options, body, credential),
      ...(options.signal && { signal: options.signal }),
    };
    const send = (): Promise<Response> =>
      options.progress && body instanceof Blob && !this.options.fetch
        ? upload(url, request, body, options.progress)
        : (this.options.fetch ?? fetch)(url, body === undefined ? request : { ...request, body: encodeBody(body) });
    const response = await send().catch((error: unknown) => throwNetworkError(error, options.signal));
    if (!response.ok) throw await readFailure(response);
    return response;
  }

  #headers(
    { headers, ifMatch, idempotencyKey }: RequestOptions,
    body: unknown,
    { token, role }: Credential,
  ): Record<string, string> {
    const { application, timeZone } = this.options;
    return {
      ...(body !== undefined && !isRaw(body) && { 'content-type': 'application/json' }),
      ...(body instanceof Blob && body.type !== '' && { 'content-type': body.type }),
      ...(token && { authorization: `Bearer ${token}` }),
      ...(application && { 'x-app': application }),
      ...(role && { 'x-role': role }),
      ...(timeZone && { 'x-timezone': timeZone }),
      ...(ifMatch !== undefined && { 'if-match': typeof ifMatch === 'number' ? `"${ifMatch}"` : ifMatch }),
      ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
      ...headers,
    };
  }
}

/** A read whose query is too long for a URL is sent by POST, with its parameters in the body. */
function resolveTarget(
  path: string,
  { method = 'GET', query = {}, body }: RequestOptions,
): { method: string; url: string; body: unknown } {
  const text = buildQueryString(query);
  if (method === 'GET' && text.length > maxQueryLength) return { method: 'POST', url: path, body: query };
  return { method, url: path + text, body };
}

function isTokenInvalid(error: unknown): boolean {
  return error instanceof Failure && (error.code === 'TOKEN_INVALID' || error.code === 'TOKEN_EXPIRED');
}

type Body = FormData | Blob | string;

function isRaw(body: unknown): boolean {
  return body instanceof FormData || body instanceof Blob;
}

function encodeBody(body: unknown): Body {
  return isRaw(body) ? (body as Body) : JSON.stringify(body);
}

/**
 * Seconds to wait before a retry; null without a retry. The reply of a proxy does not say whether a write was executed, so it
 * counts as a network error.
 */
function computeRetryDelay(
  failure: Failure,
  { method = 'GET', idempotencyKey }: RequestOptions,
  attempt: number,
): number | null {
  const repeatable = method === 'GET' || idempotencyKey !== undefined;
  if (failure.status === 429 || failure.status === 503) {
    if (failure.code === 'QUERY_TIMEOUT' || (failure.code === 'REPLY_UNREADABLE' && !repeatable)) return null;
    return failure.retryAfter ?? 2 ** attempt;
  }
  return failure.outcomeUnknown && repeatable ? 0.25 * 2 ** attempt : null;
}

/** The failure for a network error. If the caller aborted the request, its own error is thrown. */
function throwNetworkError(error: unknown, signal: AbortSignal | undefined): never {
  if (signal?.aborted) throw error;
  throw new Failure(0, { code: 'NETWORK', message: 'The server could not be reached.' });
}

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
