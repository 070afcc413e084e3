import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { heldStream } from './held-stream.ts';
import { sendPieces } from './send-pieces.ts';

let server: Server;
let taken: number;
let letGo: number;
afterEach(() => server.close());

/** Asks a server that sends pieces of 64 KiB. */
async function ask(pieces: number, options: { method?: string; fails?: boolean } = {}): Promise<IncomingMessage> {
  taken = 0;
  letGo = 0;
  async function* made(): AsyncGenerator<string> {
    for (; taken < pieces; taken += 1) yield 'x'.repeat(65_536);
    if (options.fails) throw new Error('cut off');
  }
  server = createServer((asked, response) => {
    const stream = heldStream(made(), () => (letGo += 1));
    void sendPieces(response, stream, asked.method === 'HEAD');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) =>
    request({ port, host: '127.0.0.1', method: options.method ?? 'GET' }, resolve)
      .on('error', reject)
      .end(),
  );
}

test('all pieces arrive, and the stream is let go of', async () => {
  expect((await text(await ask(40))).length).toBe(40 * 65_536);
  expect(letGo).toBe(1);
});

test('a client that does not read holds back what is made; one that leaves ends it', async () => {
  const reply = await ask(100_000);
  const more = async (): Promise<number> => {
    const before = taken;
    await pause(200);
    return taken - before;
  };
  await expect.poll(more).toBe(0); // what the kernel takes is full
  expect(taken).toBeLessThan(1000);
  reply.destroy();
  await expect.poll(() => letGo).toBe(1);
});

test('a stream that fails breaks the reply off', async () => {
  await expect(text(await ask(3, { fails: true }))).rejects.toThrow('aborted');
  expect(letGo).toBe(1);
});

test('who asks for the head alone takes no piece', async () => {
  expect(await text(await ask(3, { method: 'HEAD' }))).toBe('');
  expect([taken, letGo]).toEqual([0, 1]);
});
