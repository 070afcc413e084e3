import type { Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import type { Tracing } from '../base/tracing/tracing.ts';
import type { ReadOnlyStore, SharedStore } from '../database/shared-store.ts';
import type { SlowRequest } from '../http/slow-requests.ts';
import type { MoveConnection } from './hand-over.ts';
import { ReaderAnswers } from './reader-answers.ts';
import { ReaderApplication } from './reader-application.ts';
import type { FromReader, ReaderSettings, SharedApplication, ToReader } from './reader-messages.ts';
import { ReaderServer } from './reader-server.ts';
import { WriteSender } from './write-sender.ts';

export interface ReaderThreadParts {
  readonly settings: ReaderSettings;
  readonly clock: Clock;
  readonly openStore: (store: SharedStore) => ReadOnlyStore;
  readonly send: (message: FromReader) => void;
  readonly moveConnection: MoveConnection;
  readonly refuseRaw: (error: unknown, socket: Socket) => void;
  /** Null: no traces are sent. */
  readonly tracing: Tracing | null;
}

/** How often the uses of credentials and the numbers of requests are reported. */
const reportMilliseconds = 250;
/** Minimum interval between requests to open the same applications. */
const wantedMilliseconds = 250;

/** The work of one reader thread. */
export class ReaderThread {
  readonly #parts: ReaderThreadParts;
  /** The open applications by name. */
  readonly #applications = new Map<string, ReaderApplication>();
  readonly #server: ReaderServer;
  readonly #writes: WriteSender;
  #wanted = new Set<string>();
  #wantedSince = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: ReaderThreadParts) {
    this.#parts = parts;
    this.#writes = new WriteSender((writes) => parts.send({ kind: 'writes', writes }));
    const answers = new ReaderAnswers({ ...parts.settings, findApplication: (name) => this.#find(name) });
    const { moveConnection, refuseRaw, tracing } = parts;
    const reportSlow = (request: SlowRequest): void => parts.send({ kind: 'slow', request });
    this.#server = new ReaderServer({ ...parts.settings, answers, moveConnection, refuseRaw, reportSlow, tracing });
  }

  /** Opens `main` and listens. */
  async start(): Promise<void> {
    await this.#open(this.#parts.settings.main);
    await this.#server.listen();
    this.#timer = setInterval(() => this.#report(), reportMilliseconds).unref();
    this.#parts.send({ kind: 'listening' });
  }

  receive(message: Exclude<ToReader, { kind: 'stop' }>): void {
    if (message.kind === 'written') {
      this.#writes.receive(message.outcomes);
      return;
    }
    const work = message.kind === 'open' ? this.#open(message.application) : this.#close(message.name);
    work.catch((error: unknown) => this.#parts.send({ kind: 'warning', message: (error as Error).message }));
  }

  /** Lets running requests end, and closes the stores. */
  async stop(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    await this.#server.close();
    this.#report();
    for (const name of [...this.#applications.keys()]) await this.#close(name);
    await this.#parts.tracing?.close();
  }

  #find(name: string): ReaderApplication | null {
    const application = this.#applications.get(name);
    if (application) return application;
    const now = performance.now();
    if (now - this.#wantedSince > wantedMilliseconds) {
      this.#wantedSince = now;
      this.#wanted = new Set();
    }
    if (this.#wanted.has(name) || name.length > maxNameLength) return null;
    this.#wanted.add(name);
    this.#parts.send({ kind: 'wanted', name });
    return null;
  }

  async #open({ name, ...store }: SharedApplication): Promise<void> {
    if (this.#applications.has(name)) return;
    const { appKeys, systemTraits } = this.#parts.settings;
    const opened = this.#parts.openStore(store);
    const { clock } = this.#parts;
    const writes = this.#writes;
    const application = new ReaderApplication({ name, store: opened, appKeys, systemTraits, clock, writes });
    this.#applications.set(name, application);
    await application.open();
  }

  async #close(name: string): Promise<void> {
    const application = this.#applications.get(name);
    this.#applications.delete(name);
    try {
      await application?.settle(); // writes that the main thread executes are acknowledged and counted
      const uses = application?.takeUses();
      if (uses) this.#parts.send({ kind: 'uses', uses: [uses] });
      await application?.close();
    } finally {
      this.#parts.send({ kind: 'closed', name });
    }
  }

  #report(): void {
    const uses = [...this.#applications.values()].map((each) => each.takeUses()).filter((each) => each !== null);
    if (uses.length > 0) this.#parts.send({ kind: 'uses', uses });
    const requests = this.#server.takeCounts();
    if (requests) this.#parts.send({ kind: 'requests', requests });
  }
}

/** Longer names belong to no application. */
const maxNameLength = 100;
