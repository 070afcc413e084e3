/** The main thread's side of the hand-over: accepts the requests that readers hand over. */
import { hash } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { HandOverPreamble } from './hand-over.ts';

/** Maximum length of the line that a connection begins with. */
const maxPreamble = 1000;

/** Listens on a Unix domain socket in a folder that only this user can open. */
export class HandOverListener {
  readonly path: string;
  readonly #folder: string;
  readonly #server: Server;

  private constructor(folder: string, takeOver: (socket: Socket) => void) {
    this.#folder = folder;
    this.path = join(folder, 'requests');
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => receivePreamble(socket, takeOver));
  }

  /**
   * @param dataDir whose previous server may have left a folder.
   * @param takeOver serves a connection, which has the address of the client.
   */
  static async open(dataDir: string, takeOver: (socket: Socket) => void): Promise<HandOverListener> {
    const listener = new HandOverListener(await createFolder(dataDir), takeOver);
    const { promise, resolve: listening, reject } = Promise.withResolvers<void>();
    listener.#server.once('error', reject).listen({ path: listener.path }, listening);
    await promise;
    return listener;
  }

  /** The connections must have ended. */
  async close(): Promise<void> {
    this.#server.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/**
 * A killed server leaves its folder behind. The name is fixed, so that the next server removes that folder. If another
 * user owns a folder of that name, a random name is used.
 */
async function createFolder(dataDir: string): Promise<string> {
  const user = process.getuid?.() ?? 0;
  const folder = join(tmpdir(), `tablinum-${user}-${hash('sha256', resolve(dataDir)).slice(0, 16)}`);
  try {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { mode: 0o700 });
    return folder;
  } catch {
    return mkdtemp(join(tmpdir(), 'tablinum-'));
  }
}

/** Reads the line with the client's address, and gives the socket that address. */
function receivePreamble(socket: Socket, takeOver: (socket: Socket) => void): void {
  let received = Buffer.alloc(0);
  const onData = (chunk: Buffer): void => {
    received = Buffer.concat([received, chunk]);
    const end = received.indexOf('\n');
    if (end < 0) {
      if (received.length > maxPreamble) socket.destroy();
      return;
    }
    socket.off('data', onData).off('error', ignore).pause();
    const { address, family, port } = JSON.parse(received.toString('utf8', 0, end)) as HandOverPreamble;
    Object.defineProperties(socket, {
      remoteAddress: { value: address },
      remoteFamily: { value: family },
      remotePort: { value: port },
    });
    if (received.length > end + 1) socket.unshift(received.subarray(end + 1));
    takeOver(socket);
    socket.resume();
  };
  socket.on('data', onData).on('error', ignore);
}

function ignore(): void {}
