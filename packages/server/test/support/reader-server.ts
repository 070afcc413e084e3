import { Agent, type IncomingMessage, request as sendRequest } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { sqlite } from './engines.ts';
import type { Json } from './json.ts';
import { TestServer } from './scenario.ts';

export interface WireReply {
  readonly status: number;
  /**
   * Header names and values as they were sent, without Date, and with a fixed text instead of ids that the server has
   * generated.
   */
  readonly headers: readonly string[];
  readonly bytes: Buffer;
  /** The body, with a fixed text instead of ids that the server has generated. */
  readonly plain: string;
  readonly json: Json;
}

export interface WireRequest {
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** One connection to a server, which stays with the thread that accepted it. */
export class WireConnection {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #port: number;

  constructor(url: string) {
    this.#port = Number(new URL(url).port);
  }

  /** @param line method and path, as in `GET /api/posts:list`. */
  send(line: string, { token, headers = {}, body }: WireRequest = {}): Promise<WireReply> {
    const [method = '', path = ''] = line.split(' ');
    const { promise, resolve, reject } = Promise.withResolvers<WireReply>();
    const request = sendRequest({
      agent: this.#agent,
      host: '127.0.0.1',
      port: this.#port,
      method,
      path,
      headers: {
        'x-request-id': 'same',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
    });
    request.on('error', reject).on('response', (reply) => receive(reply).then(resolve, reject));
    request.end(body);
    return promise;
  }

  close(): void {
    this.#agent.destroy();
  }
}

const uuid = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g;

/** Decodes parts of a reply only when a test reads them: of most replies under load it only reads the status. */
async function receive(reply: IncomingMessage): Promise<WireReply> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const pieces: Buffer[] = [];
  reply.on('data', (piece: Buffer) => pieces.push(piece));
  reply.on('end', resolve).on('error', reject);
  await promise;
  const { rawHeaders, headers: named, statusCode } = reply;
  const bytes = Buffer.concat(pieces);
  return {
    status: statusCode!,
    bytes,
    get plain() {
      return bytes.toString('latin1').replace(uuid, 'generated');
    },
    get headers() {
      return rawHeaders
        .filter((_, index) => rawHeaders[index - (index % 2)] !== 'Date')
        .map((each) => each.replace(uuid, 'generated'));
    },
    get json() {
      const isJson = named['content-type']?.startsWith('application/json') && !named['content-encoding'];
      return isJson && bytes.length > 0 ? JSON.parse(bytes.toString()) : null;
    },
  };
}

/** Starts a server on SQLite with two reader threads, and waits until both run. */
export async function startReaderServer(env: Readonly<Record<string, string>> = {}): Promise<TestServer> {
  const server = await TestServer.start(sqlite, { env: { READERS: '2', ...env } });
  const { readers } = server.running;
  while (readers?.running !== 2) await setTimeout(20);
  return server;
}

/** Connections that are distributed over the threads of a server. */
export function openConnections({ running }: TestServer, count = 16): WireConnection[] {
  return Array.from({ length: count }, () => new WireConnection(running.url));
}
