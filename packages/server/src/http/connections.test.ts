import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Connections, type UnreadLimits } from './connections.ts';

const megabytes = 1024 * 1024;
const head = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';

/** A server whose replies are larger than the kernel buffers for a client that does not read. */
async function serve(limits: UnreadLimits, work: (open: () => Client) => Promise<void>): Promise<void> {
  const body = Buffer.alloc(12 * megabytes);
  const server = createServer((_, response) => void response.end(body));
  new Connections(server, limits);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const clients: Client[] = [];
  await work(() => {
    clients.push(new Client(port));
    return clients.at(-1)!;
  });
  for (const { socket } of clients) socket.destroy();
  server.close();
}

class Client {
  readonly socket: Socket;
  received = 0;
  isOpen = true;

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1').pause();
    this.socket.on('data', (chunk: Buffer) => {
      this.received += chunk.length;
    });
    this.socket
      .on('error', () => {})
      .on('close', () => {
        this.isOpen = false;
      });
    this.socket.write(head);
  }

  /** Whether the whole reply arrives if the client reads from now on. */
  async readAll(): Promise<boolean> {
    this.socket.resume();
    while (this.isOpen && this.received < 12 * megabytes) await setTimeout(10);
    return this.received >= 12 * megabytes;
  }
}

test('a client that reads nothing of its reply is disconnected, and a slow one is not', async () => {
  const limits = { stalledMilliseconds: 600, bytes: 1000 * megabytes, intervalMilliseconds: 50 };
  await serve(limits, async (open) => {
    const [stalled, slow] = [open(), open()];
    for (let round = 0; round < 12; round += 1) {
      await setTimeout(100);
      slow.socket.resume();
      await setTimeout(2);
      slow.socket.pause();
    }
    expect(await slow.readAll()).toBe(true);
    expect(await stalled.readAll()).toBe(false);
  });
});

test('if all connections together exceed their limit, clients that read nothing are disconnected early', async () => {
  const limits = { stalledMilliseconds: 60_000, bytes: 30 * megabytes, intervalMilliseconds: 50 };
  await serve(limits, async (open) => {
    const stalled = Array.from({ length: 6 }, open);
    await setTimeout(600);
    const complete = await Promise.all(stalled.map((each) => each.readAll()));
    const kept = complete.filter(Boolean).length;
    expect(kept).toBeGreaterThanOrEqual(2);
    expect(kept).toBeLessThanOrEqual(3);
    expect(await open().readAll()).toBe(true);
  });
});
