/**
 * A push service for tests (RFC 8030): receives messages over HTTP, authenticates the sender (RFC 8292), and decrypts
 * them (RFC 8291).
 */
import { createECDH, createPublicKey, randomBytes, verify } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import type { Json } from './json.ts';

const ece = createRequire(import.meta.url)('http_ece') as {
  decrypt(body: Buffer, options: object): Buffer;
};

/** A message that the service has received. */
export interface PushedMessage {
  readonly browser: string;
  readonly ttl: number;
  readonly payload: Json;
  /** The claims of the sender. */
  readonly claims: Json;
  readonly publicKey: string;
  /** The encrypted bytes that a push service sees. */
  readonly bytes: Buffer;
}

/** The subscription of a browser, as `PushSubscription.toJSON()` returns it. */
export interface BrowserSubscription {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
}

export class PushService {
  readonly received: PushedMessage[] = [];
  /** The status of replies, by browser; 201 by default. */
  readonly status = new Map<string, number>();
  readonly #browsers = new Map<string, { readonly ecdh: ReturnType<typeof createECDH>; readonly auth: Buffer }>();
  readonly #server: Server;
  /** All requests, including those that were refused. */
  requests = 0;

  constructor() {
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        this.requests += 1;
        const browser = request.url!.slice(1);
        const status = this.status.get(browser) ?? 201;
        if (status === 201) this.received.push(this.#open(browser, request.headers as Json, Buffer.concat(parts)));
        response.writeHead(status).end();
      });
    });
  }

  start(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  stop(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  /** A browser with its own keys. */
  subscribe(browser: string): BrowserSubscription {
    const ecdh = createECDH('prime256v1');
    const p256dh = ecdh.generateKeys('base64url');
    const auth = randomBytes(16);
    this.#browsers.set(browser, { ecdh, auth });
    const { port } = this.#server.address() as AddressInfo;
    return { endpoint: `http://127.0.0.1:${port}/${browser}`, keys: { p256dh, auth: auth.toString('base64url') } };
  }

  #open(browser: string, headers: Json, bytes: Buffer): PushedMessage {
    const { ecdh, auth } = this.#browsers.get(browser)!;
    const options = { version: 'aes128gcm', privateKey: ecdh, authSecret: auth.toString('base64url') };
    const payload = JSON.parse(ece.decrypt(bytes, options).toString());
    const [, token = '', publicKey = ''] = /^vapid t=([^,]+), k=(.+)$/.exec(headers.authorization)!;
    return { browser, ttl: Number(headers.ttl), payload, claims: readClaims(token, publicKey), publicKey, bytes };
  }
}

function readClaims(token: string, publicKey: string): Json {
  const [head = '', claims = '', signature = ''] = token.split('.');
  const point = Buffer.from(publicKey, 'base64url');
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((each) => each.toString('base64url'));
  const key = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x: x!, y: y! }, format: 'jwk' });
  const isValid = verify(
    'sha256',
    Buffer.from(`${head}.${claims}`),
    { key, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  if (!isValid) throw new Error('The sender of a push message has not signed it.');
  return JSON.parse(Buffer.from(claims, 'base64url').toString());
}
