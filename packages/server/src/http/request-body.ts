/**
 * Reads request bodies. A body is read only after the credential is verified, up to the limit of the caller. The rest of a
 * refused body is read and discarded, so that the client can finish sending and read the refusal.
 */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ConcurrencyLimiter } from '../base/concurrency-limiter.ts';
import type { Caller } from '../identity/caller.ts';
import { ApiError } from '../protocol/api-error.ts';
import { unscannedLength } from '../protocol/json-scan.ts';
import { JsonGuard, parseGuardedJson, parseJson } from '../protocol/json-text.ts';
import { limits } from '../protocol/limits.ts';
import { bodyTooLarge, mediaTypeUnsupported } from './error-reply.ts';
import { bodiesBusyError, LargeBodies } from './large-bodies.ts';
import { carriesBody } from './request-head.ts';
import { readUploadType } from './uploads.ts';

/** A body in memory. */
export interface ReceivedBody {
  /** JSON text that {@link parseBody} reads; undefined without a body. */
  readonly text: string | undefined;
  /** Releases the memory of the body. */
  release(): void;
}

const noBody: ReceivedBody = { text: undefined, release: () => {} };

/** Prevents Fastify from reading bodies: they are read here, after the credential is verified. */
export function disableBodyParsing(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
}

/** Whether a request has a body. A body of GET or HEAD is ignored. */
export function hasBody(request: IncomingMessage): boolean {
  return request.method !== 'GET' && request.method !== 'HEAD' && carriesBody(request);
}

/** The request bodies in memory, limited in total and for each sender. */
export class RequestBodies {
  readonly #verified = createPool(limits.bodiesBytes);
  readonly #anonymous = createPool(limits.anonymousBodiesBytes);
  readonly #large = new LargeBodies();

  /**
   * Reads the body of a request as JSON text. Hostile JSON is refused while it arrives; a large body waits for a slot.
   *
   * @param sender the key of the memory limit: a user, or the network of callers without a credential.
   * @throws ApiError 400 for invalid UTF-8 and for what {@link JsonGuard} refuses, 413 over the limit of the caller, 415 for
   * other types, 503 if other bodies use all available memory.
   */
  async receive(request: FastifyRequest, caller: Caller, sender: string): Promise<ReceivedBody> {
    const { raw, headers } = request;
    if (!hasBody(raw)) return noBody;
    const limit = getBodyLimit(caller);
    const declared = Number(headers['content-length'] ?? 0);
    const isUpload = readUploadType(request) !== null;
    if (declared > limit && !(isUpload && caller.type !== 'anonymous')) throw bodyTooLarge(limit);
    refuseContentEncoding(headers['content-encoding']);
    if (isUpload || (headers['content-type'] !== 'application/json' && (await isEmptyNonJson(request)))) return noBody;
    const pool = caller.type === 'anonymous' ? this.#anonymous : this.#verified;
    const reservation = new BodyReservation(sender, pool, this.#large);
    try {
      if (declared > limits.largeBodyBytes) await reservation.acquireLarge(raw);
      const json = new StreamingJsonCheck();
      const bytes = await readBytes(raw, limit, (chunk, length) => {
        json.check(chunk, length);
        return reservation.reserve(chunk.length, length, raw);
      });
      if (bytes.length > 0 && !isUtf8(bytes))
        throw new ApiError('BODY_INVALID', 'The body is not valid UTF-8. Send JSON encoded as UTF-8.');
      return { text: bytes.toString('utf8'), release: () => reservation.release() };
    } catch (error) {
      reservation.release();
      throw error;
    }
  }
}

/** Scans JSON while it arrives. Short bodies are scanned when they are parsed. */
class StreamingJsonCheck {
  readonly #start: Buffer[] = [];
  #guard: JsonGuard | null = null;

  /** @throws ApiError see {@link JsonGuard.check}. */
  check(chunk: Buffer, length: number): void {
    if (length <= unscannedLength) {
      this.#start.push(chunk);
      return;
    }
    if (!this.#guard) {
      this.#guard = new JsonGuard();
      for (const each of this.#start) this.#guard.check(each);
    }
    this.#guard.check(chunk);
  }
}

/** The limit of one sender: incomplete bodies stay in memory for a minute, and must not block other senders. */
const sendersPerPool = 4;

/** Memory for small bodies; one sender may use a quarter of it. */
function createPool(bytes: number): ConcurrencyLimiter {
  return new ConcurrencyLimiter(bytes / sendersPerPool, bytes);
}

/** The memory of one body: bytes of the pool, or a slot for large bodies. */
class BodyReservation {
  readonly #sender: string;
  readonly #pool: ConcurrencyLimiter;
  readonly #large: LargeBodies;
  #taken = 0;
  #isLarge = false;

  constructor(sender: string, pool: ConcurrencyLimiter, large: LargeBodies) {
    this.#sender = sender;
    this.#pool = pool;
    this.#large = large;
  }

