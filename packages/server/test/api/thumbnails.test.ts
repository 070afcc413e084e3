import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import sharp, { type Sharp } from 'sharp';
import { afterAll, beforeAll, beforeEach, expect, type MockInstance, test, vi } from 'vitest';
import { thumbnailScope, unreferencedGraceMilliseconds } from '../../src/base/blob-store.ts';
import { claimThumbnail, findThumbnailBlobs } from '../../src/database/thumbnail-rows.ts';
import { PictureProcess } from '../../src/files/picture-process.ts';
import { describeEngines, shareStore } from '../support/engines.ts';
import { addUser, fetchBytes, startFileServer, uploadFile } from '../support/file-server.ts';
import type { Json } from '../support/json.ts';
import { TestServer } from '../support/scenario.ts';

const own = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);
let drawn = 0;
/** A picture whose bytes no other picture has: red on the left, blue on the right. */
function draw(width: number, height: number): Sharp {
  drawn += 1;
  const half = Math.ceil(width / 2);
  const blue = {
    create: { width: width - half, height, channels: 3 as const, background: { r: 0, g: drawn, b: 255 } },
  };
  return sharp({ create: { width, height, channels: 3, background: 'red' } }).composite([
    { input: blue, left: half, top: 0 },
  ]);
}
const readSize = async (bytes: Uint8Array): Promise<string> => {
  const { width, height, format } = await sharp(bytes).metadata();
  return `${format} ${width}x${height}`;
};

