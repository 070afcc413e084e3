import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { sendPieces } from './send-pieces.ts';
import { streamWithCleanup } from './stream-with-cleanup.ts';

let server: Server;
let taken: number;
let cleanups: number;
afterEach(() => server.close());

/** Asks a server that sends pieces of 64 KiB. */
async function requestPieces(
  pieces: number,
  options: { method?: string; fails?: boolean } = {},
): Promise<IncomingMessage> {
  taken = 0;
  cleanups = 0;
  async function* generate(): AsyncGenerator<string> {
    for (; taken < pieces; taken += 1) yield 'x'.repeat(65_536);
    if (options.fails) throw new Error('cut off');
  }
  server = createServer((incoming, response) => {
    const stream = streamWithCleanup(generate(), () => (cleanups += 1));
    void sendPieces(response, stream, incoming.method === 'HEAD');
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
  expect((await text(await requestPieces(40))).length).toBe(40 * 65_536);
  expect(cleanups).toBe(1);
});

test('a client that does not read holds back what is made; one that leaves ends it', async () => {
  const reply = await requestPieces(100_000);
  const more = async (): Promise<number> => {
    const before = taken;
    await pause(200);
    return taken - before;
  };
  await expect.poll(more).toBe(0); // what the kernel takes is full
  expect(taken).toBeLessThan(1000);
  reply.destroy();
  await expect.poll(() => cleanups).toBe(1);
});

test('a stream that fails breaks the reply off', async () => {
  await expect(text(await requestPieces(3, { fails: true }))).rejects.toThrow('aborted');
  expect(cleanups).toBe(1);
});

test('who asks for the head alone takes no piece', async () => {
  expect(await text(await requestPieces(3, { method: 'HEAD' }))).toBe('');
  expect([taken, cleanups]).toEqual([0, 1]);
});
