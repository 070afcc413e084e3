import { tooLarge } from './source-error.ts';

const maxBytes = 256 * 1024 * 1024;
const pageBytes = 256 * 1024;

/**
 * A list of texts in pages of bytes, which takes a fraction of the memory of a million strings. One buffer that grows would take
 * three times as much while it is copied.
 */
export class TextTable {
  readonly #pages: Buffer[] = [];
  #ends = new Uint32Array(1024);
  #length = 0;
  #count = 0;

  /** @throws ApiError if all texts together are too long. */
  add(text: string): void {
    const free = this.#pages.length * pageBytes - this.#length;
    const page = this.#pages.at(-1);
    // A code unit takes at most three bytes.
    if (page && text.length * 3 < free) this.#length += page.write(text, pageBytes - free);
    else this.#addBytes(Buffer.from(text));
    if (this.#count === this.#ends.length) {
      const ends = new Uint32Array(this.#count * 2);
      ends.set(this.#ends);
      this.#ends = ends;
    }
    this.#ends[this.#count] = this.#length;
    this.#count += 1;
  }

  /** @returns null for an index that does not exist. */
  get(index: number): string | null {
    if (!Number.isInteger(index) || index < 0 || index >= this.#count) return null;
    const start = index === 0 ? 0 : this.#ends[index - 1]!;
    const end = this.#ends[index]!;
    if (start === end) return '';
    const first = Math.floor(start / pageBytes);
    const last = Math.floor((end - 1) / pageBytes);
    const from = start - first * pageBytes;
    const to = end - last * pageBytes;
    if (first === last) return this.#pages[first]!.toString('utf8', from, to);
    const parts = this.#pages.slice(first, last + 1);
    return Buffer.concat([parts[0]!.subarray(from), ...parts.slice(1, -1), parts.at(-1)!.subarray(0, to)]).toString();
  }

  #addBytes(bytes: Buffer): void {
    if (this.#length + bytes.length > maxBytes)
      throw tooLarge(`The texts of the workbook have more than ${maxBytes} bytes. Split it, or save it as CSV.`);
    for (let copied = 0; copied < bytes.length; ) {
      const offset = this.#length % pageBytes;
      if (this.#length === this.#pages.length * pageBytes) this.#pages.push(Buffer.alloc(pageBytes));
      const size = bytes.copy(this.#pages.at(-1)!, offset, copied);
      this.#length += size;
      copied += size;
    }
  }
}
