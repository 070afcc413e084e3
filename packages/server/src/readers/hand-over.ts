/**
 * Hands requests over to the main thread, which answers them from the beginning. Each client connection has its own
 * connection to the main thread, which begins with a line that names the client's address: no header can claim another
 * one.
 */
import {
  Agent,
  type ClientRequest,
  type IncomingMessage,
  type ServerResponse,
  request as sendRequest,
} from 'node:http';
import { connect, type Socket } from 'node:net';
import { discardRest } from '../http/discard-rest.ts';
import { carriesBody } from '../http/request-head.ts';
import { isShortBody, receiveShortBody, type ShortBody } from './short-body.ts';

/** The first line of a connection to the main thread. */
export interface HandOverPreamble {
  readonly address: string | undefined;
  readonly family: string | undefined;
  readonly port: number | undefined;
}

/** A reply of at most this many bytes is sent with its headers in one piece. */
const maxWholeReply = 64 * 1024;
const nothing: ShortBody = { bytes: Buffer.alloc(0), isComplete: false };
/** Headers of requests that only concern the client's connection. The library refuses `Trailer` for a body with a length. */
const droppedHeaders: ReadonlySet<string> = new Set(['upgrade', 'trailer']);
/** Headers that only concern a single connection, so they are not passed on. */
const connectionHeaders: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding', 'date']);

/** Moves a connection to the main thread, with the bytes that were read of it. @returns false if that cannot be done. */
export type MoveConnection = (client: Socket, first: Buffer) => boolean;

/** Sends requests to the main thread, and its replies to the client. */
export class HandOver {
  readonly #path: string;
  readonly #moveConnection: MoveConnection;
  readonly #agents = new WeakMap<Socket, HandOverAgent>();

  /**
   * @param path of the main thread's Unix domain socket.
   * @param moveConnection moves a connection to the main thread; false if that cannot be done.
   */
  constructor(path: string, moveConnection: MoveConnection) {
    this.#path = path;
    this.#moveConnection = moveConnection;
  }

  /**
   * Hands over a request that has not been answered. Resolves when the reply begins, or cannot come any more.
   *
   * @param received what has been read of the body; null: nothing.
   */
  send(request: IncomingMessage, response: ServerResponse, received: ShortBody | null): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const upstream = sendRequest({
      agent: this.#agentOf(request.socket),
      method: request.method,
      path: request.url,
      headers: listHeaders(request),
      setHost: false,
    });
    upstream.on('continue', () => response.writeContinue());
    upstream.on('response', (reply) => forwardReply(reply, request, response));
    upstream.on('error', () => {
      if (!response.writableFinished) request.socket.destroy();
    });
    upstream.once('response', () => resolve()).once('close', resolve);
    response.once('close', () => {
      if (!response.writableFinished) upstream.destroy();
      else if (!request.complete) abandonBody(request, upstream);
    });
    request.on('error', () => upstream.destroy());
    if (!carriesBody(request)) upstream.end();
    else if (received === null && isShortBody(request))
      void receiveShortBody(request).then((body) => sendBody(request, upstream, body));
    else sendBody(request, upstream, received ?? nothing);
    return promise;
  }

  /** Hands over a connection. If it cannot be moved, its bytes are forwarded. @param first bytes that were read of it already. */
  handOverConnection(client: Socket, first: Buffer): void {
    if (this.#moveConnection(client, first)) return;
    const upstream = connectToMain(this.#path, client);
    upstream.write(first);
    upstream.on('error', () => client.destroy());
    client.on('error', () => upstream.destroy());
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroySoon()); // the end of a reply may still be written
    client.pipe(upstream).pipe(client);
  }

  /** Hands over a connection from a request to upgrade it on. @param head bytes that were read after the request. */
  upgrade(request: IncomingMessage, head: Buffer): void {
    let text = `${request.method} ${request.url} HTTP/${request.httpVersion}\r\n`;
    for (const [name, value] of pairHeaders(request.rawHeaders)) text += `${name}: ${value}\r\n`;
    this.handOverConnection(request.socket, Buffer.concat([Buffer.from(`${text}\r\n`, 'latin1'), head]));
  }

  #agentOf(client: Socket): HandOverAgent {
    let agent = this.#agents.get(client);
    if (!agent) {
      agent = new HandOverAgent(this.#path, client);
      const created = agent;
      this.#agents.set(client, agent);
      client.once('close', () => created.destroy());
    }
    return agent;
  }
}

