/** The CORS headers for pages of other origins (Fetch standard, "CORS protocol"). */
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Replies } from './replies.ts';
import { unknownRoute } from './route.ts';
import { noContent } from './status.ts';

export type CorsHeaders = Readonly<Record<string, string>>;

const allowedMethods = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const allowedHeaders =
  'Authorization, Content-Type, X-App, X-Role, X-Timezone, X-Request-Id, If-Match, If-None-Match, Idempotency-Key, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id';
const exposedHeaders =
  'ETag, Location, Idempotency-Replayed, Retry-After, RateLimit, RateLimit-Policy, X-Request-Id, X-API-Version, Deprecation, Sunset';
const preflightSeconds = 600;
export const corsVary = 'Authorization, X-App, X-Role, Origin';
/** The `Vary` header if pages of other origins may not call the server. */
export const sameOriginVary = 'Authorization, X-App, X-Role';

/** Whether pages of all other origins are refused. */
export function isCorsDisabled(origins: ReadonlySet<string> | null): boolean {
  return origins?.size === 0;
}

/**
 * The headers that let a page read a reply: none for origins that are not allowed. Allowed origins may send cookies (only
 * `auth:resume` reads one, and it refuses them); with `*` they may not.
 *
 * @param origins the allowed ones; null: any.
 */
export function buildCorsHeaders(origins: ReadonlySet<string> | null, { origin }: IncomingHttpHeaders): CorsHeaders {
  if (origin === undefined || origins?.has(origin) === false) return { vary: corsVary };
  const originHeaders: CorsHeaders =
    origins === null
      ? { 'access-control-allow-origin': '*' }
      : { 'access-control-allow-origin': origin, 'access-control-allow-credentials': 'true' };
  return { vary: corsVary, ...originHeaders, 'access-control-expose-headers': exposedHeaders };
}

/** The headers of a reply to a preflight request; null if it is not one, or the origin is not allowed. */
export function buildPreflightHeaders(
  origins: ReadonlySet<string> | null,
  headers: IncomingHttpHeaders,
): CorsHeaders | null {
  if (headers['access-control-request-method'] === undefined) return null;
  const allowed = buildCorsHeaders(origins, headers);
  if (!('access-control-allow-origin' in allowed)) return null;
  const { 'access-control-expose-headers': _, ...originHeaders } = allowed;
  return {
    ...originHeaders,
    vary: `${corsVary}, Access-Control-Request-Method, Access-Control-Request-Headers`,
    'access-control-allow-methods': allowedMethods,
    'access-control-allow-headers': allowedHeaders,
    'access-control-max-age': String(preflightSeconds),
  };
}

/** Adds CORS headers to the raw reply, so that every writer of it sends them, and answers preflight requests below `urls`. */
export function registerCors(
  fastify: FastifyInstance,
  origins: ReadonlySet<string> | null,
  urls: readonly string[],
  replies: Replies,
): void {
  if (isCorsDisabled(origins)) return;
  fastify.addHook('onRequest', (request, reply, done) => {
    for (const [name, value] of Object.entries(buildCorsHeaders(origins, request.headers)))
      reply.raw.setHeader(name, value);
    done();
  });
  const answerPreflight = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const headers = buildPreflightHeaders(origins, request.headers);
    return headers ? reply.code(noContent).headers(headers).send() : replies.refuse(unknownRoute(), request, reply);
  };
  for (const url of urls) fastify.options(url, answerPreflight);
}
