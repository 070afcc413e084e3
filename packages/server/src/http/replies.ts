/** Sends replies and errors: headers, ETag and 304. */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hashBody } from '../base/body-hash.ts';
import type { Logger } from '../base/logger.ts';
import { ApiError } from '../protocol/api-error.ts';
import {
  addCodingToEtag,
  type Coding,
  compress,
  compressStream,
  minCompressedLength,
  negotiateCoding,
  stripCodingFromEtag,
} from './compression.ts';
import { toErrorReply } from './error-reply.ts';
import { buildDownloadHeaders, sendFile } from './file-reply.ts';
import { containsSecret } from './idempotency.ts';
import { discardRest } from './request-body.ts';
import type { ActionResult, DocumentResult } from './request-context.ts';
import { readRequestId } from './request-head.ts';
import { sendPieces } from './send-pieces.ts';
import { accepted, notModified, ok } from './status.ts';

export const jsonContentType = 'application/json; charset=utf-8';
/** Headers of every reply: the API version, and that browsers must not guess the type. */
export const apiVersion = { 'x-api-version': '1', 'x-content-type-options': 'nosniff' };

/** Headers of successful replies. */
interface CommonHeaders {
  readonly 'cache-control': string;
  readonly vary: string;
  readonly 'x-api-version': string;
  readonly 'x-content-type-options': string;
}

/** Sends replies and errors. */
export class Replies {
  readonly #logger: Logger;
  readonly #common: CommonHeaders;

  /** @param vary request headers that replies depend on, in addition to Accept-Encoding. */
  constructor(logger: Logger, vary: string) {
    this.#logger = logger;
    this.#common = { 'cache-control': 'private, no-cache', vary: `${vary}, Accept-Encoding`, ...apiVersion };
  }

  /** Written to the socket directly: Fastify's own reply would cost as much as reading a record by key. */
  send(send: ActionResult, request: FastifyRequest, reply: FastifyReply, requestId: string): FastifyReply {
    if ('stream' in send) return this.#stream(send, request, reply, requestId);
    if ('file' in send) return sendFile(send, request, reply, requestId);
    if ('document' in send) return this.#document(send, request, reply, requestId);
    const body =
      send.meta === undefined ? `{"data":${send.data}}` : `{"data":${send.data},"meta":${JSON.stringify(send.meta)}}`;
    reply.hijack();
    const coding = chooseCoding(body, request);
    const headers: OutgoingHttpHeaders = { ...this.#common, 'x-request-id': requestId };
    if (send.counter !== undefined) {
      const tag = addCodingToEtag(`"${send.counter}.${hashBody(body)}"`, coding);
      headers['etag'] = tag;
      if (isNotModified(request, tag)) {
        reply.raw.writeHead(notModified, headers).end();
        return reply;
      }
    }
    if (send.replayed) headers['idempotency-replayed'] = 'true';
    if (send.cookie !== undefined) {
      headers['set-cookie'] = send.cookie;
      headers['cache-control'] = 'no-store';
    }
    headers['content-type'] = jsonContentType;
    const status = send.isAccepted ? accepted : ok;
    if (coding === null) {
      headers['content-length'] = Buffer.byteLength(body);
      sendWhole(reply.raw, { status, headers }, body, request);
    } else {
      headers['content-encoding'] = coding;
      sendCompressed(reply.raw, { status, headers }, compress(body, coding), request);
    }
    return reply;
  }

  /** Text is compressed, except events and downloads of mail. */
  #stream(
    result: Extract<ActionResult, { stream: unknown }>,
    request: FastifyRequest,
    reply: FastifyReply,
    requestId: string,
  ): FastifyReply {
    const { contentType, stream } = result;
    const isText = /^(?:application\/(?:json|x-ndjson)|text\/csv)\b/.test(contentType);
    const coding = isText ? negotiateCoding(request.headers['accept-encoding']) : null;
    const isHead = request.method === 'HEAD';
    const headers: OutgoingHttpHeaders = {
      ...this.#common,
      ...buildDownloadHeaders(result),
      'x-request-id': requestId,
      ...(result.noStore && { 'cache-control': 'no-store' }),
    };
    reply.hijack();
    reply.raw.writeHead(200, coding === null ? headers : { ...headers, 'content-encoding': coding });
    void sendPieces(reply.raw, coding === null || isHead ? stream : compressStream(stream, coding), isHead);
    return reply;
  }

