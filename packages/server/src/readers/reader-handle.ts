import { Worker } from 'node:worker_threads';
import type { FromReader, ReaderSettings, ToReader } from './reader-messages.ts';

export interface ReaderHandleParts {
  readonly settings: ReaderSettings;
  readonly onMessage: (message: FromReader) => void;
  /** Called once. @param error null after a stop. */
  readonly onEnd: (error: unknown) => void;
}

/** Memory of a reader's heap. A reader that needs more ends, and is replaced. */
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 4 };
/** How long a reader has to close an application. */
const closeMilliseconds = 2000;
/** How long a reader has to stop; running requests have three seconds of it. */
const stopMilliseconds = 3500;

/** One reader thread, as the main thread sees it. */
export class ReaderHandle {
  readonly #worker: Worker;
  readonly #parts: ReaderHandleParts;
  readonly #ended = Promise.withResolvers<void>();
  /** Waiting for applications to be closed, by name. */
  readonly #closing = new Map<string, () => void>();
  #error: unknown = null;
  isListening = false;

  constructor(parts: ReaderHandleParts) {
    this.#parts = parts;
    this.#worker = new Worker(new URL('../reader-thread.ts', import.meta.url), {
      workerData: parts.settings,
      resourceLimits,
      name: 'reader',
    });
    this.#worker.on('message', (message: FromReader) => this.#receive(message));
    this.#worker.on('error', (error) => {
      this.#error = error;
    });
    this.#worker.on('exit', (code) => {
      this.isListening = false;
      this.#ended.resolve();
      for (const resolve of this.#closing.values()) resolve();
      parts.onEnd(this.#error ?? (code === 0 ? null : new Error(`the thread ended with the code ${code}`)));
    });
  }

  send(message: ToReader): void {
    this.#worker.postMessage(message);
  }

  /** Resolves when the reader has no file of the application open. */
  async closeApplication(name: string): Promise<void> {
    if (!this.isListening) return; // until then, it has opened no application but main
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#closing.set(name, resolve);
    const timer = setTimeout(() => void this.terminate(), closeMilliseconds);
    this.send({ kind: 'close', name });
    await Promise.race([promise, this.#ended.promise]);
    clearTimeout(timer);
    this.#closing.delete(name);
  }

  /** Lets running requests end. */
  async stop(): Promise<void> {
    if (!this.isListening) return this.terminate();
    const timer = setTimeout(() => void this.terminate(), stopMilliseconds);
    this.send({ kind: 'stop' });
    await this.#ended.promise;
    clearTimeout(timer);
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  #receive(message: FromReader): void {
    if (message.kind === 'listening') this.isListening = true;
    if (message.kind === 'closed') this.#closing.get(message.name)?.();
    this.#parts.onMessage(message);
  }
}
