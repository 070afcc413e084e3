/**
 * The web interface: one page for every address that it knows, and files whose names change with what they hold. They are
 * built and packed beforehand (packages/web/build.ts) and found at their first request, so nothing is paid for by those
 * who use the API alone.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../protocol/api-error.ts';
import { negotiateCoding } from '../compression.ts';

/** Addresses that the page answers by itself; `/docs` and `/api` are not among them. */
const pagePaths = ['/', '/setup', '/reset-password', '/a', '/a/*'];
const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.png': 'image/png',
};
/** Where the page has its nonce; a new one for each reply. */
const noncePlaceholder = '__CSP_NONCE__';
const builtFolder = fileURLToPath(new URL('../../../../web/dist', import.meta.url));

const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** @param folder what packages/web/build.ts has made; another one in tests. */
export function registerWebInterface(fastify: FastifyInstance, folder: string = builtFolder): void {
  const files = new WebFiles(folder);
  for (const path of pagePaths) fastify.get(path, (_request, reply) => sendPage(files, reply));
  fastify.get('/assets/:name', (request, reply) => sendAsset(files, request, reply));
}

/**
 * Scripts and styles of this server, none inline but those that bear the reply's nonce; texts that become markup pass the
 * page's own rules (Trusted Types). Mails are shown in frames without scripts, whose source is a text of the page's own.
 */
function buildContentSecurityPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types default dompurify',
  ].join('; ');
}

async function sendPage(files: WebFiles, reply: FastifyReply): Promise<FastifyReply> {
  const nonce = randomBytes(16).toString('base64url');
  const page = (await files.page()).replaceAll(noncePlaceholder, nonce);
  return reply
    .headers({
      ...securityHeaders,
      'content-security-policy': buildContentSecurityPolicy(nonce),
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
    })
    .send(page);
}

async function sendAsset(files: WebFiles, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { name } = request.params as { name: string };
  const { bytes, encoding } = await files.asset(name, request.headers['accept-encoding']);
  reply.headers({
    ...securityHeaders,
    'content-type': types[extname(name)]!,
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'Accept-Encoding',
    ...(encoding !== null && { 'content-encoding': encoding }),
  });
  return reply.send(bytes);
}

const encodingSuffixes = { br: '.br', gzip: '.gz' } as const;

/** The files of one build, read when they are first asked for and kept: some two megabytes. */
class WebFiles {
  readonly #folder: string;
  readonly #kept = new Map<string, Promise<Buffer>>();
  #names: ReadonlySet<string> | null = null;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async page(): Promise<string> {
    if (!existsSync(join(this.#folder, 'index.html')))
      throw new ApiError(
        'ROUTE_UNKNOWN',
        'The web interface is not built: run "npm run build:web". The API is below /api, its documentation at /docs.',
      );
    return (await this.#read('index.html')).toString();
  }

  /** A file in the best packing that is accepted. @throws ApiError `ROUTE_UNKNOWN` for a name that the build has not made. */
  async asset(
    name: string,
    accepted: string | string[] | undefined,
  ): Promise<{ bytes: Buffer; encoding: string | null }> {
    this.#names ??= this.#listed();
    if (!this.#names.has(name) || types[extname(name)] === undefined)
      throw new ApiError(
        'ROUTE_UNKNOWN',
        'There is no such file; a newer version may be running: load the page again.',
      );
    const built = (['br', 'gzip'] as const).filter((coding) => this.#names!.has(name + encodingSuffixes[coding]));
    const encoding = negotiateCoding(accepted, built);
    return {
      bytes: await this.#read(`assets/${name}${encoding === null ? '' : encodingSuffixes[encoding]}`),
      encoding,
    };
  }

  #listed(): ReadonlySet<string> {
    const assets = join(this.#folder, 'assets');
    return new Set(existsSync(assets) ? readdirSync(assets) : []);
  }

  #read(path: string): Promise<Buffer> {
    let bytes = this.#kept.get(path);
    if (!bytes) {
      bytes = readFile(join(this.#folder, path));
      this.#kept.set(path, bytes);
      bytes.catch(() => this.#kept.delete(path));
    }
    return bytes;
  }
}
