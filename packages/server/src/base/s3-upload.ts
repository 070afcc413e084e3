/** Uploads of unknown length in parts, and copies within a bucket. */
import { createHash } from 'node:crypto';
import { ApiError } from '../protocol/api-error.ts';
import { nullIfMissing, type S3Body, type S3Client, S3Fault, textBody } from './s3-client.ts';
import { readElement } from './s3-xml.ts';

/**
 * The minimum size that services accept for a part other than the last one. All parts are equal, because some services
 * require it.
 */
export const partBytes = 5 * 1024 * 1024;
const maxParts = 10_000;
/** The maximum size of a file: the parts of one upload. */
export const maxObjectBytes = partBytes * maxParts;
/** Larger objects are copied in parts of this size, so that no request takes long. */
const copyBytes = 256 * 1024 * 1024;
const copiesAtOnce = 4;

/** A part of the bytes of an upload. */
interface ArrivedPart {
  readonly body: S3Body;
  /** True: the part has all bytes. */
  readonly isWhole: boolean;
}

/** Cuts bytes into parts of the given size; the last part may be shorter. There is at least one part, which may be empty. */
async function* cutIntoParts(bytes: AsyncIterable<Uint8Array>, size = partBytes): AsyncGenerator<ArrivedPart> {
  let part = new PartInMemory(size);
  let isFirst = true;
  for await (const piece of bytes)
    for (let rest = piece; rest.length > 0; ) {
      if (part.length === size) {
        yield { body: part.finish(), isWhole: false };
        [part, isFirst] = [new PartInMemory(size), false];
      }
      rest = part.add(rest);
    }
  yield { body: part.finish(), isWhole: isFirst };
}

class PartInMemory {
  length = 0;
  readonly #size: number;
  readonly #pieces: Uint8Array[] = [];
  readonly #hasher = createHash('sha256');

  constructor(size: number) {
    this.#size = size;
  }