describeEngines('thumbnails', (engine) => {
  let server: TestServer;
  let offset = 0;
  let made: MockInstance<PictureProcess['makeThumbnail']>;
  beforeAll(async () => {
    made = vi.spyOn(PictureProcess.prototype, 'makeThumbnail');
    server = await startFileServer(engine, { clock: { now: () => Date.now() + offset } });
  });
  afterAll(async () => {
    made.mockRestore();
    await server.stop();
  });
  beforeEach(() => void made.mockClear());

  const upload = async (bytes: Uint8Array, name = 'p.png', as = 'ann'): Promise<Json> =>
    uploadFile(server, { name, content: own(bytes), type: 'image/png' }, as);
  /** Status and size, or code, of a thumbnail. */
  const look = async (path: string, as = 'ann'): Promise<string> => {
    const response = await fetchBytes(server, path, { as });
    const bytes = Buffer.from(await response.arrayBuffer());
    return response.status === 200 ? readSize(bytes) : `${response.status} ${JSON.parse(bytes.toString()).code}`;
  };
  const main = () => server.running.applications.main;
  const listBlobs = (): Promise<string[]> =>
    main().files.blobs.findStoredBefore(thumbnailScope, Number.MAX_SAFE_INTEGER / 1000);

  test('sides are rounded up, and pictures are not enlarged', async () => {
    const { url } = await upload(await draw(600, 300).jpeg().toBuffer(), 'photo.jpg');
    expect(await look(`${url}?width=100`)).toBe('webp 128x64');
    expect(await look(`${url}?height=100`)).toBe('webp 256x128');
    expect(await look(`${url}?width=33&height=20`)).toBe('webp 64x32');
    expect(await look(`${url}?width=100&height=100&fit=contain`)).toBe('webp 128x64');
    expect(await look(`${url}?width=100&height=100&fit=cover`)).toBe('webp 128x128');
    expect(await look(`${url}?width=2048&height=2048`)).toBe('webp 600x300');
    made.mockClear();
    expect(await look(`${url}?width=65&height=128`)).toBe('webp 128x64');
    expect(made).not.toHaveBeenCalled();
    for (const query of [
      'width=0',
      'width=2049',
      'width=1e2',
      'height=-1',
      'width=',
      'width=100&fit=fill',
      'fit=cover',
    ])
      expect(await look(`${url}?${query}`), query).toBe('400 PARAMETER_INVALID');
    expect(await look(`${url}?width=100&fit=cover`)).toBe('400 PARAMETER_INVALID');
    expect(await look(`${url}?size=100`)).toBe('400 PARAMETER_UNKNOWN');
    expect(made).not.toHaveBeenCalled();
  });

  test('a thumbnail has the headers of the file, with its own ETag and type', async () => {
    const { url } = await upload(await draw(600, 300).png().toBuffer(), 'Füße.cover.png');
    const whole = await fetchBytes(server, `${url}?width=64`);
    const bytes = Buffer.from(await whole.arrayBuffer());
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      'content-type': 'image/webp',
      'content-length': String(bytes.length),
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      'cache-control': 'private, no-cache',
      'cross-origin-resource-policy': 'same-origin',
      etag: `"${hash('sha256', bytes)}"`,
    });
    expect(whole.headers.get('content-disposition')).toContain('inline; filename="F__e.cover.webp"');
    const etag = whole.headers.get('etag') ?? '';
    const get = (headers: Record<string, string>, method = 'GET'): Promise<Response> =>
      fetchBytes(server, `${url}?width=64`, { headers, method });
    expect((await get({ 'if-none-match': etag })).status).toBe(304);
    const part = await get({ range: 'bytes=8-11' });
    expect([part.status, await part.text()]).toEqual([206, 'WEBP']);
    expect((await get({}, 'HEAD')).headers.get('content-length')).toBe(String(bytes.length));
    expect(made).toHaveBeenCalledTimes(1);
  });

  test('the orientation is applied, and the metadata about place and camera is removed', async () => {
    const jpeg = draw(80, 40).jpeg();
    jpeg.withExif({ IFD0: { Make: 'SecretCamera' }, IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 0/1' } });
    jpeg.withMetadata({ orientation: 6 });
    const source = await jpeg.toBuffer();
    expect((await sharp(source).metadata()).orientation).toBe(6);
    const { url } = await upload(source);
    const response = await fetchBytes(server, `${url}?width=512`);
    const bytes = Buffer.from(await response.arrayBuffer());
    const metadata = await sharp(bytes).metadata();
    expect([metadata.width, metadata.height]).toEqual([40, 80]);
    expect([metadata.exif, metadata.xmp, metadata.icc, metadata.orientation]).toEqual(Array(4).fill(undefined));
    expect(source.includes('SecretCamera')).toBe(true);
    expect(bytes.includes('SecretCamera')).toBe(false);
    // The left half of the stored picture is at the top.
    const { data } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
    expect(data[0]).toBeGreaterThan(200);
  });

  test('transparency stays, animations show their first picture, and CMYK becomes RGB', async () => {
    const clear = sharp({ create: { width: 90, height: 90, channels: 4, background: { r: 9, g: 9, b: 9, alpha: 0 } } });
    const { url } = await upload(await clear.png().toBuffer());
    const bytes = Buffer.from(await (await fetchBytes(server, `${url}?width=64`)).arrayBuffer());
    expect((await sharp(bytes).metadata()).hasAlpha).toBe(true);
    const frames = [await draw(60, 60).png().toBuffer(), await draw(60, 60).png().toBuffer()];
    for (const animation of [
      await sharp(frames, { join: { animated: true } })
        .gif()
        .toBuffer(),
      await sharp(frames, { join: { animated: true } })
        .webp()
        .toBuffer(),
    ]) {
      const { url: path } = await upload(animation);
      const first = Buffer.from(await (await fetchBytes(server, `${path}?width=32`)).arrayBuffer());
      expect([await readSize(first), (await sharp(first).metadata()).pages]).toEqual(['webp 32x32', undefined]);
    }
    const cmyk = await upload(await draw(60, 60).toColourspace('cmyk').jpeg().toBuffer());
    expect(await look(`${cmyk.url}?width=32`)).toBe('webp 32x32');
    const avif = await upload(await draw(60, 60).avif({ effort: 0 }).toBuffer());
    expect(await look(`${avif.url}?width=32`)).toBe('webp 32x32');
    const tiff = await upload(await draw(600, 300).tiff().toBuffer());
    expect(await look(`${tiff.url}?width=32`)).toBe('webp 32x16');
    const deep = await upload(await draw(9, 9).toColourspace('rgb16').tiff().toBuffer());
    expect(await look(`${deep.url}?width=64`)).toBe('webp 9x9');
    expect([avif, tiff].map(({ contentType, width, height }) => [contentType, width, height])).toEqual([
      ['image/avif', 60, 60],
      ['image/tiff', 600, 300],
    ]);
  });

  test('twenty requests at once make one thumbnail', async () => {
    const { url } = await upload(await draw(600, 300).png().toBuffer());
    const before = (await listBlobs()).length;
    const replies = await Promise.all(Array.from({ length: 20 }, () => fetchBytes(server, `${url}?width=256`)));
    expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(new Set(replies.map(({ headers }) => headers.get('etag'))).size).toBe(1);
    await Promise.all(replies.map((each) => each.arrayBuffer()));
    expect(made).toHaveBeenCalledTimes(1);
    expect((await listBlobs()).length).toBe(before + 1);
  });

  test('callers who may not read a file get no thumbnail of it, on any path', async () => {
    const secret = await upload(await draw(50, 50).png().toBuffer());
    const ofFile = `${secret.url}?width=32`;
    for (const as of ['ben', 'vic', 'admin', 'nobody']) expect(await look(ofFile, as), as).toBe('404 RECORD_UNKNOWN');
    expect(made).not.toHaveBeenCalled();
    expect(await look(ofFile, 'ann')).toBe('webp 32x32');
    for (const as of ['ben', 'nobody']) expect(await look(ofFile, as), as).toBe('404 RECORD_UNKNOWN');

    for (const [name, permission] of [
      ['reds', { actions: ['get'], filter: { title: 'red' } }],
      ['titles', { actions: ['get'], fields: ['title'] }],
    ] as const) {
      await server.data('POST /api/roles:create', { body: { name } });
      await server.data('POST /api/permissions:create', { body: { role: name, resource: 'posts', ...permission } });
      await addUser(server, name, name);
    }
    const { id } = await server.data('POST /api/posts:create', {
      as: 'ann',
      body: { title: 'red', papers: [secret.id] },
    });
    const ofRecord = `/api/posts/${id}/papers/0?width=32&height=32&fit=cover`;
    expect([await look(ofFile, 'reds'), await look(ofRecord, 'reds')]).toEqual(Array(2).fill('webp 32x32'));
    expect([await look(ofFile, 'titles'), await look(ofRecord, 'titles')]).toEqual([
      '404 RECORD_UNKNOWN',
      '403 FIELD_DENIED',
    ]);
    const signed = (await server.data(`POST /api/files:sign?filterByTk=${secret.id}`, { as: 'reds' })).url;
    expect(await look(`${signed}&width=32`, 'nobody')).toBe('webp 32x32');
    await server.data(`POST /api/posts:update?filterByTk=${id}`, { body: { title: 'blue' } });
    // The same refusals as for a get of the record.
    expect([await look(ofFile, 'reds'), await look(ofRecord, 'reds')]).toEqual([
      '404 RECORD_UNKNOWN',
      '403 NO_PERMISSION',
    ]);
    expect(await look(`${signed}&width=32`, 'nobody')).toBe('404 RECORD_UNKNOWN');
    const other = await upload(await draw(50, 50).png().toBuffer());
    const moved = signed.replace(`/${secret.id}?`, `/${other.id}?`);
    expect(await look(`${moved}&width=32`, 'nobody')).toBe('401 TOKEN_INVALID');
    await server.data('POST /api/auth:signOut', { as: 'reds' });
    expect(await look(`${signed}&width=32`, 'nobody')).toMatch(/^401 /);
  });

  test('a bomb, a damaged picture and another type are refused once, and can still be downloaded', async () => {
    const png = await draw(64, 64).png().toBuffer();
    const bomb = Buffer.from(png);
    bomb.writeUInt32BE(100_000, 16);
    bomb.writeUInt32BE(100_000, 20);
    bomb.writeUInt32BE(crc32(bomb.subarray(12, 29)), 29);
    const noise = await sharp({
      create: {
        width: 64,
        height: 64,
        channels: 3,
        background: 'red',
        noise: { type: 'gaussian', mean: 99, sigma: 60 },
      },
    })
      .jpeg()
      .toBuffer();
    const tiff = await draw(200, 200).tiff().toBuffer();
    const damaged: readonly (readonly [name: string, bytes: Uint8Array])[] = [
      ['100,000 × 100,000 pixels', bomb],
      ['a truncated PNG', png.subarray(0, png.length >> 1)],
      ['a truncated JPEG', noise.subarray(0, noise.length >> 1)],
      ['a truncated TIFF', tiff.subarray(0, tiff.length >> 1)],
      ['the beginning of a GIF before a PNG', Buffer.concat([Buffer.from('GIF89a'), png])],
      ['an SVG with the signature of a PNG', Buffer.concat([png.subarray(0, 8), Buffer.from('<svg/>')])],
    ];
    for (const [name, bytes] of damaged) {
      made.mockClear();
      const { url } = await upload(bytes);
      expect(await look(`${url}?width=64`), name).toBe('404 THUMBNAIL_UNAVAILABLE');
      expect(await look(`${url}?width=128`), name).toBe('404 THUMBNAIL_UNAVAILABLE');
      expect(made.mock.calls.length, name).toBe(1);
      const download = await fetchBytes(server, url);
      expect(Buffer.from(await download.arrayBuffer()).equals(bytes), name).toBe(true);
    }
    made.mockClear();
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="99" height="99"/>';
    for (const [name, bytes] of [
      ['an SVG', Buffer.from(svg)],
      ['a PDF', Buffer.from('%PDF-1.7 x')],
      ['a text', Buffer.from('text')],
      ['a HEIC', Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic')],
      ['nothing', Buffer.alloc(0)],
    ] as const)
      expect(await look(`${(await upload(bytes)).url}?width=64`), name).toBe('404 THUMBNAIL_UNAVAILABLE');
    expect(made).not.toHaveBeenCalled();
    expect(await look(`${(await upload(png)).url}?width=64`)).toBe('webp 64x64');
  });

  test('a picture that failed is tried again after a day', async () => {
    const { url } = await upload(await draw(50, 50).png().toBuffer());
    const { UndecodablePicture } = await import('../../src/files/picture-process.ts');
    made.mockRejectedValueOnce(new UndecodablePicture('the process crashed'));
    expect(await look(`${url}?width=32`)).toBe('404 THUMBNAIL_UNAVAILABLE');
    offset += unreferencedGraceMilliseconds - 60_000;
    await signInAll();
    expect(await look(`${url}?width=32`)).toBe('404 THUMBNAIL_UNAVAILABLE');
    offset += 120_000;
    expect(await look(`${url}?width=32`)).toBe('webp 32x32');
  });

  test('a thumbnail is made again if its bytes are missing, and if its server died while it made it', async () => {
    const source = await draw(70, 70).png().toBuffer();
    const { url } = await upload(source);
    const response = await fetchBytes(server, `${url}?width=64`);
    await response.arrayBuffer();
    const name = (response.headers.get('etag') ?? '').slice(1, -1);
    await main().files.blobs.remove(thumbnailScope, [name], Number.MAX_SAFE_INTEGER / 1000);
    expect(await look(`${url}?width=64`)).toBe('webp 64x64');
    expect(made).toHaveBeenCalledTimes(2);
    const key = { source: hash('sha256', source), variant: 'contain-32x2048' };
    const claim = (): Promise<number | null> => {
      const time = new Date(main().clock.now() - 3_600_000).toISOString();
      return claimThumbnail(main().database, key, { time, claimedSince: time, missingBlob: null });
    };
    expect(await claim()).toBe(1);
    expect(await look(`${url}?width=32`)).toBe('webp 32x32');
    const fatal = await draw(71, 71).png().toBuffer();
    const { url: fatalUrl } = await upload(fatal);
    Object.assign(key, { source: hash('sha256', fatal) });
    expect([await claim(), await claim()]).toEqual([1, 2]);
    made.mockClear();
    expect(await look(`${fatalUrl}?width=32`)).toBe('404 THUMBNAIL_UNAVAILABLE');
    expect(made).not.toHaveBeenCalled();
  });

  test('a server without the library for pictures says so, and remembers nothing about the picture', async () => {
    const { url } = await upload(await draw(50, 50).png().toBuffer());
    const { PictureProcessFailed } = await import('../../src/files/picture-process.ts');
    made.mockRejectedValueOnce(new PictureProcessFailed('no binary for this platform'));
    expect(await look(`${url}?width=32`)).toBe('404 THUMBNAIL_UNAVAILABLE');
    expect((await fetchBytes(server, url)).status).toBe(200);
    expect(await look(`${url}?width=32`)).toBe('webp 32x32');
  });

  test('thumbnails survive a restart, and are removed with the file', async () => {
    const picture = await draw(300, 200).png().toBuffer();
    const { id, url } = await upload(picture);
    const { id: twin } = await upload(picture);
    const make = async (path: string): Promise<string> => {
      const response = await fetchBytes(server, path);
      await response.arrayBuffer();
      return (response.headers.get('etag') ?? '').slice(1, -1);
    };
    const names: string[] = [];
    for (const query of ['width=32', 'width=64', 'width=64&height=64&fit=cover'])
      names.push(await make(`${url}?${query}`));
    const { url: stray } = await upload(await draw(80, 20).png().toBuffer());
    const strayName = await make(`${stray}?width=32`);
    const { id: post } = await server.data('POST /api/posts:create', { as: 'ann', body: { papers: [id] } });
    await server.running.stop();
    await server.boot();
    await signInAll();
    made.mockClear();
    expect(await look(`${url}?width=64`)).toBe('webp 64x43');
    expect(made).not.toHaveBeenCalled();
    await server.data(`POST /api/files:destroy?filterByTk=${twin}`, { as: 'ann' });
    const sweep = async (): Promise<void> => {
      offset += unreferencedGraceMilliseconds + 1000;
      await main().files.sweep(main().clock.now());
      await signInAll();
    };
    await sweep();
    const kept = await listBlobs();
    expect(names.filter((name) => !kept.includes(name))).toEqual([]);
    expect(kept).not.toContain(strayName);
    await server.data(`POST /api/posts:destroy?filterByTk=${post}`);
    await sweep();
    await sweep();
    const rest = await listBlobs();
    expect(names.filter((name) => rest.includes(name))).toEqual([]);
    expect((await findThumbnailBlobs(main().database, [...names, strayName])).size).toBe(0);
  });

  async function signInAll(): Promise<void> {
    await server.signInAsAdmin();
    for (const name of ['ann', 'ben', 'vic'])
      server.tokens.set(name, await server.signIn(`${name}@example.com`, `a quiet password of ${name}`));
  }

  test.skipIf(engine.name === 'sqlite')('two servers make a thumbnail once', async () => {
    const second = await TestServer.start(shareStore(engine, server.store));
    try {
      const { url } = await upload(await draw(400, 400).png().toBuffer());
      const authorization = `Bearer ${server.tokens.get('ann')}`;
      const replies = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          fetch(`${(index % 2 === 0 ? server : second).running.url}${url}?width=256`, { headers: { authorization } }),
        ),
      );
      expect(replies.map(({ status }) => status)).toEqual(Array(10).fill(200));
      expect(made).toHaveBeenCalledTimes(1);
    } finally {
      await second.running.stop();
    }
  });
});
