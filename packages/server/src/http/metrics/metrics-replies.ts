/** Answers `/metrics`. Without METRICS_TOKEN only this machine may read it, otherwise only callers with the token. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../protocol/api-error.ts';
import { isForwarded, isLoopback } from '../network.ts';
import type { Replies } from '../replies.ts';
import { readRequestId } from '../request-head.ts';
import { unknownRoute } from '../route.ts';
import { MetricsPage, type MetricsSources } from './metrics-page.ts';

export interface MetricsRouteParts extends MetricsSources {
  /** The secret that a scrape sends; null: only this machine may scrape. */
  readonly token: string | null;
  readonly replies: Replies;
}

/** Answers requests for the metrics. */
export class MetricsReplies {
  readonly #parts: MetricsRouteParts;
  readonly #page: MetricsPage;

  constructor(parts: MetricsRouteParts) {
    this.#parts = parts;
    this.#page = new MetricsPage(parts);
  }

  async answer(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { token, replies } = this.#parts;
    try {
      requireScraper(request, token);
      const { contentType, text } = await this.#page.write();
      return reply
        .headers({ 'content-type': contentType, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
        .header('x-request-id', readRequestId(request))
        .send(text);
    } catch (error) {
      return replies.refuse(error, request, reply);
    }
  }
}

/** @throws ApiError 401 without the token; 404 if there is none and the request may come from another machine. */
function requireScraper({ headers, raw }: FastifyRequest, token: string | null): void {
  if (token === null) {
    if (isForwarded(headers) || !isLoopback(raw.socket.remoteAddress ?? '') || !isLoopbackHost(headers.host ?? ''))
      throw unknownRoute();
    return;
  }
  const given = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  if (given === undefined || !timingSafeEqual(digest(given), digest(token)))
    throw new ApiError('TOKEN_INVALID', 'The metrics need the header "Authorization: Bearer <METRICS_TOKEN>".');
}

/** A page in a browser of this machine can send requests under any other name. */
function isLoopbackHost(host: string): boolean {
  const name = host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || isLoopback(name);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
