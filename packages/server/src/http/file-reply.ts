/**
 * Bytes that somebody sent, on their way to a browser: under a type that the bytes themselves have, else as a download, and
 * never with any right to run.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FileAnswer } from './call.ts';
import { notModified, partialContent, rangeUnsatisfiable } from './status.ts';

const common = {
  'cache-control': 'private, no-cache',
  vary: 'Authorization, X-App, X-Role',
  'x-api-version': '1',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'accept-ranges': 'bytes',
};

export function replyFile(
  { file, filename, shownAs, hash }: FileAnswer,
  request: FastifyRequest,
  reply: FastifyReply,
  requestId: string,
): FastifyReply {
  const etag = `"${hash}"`;
  const headers: Record<string, string | number> = {
    ...common,
    'x-request-id': requestId,
    etag,
    'content-type': shownAs ?? 'application/octet-stream',
    'content-disposition': disposition(shownAs === null ? 'attachment' : 'inline', filename),
  };
  reply.hijack();
  const { raw } = reply;
  const send = (status: number, body: Buffer, more: Record<string, string> = {}): void =>
    void raw
      .writeHead(status, { ...headers, ...more, 'content-length': body.length })
      .end(request.method === 'HEAD' ? undefined : body);
  const asked = request.headers['if-none-match'];
  if (asked?.split(',').some((each) => each.trim().replace(/^W\//, '') === etag)) {
    raw.writeHead(notModified, headers).end();
    return reply;
  }
  const condition = request.headers['if-range'];
  const range = condition === undefined || condition === etag ? rangeOf(request.headers.range, file.length) : null;
  if (range === 'beyond') send(rangeUnsatisfiable, Buffer.alloc(0), { 'content-range': `bytes */${file.length}` });
  else if (range === null) send(200, file);
  else
    send(partialContent, file.subarray(range.from, range.to + 1), {
      'content-range': `bytes ${range.from}-${range.to}/${file.length}`,
    });
  return reply;
}

/** One range of bytes (RFC 9110, 14.2); several, and what is no range, are answered with the whole. */
function rangeOf(header: string | undefined, length: number): { from: number; to: number } | 'beyond' | null {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return null;
  const from = first === '' ? Math.max(0, length - Number(last)) : Number(first);
  const to = first === '' || last === '' ? length - 1 : Math.min(Number(last), length - 1);
  if (from > to && first !== '' && last !== '' && Number(last) < Number(first)) return null;
  return from >= length || (first === '' && Number(last) === 0) ? 'beyond' : { from, to };
}

/** RFC 6266: a name for old programs, and the name itself. */
function disposition(kind: 'inline' | 'attachment', filename: string | null): string {
  if (filename === null) return kind;
  const plain = filename.replaceAll(/[^\x20-\x7e]|["\\%;]/g, '_');
  const encoded = encodeURIComponent(filename.toWellFormed()).replaceAll(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
