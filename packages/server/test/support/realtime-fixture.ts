import { afterAll, beforeAll } from 'vitest';
import type { Engine } from './engines.ts';
import { EventStream } from './event-stream.ts';
import type { Json } from './json.ts';
import { TestServer } from './scenario.ts';
import { SocketClient } from './socket-client.ts';

/** Posts and secrets, a clerk who sees the open posts, and realtime clients: for the tests of one suite. */
export class RealtimeFixture {
  server!: TestServer;
  readonly #open: SocketClient[] = [];

  /** Starts the server before the tests of the suite, and closes everything after them. */
  static forSuite(engine: Engine): RealtimeFixture {
    const live = new RealtimeFixture();
    beforeAll(() => live.#prepare(engine));
    afterAll(async () => {
      for (const connect of live.#open) connect.socket.terminate();
      await live.server.stop();
    });
    return live;
  }

  async #prepare(engine: Engine): Promise<void> {
    const server = await TestServer.start(engine, { env: { CORS_ORIGINS: 'https://listed.example.com' } });
    this.server = server;
    const fields = [
      { name: 'title', type: 'string' },
      { name: 'open', type: 'boolean' },
      { name: 'secret', type: 'string' },
    ];
    for (const name of ['posts', 'secrets'])
      await server.data('POST /api/collections:create', { body: { name, fields } });
    await server.data('POST /api/roles:create', { body: { name: 'clerk' } });
    await server.data('POST /api/permissions:create', {
      body: {
        role: 'clerk',
        resource: 'posts',
        actions: ['list', 'get'],
        filter: { open: true },
        exceptFields: ['secret'],
      },
    });
    await server.createKey('clerk');
  }

  /** An authenticated socket. */
  async client(who = 'admin'): Promise<SocketClient> {
    return this.#kept(await SocketClient.as(this.server, who));
  }

  /** A socket that has not sent anything yet. */
  async connectUnauthenticated(headers: Record<string, string> = {}): Promise<SocketClient> {
    return this.#kept(await SocketClient.connect(this.server.running.url, headers));
  }

  #kept(client: SocketClient): SocketClient {
    this.#open.push(client);
    return client;
  }

  /** A stream of events; `nobody` sends no credential. */
  async listen(query: string, as = 'admin', headers: Record<string, string> = {}): Promise<EventStream> {
    const token = this.server.tokens.get(as) ?? as;
    const reply = await fetch(`${this.server.running.url}/api/realtime?${query}`, {
      headers: {
        accept: 'text/event-stream',
        ...(as !== 'nobody' && { authorization: `Bearer ${token}` }),
        ...headers,
      },
    });
    return new EventStream(reply);
  }

  createPost(body: object): Promise<Json> {
    return this.server.data('POST /api/posts:create', { body });
  }

  updatePost(id: number, body: object): Promise<Json> {
    return this.server.data(`POST /api/posts:update?filterByTk=${id}`, { body });
  }
}

/** Events as their name and key. */
export const formatEvents = (events: readonly Json[]): string[] => events.map(({ name, tk }) => `${name} ${tk}`);
