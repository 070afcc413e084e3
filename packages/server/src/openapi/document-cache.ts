import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { setImmediate as afterOthers } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createGzip, gunzip as gunzipWith } from 'node:zlib';
import type { Subject } from './subject.ts';

const gunzip = promisify(gunzipWith);

/** A cached document. It is compressed, because with two thousand collections it has megabytes. */
export interface CachedDocument {
  /** A hash of the text. */
  readonly hash: string;
  readonly packed: Buffer;
}

/** How long a document is written before the event loop may do other work, in milliseconds. */
const sliceMilliseconds = 3;

/**
 * Documents by application, kind of credential and role. A document is valid as long as the snapshot that it was made from;
 * the next request under another snapshot replaces it. The least recently used ones are removed when the limit is reached.
 */
export class DocumentCache {
  readonly #maxBytes: number;
  readonly #documents = new Map<
    string,
    { readonly snapshot: object; readonly document: Promise<CachedDocument>; bytes: number }
  >();
  #bytes = 0;

  /** @param maxBytes limit of all compressed documents. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @param snapshot the same object as long as neither definitions nor permissions change. */
  get(subject: Subject, snapshot: object): Promise<CachedDocument> {
    const key = `${subject.application} ${subject.caller.type} ${subject.caller.role}`;
    const cached = this.#documents.get(key);
    if (cached) this.#drop(key);
    if (cached?.snapshot === snapshot) {
      this.#documents.set(key, cached);
      this.#bytes += cached.bytes;
      return cached.document;
    }
    const entry = { snapshot, document: makeDocument(subject), bytes: 0 };
    this.#documents.set(key, entry);
    entry.document.then(
      ({ packed }) => this.#setSize(key, entry, packed.length),
      () => this.#documents.get(key) === entry && this.#drop(key),
    );
    return entry.document;
  }

  #setSize(key: string, entry: { bytes: number }, bytes: number): void {
    if (this.#documents.get(key) !== entry) return;
    entry.bytes = bytes;
    this.#bytes += bytes;
    for (const oldest of this.#documents.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#documents.get(key)?.bytes ?? 0;
    this.#documents.delete(key);
  }
}

/** The text of a cached document. */
export function unpackDocument({ packed }: CachedDocument): Promise<Buffer> {
  return gunzip(packed);
}

async function makeDocument(subject: Subject): Promise<CachedDocument> {
  const hash = createHash('sha1');
  const packed: Buffer[] = [];
  const slices = Readable.from(writeSlices(subject, (text) => hash.update(text)));
  for await (const chunk of slices.pipe(createGzip())) packed.push(chunk as Buffer);
  return { hash: hash.digest('base64url'), packed: Buffer.concat(packed) };
}

/** The text of the document. The event loop does other work between two slices, and during the compression. */
async function* writeSlices(subject: Subject, onText: (text: string) => void): AsyncGenerator<string> {
  const { writeDocument } = await import('./openapi-document.ts');
  let pieces: string[] = [];
  let since = performance.now();
  for (const piece of writeDocument(subject)) {
    pieces.push(piece);
    if (performance.now() - since < sliceMilliseconds) continue;
    yield takeSlice();
    await afterOthers();
    since = performance.now();
  }
  yield takeSlice();

  function takeSlice(): string {
    const text = pieces.join('');
    pieces = [];
    onText(text);
    return text;
  }
}