/** The one connection to the main thread that belongs to a client's connection. */
class HandOverAgent extends Agent {
  readonly #path: string;
  readonly #client: Socket;

  constructor(path: string, client: Socket) {
    super({ keepAlive: true, maxSockets: 1 });
    this.#path = path;
    this.#client = client;
  }

  override createConnection(): Socket {
    return connectToMain(this.#path, this.#client);
  }
}

function connectToMain(path: string, { remoteAddress, remoteFamily, remotePort }: Socket): Socket {
  const socket = connect({ path });
  const preamble: HandOverPreamble = { address: remoteAddress, family: remoteFamily, port: remotePort };
  socket.write(`${JSON.stringify(preamble)}\n`);
  return socket;
}

/** The main thread has replied before it has received the whole body, so the rest is read from the client's connection here. */
function abandonBody(request: IncomingMessage, upstream: ClientRequest): void {
  request.unpipe(upstream);
  upstream.destroy();
  discardRest(request);
}

/** Sends a complete body with the headers in one piece, and otherwise what has arrived, followed by the rest. */
function sendBody(request: IncomingMessage, upstream: ClientRequest, { bytes, isComplete }: ShortBody): void {
  if (isComplete) {
    upstream.end(bytes);
    return;
  }
  upstream.flushHeaders();
  if (bytes.length > 0) upstream.write(bytes);
  request.pipe(upstream);
}

/**
 * The headers as they were received, without those of the client's connection. Without a length, the library would announce a body for
 * some methods. HTTP/1.0 needs no host, which the connection to the main thread does.
 */
function listHeaders({ headers, rawHeaders, method }: IncomingMessage): string[] {
  const isPlain = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
  const hasLength = isPlain || method === 'GET' || method === 'HEAD';
  const added = [...(headers.host === undefined ? ['Host', ''] : []), ...(hasLength ? [] : ['Content-Length', '0'])];
  const hasDropped = [...droppedHeaders].some((name) => headers[name] !== undefined);
  const received = hasDropped
    ? pairHeaders(rawHeaders)
        .filter(([name]) => !droppedHeaders.has(name.toLowerCase()))
        .flat()
    : rawHeaders;
  return added.length === 0 ? received : [...received, ...added];
}

/** Names and values of headers as they were received. */
function pairHeaders(raw: readonly string[]): [name: string, value: string][] {
  const pairs: [string, string][] = [];
  for (let index = 0; index < raw.length; index += 2) pairs.push([raw[index] ?? '', raw[index + 1] ?? '']);
  return pairs;
}

function forwardReply(reply: IncomingMessage, request: IncomingMessage, response: ServerResponse): void {
  const headers = pairHeaders(reply.rawHeaders)
    .filter(([name]) => !connectionHeaders.has(name.toLowerCase()))
    .flat();
  if (reply.headers.connection === 'close') response.shouldKeepAlive = false;
  response.writeHead(reply.statusCode ?? 0, reply.statusMessage, headers);
  reply.on('error', () => request.socket.destroy());
  const length = Number(reply.headers['content-length'] ?? Number.POSITIVE_INFINITY);
  if (length > maxWholeReply) {
    response.flushHeaders();
    reply.pipe(response);
    return;
  }
  const pieces: Buffer[] = [];
  reply.on('data', (piece: Buffer) => pieces.push(piece));
  reply.on('end', () => response.end(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)));
}
