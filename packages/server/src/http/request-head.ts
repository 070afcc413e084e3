/** Reads the headers of a request. */
import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { LruMap } from '../base/lru-map.ts';
import { parseBearerToken } from '../identity/authenticator.ts';
import { ApiError } from '../protocol/api-error.ts';
import { findZone } from '../query/period.ts';
import type { ConnectionCredential } from '../realtime/connection.ts';

/** Requests the reply header Server-Timing. Only administrators get it, and only from the main thread. */
export const serverTimingHeader = 'x-server-timing';

/** Whether a request announces a body that is not empty, with any method. */
export function carriesBody({ headers }: { readonly headers: IncomingHttpHeaders }): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** The request id that the client has sent, or a generated one. */
export function readRequestId(request: { readonly headers: IncomingHttpHeaders }): string {
  const given = request.headers['x-request-id'];
  if (typeof given === 'string' && /^[\x21-\x7e]{1,128}$/.test(given)) return given;
  const generated = randomUUID();
  request.headers['x-request-id'] = generated;
  return generated;
}

/** Node silently uses the first of two Authorization headers, so repeated ones are refused. */
export function refuseRepeatedHeaders(raw: readonly string[]): void {
  let authorization = 0;
  let app = 0;
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? '';
    if (name.length === 13 && name.toLowerCase() === 'authorization') authorization += 1;
    else if (name.length === 5 && name.toLowerCase() === 'x-app') app += 1;
  }
  if (authorization > 1)
    throw new ApiError('HEADER_INVALID', 'The header "Authorization" is sent twice. Send it once.');
  if (app > 1) throw new ApiError('HEADER_INVALID', 'The header "X-App" is sent twice. Send it once.');
}

const zones = new LruMap<string>({ entries: 500, bytes: 256 * 1024, keyLength: 60, sizeOf: 100 });

/** The time zone of the X-Timezone header. Default: UTC. */
export function readTimeZone(header: string | string[] | undefined): string {
  if (header === undefined) return 'UTC';
  const name = String(header);
  const zone = zones.get(name) ?? (name.length <= 60 ? findZone(name) : null);
  if (zone === null)
    throw new ApiError(
      'HEADER_INVALID',
      'The header "X-Timezone" must be an IANA name or an offset, such as Europe/Berlin or +01:00.',
    );
  zones.set(name, zone);
  return zone;
}

/** The credential, which is verified again while a connection stays open; null without one. */
export function readCredential({ headers }: FastifyRequest): ConnectionCredential | null {
  const { authorization } = headers;
  if (authorization === undefined) return null;
  return { token: parseBearerToken(authorization), role: headers['x-role'] as string | undefined };
}
