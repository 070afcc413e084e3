/** Writes answers and refusals to the wire: headers, ETag, 304. */

import { randomUUID } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { bodyHash } from '../base/body-hash.ts';
import type { Logger } from '../base/logger.ts';
import type { Answer, DocumentAnswer } from './call.ts';
import { errorReply } from './error-reply.ts';
import { downloadHeaders, replyFile } from './file-reply.ts';
import { requestIdOf } from './request-head.ts';
import { sendPieces } from './send-pieces.ts';
import { notModified } from './status.ts';

export const jsonType = 'application/json; charset=utf-8';
const version = { 'x-api-version': '1' };

/** What every answer carries. */
interface CommonHeaders {
  readonly 'cache-control': string;
  readonly vary: string;
  readonly 'x-api-version': string;
}

export class Replies {
  readonly #logger: Logger;
  readonly #common: CommonHeaders;

  /** @param vary which headers of requests an answer hangs on. */
  constructor(logger: Logger, vary: string) {
    this.#logger = logger;
    this.#common = { 'cache-control': 'private, no-cache', vary, ...version };
  }

  /** Written to the socket directly: nothing of the library's own reply is needed, and it costs as much as a keyed read. */
  answer(answer: Answer, request: FastifyRequest, reply: FastifyReply, requestId: string): FastifyReply {
    if ('stream' in answer) {
      reply.hijack();
      reply.raw.writeHead(200, { ...this.#common, ...downloadHeaders(answer), 'x-request-id': requestId });
      void sendPieces(reply.raw, answer.stream, request.method === 'HEAD');
      return reply;
    }
    if ('file' in answer) return replyFile(answer, request, reply, requestId);
    if ('document' in answer) return this.#document(answer, request, reply, requestId);
    const body =
      answer.meta === undefined
        ? `{"data":${answer.data}}`
        : `{"data":${answer.data},"meta":${JSON.stringify(answer.meta)}}`;
    reply.hijack();
    const tag = answer.counter === undefined ? undefined : `"${answer.counter}.${bodyHash(body)}"`;
    if (tag !== undefined && isKnown(request, tag)) {
      reply.raw.writeHead(notModified, { ...this.#common, 'x-request-id': requestId, etag: tag }).end();
      return reply;
    }
    const headers = bodyHeaders(this.#common, requestId, body);
    if (answer.replayed) headers['idempotency-replayed'] = 'true';
    reply.raw
      .writeHead(200, tag === undefined ? headers : { ...headers, etag: tag })
      .end(request.method === 'HEAD' ? undefined : body);
    return reply;
  }

  #document(
    { document, encoding, tag }: DocumentAnswer,
    request: FastifyRequest,
    reply: FastifyReply,
    requestId: string,
  ): FastifyReply {
    const headers = {
      ...this.#common,
      vary: `${this.#common.vary}, Accept-Encoding`,
      'x-request-id': requestId,
      etag: tag,
      ...(encoding !== null && { 'content-encoding': encoding }),
    };
    reply.hijack();
    if (isKnown(request, tag)) reply.raw.writeHead(notModified, headers).end();
    else
      reply.raw
        .writeHead(200, { ...headers, 'content-type': jsonType, 'content-length': document.length })
        .end(request.method === 'HEAD' ? undefined : document);
    return reply;
  }

  refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const requestId = requestIdOf(request);
    const { status, body, headers } = errorReply(error, requestId, this.#logger);
    return reply
      .code(status)
      .headers({
        ...headers,
        ...version,
        'content-type': jsonType,
        'cache-control': 'no-store',
        'x-request-id': requestId,
      })
      .send(body);
  }

  /** A request that never became one: the answer is written to the socket by hand. */
  refuseRaw(error: unknown, socket: Socket): void {
    if (!socket.writable || (error as { code?: string }).code === 'ECONNRESET') return void socket.destroy();
    const { status, body } = errorReply(
      Object.assign(Object(error) as object, { statusCode: 400 }),
      randomUUID(),
      this.#logger,
    );
    const head = `HTTP/1.1 ${status} ${status === 431 ? 'Request Header Fields Too Large' : 'Bad Request'}`;
    socket.end(
      `${head}\r\nContent-Type: ${jsonType}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  }
}

/** Whether the client has the very answer already; a read by POST is not asked conditionally. */
function isKnown({ method, headers }: FastifyRequest, tag: string): boolean {
  const asked = method === 'POST' ? undefined : headers['if-none-match'];
  if (asked === undefined) return false;
  return asked.trim() === '*' || asked.split(',').some((each) => each.trim().replace(/^W\//, '') === tag);
}

function bodyHeaders(common: CommonHeaders, requestId: string, body: string): OutgoingHttpHeaders {
  return {
    ...common,
    'x-request-id': requestId,
    'content-type': jsonType,
    'content-length': Buffer.byteLength(body),
  };
}
