/**
 * A reader: a thread that listens on the port of the server, answers reads of records from its own connections to the stores, and hands
 * every other request over to the main thread.
 */
import type { Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from './base/clock.ts';
import { ReaderDatabase } from './database/sqlite/reader-database.ts';
import type { ReaderSettings, ToReader } from './readers/reader-messages.ts';
import { ReaderThread } from './readers/reader-thread.ts';

if (!parentPort) throw new Error('This module is a thread of the server.');
const port = parentPort;
const thread = new ReaderThread({
  settings: workerData as ReaderSettings,
  clock: systemClock,
  openStore: (store) => new ReaderDatabase(store),
  send: (message) => port.postMessage(message),
  refuseRaw: (error, socket) => void refuseRaw(error, socket),
});
port.on('message', (message: ToReader) => {
  if (message.kind === 'stop') void thread.stop().then(() => process.exit(0));
  else thread.receive(message);
});
await thread.start();

/** Loaded when it is first needed: it costs memory. */
async function refuseRaw(error: unknown, socket: Socket): Promise<void> {
  const [{ Replies }, { makeLogger }] = await Promise.all([import('./http/replies.ts'), import('./base/logger.ts')]);
  new Replies(makeLogger('silent'), '').refuseRaw(error, socket);
}
