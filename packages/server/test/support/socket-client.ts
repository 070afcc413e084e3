import { WebSocket } from 'ws';
import type { Json } from './json.ts';
import type { TestServer } from './scenario.ts';

const patienceMilliseconds = 40_000;

/** A client of `/api/realtime` that stores all messages that it receives. */
export class SocketClient {
  readonly socket: WebSocket;
  readonly heard: Json[] = [];
  /** The close code, once the socket is closed. */
  closed: number | null = null;
  readonly #wakes = new Set<() => void>();

  private constructor(url: string, headers: Readonly<Record<string, string>>) {
    this.socket = new WebSocket(`${url.replace('http', 'ws')}/api/realtime`, { headers, perMessageDeflate: false });
    this.socket.on('message', (data) => {
      this.heard.push(JSON.parse(String(data)));
      this.#wake();
    });
    this.socket.on('close', (code) => {
      this.closed = code;
      this.#wake();
    });
    this.socket.on('error', () => {});
  }

  static async connect(url: string, headers: Readonly<Record<string, string>> = {}): Promise<SocketClient> {
    const client = new SocketClient(url, headers);
    await new Promise((resolve, reject) => client.socket.once('open', resolve).once('error', reject));
    return client;
  }

  /** Connects, and authenticates with a token of the server, by its name. */
  static async as(server: TestServer, who = 'admin', app?: string): Promise<SocketClient> {
    const client = await SocketClient.connect(server.running.url);
    client.send({ type: 'authenticate', token: server.tokens.get(who) ?? who, ...(app && { app }) });
    await client.next(({ type }) => type === 'authenticated');
    return client;
  }

  send(message: Json): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  /** Subscribes. @returns the reply. */
  async subscribe(id: string, resource: string, more: object = {}): Promise<Json> {
    this.send({ type: 'subscribe', id, resource, ...more });
    return this.next((message) => message.id === id && (message.type === 'subscribed' || message.type === 'error'));
  }

  /** Waits for the first message that matches, including those that were received before. */
  async next(fits: (message: Json) => boolean): Promise<Json> {
    return this.until(() => this.heard.find(fits));
  }

  /** Waits until a subscription has received this number of events. @returns the events. */
  async events(id: string, count: number): Promise<Json[]> {
    return this.until(() => {
      const events = this.eventsNow(id);
      return events.length >= count ? events : undefined;
    });
  }

  eventsNow(id: string): Json[] {
    return this.heard.filter((message) => message.type === 'event' && message.id === id).map(({ event }) => event);
  }

  async close(): Promise<void> {
    this.socket.close();
    await this.end();
  }

  /** Waits until the socket is closed. @returns the close code. */
  async end(): Promise<number> {
    return this.until(() => this.closed ?? undefined);
  }

  async until<T>(look: () => T | undefined): Promise<T> {
    const begun = performance.now();
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      if (performance.now() - begun > patienceMilliseconds)
        throw new Error(`not heard in time; closed ${this.closed}, heard ${JSON.stringify(this.heard).slice(-600)}`);
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          this.#wakes.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, 500);
        this.#wakes.add(wake);
      });
    }
  }

  #wake(): void {
    for (const wake of [...this.#wakes]) wake();
  }
}
