import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * A proxy between a server and its PostgreSQL that breaks connections in the ways in which networks and databases do.
 */
export class DatabaseProxy {
  readonly url: string;
  /** Called with the data that a server sends to PostgreSQL, before it is passed on. */
  onRequest: ((text: string, connection: ProxiedConnection) => void) | null = null;
  readonly #server: Server;
  readonly #port: number;
  readonly #connections = new Set<ProxiedConnection>();
  #isSilent = false;

  private constructor(server: Server, port: number, target: URL) {
    this.#server = server;
    this.#port = port;
    this.url = Object.assign(new URL(target), { host: `127.0.0.1:${port}` }).href;
    server.on('connection', (client) => this.#pass(client, target));
  }

  static async start(databaseUrl: string): Promise<DatabaseProxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new DatabaseProxy(server, (server.address() as { port: number }).port, new URL(databaseUrl));
  }

  /** Ends all connections, and refuses new ones. */
  refuse(): void {
    this.#server.close();
    this.cut();
  }

  async accept(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve));
  }

  cut(): void {
    for (const connection of this.#connections) connection.cut();
  }

  /** New connections are accepted, but nothing is passed on. */
  silenceNew(): void {
    this.#isSilent = true;
  }

  /** All connections stay open, but nothing is passed on any more. */
  silence(): void {
    this.silenceNew();
    for (const connection of this.#connections) connection.silence();
  }

  /** Silent connections stay silent; new ones work again. */
  speak(): void {
    this.#isSilent = false;
  }

  stop(): void {
    if (this.#server.listening) this.#server.close();
    this.cut();
  }

  #pass(client: Socket, target: URL): void {
    const database = connect(Number(target.port), target.hostname);
    const connection = new ProxiedConnection(client, database);
    this.#connections.add(connection);
    client.once('close', () => this.#connections.delete(connection));
    client.prependListener('data', (chunk: Buffer) => this.onRequest?.(chunk.toString('latin1'), connection));
    if (this.#isSilent) connection.silence();
  }
}

export class ProxiedConnection {
  readonly #client: Socket;
  readonly #database: Socket;

  constructor(client: Socket, database: Socket) {
    this.#client = client;
    this.#database = database;
    for (const [from, to] of [
      [client, database],
      [database, client],
    ] as const) {
      from.on('error', () => {});
      from.pipe(to);
      from.once('close', () => to.destroy());
    }
  }

  cut(): void {
    this.#client.resetAndDestroy();
  }

  /** Passes requests of the server on, and cuts the connection instead of passing on the next reply of PostgreSQL. */
  loseAnswer(): void {
    this.#database.unpipe(this.#client);
    this.#database.once('data', () => this.#client.destroy());
    this.#database.resume();
  }

  silence(): void {
    this.#client.unpipe(this.#database);
    this.#database.unpipe(this.#client);
    this.#client.resume();
    this.#database.resume();
  }
}
