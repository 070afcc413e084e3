/**
 * The reader threads of a server on SQLite. Each of them listens on the port of the server, answers reads of records, and hands every other
 * request over to the main thread.
 */
import { availableParallelism } from 'node:os';
import { type Application, mainApplicationName } from '../applications/application.ts';
import type { Applications } from '../applications/applications.ts';
import { readTraits } from '../applications/system-definitions.ts';
import { type Config, listAppKeys } from '../base/config.ts';
import type { Logger } from '../base/logger.ts';
import type { HealthReporter } from '../base/server-health.ts';
import type { StoreSharing } from '../database/shared-store.ts';
import type { Extension } from '../extensions/extension.ts';
import type { ReaderCount } from '../http/health.ts';
import type { HttpServer } from '../http/http-server.ts';
import { createSharedRequestWindows, type SharedRequestWindows } from '../http/rate-limits.ts';
import type { SlowRequest } from '../http/slow-requests.ts';
import { HandOverListener } from './hand-over-listener.ts';
import { receiveConnection } from './moved-connections.ts';
import { ReaderHandle } from './reader-handle.ts';
import type { FromReader, ReaderSettings, ReaderUses, SharedApplication } from './reader-messages.ts';
import { WriteReceiver } from './write-receiver.ts';

export interface ReaderPoolParts {
  readonly config: Config;
  readonly sharing: StoreSharing;
  readonly logger: Logger;
  readonly report: HealthReporter;
  /** The number of threads. */
  readonly count: number;
  /** They may have hooks, which only the main thread calls. */
  readonly extensions: readonly Extension[];
}

/** The number of readers if the setting does not name one. */
const maxDefaultReaders = 8;
const minRestartMilliseconds = 100;
const maxRestartMilliseconds = 10_000;
/** A reader that has run for this long is replaced at once. */
const stableMilliseconds = 60_000;

/** The number of readers of a server: none where several threads cannot listen on one port. */
export function countReaders(configured: number | null, logger: Logger): number {
  const count = configured ?? Math.min(availableParallelism() - 1, maxDefaultReaders);
  if (count === 0 || process.platform === 'linux') return count;
  if (configured !== null) logger.warn('READERS is ignored: on this system, threads cannot share a port.');
  return 0;
}

/** Starts readers, replaces those that fail, and informs them which applications they may read. */
export class ReaderPool implements ReaderCount {
  readonly configured: number;
  readonly windows: SharedRequestWindows;
  readonly #parts: ReaderPoolParts;
  readonly #handles = new Set<ReaderHandle>();
  /** The applications that readers may have open, by name. */
  readonly #shared = new Map<string, Application>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #applications: Applications | null = null;
  #settings: ReaderSettings | null = null;
  #http: HttpServer | null = null;
  #listener: HandOverListener | null = null;
  #beginning: Promise<void> | null = null;
  /** Open connections by reader. */
  readonly #connections = new Map<ReaderHandle, number>();
  #restartMilliseconds = minRestartMilliseconds;
  #stopping = false;
  /** Requests that readers have answered, and handed over, since the server started. */
  answered = 0;
  handedOver = 0;

  constructor(parts: ReaderPoolParts) {
    this.#parts = parts;
    this.configured = parts.count;
    this.windows = createSharedRequestWindows(parts.config);
  }

  get running(): number {
    return this.handles.length;
  }

  /** Open connections of all readers. */
  get connections(): number {
    let sum = 0;
    for (const count of this.#connections.values()) sum += count;
    return sum;
  }

  /** The threads that are listening. */
  get handles(): readonly ReaderHandle[] {
    return [...this.#handles].filter((each) => each.isListening);
  }

  /** Starts the threads. The server must be listening. Never rejects. */
  begin(http: HttpServer, applications: Applications): void {
    this.#beginning = this.#begin(http, applications).catch((error: unknown) => {
      this.#parts.logger.error({ err: error }, 'The reader threads could not be started.');
      this.#parts.report({ severity: 'warning', message: 'The reader threads could not be started.' });
    });
  }

