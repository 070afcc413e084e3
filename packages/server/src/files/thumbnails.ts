/**
 * The thumbnails of the pictures of one application. A thumbnail is made when it is first requested, once for all
 * requests and all servers, and stored next to the files. Callers have already checked that the file may be read.
 */
import { hash } from 'node:crypto';
import { fileScope, type OpenBlob, thumbnailScope } from '../base/blob-store.ts';
import { isoTime } from '../base/clock.ts';
import type { FileRecord } from '../database/file-rows.ts';
import {
  claimThumbnail,
  readThumbnailState,
  releaseThumbnail,
  renewThumbnailClaim,
  storeThumbnail,
  storeThumbnailFailure,
  type ThumbnailKey,
  type ThumbnailState,
} from '../database/thumbnail-rows.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import type { FileStoreParts } from './file-store.ts';
import { PictureProcessFailed, UndecodablePicture } from './picture-process.ts';
import { type MakeThumbnail, ThumbnailPoolClosed } from './thumbnail-pool.ts';
import { formatThumbnailSize, type ThumbnailSize } from './thumbnail-size.ts';

/** The detected types for which thumbnails are made. */
const pictureTypes: ReadonlySet<string | null> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/tiff',
]);
/** A server renews its claims. An older claim belongs to a server that has died. */
const claimMilliseconds = 15_000;
const renewalMilliseconds = 4000;
/** Maximum attempts that end without a result because the server died. The thumbnail is not tried again after them. */
const maxAttempts = 2;
/** How long no thumbnail of a picture is tried again after a failure. */
const failureMilliseconds = 24 * 3_600_000;
/** How often a request looks whether another server has made the thumbnail. */
const pollMilliseconds = 200;

export interface OpenThumbnail {
  readonly file: OpenBlob;
  /** SHA-256 in hexadecimal digits. */
  readonly hash: string;
}

type ThumbnailsParts = Pick<FileStoreParts, 'database' | 'blobs' | 'clock' | 'logger' | 'thumbnailPool'>;

export class Thumbnails {
  readonly #parts: ThumbnailsParts;
  readonly #making = new Map<string, Promise<void>>();
  /** The pool throws the same error until it tries again. */
  #loggedError: unknown = null;

  constructor(parts: ThumbnailsParts) {
    this.#parts = parts;
  }

  /**
   * Opens a thumbnail, and makes it if necessary.
   *
   * @param sender who requests it, for the limit of concurrent requests.
   * @throws ApiError `THUMBNAIL_UNAVAILABLE`, `BUSY`.
   */
  async open(file: FileRecord, size: ThumbnailSize, sender: string): Promise<OpenThumbnail> {
    if (!pictureTypes.has(file.detectedType) || file.size > limits.thumbnailSourceBytes) throw unavailableError();
    const key: ThumbnailKey = { source: file.sha256, variant: formatThumbnailSize(size) };
    const end = performance.now() + limits.thumbnailWaitMilliseconds;
    for (;;) {
      const state = await this.#readState(key);
      const open = await this.#openStored(state);
      if (open) return open;
      const missingBlob = state.state === 'stored' ? state.sha256 : null;
      if (state.state === 'claimed' && !this.#making.has(formatKey(key))) await this.#waitForOther(end);
      else await this.#makeOnce(key, () => this.#make({ file, size, key, missingBlob }, sender));
    }
  }

  #readState(key: ThumbnailKey): Promise<ThumbnailState> {
    const { database, clock } = this.#parts;
    return readThumbnailState(database, key, {
      claimedSince: this.#claimedSince(),
      failedSince: isoTime(clock.now() - failureMilliseconds),
    });
  }

  #claimedSince(): string {
    return isoTime(this.#parts.clock.now() - claimMilliseconds);
  }

