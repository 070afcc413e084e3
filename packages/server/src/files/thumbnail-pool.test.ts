import sharp from 'sharp';
import { afterEach, expect, test, vi } from 'vitest';
import { ThumbnailPool, type ThumbnailPoolOptions } from './thumbnail-pool.ts';
import type { ThumbnailSize } from './thumbnail-size.ts';

const size: ThumbnailSize = { width: 64, height: 64, fit: 'contain' };
const draw = (width: number, height: number): Promise<Buffer> =>
  sharp({ create: { width, height, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();

let pool: ThumbnailPool;
afterEach(() => pool.close());
const start = (options: ThumbnailPoolOptions = {}): void => {
  pool = new ThumbnailPool({ processes: 1, ...options });
};
const make = (bytes: Uint8Array, type = 'image/png', sender = 'ann'): Promise<Uint8Array> =>
  pool.run(sender, (makeThumbnail) =>
    makeThumbnail(
      {
        type,
        size: bytes.length,
        read: async function* () {
          for (let from = 0; from < bytes.length; from += 64 * 1024) yield bytes.subarray(from, from + 64 * 1024);
        },
      },
      size,
    ),
  );

test('a process is started for the first picture, makes many thumbnails, and ends when it is idle', async () => {
  start({ idleMilliseconds: 20 });
  expect(pool.size).toBe(0);
  const picture = await draw(200, 100);
  const thumbnails = await Promise.all(Array.from({ length: 5 }, () => make(picture)));
  expect(pool.size).toBe(1);
  for (const each of thumbnails)
    expect(await sharp(each).metadata()).toMatchObject({ format: 'webp', width: 64, height: 32 });
  await expect.poll(() => pool.size).toBe(0);
  await expect(make(picture)).resolves.toBeInstanceOf(Uint8Array);
});

test('a picture that needs too much memory or time ends its process, and the next picture gets another one', async () => {
  const picture = await draw(100, 100);
  start({ memoryBytes: 1 });
  await expect(make(await draw(8000, 8000))).rejects.toThrow('too much memory');
  expect(pool.size).toBe(0);
  pool.close();
  start({ milliseconds: 0 });
  await expect(make(picture)).rejects.toThrow('longer than 0 seconds');
  expect(pool.size).toBe(0);
  pool.close();
  start();
  await expect(make(Buffer.from('not a picture'))).rejects.toThrow('unsupported image format');
  expect(pool.size).toBe(1); // a refusal leaves the process intact
  await expect(make(picture)).resolves.toBeInstanceOf(Uint8Array);
});

test('a picture with too many pixels is refused before it is decoded', async () => {
  start({ pixels: 9999 });
  await expect(make(await draw(100, 100))).rejects.toThrow('pixel limit');
  await expect(make(await draw(99, 100))).resolves.toBeInstanceOf(Uint8Array);
});

test('only the decoder of the detected type runs', async () => {
  start();
  const picture = await draw(10, 10);
  const svg = Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>',
  );
  for (const type of ['image/jpeg', 'image/webp', 'image/svg+xml', 'application/pdf', '__proto__'])
    await expect(make(picture, type), type).rejects.toThrow(Error);
  for (const type of ['image/svg+xml', 'image/png']) await expect(make(svg, type), type).rejects.toThrow(Error);
  await expect(make(picture)).resolves.toBeInstanceOf(Uint8Array);
});

test('a picture whose bytes cannot be read ends its process, and the read error is reported', async () => {
  start();
  const read = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(10);
    throw new Error('the disk failed');
  };
  await expect(pool.run('ann', (each) => each({ type: 'image/png', size: 100, read }, size))).rejects.toThrow(
    'the disk failed',
  );
  await expect(make(await draw(10, 10))).resolves.toBeInstanceOf(Uint8Array);
});

test('a sender has a limit of waiting requests, and a closed pool refuses all', async () => {
  start();
  const release = Promise.withResolvers<void>();
  const held = Array.from({ length: 25 }, () => pool.run('ann', () => release.promise));
  await expect(pool.run('ann', async () => 1)).rejects.toMatchObject({ code: 'BUSY', retryAfter: 2 });
  const other = pool.run('ben', async () => 'of ben');
  const done = vi.fn();
  void other.then(done);
  expect(done).not.toHaveBeenCalled();
  release.resolve();
  await Promise.all(held);
  expect(await other).toBe('of ben');
  pool.close();
  await expect(pool.run('ann', async () => 1)).rejects.toThrow('closed');
});
