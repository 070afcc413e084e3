/**
 * A reader: a thread that listens on the port of the server, answers reads of records from its own connections to the stores, and hands
 * every other request over to the main thread.
 */
import type { Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from './base/clock.ts';
import { collectWhenIdle } from './base/idle-collection.ts';
import type { Tracing } from './base/tracing/tracing.ts';
import type { TracingConfig } from './base/tracing-config.ts';
import type { SharedStore } from './database/shared-store.ts';
import { ReaderDatabase } from './database/sqlite/reader-database.ts';
import { sendConnection } from './readers/moved-connections.ts';
import type { ReaderSettings, ToReader } from './readers/reader-messages.ts';
import { ReaderThread } from './readers/reader-thread.ts';

if (!parentPort) throw new Error('This module is a thread of the server.');
const port = parentPort;
const settings = workerData as ReaderSettings;
const traced = settings.tracing && (await traceReader(settings.tracing));
const thread = new ReaderThread({
  settings,
  clock: systemClock,
  openStore: (store) => traced?.openStore(store) ?? new ReaderDatabase(store),
  tracing: traced?.tracing ?? null,
  send: (message) => port.postMessage(message),
  moveConnection: (socket, first) => sendConnection(port, socket, first),
  refuseRaw: (error, socket) => void refuseRaw(error, socket),
});
port.on('message', (message: ToReader) => {
  if (message.kind === 'stop') void thread.stop().then(() => process.exit(0));
  else thread.receive(message);
});
await thread.start();
collectWhenIdle();

interface TracedReader {
  readonly tracing: Tracing;
  readonly openStore: (store: SharedStore) => ReaderDatabase;
}

async function traceReader(config: TracingConfig): Promise<TracedReader> {
  const { Tracing } = await import('./base/tracing/tracing.ts');
  const { traceReads } = await import('./database/traced-database.ts');
  const tracing = new Tracing(config, (message) => port.postMessage({ kind: 'warning', message }));
  return { tracing, openStore: (store) => traceReads(new ReaderDatabase(store), tracing, 'sqlite') };
}

/** Loaded when it is first needed: it costs memory. */
async function refuseRaw(error: unknown, socket: Socket): Promise<void> {
  const [{ Replies }, { makeLogger }] = await Promise.all([import('./http/replies.ts'), import('./base/logger.ts')]);
  new Replies(makeLogger('silent'), '').refuseRaw(error, socket);
}