  /** @returns the bytes that do not fit. */
  add(piece: Uint8Array): Uint8Array {
    const taken = piece.subarray(0, this.#size - this.length);
    this.#pieces.push(taken);
    this.#hasher.update(taken);
    this.length += taken.length;
    return piece.subarray(taken.length);
  }

  finish(): S3Body {
    return { pieces: this.#pieces, length: this.length, sha256: this.#hasher.digest('hex') };
  }
}

/** An object that {@link uploadObject} has stored. */
export interface StoredObject {
  readonly key: string;
  readonly size: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

export interface ObjectUpload {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Chooses the key of the object. @param sha256 null: the object is uploaded in parts, so its hash is not known yet. */
  readonly chooseKey: (sha256: string | null) => string;
  /** The size of the object, if it is known. An object of unknown size may have at most {@link maxObjectBytes}. */
  readonly size?: number;
}

/**
 * Stores bytes while they arrive, with one part of them in memory. The object is durable when the promise resolves. If the upload fails,
 * its remains are removed immediately or by the sweep.
 */
export async function uploadObject(
  client: S3Client,
  { bytes, chooseKey, size: known }: ObjectUpload,
): Promise<StoredObject> {
  const hasher = createHash('sha256');
  const maxSize = known ?? maxObjectBytes;
  const partSize = Math.max(partBytes, Math.ceil((known ?? 0) / maxParts));
  let size = 0;
  let upload: MultipartUpload | null = null;
  const partsKey = chooseKey(null);
  try {
    for await (const { body, isWhole } of cutIntoParts(bytes, partSize)) {
      size += body.length;
      if (isWhole) {
        const key = chooseKey(body.sha256);
        await client.request({ method: 'PUT', key, body });
        return { key, sha256: body.sha256, size };
      }
      if (size > maxSize)
        throw new ApiError('BODY_TOO_LARGE', `The storage of files takes at most ${maxSize} bytes in a file.`);
      for (const piece of body.pieces) hasher.update(piece);
      upload ??= await MultipartUpload.begin(client, partsKey);
      await upload.add(body);
    }
    await upload?.complete(size);
    return { key: partsKey, sha256: hasher.digest('hex'), size };
  } catch (error) {
    if (upload) {
      await upload.abort();
      // The upload may have been completed although its reply was lost. The caller gets an error, so it does not wait for retries.
      await client.request({ method: 'DELETE', key: partsKey, retries: false }).catch(() => {});
    }
    throw error;
  }
}

/** An object that is uploaded in parts. It exists when {@link complete} resolves. */
export class MultipartUpload {
  readonly #client: S3Client;
  readonly #key: string;
  readonly #id: string;
  readonly #etags: string[] = [];

  private constructor(client: S3Client, key: string, id: string) {
    this.#client = client;
    this.#key = key;
    this.#id = id;
  }

  static async begin(client: S3Client, key: string): Promise<MultipartUpload> {
    const { text } = await client.request({ method: 'POST', key, query: { uploads: '' } });
    const id = readElement(text, 'UploadId');
    if (!id) throw new S3Fault('UploadIdMissing');
    return new MultipartUpload(client, key, id);
  }

  /** Stores the next part. */
  async add(body: S3Body): Promise<void> {
    const query = this.#partQuery(this.#etags.length + 1);
    const { headers } = await this.#client.request({ method: 'PUT', key: this.#key, query, body });
    this.#etags.push(requireEtag(headers.etag));
  }

  /** Stores a part whose bytes are those of another object. Parts may be stored in any order. */
  async copyPart(index: number, source: string, range: string): Promise<void> {
    const { text } = await this.#client.request({
      method: 'PUT',
      key: this.#key,
      query: this.#partQuery(index + 1),
      headers: { 'x-amz-copy-source': source, 'x-amz-copy-source-range': range },
      isCopy: true,
    });
    this.#etags[index] = requireEtag(readElement(text, 'ETag'));
  }

  /** @param size that the object must have. */
  async complete(size: number): Promise<void> {
    const parts = this.#etags.map(
      (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${etag}</ETag></Part>`,
    );
    const body = textBody(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
    const query = { uploadId: this.#id };
    await this.#client
      .request({ method: 'POST', key: this.#key, query, body, isCopy: true })
      // A retry after a reply that was lost finds no upload any more. The size of the object shows whether the upload
      // was completed.
      .catch((error: unknown) => nullIfMissing(error));
    await requireSize(this.#client, this.#key, size);
  }

  /** Removes the parts. The sweep removes what remains if this fails. */
  async abort(): Promise<void> {
    const query = { uploadId: this.#id };
    await this.#client.request({ method: 'DELETE', key: this.#key, query, retries: false }).catch(() => {});
  }

  #partQuery(number: number): Record<string, string> {
    return { partNumber: String(number), uploadId: this.#id };
  }
}

/** Copies an object within the bucket, without reading it. */
export async function copyObject(client: S3Client, from: string, to: string, size: number): Promise<void> {
  const source = `/${client.config.bucket}/${from}`;
  if (size <= copyBytes)
    await client.request({ method: 'PUT', key: to, headers: { 'x-amz-copy-source': source }, isCopy: true });
  else await copyInParts(client, source, to, size);
  await requireSize(client, to, size);
}

async function copyInParts(client: S3Client, source: string, to: string, size: number): Promise<void> {
  const upload = await MultipartUpload.begin(client, to);
  try {
    const ranges = Array.from({ length: Math.ceil(size / copyBytes) }, (_, index) => {
      const last = Math.min((index + 1) * copyBytes, size) - 1;
      return { index, range: `bytes=${index * copyBytes}-${last}` };
    });
    await runForEach(ranges, copiesAtOnce, ({ index, range }) => upload.copyPart(index, source, range));
    await upload.complete(size);
  } catch (error) {
    await upload.abort();
    throw error;
  }
}

/** Runs work for each item, at most `atOnce` at the same time. After an error, no further item begins. */
export async function runForEach<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = items.values();
  let hasFailed = false;
  const run = async (): Promise<void> => {
    for (const item of rest) {
      if (hasFailed) return;
      await work(item).catch((error: unknown) => {
        hasFailed = true;
        throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, run));
}

async function requireSize(client: S3Client, key: string, size: number): Promise<void> {
  const { headers } = await client.request({ method: 'HEAD', key });
  if (Number(headers['content-length']) !== size) throw new S3Fault('SizeDiffers');
}

function requireEtag(etag: string | null | undefined): string {
  if (!etag) throw new S3Fault('EtagMissing');
  return etag;
}
