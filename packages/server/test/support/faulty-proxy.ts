/** An HTTP proxy in front of a server that loses, refuses or delays the requests that a test chooses. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * What happens to a request. `pass`: it is passed on. `hang`: it reaches no server and gets no reply. `lose`: the
 * server runs it, and the
 * reply is lost. A status: the proxy refuses it with this status, and with `Retry-After: 0.1` if it is 503.
 */
type ProxyFault = 'pass' | 'hang' | 'lose' | number;

export class FaultyProxy {
  /** Decides what happens to a request, by its action and query, such as `applications:receive?step=place`. */
  choose: (target: string) => ProxyFault | Promise<ProxyFault> = () => 'pass';
  readonly #server: Server;
  readonly #to: string;

  private constructor(to: string) {
    this.#to = to;
    this.#server = createServer((request, response) => void this.#forward(request, response).catch(() => {}));
  }

  static async start(to: string): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(to);
    await once(proxy.#server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const { url = '', headers, method = '' } = request;
    const fault = await this.choose(url.replace('/api/', ''));
    if (fault === 'hang') return;
    if (typeof fault === 'number') {
      response.writeHead(fault, fault === 503 ? { 'retry-after': '0.1' } : {});
      response.end(JSON.stringify({ code: 'REFUSED', message: 'The proxy has refused it.' }));
      return;
    }
    const names = ['authorization', 'content-type', 'x-app'] as const;
    const sent = Object.fromEntries(names.map((name) => [name, String(headers[name] ?? '')]));
    const reply = await fetch(`${this.#to}${url}`, { method, headers: sent, body: Buffer.concat(pieces) });
    const text = await reply.text();
    if (fault === 'lose') {
      request.socket.destroy();
      return;
    }
    response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? '' }).end(text);
  }
}
