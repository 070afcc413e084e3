import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { setImmediate as afterOthers } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createGzip, gunzip as gunzipWith } from 'node:zlib';
import { writeDocument } from './openapi-document.ts';
import type { Subject } from './subject.ts';

const gunzip = promisify(gunzipWith);

/** A document as it is kept: packed, since two thousand collections make megabytes of it. */
export interface KeptDocument {
  /** Differs where the text differs. */
  readonly hash: string;
  readonly packed: Buffer;
}

/** How long a document is written before others may work: milliseconds. */
const slice = 3;

/**
 * Documents by application, kind of credential and role, for as long as the snapshot lives that they were made from: the
 * next request under another one makes a new document in its place. Those longest unused go when the bytes run out.
 */
export class DocumentCache {
  readonly #most: number;
  readonly #kept = new Map<
    string,
    { readonly snapshot: object; readonly made: Promise<KeptDocument>; bytes: number }
  >();
  #bytes = 0;

  /** @param most bytes of packed documents to keep. */
  constructor(most: number) {
    this.#most = most;
  }

  /** @param snapshot the same object for as long as neither definitions nor access change. */
  of(subject: Subject, snapshot: object): Promise<KeptDocument> {
    const key = `${subject.application} ${subject.caller.type} ${subject.caller.role}`;
    const present = this.#kept.get(key);
    if (present) this.#drop(key);
    if (present?.snapshot === snapshot) {
      this.#kept.set(key, present);
      this.#bytes += present.bytes;
      return present.made;
    }
    const entry = { snapshot, made: makeDocument(subject), bytes: 0 };
    this.#kept.set(key, entry);
    entry.made.then(
      ({ packed }) => this.#weigh(key, entry, packed.length),
      () => this.#kept.get(key) === entry && this.#drop(key),
    );
    return entry.made;
  }

  #weigh(key: string, entry: { bytes: number }, bytes: number): void {
    if (this.#kept.get(key) !== entry) return;
    entry.bytes = bytes;
    this.#bytes += bytes;
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#most) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
  }
}

/** The text of a kept document. */
export function unpacked({ packed }: KeptDocument): Promise<Buffer> {
  return gunzip(packed);
}

async function makeDocument(subject: Subject): Promise<KeptDocument> {
  const hash = createHash('sha1');
  const packed: Buffer[] = [];
  const slices = Readable.from(slicesOf(subject, (text) => hash.update(text)));
  for await (const chunk of slices.pipe(createGzip())) packed.push(chunk as Buffer);
  return { hash: hash.digest('base64url'), packed: Buffer.concat(packed) };
}

/** The text of the document; others work between two slices, and while one is packed. */
async function* slicesOf(subject: Subject, see: (text: string) => void): AsyncGenerator<string> {
  let pieces: string[] = [];
  let since = performance.now();
  for (const piece of writeDocument(subject)) {
    pieces.push(piece);
    if (performance.now() - since < slice) continue;
    yield take();
    await afterOthers();
    since = performance.now();
  }
  yield take();

  function take(): string {
    const text = pieces.join('');
    pieces = [];
    see(text);
    return text;
  }
}
