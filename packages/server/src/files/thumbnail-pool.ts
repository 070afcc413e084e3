import { ConcurrencyLimiter } from '../base/concurrency-limiter.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import type { Picture, PictureLimits, PictureProcess } from './picture-process.ts';
import type { ThumbnailSize } from './thumbnail-size.ts';

export interface ThumbnailPoolOptions extends Partial<PictureLimits> {
  /** Maximum number of processes. */
  readonly processes?: number;
  /** Time without work after which a process ends. */
  readonly idleMilliseconds?: number;
}

/** The pool was closed: the server stops. */
export class ThumbnailPoolClosed extends Error {
  override readonly name = 'ThumbnailPoolClosed';
}

/** Makes one thumbnail. @throws UndecodablePicture; PictureProcessFailed; and the error of the picture's `read`. */
export type MakeThumbnail = (picture: Picture, size: ThumbnailSize) => Promise<Uint8Array>;

interface Waiting {
  readonly timer: NodeJS.Timeout;
  start(): void;
  reject(error: Error): void;
}

/** After a process could not be started, none is started for this time. */
const failureMilliseconds = 60_000;

/**
 * The processes that make thumbnails for all applications of a server. They are started on demand, and end when they are idle. One
 * that crashes or takes too long is replaced.
 */
export class ThumbnailPool {
  readonly #limits: PictureLimits;
  readonly #maxProcesses: number;
  readonly #idleMilliseconds: number;
  readonly #senders = new ConcurrencyLimiter(limits.thumbnailRequestsOfSender, limits.thumbnailRequests);
  readonly #waiting: Waiting[] = [];
  readonly #processes = new Set<PictureProcess>();
  readonly #idle = new Map<PictureProcess, NodeJS.Timeout>();
  #running = 0;
  #failure: { readonly error: unknown; readonly until: number } | null = null;
  #isClosed = false;

  constructor(options: ThumbnailPoolOptions = {}) {
    this.#limits = {
      pixels: options.pixels ?? limits.thumbnailPixels,
      memoryBytes: options.memoryBytes ?? limits.thumbnailMemoryBytes,
      milliseconds: options.milliseconds ?? limits.thumbnailMilliseconds,
    };
    this.#maxProcesses = options.processes ?? limits.thumbnailProcesses;
    this.#idleMilliseconds = options.idleMilliseconds ?? 30_000;
  }

  /** The current number of processes. */
  get size(): number {
    return this.#processes.size;
  }

  /**
   * Runs work when a process is free for it.
   *
   * @param sender requests of one sender have a limit of their own.
   * @throws ApiError `BUSY`; ThumbnailPoolClosed; and what the work throws.
   */
  async run<T>(sender: string, work: (make: MakeThumbnail) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new ThumbnailPoolClosed('the pool of thumbnails is closed');
    if (this.#senders.acquire(sender, 1) < 1) throw busyError();
    try {
      await this.#waitForProcess();
      try {
        return await work((picture, size) => this.#make(picture, size));
      } finally {
        this.#running -= 1;
        this.#waiting.shift()?.start();
      }
    } finally {
      this.#senders.release(sender);
    }
  }

  /** Ends all processes. */
  close(): void {
    this.#isClosed = true;
    for (const { timer, reject } of this.#waiting.splice(0)) {
      clearTimeout(timer);
      reject(new ThumbnailPoolClosed('the pool of thumbnails is closed'));
    }
    for (const process of this.#processes) this.#end(process);
  }

  async #waitForProcess(): Promise<void> {
    if (this.#running < this.#maxProcesses) this.#running += 1;
    else
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => {
          this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
          reject(busyError());
        }, limits.thumbnailWaitMilliseconds);
        const start = (): void => {
          clearTimeout(timer);
          this.#running += 1;
          resolve();
        };
        const waiting: Waiting = { timer, start, reject };
        this.#waiting.push(waiting);
      });
  }

  async #make(picture: Picture, size: ThumbnailSize): Promise<Uint8Array> {
    const process = this.#takeIdle() ?? (await this.#start());
    try {
      return await process.makeThumbnail(picture, size);
    } catch (error) {
      throw this.#isClosed ? new ThumbnailPoolClosed('the pool of thumbnails is closed') : error;
    } finally {
      if (process.isUsable && !this.#isClosed) this.#markIdle(process);
      else this.#end(process);
    }
  }

  async #start(): Promise<PictureProcess> {
    if (this.#failure && performance.now() < this.#failure.until) throw this.#failure.error;
    const { PictureProcess: Process } = await import('./picture-process.ts');
    try {
      const process = await Process.start(this.#limits);
      if (this.#isClosed) process.end();
      this.#failure = null;
      this.#processes.add(process);
      return process;
    } catch (error) {
      this.#failure = { error, until: performance.now() + failureMilliseconds };
      throw error;
    }
  }

  #takeIdle(): PictureProcess | null {
    for (const [process, timer] of this.#idle) {
      clearTimeout(timer);
      this.#idle.delete(process);
      if (process.isUsable) return process;
      this.#end(process);
    }
    return null;
  }

  #markIdle(process: PictureProcess): void {
    this.#idle.set(process, setTimeout(() => this.#end(process), this.#idleMilliseconds).unref());
  }

  #end(process: PictureProcess): void {
    clearTimeout(this.#idle.get(process));
    this.#idle.delete(process);
    this.#processes.delete(process);
    process.end();
  }
}

function busyError(): ApiError {
  return new ApiError('BUSY', 'Too many thumbnails are being made. Try again later.', { retryAfter: 2 });
}
