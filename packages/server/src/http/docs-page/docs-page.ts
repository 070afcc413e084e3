/**
 * `/docs`: the interactive page over `docs:openapi`. Everything comes from this server, under a policy that lets nothing
 * else in; the page holds no data of its own, so it asks for no credential.
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
/** Where the page has its nonce. */
const noncePlaceholder = '__CSP_NONCE__';
let pageText: Promise<string> | null = null;
/** Made at their first request, and kept: a megabyte. */
const assetCache = new Map<string, Promise<Asset>>();

export function registerDocsPage(fastify: FastifyInstance): void {
  for (const path of ['/docs', '/docs/', '/docs/page.html']) fastify.get(path, (_request, reply) => sendPage(reply));
  for (const name of Object.keys(assetLoaders))
    fastify.get(`/docs/${name}`, (request, reply) => sendAsset(name, request, reply));
}

/**
 * Scripts and styles of this server, none inline but the styles that the reference's script adds, which bear the reply's
 * nonce (page.js sees to it).
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
    "frame-ancestors 'self'", // the web interface shows it in a frame
  ].join('; ');
}

const commonHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** Small, and another one each time: its nonce must not be known beforehand. */
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

/** Weak: the same text goes packed and as it is. */
function createAsset(packed: Buffer, type: string): Asset {
  return { type, packed, tag: `W/"${createHash('sha1').update(packed).digest('base64url')}"` };
}

/** The script of the reference, packed. */
function loadScalarScript(): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('scalar-worker.ts', import.meta.url));
    worker.once('message', (packed: Uint8Array) => resolve(Buffer.from(packed)));
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('the script of the documentation page could not be read')));
  });
}
