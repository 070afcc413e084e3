import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { getCompileCacheDir } from 'node:module';
import { constants, setPriority } from 'node:os';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { limits } from '../protocol/limits.ts';
import type { ThumbnailReply, ThumbnailRequest } from './thumbnail-process.ts';
import type { ThumbnailSize } from './thumbnail-size.ts';

/** A picture for which a thumbnail is made. */
export interface Picture {
  /** The media type that was detected from the first bytes. */
  readonly type: string;
  readonly size: number;
  readonly read: () => AsyncIterable<Uint8Array>;
}

/** The limits of one thumbnail. */
export interface PictureLimits {
  readonly pixels: number;
  readonly memoryBytes: number;
  /** For decoding, after all bytes of the picture have arrived. */
  readonly milliseconds: number;
}

/** No thumbnail can be made of the picture: it is damaged, too large, or its decoder crashed or took too long. */
export class UndecodablePicture extends Error {
  override readonly name = 'UndecodablePicture';
}

/** Thumbnails cannot be made now, whatever the picture. */
export class PictureProcessFailed extends Error {
  override readonly name = 'PictureProcessFailed';
}

const startMilliseconds = 30_000;
/** After this many thumbnails a process is replaced, so that its memory does not grow. */
const maxThumbnails = 200;

/** A process that makes thumbnails, one at a time (`thumbnail-process.ts`). */
export class PictureProcess {
  readonly #child: ChildProcess;
  readonly #limits: PictureLimits;
  #thumbnails = 0;
  #isEnded = false;
  /** Receives the next reply. */
  #onReply: (reply: ThumbnailReply | 'ended') => void = () => {};

  private constructor(child: ChildProcess, pictureLimits: PictureLimits) {
    this.#child = child;
    this.#limits = pictureLimits;
    child.on('message', (reply: ThumbnailReply) => this.#onReply(reply));
    child.once('exit', () => {
      this.#isEnded = true;
      this.#onReply('ended');
    });
    child.on('error', () => this.end());
    child.stdin?.on('error', () => {}); // the writer notices that the process has ended
  }

  /** @throws PictureProcessFailed if the library or its binary for this platform is missing. */
  static async start(pictureLimits: PictureLimits): Promise<PictureProcess> {
    const { fork } = await import('node:child_process');
    const child = fork(fileURLToPath(new URL('./thumbnail-process.ts', import.meta.url)), [], {
      serialization: 'advanced',
      execArgv: ['--max-old-space-size=128'],
      env: buildEnvironment(),
      stdio: ['pipe', 'ignore', 'ignore', 'ipc'],
    });
    const process = new PictureProcess(child, pictureLimits);
    const reply = await withTimeLimit(process.#expectReply(), startMilliseconds);
    if (typeof reply === 'object' && reply.kind === 'ready') {
      lowerPriority(child);
      return process;
    }
    process.end();
    const reason = typeof reply === 'object' && reply.kind === 'unavailable' ? reply.reason : 'it ended at once';
    throw new PictureProcessFailed(`The process that makes thumbnails could not be started: ${reason}`);
  }

  /** Whether it can make another thumbnail. */
  get isUsable(): boolean {
    return !this.#isEnded && this.#thumbnails < maxThumbnails;
  }

  /**
   * Makes a thumbnail in the format WebP.
   *
   * @throws UndecodablePicture; PictureProcessFailed; and the error of the picture's `read`.
   */
  async makeThumbnail(picture: Picture, { width, height, fit }: ThumbnailSize): Promise<Uint8Array> {
    this.#thumbnails += 1;
    const { pixels, memoryBytes, milliseconds } = this.#limits;
    const request: ThumbnailRequest = {
      ...{ width, height, fit, type: picture.type, bytes: picture.size },
      ...{ maxPixels: pixels, maxMemoryBytes: memoryBytes },
    };
    const coming = this.#expectReply(); // the process may reply before the last byte counts as sent
    try {
      await this.#send(request, picture);
      const reply = await withTimeLimit(coming, milliseconds);
      if (reply === 'time') throw new UndecodablePicture(`decoding took longer than ${milliseconds / 1000} seconds`);
      if (reply === 'ended') throw new UndecodablePicture('decoding needed too much memory, or crashed');
      if (reply.kind === 'thumbnail') return reply.bytes;
      if (reply.kind === 'undecodable') throw new DecoderRefusal(reply.reason);
      throw new PictureProcessFailed('The process that makes thumbnails sent an unknown reply.');
    } catch (error) {
      // Only a process that has replied can take another picture.
      if (!(error instanceof DecoderRefusal)) this.end();
      throw error;
    }
  }

  end(): void {
    this.#isEnded = true;
    this.#child.kill('SIGKILL');
  }

  async #send(request: ThumbnailRequest, { size, read }: Picture): Promise<void> {
    const { stdin } = this.#child;
    if (this.#isEnded || !stdin) throw new PictureProcessFailed('The process that makes thumbnails has ended.');
    this.#child.send(request);
    const signal = AbortSignal.timeout(limits.thumbnailWaitMilliseconds);
    let sent = 0;
    for await (const piece of read()) {
      sent += piece.length;
      if (sent > size || this.#isEnded || signal.aborted) break;
      // Not pipeline(), which leaves listeners on a stream that stays open.
      if (!stdin.write(piece)) await waitForDrain(stdin, signal);
    }
    if (sent !== size) throw new PictureProcessFailed(`The ${size} bytes of a picture could not be sent.`);
  }

  #expectReply(): Promise<ThumbnailReply | 'ended'> {
    return new Promise((resolve) => {
      this.#onReply = resolve;
      if (this.#isEnded) resolve('ended');
    });
  }
}

async function withTimeLimit<T>(work: Promise<T>, milliseconds: number): Promise<T | 'time'> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<'time'>((resolve) => {
    timer = setTimeout(resolve, milliseconds, 'time');
  });
  return Promise.race([work, end]).finally(() => clearTimeout(timer));
}

async function waitForDrain(stream: Writable, signal: AbortSignal): Promise<void> {
  try {
    await once(stream, 'drain', { signal });
  } catch (cause) {
    throw new PictureProcessFailed('The bytes of a picture could not be sent.', { cause });
  }
}

/** The decoder refused the picture; its process is intact. */
class DecoderRefusal extends UndecodablePicture {}

/** No settings of the server, which contain secrets. Decoded pictures are not written to temporary files. */
function buildEnvironment(): NodeJS.ProcessEnv {
  const cache = getCompileCacheDir();
  const { SystemRoot } = process.env;
  return {
    VIPS_DISC_THRESHOLD: '1t',
    ...(cache !== undefined && { NODE_COMPILE_CACHE: cache }),
    ...(SystemRoot !== undefined && { SystemRoot }),
  };
}

/** Requests come first. */
function lowerPriority({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // it has ended, or the system does not allow it
  }
}