  /** Ends the reads of an application that is being closed. Resolves when no reader has its file open. */
  async endSharing(application: Application): Promise<void> {
    const { name, database } = application;
    if (this.#shared.get(name) !== application) return;
    this.#parts.sharing.withdraw(database);
    await Promise.all([...this.#handles].map((each) => each.closeApplication(name)));
    this.#shared.delete(name);
  }

  /** Lets running requests end, then ends the threads. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#beginning;
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all([...this.#handles].map((each) => each.stop()));
    await this.#listener?.close();
  }

  async #begin(http: HttpServer, applications: Applications): Promise<void> {
    const { config, extensions } = this.#parts;
    const { corsOrigins, trustedProxies, dataDir, slowRequestMilliseconds, tracing } = config;
    this.#applications = applications;
    this.#http = http;
    this.#listener = await HandOverListener.open(dataDir, (socket) => http.takeOver(socket));
    const { address, port } = http.boundAddress;
    this.#settings = {
      host: address,
      port,
      handOverPath: this.#listener.path,
      appKeys: listAppKeys(config),
      corsOrigins,
      isBehindProxies: trustedProxies !== null,
      windows: this.windows,
      extensionActions: new Set(extensions.flatMap(({ actions = [] }) => actions.map(({ action }) => action))),
      plansWrites: extensions.length === 0 && tracing === null,
      systemTraits: readTraits,
      main: this.#share(applications.main),
      slowMilliseconds: slowRequestMilliseconds,
      tracing,
    };
    if (!this.#stopping)
      for (let index = 0; index < this.configured; index += 1) this.#start(this.#settings, applications);
  }

  #share(application: Application): SharedApplication {
    this.#shared.set(application.name, application);
    return { name: application.name, ...this.#parts.sharing.share(application.database) };
  }

  #start(settings: ReaderSettings, applications: Applications): void {
    const startedAt = performance.now();
    const writes = new WriteReceiver(applications, (outcomes) => handle.send({ kind: 'written', outcomes }));
    const handle: ReaderHandle = new ReaderHandle({
      settings,
      onMessage: (message) =>
        message.kind === 'writes' ? writes.receive(message.writes) : this.#receive(message, handle),
      onEnd: (error) => {
        this.#handles.delete(handle);
        this.#connections.delete(handle);
        if (!this.#stopping)
          this.#replace(() => this.#start(settings, applications), performance.now() - startedAt, error);
      },
    });
    this.#handles.add(handle);
  }

  /** Only the requests of the reader that has failed are lost. */
  #replace(start: () => void, age: number, error: unknown): void {
    this.#restartMilliseconds =
      age > stableMilliseconds
        ? minRestartMilliseconds
        : Math.min(2 * this.#restartMilliseconds, maxRestartMilliseconds);
    this.#parts.logger.error({ err: error }, 'A reader thread has ended. It is replaced.');
    this.#parts.report({ severity: 'warning', message: 'A reader thread has ended and is replaced.' });
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      start();
    }, this.#restartMilliseconds);
    this.#timers.add(timer);
  }

  #receive(message: FromReader, handle: ReaderHandle): void {
    if (message.kind === 'connection') receiveConnection(message, (socket) => this.#http?.takeOver(socket));
    if (message.kind === 'listening' && this.running === this.configured) this.#parts.report(null);
    if (message.kind === 'requests') {
      this.answered += message.requests.answered;
      this.handedOver += message.requests.handedOver;
      this.#http?.metrics.add(message.requests.actions);
      this.#connections.set(handle, message.requests.connections);
    }
    if (message.kind === 'wanted') this.#open(message.name, handle);
    if (message.kind === 'uses') for (const uses of message.uses) this.#addUses(uses);
    if (message.kind === 'slow') void this.#logSlow(message.request);
    if (message.kind === 'warning') this.#parts.logger.warn(`A reader thread reports: ${message.message}`);
  }

  async #logSlow(request: SlowRequest): Promise<void> {
    const { logSlowRequest } = await import('../http/slow-requests.ts');
    logSlowRequest(this.#parts.logger, request);
  }

  /** If the application is not open, the request that wanted it opens it, and the reader asks again. */
  #open(name: string, handle: ReaderHandle): void {
    const lease = this.#applications?.leaseOpen(name);
    lease?.release();
    const application = lease?.application;
    if (!application || name === mainApplicationName || this.#stopping) return;
    const present = this.#shared.get(name);
    if (present !== undefined && present !== application) return; // the former one is still being closed
    handle.send({ kind: 'open', application: this.#share(application) });
  }

  #addUses({ name, keys, credentials, shapes }: ReaderUses): void {
    const application = this.#shared.get(name);
    this.#applications?.leaseOpen(name)?.release(); // it counts as used
    application?.authenticator.addUses(credentials);
    application?.shapes.add(shapes, application.registry);
    for (const key of keys) application?.journal.keyUse.add(key);
  }
}