  /**
   * Counts bytes that have arrived.
   *
   * @param length of all of the body so far.
   * @returns a promise if reading must wait.
   * @throws ApiError 503
   */
  reserve(bytes: number, length: number, request: IncomingMessage): Promise<void> | undefined {
    if (this.#isLarge) return undefined;
    if (length > limits.largeBodyBytes) return this.acquireLarge(request);
    const got = this.#pool.acquire(this.#sender, bytes);
    this.#taken += got;
    if (got < bytes) throw bodiesBusyError();
    return undefined;
  }

  /** Waits for a slot for large bodies. @throws ApiError 503 */
  async acquireLarge(request: IncomingMessage): Promise<void> {
    const ended = new AbortController();
    const abort = (): void => ended.abort();
    request.once('close', abort);
    await this.#large.acquire(this.#sender, ended.signal).finally(() => request.off('close', abort));
    this.#giveBack();
    this.#isLarge = true;
  }

  release(): void {
    this.#giveBack();
    if (this.#isLarge) this.#large.release(this.#sender);
    this.#isLarge = false;
  }

  #giveBack(): void {
    if (this.#taken > 0) this.#pool.release(this.#sender, this.#taken);
    this.#taken = 0;
  }
}

/**
 * Parses a body that {@link RequestBodies.receive} has read; undefined if it is blank.
 *
 * @throws ApiError see {@link parseJson}.
 */
export function parseBody(text: string): unknown {
  if (text.trim() === '') return undefined;
  const parse = text.length > unscannedLength ? parseGuardedJson : parseJson;
  return parse(text, () => new ApiError('BODY_INVALID', 'The body is not valid JSON.'));
}

/** The maximum length of a body: with and without a verified credential. */
export function getBodyLimit(caller: Caller): number {
  return caller.type === 'anonymous' ? limits.anonymousBodyBytes : limits.bodyBytes;
}

/**
 * Whether a body has another type than JSON and is empty: some clients send a type with an empty body.
 *
 * @throws ApiError 415 for another type or charset of a body that is not empty.
 */
async function isEmptyNonJson({ raw, headers }: FastifyRequest): Promise<boolean> {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';');
  if (type.trim() !== 'application/json') {
    if (headers['transfer-encoding'] !== undefined && (await isEmpty(raw))) return true;
    throw mediaTypeUnsupported();
  }
  for (const parameter of parameters) {
    const charset = /^\s*charset\s*=\s*"?([^"]*?)"?\s*$/.exec(parameter)?.[1];
    if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8')
      throw mediaTypeUnsupported(`The charset "${charset.slice(0, 40)}" is not supported. Send the body as UTF-8.`);
  }
  return false;
}

async function isEmpty(request: IncomingMessage): Promise<boolean> {
  const isTooLong = (error: unknown): boolean => error instanceof ApiError && error.code === 'BODY_TOO_LARGE';
  return readBytes(request, 0, () => undefined).then(
    () => true,
    (error: unknown) => {
      if (isTooLong(error)) return false;
      throw error;
    },
  );
}

/** @throws ApiError 415 for compressed bodies. */
function refuseContentEncoding(encoding: string | undefined): void {
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity')
    throw mediaTypeUnsupported(
      `The Content-Encoding "${encoding.slice(0, 40)}" is not supported. Send the body uncompressed.`,
    );
}

function tooSlowError(): ApiError {
  return new ApiError('BODY_INVALID', 'The body did not arrive within the time limit. Send it again.');
}

function endedEarlyError(): ApiError {
  return new ApiError('BODY_INVALID', 'The request ended before its body was complete.');
}

/**
 * Reads all bytes of a body.
 *
 * @param onChunk receives each chunk and the length so far. Reading waits for its promise.
 * @throws ApiError 413 as soon as the length exceeds `limit`, and errors of `onChunk`.
 */
function readBytes(
  request: IncomingMessage,
  limit: number,
  onChunk: (chunk: Buffer, length: number) => Promise<void> | undefined,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (request.destroyed) return reject(endedEarlyError());
    const declared = Math.min(Number(request.headers['content-length'] ?? 0), limit);
    // Large bodies are written into one buffer: chunks and a copy of them would take twice the memory.
    const whole = declared > limits.largeBodyBytes ? Buffer.allocUnsafeSlow(declared) : null;
    const chunks: Buffer[] = [];
    let length = 0;
    const timer = setTimeout(() => settle(tooSlowError()), limits.bodyMilliseconds);
    const settle = (error: unknown): void => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose);
      if (error === null) resolve(whole ?? (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length)));
      else reject(error);
    };
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      try {
        if (length > limit) throw bodyTooLarge(limit);
        if (whole) chunk.copy(whole, length - chunk.length);
        else chunks.push(chunk);
        const waiting = onChunk(chunk, length);
        if (!waiting) return;
        request.pause();
        waiting.then(() => request.resume(), settle);
      } catch (error) {
        settle(error);
      }
    };
    const onEnd = (): void => settle(null);
    const onError = (error: unknown): void => settle(error);
    const onClose = (): void => settle(endedEarlyError());
    request.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose);
  });
}
