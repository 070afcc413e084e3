/** Sends JSON replies: envelope, ETag, 304 and compression. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { hashBody } from '../base/body-hash.ts';
import {
  addCodingToEtag,
  type Coding,
  compress,
  minCompressedLength,
  negotiateCoding,
  stripCodingFromEtag,
} from './compression.ts';
import { containsSecret } from './contains-secret.ts';
import type { ActionResult } from './request-context.ts';
import { accepted, notModified, ok } from './status.ts';

export const jsonContentType = 'application/json; charset=utf-8';
/** Headers of every reply: the API version, and that browsers must not guess the type. */
export const apiVersion = { 'x-api-version': '1', 'x-content-type-options': 'nosniff' };

/** Headers of successful replies. */
export interface CommonHeaders {
  readonly 'cache-control': string;
  readonly vary: string;
  readonly 'x-api-version': string;
  readonly 'x-content-type-options': string;
}

/** @param vary request headers that replies depend on, in addition to Accept-Encoding. */
export function buildCommonHeaders(vary: string): CommonHeaders {
  return { 'cache-control': 'private, no-cache', vary: `${vary}, Accept-Encoding`, ...apiVersion };
}

/** The parts of a request that its reply depends on. */
export interface RequestHead {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

/** Sends JSON replies. */
export class JsonReplies {
  readonly #common: CommonHeaders;

  /** @param vary request headers that replies depend on, in addition to Accept-Encoding. */
  constructor(vary: string) {
    this.#common = buildCommonHeaders(vary);
  }

  /** Written to the socket directly: Fastify's own reply would cost as much as reading a record by key. @returns the status. */
  send(
    send: Extract<ActionResult, { data: string }>,
    request: RequestHead,
    response: ServerResponse,
    requestId: string,
  ): number {
    const body =
      send.meta === undefined ? `{"data":${send.data}}` : `{"data":${send.data},"meta":${JSON.stringify(send.meta)}}`;
    const coding = chooseCoding(body, request);
    const headers: OutgoingHttpHeaders = { ...this.#common, 'x-request-id': requestId };
    if (send.counter !== undefined) {
      const tag = addCodingToEtag(`"${send.counter}.${hashBody(body)}"`, coding);
      headers['etag'] = tag;
      if (isNotModified(request, tag)) {
        response.writeHead(notModified, headers).end();
        return notModified;
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
      const length = Buffer.byteLength(body);
      headers['content-length'] = length;
      // For ASCII both encodings are the same, and writing this one takes half of the time.
      const encoding = length === body.length ? 'latin1' : 'utf8';
      response.writeHead(status, headers).end(request.method === 'HEAD' ? '' : body, encoding);
    } else {
      headers['content-encoding'] = coding;
      sendCompressed(response, { status, headers }, compress(body, coding), request);
    }
    return status;
  }
}

/** Whether the client already has this reply. Reads by POST are never conditional. */
export function isNotModified({ method, headers }: RequestHead, tag: string): boolean {
  const ifNoneMatch = method === 'POST' ? undefined : headers['if-none-match'];
  if (ifNoneMatch === undefined) return false;
  const plain = stripCodingFromEtag(tag); // the compression does not matter
  return (
    ifNoneMatch.trim() === '*' ||
    ifNoneMatch.split(',').some((each) => stripCodingFromEtag(each.trim().replace(/^W\//, '')) === plain)
  );
}

/** The compression of a reply; null if it is short, contains a secret, or is not accepted. Only writes return secrets. */
function chooseCoding(body: string, { method, headers }: RequestHead): Coding | null {
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

function sendCompressed(
  response: ServerResponse,
  { status, headers }: ReplyHead,
  compressed: Buffer | Promise<Buffer>,
  request: RequestHead,
): void {
  const send = (body: Buffer): void => {
    headers['content-length'] = body.length;
    response.writeHead(status, headers).end(request.method === 'HEAD' ? '' : body);
  };
  if (compressed instanceof Promise) compressed.then(send, () => response.destroy());
  else send(compressed);
}
