/**
 * The web interface: one page for all of its paths, and files whose names contain a hash of their content. They are built and
 * compressed in advance (packages/web/build.ts) and loaded on first use, so that API-only servers have no cost.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../protocol/api-error.ts';
import { negotiateCoding } from '../compression.ts';

/** The paths of the page. `/docs` and `/api` are not among them. */
const pagePaths = ['/', '/setup', '/reset-password', '/mail-sign-in', '/a', '/a/*'];
const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.png': 'image/png',
};
/** The placeholder of the nonce in the page. Each reply has a new nonce. */
const noncePlaceholder = '__CSP_NONCE__';
/** In the packed server, and in the repository. */
const builtFolders = ['../../../web', '../../../../web/dist'].map((each) =>
  fileURLToPath(new URL(each, import.meta.url)),
);

const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** Registers the routes of the web interface. @param folder the output of packages/web/build.ts; another one in tests. */
export function registerWebInterface(fastify: FastifyInstance, folder: string = findBuiltFolder()): void {
  const files = new WebFiles(folder);
  for (const path of pagePaths) fastify.get(path, (_request, reply) => sendPage(files, reply));
  fastify.get('/push-worker.js', (_request, reply) => sendPushWorker(files, reply));
  fastify.get('/assets/:name', (request, reply) => sendAsset(files, request, reply));
}

function findBuiltFolder(): string {
  const [packed = '', built = ''] = builtFolders;
  return existsSync(packed) ? packed : built;
}

/**
 * The policy only allows scripts and styles of this server, and inline ones with the nonce of the reply. Text that becomes
 * markup passes the page's Trusted Types policies. E-mails are shown in frames without scripts (`srcdoc`).
 */
function buildContentSecurityPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "media-src 'self'",
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

/** The service worker for push messages. Its address never changes, so browsers must revalidate it. */
async function sendPushWorker(files: WebFiles, reply: FastifyReply): Promise<FastifyReply> {
  return reply
    .headers({
      ...securityHeaders,
      // The worker registers a replaced subscription on this server.
      'content-security-policy': "default-src 'none'; connect-src 'self'",
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'no-cache',
    })
    .send(await files.pushWorker());
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

/** The files of one build, read on first use and cached: about two megabytes. */
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
        'The web interface is not built. Run "npm run build:web". The API is at /api, its documentation at /docs.',
      );
    return (await this.#read('index.html')).toString();
  }

  /** @throws ApiError `ROUTE_UNKNOWN` if the build does not contain it. */
  pushWorker(): Promise<Buffer> {
    if (!existsSync(join(this.#folder, 'push-worker.js')))
      throw new ApiError('ROUTE_UNKNOWN', 'The web interface is not built. Run "npm run build:web".');
    return this.#read('push-worker.js');
  }

  /** A file in the best accepted compression. @throws ApiError `ROUTE_UNKNOWN` for a file that the build does not contain. */
  async asset(
    name: string,
    accepted: string | string[] | undefined,
  ): Promise<{ bytes: Buffer; encoding: string | null }> {
    this.#names ??= this.#listed();
    if (!this.#names.has(name) || types[extname(name)] === undefined)
      throw new ApiError('ROUTE_UNKNOWN', 'There is no such file. The server may have been updated; reload the page.');
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
