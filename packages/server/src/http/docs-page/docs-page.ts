/**
 * `/docs`: the interactive API reference of `docs:openapi`. All files come from this server, and the Content-Security-Policy
 * allows no others. The page itself contains no data, so it needs no credential.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { gunzip as gunzipWith, gzip as gzipWith } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { negotiateCoding } from '../compression.ts';
import { notModified } from '../status.ts';

const gzip = promisify(gzipWith);
const gunzip = promisify(gunzipWith);

interface Asset {
  readonly type: string;
  readonly packed: Buffer;
  readonly tag: string;
}

const scriptType = 'text/javascript; charset=utf-8';
const assetLoaders: Readonly<Record<string, () => Promise<Asset>>> = {
  'page.css': () => loadOwnFile('page.css', 'text/css; charset=utf-8'),
  'page.js': () => loadOwnFile('page.js', scriptType),
  'scalar.js': async () => createAsset(await loadScalarScript(), scriptType),
};
/** The placeholder of the nonce in the page. */
const noncePlaceholder = '__CSP_NONCE__';
let pageText: Promise<string> | null = null;
/** Created on first use and cached: one megabyte. */
const assetCache = new Map<string, Promise<Asset>>();

/** Registers the routes of the documentation page. */
export function registerDocsPage(fastify: FastifyInstance): void {
  for (const path of ['/docs', '/docs/', '/docs/page.html']) fastify.get(path, (_request, reply) => sendPage(reply));
  for (const name of Object.keys(assetLoaders))
    fastify.get(`/docs/${name}`, (request, reply) => sendAsset(name, request, reply));
}

/**
 * The policy only allows scripts and styles of this server. The only inline styles are those of the reference's script, to
 * which page.js adds the nonce of the reply.
 */
function buildContentSecurityPolicy(nonce: string | null): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${nonce === null ? '' : ` 'nonce-${nonce}'`}`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'", // the web interface embeds it in a frame
  ].join('; ');
}

const commonHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** Not cached: the nonce must not be predictable. */
async function sendPage(reply: FastifyReply): Promise<FastifyReply> {
  const nonce = randomBytes(16).toString('base64url');
  pageText ??= readFile(new URL('page.html', import.meta.url), 'utf8');
  return reply
    .headers({
      ...commonHeaders,
      'content-security-policy': buildContentSecurityPolicy(nonce),
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
    })
    .send((await pageText).replace(noncePlaceholder, nonce));
}

async function sendAsset(name: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { type, packed, tag } = await loadAsset(name);
  reply.headers({
    ...commonHeaders,
    'content-security-policy': buildContentSecurityPolicy(null),
    etag: tag,
    vary: 'Accept-Encoding',
    'cache-control': 'public, no-cache',
  });
  if (request.headers['if-none-match'] === tag) return reply.code(notModified).send();
  reply.header('content-type', type);
  if (negotiateCoding(request.headers['accept-encoding'], ['gzip']) === null) return reply.send(await gunzip(packed));
  return reply.header('content-encoding', 'gzip').send(packed);
}

function loadAsset(name: string): Promise<Asset> {
  let asset = assetCache.get(name);
  if (!asset) {
    asset = assetLoaders[name]!();
    assetCache.set(name, asset);
    asset.catch(() => assetCache.delete(name));
  }
  return asset;
}

async function loadOwnFile(name: string, type: string): Promise<Asset> {
  return createAsset(await gzip(await readFile(new URL(name, import.meta.url))), type);
}

/** The ETag is weak: the same text is sent with and without compression. */
function createAsset(packed: Buffer, type: string): Asset {
  return { type, packed, tag: `W/"${createHash('sha1').update(packed).digest('base64url')}"` };
}

/** The script of the reference, compressed. */
function loadScalarScript(): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('scalar-worker.ts', import.meta.url));
    worker.once('message', (packed: Uint8Array) => resolve(Buffer.from(packed)));
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('The script of the documentation page could not be read.')));
  });
}
