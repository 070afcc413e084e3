import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Every open connection of a server. Node's own list leaves out those that were upgraded. */
export class Connections {
  readonly #open = new Set<Socket>();

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
    });
  }

  /** Ends all at once, whatever they wait for. */
  destroyAll(): void {
    for (const socket of this.#open) socket.destroy();
  }
}
