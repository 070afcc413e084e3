/** The files of one application: the bytes, and when they are removed. */
import { type BlobStore, fileScope, type OpenBlob, unreferencedGraceMilliseconds } from '../base/blob-store.ts';
import type { Clock } from '../base/clock.ts';
import { ConcurrencyLimiter } from '../base/concurrency-limiter.ts';
import type { Logger } from '../base/logger.ts';
import type { Database } from '../database/database.ts';
import type { FileRecord } from '../database/file-rows.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import type { RecordContext } from '../records/record-context.ts';
import type { UploadLimits } from './multipart.ts';
import { sweepFiles } from './sweep-files.ts';
import type { ThumbnailPool } from './thumbnail-pool.ts';
import type { ThumbnailSize } from './thumbnail-size.ts';
import type { OpenThumbnail, Thumbnails } from './thumbnails.ts';

export interface FileStoreParts {
  readonly database: Database;
  readonly blobs: BlobStore;
  readonly uploadLimits: UploadLimits;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly thumbnailPool: ThumbnailPool;
  /** Runs work as the server itself, with the current definitions. */
  readonly asServer: <T>(work: (context: RecordContext) => Promise<T>) => Promise<T>;
}

/** The files of one application. */
export class FileStore {
  readonly uploadLimits: UploadLimits;
  readonly #parts: FileStoreParts;
  readonly #uploads = new ConcurrencyLimiter(limits.uploadsOfSender, limits.uploads);
  #thumbnails: Promise<Thumbnails> | null = null;
  #lastSweepTime = 0;

  constructor(parts: FileStoreParts) {
    this.#parts = parts;
    this.uploadLimits = parts.uploadLimits;
  }

  get blobs(): BlobStore {
    return this.#parts.blobs;
  }

  /**
   * Runs an upload, if the sender does not have too many under way.
   *
   * @throws ApiError `BUSY`
   */
  async withUploadSlot<T>(sender: string, upload: () => Promise<T>): Promise<T> {
    if (this.#uploads.acquire(sender, 1) < 1)
      throw new ApiError('BUSY', 'Too many uploads are under way. Try again later.', { retryAfter: 1 });
    try {
      return await upload();
    } finally {
      this.#uploads.release(sender, 1);
    }
  }

  /** @throws ApiError `RECORD_UNKNOWN` if the bytes were deleted meanwhile. */
  async open(sha256: string): Promise<OpenBlob> {
    const blob = await this.#parts.blobs.open(fileScope, sha256);
    if (!blob) throw new ApiError('RECORD_UNKNOWN', 'The file was deleted.');
    return blob;
  }

  /**
   * Opens a thumbnail of a file that the caller may read.
   *
   * @param sender who requests it, for the limit of concurrent requests.
   * @throws ApiError `THUMBNAIL_UNAVAILABLE`, `BUSY`.
   */
  async openThumbnail(file: FileRecord, size: ThumbnailSize, sender: string): Promise<OpenThumbnail> {
    this.#thumbnails ??= import('./thumbnails.ts').then(({ Thumbnails: Opened }) => new Opened(this.#parts));
    return (await this.#thumbnails).open(file, size, sender);
  }

  /** Removes files that nothing refers to, at most once a day. @param now milliseconds since the Unix epoch. */
  async sweep(now: number): Promise<void> {
    if (now - this.#lastSweepTime < unreferencedGraceMilliseconds) return;
    this.#lastSweepTime = now;
    const { database, blobs, asServer } = this.#parts;
    await sweepFiles({ database, blobs, asServer }, now);
  }
}