  /** Null if it must be made: also if its bytes are missing, as after a restore of a backup. */
  async #openStored(state: ThumbnailState): Promise<OpenThumbnail | null> {
    if (state.state === 'failed') throw unavailableError();
    if (state.state !== 'stored') return null;
    const file = await this.#parts.blobs.open(thumbnailScope, state.sha256);
    return file && { file, hash: state.sha256 };
  }

  async #waitForOther(end: number): Promise<void> {
    if (performance.now() > end)
      throw new ApiError('BUSY', 'Another server is making the thumbnail. Try again later.', { retryAfter: 2 });
    await new Promise((resolve) => setTimeout(resolve, pollMilliseconds));
  }

  /** Requests for a thumbnail that is being made wait for it. */
  #makeOnce(key: ThumbnailKey, make: () => Promise<void>): Promise<void> {
    const name = formatKey(key);
    const running = this.#making.get(name);
    if (running) return running;
    const making = make().finally(() => this.#making.delete(name));
    this.#making.set(name, making);
    return making;
  }

  async #make(job: ThumbnailJob, sender: string): Promise<void> {
    const { database, clock, thumbnailPool, logger } = this.#parts;
    const { key, missingBlob } = job;
    try {
      await thumbnailPool.run(sender, async (make) => {
        const time = isoTime(clock.now());
        const attempts = await claimThumbnail(database, key, { time, claimedSince: this.#claimedSince(), missingBlob });
        if (attempts === null) return; // another server was faster
        if (attempts > maxAttempts) await storeThumbnailFailure(database, key, time);
        else await this.#makeClaimed(job, make);
      });
    } catch (error) {
      if (error instanceof ThumbnailPoolClosed)
        throw new ApiError('STOPPING', 'The server is stopping.', { retryAfter: 5 });
      if (!(error instanceof PictureProcessFailed)) throw error;
      if (error !== this.#loggedError) logger.error({ err: error }, 'No thumbnails can be made.');
      this.#loggedError = error;
      throw new ApiError('THUMBNAIL_UNAVAILABLE', 'This server cannot make thumbnails now. Its log gives the reason.');
    }
  }

  /** Stores the thumbnail, or that there is none. Every other failure releases the claim. */
  async #makeClaimed({ file, size, key }: ThumbnailJob, make: MakeThumbnail): Promise<void> {
    const { database, blobs, clock, logger } = this.#parts;
    const renewal = setInterval(() => {
      void renewThumbnailClaim(database, key, isoTime(clock.now())).catch(() => {}); // the next renewal may succeed
    }, renewalMilliseconds);
    try {
      const source = await blobs.open(fileScope, key.source);
      if (!source) throw new ApiError('RECORD_UNKNOWN', 'The file was deleted.');
      const { detectedType } = file;
      const read = (): AsyncIterable<Uint8Array> => source.read(0, source.size - 1);
      const bytes = await make({ type: detectedType ?? '', size: source.size, read }, size);
      const sha256 = hash('sha256', bytes);
      await blobs.put(thumbnailScope, [{ sha256, bytes }]);
      await storeThumbnail(database, key, sha256, isoTime(clock.now()));
    } catch (error) {
      if (error instanceof UndecodablePicture) {
        logger.info({ file: file.id, reason: error.message }, 'No thumbnail can be made of a file.');
        await storeThumbnailFailure(database, key, isoTime(clock.now()));
        return;
      }
      await releaseThumbnail(database, key).catch(() => {}); // if this fails, the claim expires later
      throw error;
    } finally {
      clearInterval(renewal);
    }
  }
}

interface ThumbnailJob {
  readonly file: FileRecord;
  readonly size: ThumbnailSize;
  readonly key: ThumbnailKey;
  /** The blob of the stored thumbnail, if its bytes are missing. */
  readonly missingBlob: string | null;
}

function formatKey({ source, variant }: ThumbnailKey): string {
  return `${source} ${variant}`;
}

function unavailableError(): ApiError {
  return new ApiError(
    'THUMBNAIL_UNAVAILABLE',
    'No thumbnail can be made of this file. Leave out "width", "height" and "fit" to read its bytes.',
  );
}
