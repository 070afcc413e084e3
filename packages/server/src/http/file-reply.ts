/**
 * Sends uploaded bytes to a browser: inline only under a type that was detected from the bytes, else as a download, and never
 * with permission to run scripts.
 */
import { pipeline, Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ActionResult, FileResult } from './request-context.ts';
import { notModified, partialContent, rangeUnsatisfiable } from './status.ts';

const commonHeaders = {
  'cache-control': 'private, no-cache',
  vary: 'Authorization, X-App, X-Role',
  'x-api-version': '1',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'accept-ranges': 'bytes',
};

/** Sends a file, or a part of it, with conditional headers. */
export function sendFile(
  { file, filename, inlineType, downloadType = 'application/octet-stream', hash, isShared, done }: FileResult,
  request: FastifyRequest,
  reply: FastifyReply,
  requestId: string,
): FastifyReply {
  const etag = `"${hash}"`;
  const headers: Record<string, string | number> = {
    ...commonHeaders,
    ...(isShared && { 'cross-origin-resource-policy': 'cross-origin', 'referrer-policy': 'no-referrer' }),
    'x-request-id': requestId,
    etag,
    'content-type': inlineType ?? downloadType,
    'content-disposition': buildContentDisposition(inlineType === null ? 'attachment' : 'inline', filename),
  };
  reply.hijack();
  const { raw } = reply;
  if (raw.closed) done();
  else raw.once('close', done);
  if (matchesEtag(request.headers['if-none-match'], etag)) {
    raw.writeHead(notModified, headers).end();
    return reply;
  }
  const range = readRequestedRange(request, etag, file.size);
  if (range === 'beyond') {
    const none = { 'content-range': `bytes */${file.size}`, 'content-length': 0 };
    raw.writeHead(rangeUnsatisfiable, { ...headers, ...none }).end();
    return reply;
  }
  const { from, to } = range ?? { from: 0, to: file.size - 1 };
  const part = range && { 'content-range': `bytes ${from}-${to}/${file.size}` };
  raw.writeHead(range ? partialContent : 200, { ...headers, ...part, 'content-length': to - from + 1 });
  if (request.method === 'HEAD') raw.end();
  // A client that disconnects and a read error both end the reply. Its Content-Length shows that it is incomplete.
  else pipeline(Readable.from(file.read(from, to), { objectMode: false }), raw, () => {});
  return reply;
}

function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((each) => each.trim().replace(/^W\//, '') === etag);
}

/** A range only applies to GET (RFC 9110, 14.2), and only if If-Range names the present content. */
function readRequestedRange(
  { method, headers }: FastifyRequest,
  etag: string,
  size: number,
): ReturnType<typeof parseRange> {
  const condition = headers['if-range'];
  if (method !== 'GET' || (condition !== undefined && condition !== etag)) return null;
  return parseRange(headers.range, size);
}

/** One range of bytes (RFC 9110, 14.2). For several ranges, or an invalid one, the complete file is sent. */
function parseRange(header: string | undefined, length: number): { from: number; to: number } | 'beyond' | null {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return null;
  const from = first === '' ? Math.max(0, length - Number(last)) : Number(first);
  const to = first === '' || last === '' ? length - 1 : Math.min(Number(last), length - 1);
  if (from > to && first !== '' && last !== '' && Number(last) < Number(first)) return null;
  return from >= length || (first === '' && Number(last) === 0) ? 'beyond' : { from, to };
}

/** The headers of a download whose length is not known yet. */
export function buildDownloadHeaders({
  contentType,
  filename,
}: Extract<ActionResult, { stream: unknown }>): Record<string, string> {
  if (filename === undefined) return { 'content-type': contentType };
  const { 'accept-ranges': _, 'cache-control': __, vary: ___, ...safe } = commonHeaders;
  return {
    ...safe,
    'content-type': contentType,
    'content-disposition': buildContentDisposition('attachment', filename),
  };
}

/** RFC 6266: an ASCII name for old programs, and the full name. */
function buildContentDisposition(kind: 'inline' | 'attachment', filename: string | null): string {
  if (filename === null) return kind;
  const plain = filename.replaceAll(/[^\x20-\x7e]|["\\%;/]/g, '_');
  const encoded = encodeURIComponent(filename.toWellFormed()).replaceAll(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
