/** Signed requests to one bucket of an S3-compatible service: time limits, retries, and what its replies say. */
import { createHash } from 'node:crypto';
import type { Agent, IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import aws4 from 'aws4';
import { BlobStoreFault } from './blob-store.ts';
import { nodeHttp } from './node-http.ts';
import type { S3Config } from './s3-config.ts';
import { readElement } from './s3-xml.ts';
import type { HealthReporter } from './server-health.ts';

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Empty for the bucket itself. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent again in a retry. */
  readonly body?: S3Body;
  /** The service may be silent for long, because it copies. */
  readonly isCopy?: boolean;
  /**
   * False: a single attempt to clean up after a failure. Its outcome does not change the reported state of the service.
   */
  readonly retries?: boolean;
}

export interface S3Body {
  readonly pieces: readonly Uint8Array[];
  readonly length: number;
  /** Hexadecimal; the service compares it with the bytes that arrive. */
  readonly sha256: string;
}

export interface S3Reply {
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** Why a request failed: the code of the service, such as `AccessDenied`, or of the network, such as `ECONNREFUSED`. */
export class S3Fault extends BlobStoreFault {
  readonly code: string;
  /** Whether a retry can help within seconds. */
  readonly isTemporary: boolean;
  readonly isMissing: boolean;

  constructor(code: string, { isTemporary = false, isMissing = false, cause = undefined as unknown } = {}) {
    super(`the S3 service failed a request: ${code}`, { cause });
    this.name = 'S3Fault';
    this.code = code;
    this.isTemporary = isTemporary;
    this.isMissing = isMissing;
  }
}

/** Time limits in milliseconds, and attempts. */
export interface S3Times {
  readonly connect: number;
  /** Maximum time without a byte in either direction. */
  readonly idle: number;
  readonly copy: number;
  /** The first pause between attempts; each further one is twice as long. */
  readonly pause: number;
  /** No attempt begins after this time. */
  readonly retry: number;
}

const defaultTimes: S3Times = { connect: 4000, idle: 15_000, copy: 120_000, pause: 250, retry: 15_000 };
const maxAttempts = 4;
const temporaryCodes: ReadonlySet<string> = new Set([
  'InternalError',
  'RequestTimeout',
  'ServiceUnavailable',
  'SlowDown',
  'OperationAborted',
]);

export class S3Client {
  readonly config: S3Config;
  readonly #report: HealthReporter;
  readonly #times: S3Times;
  readonly #agent: Agent;

  /** @param report receives the state of the service. */
  constructor(config: S3Config, report: HealthReporter, times: Partial<S3Times> = {}) {
    this.config = config;
    this.#report = report;
    this.#times = { ...defaultTimes, ...times };
    const options = { keepAlive: true, maxFreeSockets: 16 };
    this.#agent = this.#isEncrypted ? new HttpsAgent(options) : new nodeHttp.Agent(options);
  }

  get #isEncrypted(): boolean {
    return this.config.endpoint.protocol === 'https:';
  }

  /** Closes connections that are not in use. */
  close(): void {
    this.#agent.destroy();
  }

