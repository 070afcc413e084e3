/**
 * The process that decodes pictures, one at a time. Decoders are native code that reads hostile bytes: in a process of its own, a
 * crash or a hang ends one thumbnail and not the server, and its memory can be limited. It gets no settings of the server.
 */
import { writeFileSync } from 'node:fs';
import type { ThumbnailSize } from './thumbnail-size.ts';

/** The bytes follow on the standard input. */
export interface ThumbnailRequest extends ThumbnailSize {
  /** The number of bytes. */
  readonly bytes: number;
  /** The media type that was detected from the first bytes. */
  readonly type: string;
  readonly maxPixels: number;
  readonly maxMemoryBytes: number;
}

/** First `ready` or `unavailable`, then a reply to each request. */
export type ThumbnailReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'unavailable'; readonly reason: string }
  | { readonly kind: 'thumbnail'; readonly bytes: Uint8Array }
  | { readonly kind: 'undecodable'; readonly reason: string };

/** The decoders that may run, by the type that must have been detected. SVG and PDF have none. */
const decoders: Readonly<Record<string, string>> = {
  'image/png': 'VipsForeignLoadPngBuffer',
  'image/jpeg': 'VipsForeignLoadJpegBuffer',
  'image/gif': 'VipsForeignLoadNsgifBuffer',
  'image/webp': 'VipsForeignLoadWebpBuffer',
  'image/avif': 'VipsForeignLoadHeifBuffer',
  'image/tiff': 'VipsForeignLoadTiffBuffer',
};
const memoryCheckMilliseconds = 20;
const quality = 80;

type Sharp = typeof import('sharp');

const send = (reply: ThumbnailReply): void => void process.send?.(reply);
const end = (): void => void process.kill(process.pid, 'SIGKILL'); // SIGKILL also works while a decoder runs

async function main(): Promise<void> {
  process.on('disconnect', end);
  // Supervisors send these signals to all processes of a service. Only the server ends this process; otherwise the
  // picture would seem to be the cause.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {});
  preferAsVictim();
  try {
    const { default: sharp } = await import('sharp');
    sharp.cache(false);
    sharp.concurrency(1);
    sharp.block({ operation: ['VipsForeignLoad'] });
    receiveRequests((request, picture) => answer(sharp, request, picture));
    send({ kind: 'ready' });
  } catch (error) {
    send({ kind: 'unavailable', reason: String(error) });
  }
}

/** If the machine runs out of memory, Linux ends this process first. */
function preferAsVictim(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // other systems have no such file
  }
}

/** Requests and bytes come on two channels, in any order. */
function receiveRequests(handle: (request: ThumbnailRequest, picture: Buffer) => Promise<void>): void {
  let request: ThumbnailRequest | null = null;
  let pieces: Buffer[] = [];
  let length = 0;
  const startWhenComplete = (): void => {
    if (request === null || length < request.bytes) return;
    const [current, picture] = [request, Buffer.concat(pieces)];
    [request, pieces, length] = [null, [], 0];
    void handle(current, picture);
  };
  process.on('message', (next: ThumbnailRequest) => {
    request = next;
    startWhenComplete();
  });
  process.stdin.on('data', (piece: Buffer) => {
    pieces.push(piece);
    length += piece.length;
    startWhenComplete();
  });
}

async function answer(sharp: Sharp['default'], request: ThumbnailRequest, picture: Buffer): Promise<void> {
  const memoryCheck = setInterval(() => {
    if (process.memoryUsage.rss() > request.maxMemoryBytes) end();
  }, memoryCheckMilliseconds);
  try {
    send({ kind: 'thumbnail', bytes: await makeThumbnail(sharp, request, picture) });
  } catch (error) {
    send({ kind: 'undecodable', reason: error instanceof Error ? error.message : String(error) });
  } finally {
    clearInterval(memoryCheck);
  }
}

/** Metadata, such as the place where a photo was taken, are not copied; the orientation that they state is applied. */
async function makeThumbnail(
  sharp: Sharp['default'],
  { type, width, height, fit, maxPixels }: ThumbnailRequest,
  picture: Buffer,
): Promise<Uint8Array> {
  const decoder = decoders[type];
  if (decoder === undefined) throw new Error(`there is no decoder for ${type}`);
  sharp.unblock({ operation: [decoder] });
  try {
    return await sharp(picture, { limitInputPixels: maxPixels, sequentialRead: true, failOn: 'error', animated: false })
      .autoOrient()
      .resize({ width, height, fit: fit === 'cover' ? 'cover' : 'inside', withoutEnlargement: true })
      .webp({ quality })
      .toBuffer();
  } finally {
    sharp.block({ operation: [decoder] });
  }
}

await main();