  #document(
    { document, encoding, tag }: DocumentResult,
    request: FastifyRequest,
    reply: FastifyReply,
    requestId: string,
  ): FastifyReply {
    const headers = {
      ...this.#common,
      'x-request-id': requestId,
      etag: tag,
      ...(encoding !== null && { 'content-encoding': encoding }),
    };
    reply.hijack();
    if (isNotModified(request, tag)) reply.raw.writeHead(notModified, headers).end();
    else
      reply.raw
        .writeHead(200, { ...headers, 'content-type': jsonContentType, 'content-length': document.length })
        .end(request.method === 'HEAD' ? undefined : document);
    return reply;
  }

  refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    discardRest(request.raw);
    const requestId = readRequestId(request);
    const { status, body, headers } = toErrorReply(error, requestId, this.#logger);
    return reply
      .code(status)
      .headers({
        ...headers,
        ...apiVersion,
        'content-type': jsonContentType,
        'cache-control': 'no-store',
        'x-request-id': requestId,
      })
      .send(body);
  }

  /** Refuses an unsupported `Expect` header, for which Fastify creates no request. */
  refuseExpectation(request: IncomingMessage, response: ServerResponse): void {
    discardRest(request);
    const requestId = randomUUID();
    const refusal = new ApiError('EXPECTATION_FAILED', 'The header "Expect" must be 100-continue. Omit it.');
    const { status, body } = toErrorReply(refusal, requestId, this.#logger);
    const headers = {
      ...apiVersion,
      'content-type': jsonContentType,
      'cache-control': 'no-store',
      'x-request-id': requestId,
    };
    response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body);
  }

  /** Refuses a request that could not be parsed: the reply is written to the socket directly. */
  refuseRaw(error: unknown, socket: Socket): void {
    if (!socket.writable || (error as { code?: string }).code === 'ECONNRESET') return void socket.destroy();
    const { status, body } = toErrorReply(
      Object.assign(Object(error) as object, { statusCode: 400 }),
      randomUUID(),
      this.#logger,
    );
    const head = `HTTP/1.1 ${status} ${status === 431 ? 'Request Header Fields Too Large' : 'Bad Request'}`;
    socket.end(
      `${head}\r\nContent-Type: ${jsonContentType}\r\nX-Content-Type-Options: nosniff\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  }
}

/** Whether the client already has this reply. Reads by POST are never conditional. */
function isNotModified({ method, headers }: FastifyRequest, tag: string): boolean {
  const ifNoneMatch = method === 'POST' ? undefined : headers['if-none-match'];
  if (ifNoneMatch === undefined) return false;
  const plain = stripCodingFromEtag(tag); // the compression does not matter
  return (
    ifNoneMatch.trim() === '*' ||
    ifNoneMatch.split(',').some((each) => stripCodingFromEtag(each.trim().replace(/^W\//, '')) === plain)
  );
}

/** The compression of a reply; null if it is short, contains a secret, or is not accepted. Only writes return secrets. */
function chooseCoding(body: string, { method, headers }: FastifyRequest): Coding | null {
  const accepted = headers['accept-encoding'];
  if (accepted === undefined || body.length < minCompressedLength) return null;
  const mayContainSecret = method !== 'GET' && method !== 'HEAD';
  return mayContainSecret && containsSecret(body) ? null : negotiateCoding(accepted);
}

/** The beginning of a reply. */
interface ReplyHead {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
}

function sendWhole(
  response: ServerResponse,
  { status, headers }: ReplyHead,
  body: string | Buffer,
  { method }: FastifyRequest,
): void {
  response.writeHead(status, headers).end(method === 'HEAD' ? undefined : body);
}

function sendCompressed(
  response: ServerResponse,
  { status, headers }: ReplyHead,
  compressed: Buffer | Promise<Buffer>,
  request: FastifyRequest,
): void {
  const send = (body: Buffer): void => {
    headers['content-length'] = body.length;
    sendWhole(response, { status, headers }, body, request);
  };
  if (compressed instanceof Promise) compressed.then(send, () => response.destroy());
  else send(compressed);
}
