/**
 * `POST /mcp`: one message of the Model Context Protocol (streamable HTTP). There are no sessions: each message has its credential, and
 * any server can answer it. The SDK implements the protocol, of 2026 and of 2025.
 */
import { createMcpHandler } from '@modelcontextprotocol/server';
import { tokenMissingError } from '../../identity/authenticator.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { isObject } from '../../protocol/json-text.ts';
import { requireKnownNames } from '../../protocol/known-names.ts';
import type { MessageResult, RequestContext } from '../request-context.ts';
import { mcpPath, unknownRoute } from '../route.ts';
import { createMcpServer } from './mcp-server.ts';

/** Headers that the SDK reads. */
const protocolHeaders = [
  'accept',
  'content-type',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'mcp-session-id',
] as const;
const parameterNames = new Set(['collections']);

/** Answers one message. @throws ApiError 400, 401, 403 or 404 for what is refused before the message is interpreted. */
export async function serveMcp(request: RequestContext): Promise<MessageResult> {
  const { caller, body } = request;
  if (request.settings.runtime.current.mcp === 'off') throw unknownRoute();
  if (caller.type === 'anonymous') throw tokenMissingError();
  requireAllowedOrigin(request);
  if (request.idempotencyKey !== null)
    throw new ApiError('HEADER_INVALID', 'Messages to /mcp do not support the header "Idempotency-Key". Omit it.');
  if (!isObject(body))
    throw new ApiError(
      'BODY_INVALID',
      'The body must be one JSON-RPC message. Send the messages of a batch separately.',
    );
  const collections = readCollections(request);
  const handler = createMcpHandler(() => createMcpServer(request, collections), {
    maxSubscriptions: 0,
    keepAliveMs: 0,
  });
  try {
    const response = await handler.fetch(toFetchRequest(request), { parsedBody: body });
    // Tools send nothing before their result, so a stream ends with it.
    return {
      message: await response.text(),
      status: response.status,
      contentType: response.headers.get('content-type'),
    };
  } finally {
    await handler.close();
  }
}

/**
 * Browsers name the origin of the page that calls. Pages of other origins are refused, so that a page whose host name leads to this
 * machine (DNS rebinding) cannot call. Programs send no origin.
 *
 * @throws ApiError 403
 */
function requireAllowedOrigin({ headers, config, settings }: RequestContext): void {
  const { origin, host } = headers;
  if (origin === undefined || config.corsOrigins === null || config.corsOrigins.has(origin)) return;
  const { publicUrl } = settings.runtime.current;
  if (publicUrl !== null && new URL(publicUrl).origin === origin) return;
  if (isLocalOrigin(origin, host)) return;
  throw new ApiError(
    'ORIGIN_DENIED',
    'Web pages of this origin may not call /mcp. Add the origin to CORS_ORIGINS, or set PUBLIC_URL if it is that of the server.',
  );
}

const localHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** A page of this server that was opened under a local name. Other names may lead to this machine, too. */
function isLocalOrigin(origin: string, host: string | undefined): boolean {
  const url = URL.canParse(origin) ? new URL(origin) : null;
  return url !== null && localHosts.has(url.hostname) && url.host === host;
}

/** The parameter `collections` of the address: a client only gets the tools of these collections. */
function readCollections({ parameters }: RequestContext): ReadonlySet<string> | null {
  const given = parameters();
  requireKnownNames('mcp', given, parameterNames);
  const { collections } = given;
  if (collections === undefined) return null;
  const names = [collections].flat();
  if (!names.every((each) => typeof each === 'string'))
    throw new ApiError(
      'PARAMETER_INVALID',
      'The parameter "collections" must contain names of collections, separated by commas.',
    );
  return new Set(names.flatMap((each) => each.split(',')).map((each) => each.trim()));
}

function toFetchRequest({ headers, abortSignal }: RequestContext): Request {
  const kept = protocolHeaders.flatMap((name) => {
    const header = headers[name];
    return typeof header === 'string' ? [[name, header] as [string, string]] : [];
  });
  return new Request(`http://localhost${mcpPath}`, { method: 'POST', headers: kept, signal: abortSignal() });
}