  /**
   * Sends a request and reads the whole reply, which is short.
   *
   * @throws S3Fault after the last attempt.
   */
  request(request: S3Request): Promise<S3Reply> {
    return this.#retry(request.retries !== false, async () => {
      const response = await this.#send(request);
      const text = await this.#readText(response);
      // A copy begins its reply before it is done, so that a failure comes with the status of a success.
      if (request.method !== 'HEAD' && /<Error>/.test(text)) throw readFault(response, text);
      return { headers: response.headers, text };
    });
  }

  /**
   * The bytes of a key. A connection that breaks is opened again where it broke.
   *
   * @param size of the whole object; another size is a fault.
   */
  async *read(key: string, { from, to, size }: { from: number; to: number; size: number }): AsyncGenerator<Uint8Array> {
    let position = from;
    for (let failures = 0; position <= to; ) {
      const begin = position;
      try {
        const response = await this.#open(key, { from: position, to, size });
        for await (const piece of this.#watch(response)) {
          position += piece.length;
          yield piece;
        }
        if (position <= to) throw new S3Fault('ECONNRESET', { isTemporary: true });
      } catch (error) {
        failures = position > begin ? 1 : failures + 1;
        if (!(error instanceof S3Fault) || !error.isTemporary || failures >= maxAttempts) throw error;
      }
    }
  }

  #open(key: string, { from, to, size }: { from: number; to: number; size: number }): Promise<IncomingMessage> {
    return this.#retry(true, async () => {
      const response = await this.#send({ method: 'GET', key, headers: { range: `bytes=${from}-${to}` } });
      if (response.headers['content-range'] === `bytes ${from}-${to}/${size}`) return response;
      response.destroy();
      throw new S3Fault('IncompleteBody');
    });
  }

  /** The pieces of a reply. The time in which the consumer does nothing does not count. */
  async *#watch(response: IncomingMessage): AsyncGenerator<Uint8Array> {
    const pieces: AsyncIterator<Buffer> = response[Symbol.asyncIterator]();
    try {
      for (;;) {
        const timer = setTimeout(() => response.destroy(networkFault('ETIMEDOUT')), this.#times.idle);
        const { value, done } = await pieces
          .next()
          .catch((error: unknown) => {
            throw toFault(error);
          })
          .finally(() => clearTimeout(timer));
        if (done) return;
        yield value;
      }
    } finally {
      response.destroy();
    }
  }

  async #readText(response: IncomingMessage): Promise<string> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.#watch(response)) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  }

  async #retry<T>(retries: boolean, attempt: () => Promise<T>): Promise<T> {
    const start = performance.now();
    for (let number = 1; ; number += 1)
      try {
        const result = await attempt();
        if (retries) this.#report(null);
        return result;
      } catch (error) {
        if (!(error instanceof S3Fault)) throw error;
        const pause = this.#times.pause * 2 ** (number - 1) * (0.5 + Math.random());
        const isLate = performance.now() - start + pause > this.#times.retry;
        if (error.isTemporary && retries && number < maxAttempts && !isLate) await sleep(pause);
        else {
          if (retries && !error.isMissing) this.#reportFault(error);
          throw error;
        }
      }
  }

  #reportFault(cause: S3Fault): void {
    const { settings } = this.config;
    const stored = settings === 'FILES_S3' ? 'files' : 'backups';
    const message = `The storage of ${stored} (${settings}_BUCKET) cannot be used: ${cause.code}.`;
    this.#report({ severity: 'warning', message, cause });
  }

  /** Sends a request once. @returns a reply of success. */
  async #send(request: S3Request): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const { body, isCopy } = request;
    const outgoing = (this.#isEncrypted ? requestHttps : nodeHttp.request)(this.#sign(request));
    const fail = (code: string) => (): void => void outgoing.destroy(networkFault(code));
    const connecting = setTimeout(fail('ETIMEDOUT'), this.#times.connect);
    outgoing.on('socket', (socket) => {
      if (socket.connecting)
        socket.once(this.#isEncrypted ? 'secureConnect' : 'connect', () => clearTimeout(connecting));
      else clearTimeout(connecting);
    });
    outgoing.setTimeout(isCopy ? this.#times.copy : this.#times.idle, fail('ETIMEDOUT'));
    outgoing.on('response', (response) => {
      outgoing.setTimeout(0); // from here on, only the wait for pieces counts
      resolve(response);
    });
    outgoing.on('error', (error) => reject(toFault(error)));
    outgoing.on('close', () => {
      clearTimeout(connecting);
      reject(networkFault('ECONNRESET'));
    });
    for (const piece of body?.pieces ?? []) outgoing.write(piece);
    outgoing.end();
    const response = await promise;
    if (isSuccess(response)) return response;
    throw readFault(response, await this.#readText(response));
  }

  #sign({ method, key, query = {}, headers = {}, body }: S3Request): object {
    const { endpoint, bucket, region, pathStyle, accessKeyId, secretAccessKey } = this.config;
    const host = pathStyle ? endpoint.host : `${bucket}.${endpoint.host}`;
    const search = new URLSearchParams(query).toString().replaceAll('+', '%20');
    const parts = [...(pathStyle ? [bucket] : []), ...(key === '' && pathStyle ? [] : [key])];
    const path = `/${parts.join('/')}${search === '' ? '' : `?${search}`}`;
    const { headers: signed } = aws4.sign(
      {
        service: 's3',
        region,
        method,
        host,
        path,
        headers: {
          ...headers,
          'X-Amz-Content-Sha256': body?.sha256 ?? emptySha256,
          ...(method === 'PUT' || method === 'POST' ? { 'Content-Length': String(body?.length ?? 0) } : {}),
        },
      },
      { accessKeyId, secretAccessKey },
    );
    const { hostname, port } = endpoint;
    const address = (pathStyle ? hostname : `${bucket}.${hostname}`).replace(/^\[|\]$/g, '');
    return { method, hostname: address, path, headers: signed, agent: this.#agent, ...(port !== '' && { port }) };
  }
}

const emptySha256 = createHash('sha256').digest('hex');

/** A short body. */
export function textBody(text: string): S3Body {
  const bytes = Buffer.from(text);
  return { pieces: [bytes], length: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** @returns null if the error says that the key does not exist. */
export function nullIfMissing(error: unknown): null {
  if (error instanceof S3Fault && error.isMissing) return null;
  throw error;
}

function isSuccess({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300;
}

/** The text of the reply is not part of the fault: it may repeat the access key and what was signed. */
function readFault({ statusCode = 0 }: IncomingMessage, text: string): S3Fault {
  const code = readElement(text, 'Code')?.replaceAll(/\W/g, '').slice(0, 60) || `HTTP${statusCode}`;
  const isTemporary = statusCode >= 500 || statusCode === 429 || temporaryCodes.has(code);
  const isMissing = statusCode === 404 && code !== 'NoSuchBucket';
  return new S3Fault(code, { isTemporary: isTemporary && code !== 'NotImplemented', isMissing });
}

const permanentNetworkCodes = /CERT|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|ERR_SSL|ERR_TLS|EPROTO/;

function networkFault(code: string, cause?: unknown): S3Fault {
  return new S3Fault(code, { isTemporary: !permanentNetworkCodes.test(code), cause });
}

function toFault(error: unknown): S3Fault {
  if (error instanceof S3Fault) return error;
  const { code, errors } = (error ?? {}) as { code?: string; errors?: readonly { code?: string }[] };
  return networkFault(code ?? errors?.[0]?.code ?? 'ECONNRESET', error);
}
