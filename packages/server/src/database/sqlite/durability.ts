import { type FileHandle, open } from 'node:fs/promises';
import { processCounters } from '../../base/metrics.ts';
import { DatabaseFault } from '../database.ts';

/** Forces a file's content to the disk; tests inject their own to fail or to watch the order. */
export type SyncFile = (handle: FileHandle) => Promise<void>;

/**
 * Makes commits durable off the event loop: one fdatasync of the write-ahead log covers every commit before it began.
 *
 * After one failed sync, nothing is acknowledged any more: the kernel may have dropped the pages that it could not
 * write, and a later successful sync does not cover them. Only the log is opened here, never the main file: POSIX drops
 * SQLite's locks when any descriptor of that file is closed.
 */
export class Durability {
  readonly #path: string;
  readonly #syncFile: SyncFile;
  #handle: FileHandle | null = null;
  #running = false;
  #waiting: { resolve(): void; reject(error: unknown): void }[] = [];
  #failure: DatabaseFault | null = null;

  constructor(logPath: string, syncFile: SyncFile = (handle) => handle.datasync()) {
    this.#path = logPath;
    this.#syncFile = syncFile;
  }

  /** The fault that ended acknowledging, or null. */
  get failure(): DatabaseFault | null {
    return this.#failure;
  }

  /** Resolves when everything committed before this call is on the disk. */
  sync(): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      if (!this.#running) void this.#drain();
    });
  }

  async close(): Promise<void> {
    await this.#handle?.close();
    this.#handle = null;
  }

  async #drain(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) {
      const covered = this.#waiting;
      this.#waiting = [];
      const startedAt = performance.now();
      try {
        this.#handle ??= await open(this.#path, 'r+');
        await this.#syncFile(this.#handle);
      } catch (error) {
        this.#failure ??= new DatabaseFault('disk', error);
      }
      processCounters.syncs += 1;
      processCounters.syncedWrites += covered.length;
      processCounters.syncSeconds += (performance.now() - startedAt) / 1000;
      for (const each of covered) {
        if (this.#failure) each.reject(this.#failure);
        else each.resolve();
      }
    }
    this.#running = false;
  }
}
