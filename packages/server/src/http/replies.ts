/** Sends replies and errors: headers, ETag and 304. */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../base/logger.ts';
import { ApiError } from '../protocol/api-error.ts';
import { compressStream, negotiateCoding } from './compression.ts';
import { findCurrentReply } from './current-reply.ts';
import { discardRest } from './discard-rest.ts';
import { toErrorReply } from './error-reply.ts';
import { buildDownloadHeaders, sendFile } from './file-reply.ts';
import {
  apiVersion,
  buildCommonHeaders,
  type CommonHeaders,
  isNotModified,
  JsonReplies,
  jsonContentType,
} from './json-reply.ts';
import type { ActionResult, DocumentResult, MessageResult } from './request-context.ts';
import { readRequestId } from './request-head.ts';
import { sendPieces } from './send-pieces.ts';
import { notModified } from './status.ts';

/** Connections whose last request could not be parsed, while replies to earlier ones are sent. */
const refusedLater = new WeakSet<Socket>();

/** Sends replies and errors. */
export class Replies {
  readonly #logger: Logger;
  readonly #common: CommonHeaders;
  readonly #json: JsonReplies;

  /** @param vary request headers that replies depend on, in addition to Accept-Encoding. */
  constructor(logger: Logger, vary: string) {
    this.#logger = logger;
    this.#json = new JsonReplies(vary);
    this.#common = buildCommonHeaders(vary);
  }

  /** Written to the socket directly: Fastify's own reply would cost as much as reading a record by key. */
  send(send: ActionResult, request: FastifyRequest, reply: FastifyReply, requestId: string): FastifyReply {
    if ('stream' in send) return this.#stream(send, request, reply, requestId);
    if ('file' in send) return sendFile(send, request, reply, requestId);
    if ('message' in send) return this.#message(send, reply, requestId);
    if ('document' in send) return this.#document(send, request, reply, requestId);
    reply.hijack();
    this.#json.send(send, request, reply.raw, requestId);
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

  /** Not compressed and not stored: other texts of the caller may be next to a secret. */
  #message({ message, status, contentType }: MessageResult, reply: FastifyReply, requestId: string): FastifyReply {
    const headers = {
      ...this.#common,
      'cache-control': 'no-store',
      'x-request-id': requestId,
      'content-length': Buffer.byteLength(message),
      ...(contentType !== null && { 'content-type': contentType }),
    };
    reply.hijack();
    reply.raw.writeHead(status, headers).end(message);
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

  /**
   * Refuses a request that could not be parsed: the reply is written to the socket directly, after the replies to earlier requests. If
   * the reply to this request has begun, because only its body is invalid, the connection is closed.
   */
  refuseRaw(error: unknown, socket: Socket): void {
    if (!socket.writable || (error as { code?: string }).code === 'ECONNRESET') return void socket.destroy();
    const current = findCurrentReply(socket);
    if (current?.req.complete) return void this.#refuseLater(error, socket, current);
    if (current?.headersSent) return void socket.destroy();
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

  /** Every further piece of an invalid request is an error again; only the first one gets a reply. */
  #refuseLater(error: unknown, socket: Socket, current: ServerResponse): void {
    if (refusedLater.has(socket)) return;
    refusedLater.add(socket);
    current.once('close', () => {
      refusedLater.delete(socket);
      this.refuseRaw(error, socket);
    });
  }
}
