import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { sendPieces } from './send-pieces.ts';
import { streamWithCleanup } from './stream-with-cleanup.ts';

let server: Server;
let taken: number;
let cleanups: number;
afterEach(() => server?.close());

/** Starts a server that sends pieces of 64 KiB. @returns its port. */
async function servePieces(pieces: number, { fails = false }: { fails?: boolean } = {}): Promise<number> {
  taken = 0;
  cleanups = 0;
  async function* generate(): AsyncGenerator<string> {
    for (; taken < pieces; taken += 1) yield 'x'.repeat(65_536);
    if (fails) throw new Error('cut off');
  }
  server = createServer((incoming, response) => {
    const stream = streamWithCleanup(generate(), () => (cleanups += 1));
    void sendPieces(response, stream, incoming.method === 'HEAD');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function requestPieces(
  pieces: number,
  options: { method?: string; fails?: boolean } = {},
): Promise<IncomingMessage> {
  const port = await servePieces(pieces, options);
  return new Promise((resolve, reject) =>
    request({ port, host: '127.0.0.1', method: options.method ?? 'GET' }, resolve)
      .on('error', reject)
      .end(),
  );
}

test('all pieces arrive, and the source is closed', async () => {
  expect((await text(await requestPieces(40))).length).toBe(40 * 65_536);
  expect(cleanups).toBe(1);
});

test('a client that does not read pauses the source; a client that disconnects closes it', async () => {
  const reply = await requestPieces(100_000);
  const more = async (): Promise<number> => {
    const before = taken;
    await pause(200);
    return taken - before;
  };
  await expect.poll(more).toBe(0); // the kernel buffers are full
  expect(taken).toBeLessThan(1000);
  reply.destroy();
  await expect.poll(() => cleanups).toBe(1);
});

test('a source that fails aborts the reply', async () => {
  await expect(text(await requestPieces(3, { fails: true }))).rejects.toThrow('aborted');
  expect(cleanups).toBe(1);
});

test('a source that fails resets an HTTP/1.0 connection, because closing it would mean that the reply is complete', async () => {
  const socket = connect(await servePieces(3, { fails: true }), '127.0.0.1');
  socket.write('GET / HTTP/1.0\r\n\r\n');
  await expect(text(socket)).rejects.toThrow('ECONNRESET');
});

test('a HEAD request takes no piece from the source', async () => {
  expect(await text(await requestPieces(3, { method: 'HEAD' }))).toBe('');
  expect([taken, cleanups]).toEqual([0, 1]);
});

test('the event loop runs other work after each piece, even if the client accepts every piece immediately', async () => {
  const pieces = 50;
  async function* generate(): AsyncGenerator<string> {
    for (let piece = 0; piece < pieces; piece += 1) yield 'x';
  }
  let turns = 0;
  let isSending = true;
  const countTurns = (): void => {
    turns += 1;
    if (isSending) setImmediate(countTurns);
  };
  setImmediate(countTurns);
  const response = { destroyed: false, write: () => true, end: () => {} } as unknown as ServerResponse;
  await sendPieces(response, generate(), false);
  isSending = false;
  expect(turns).toBeGreaterThanOrEqual(pieces - 1);
});
