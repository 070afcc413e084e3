import { tooLarge } from './source-error.ts';

const maxBytes = 256 * 1024 * 1024;

/** A list of texts in two buffers, which takes a fraction of the memory of a million strings. */
export class TextTable {
  #bytes = Buffer.alloc(64 * 1024);
  #ends = new Uint32Array(1024);
  #length = 0;
  #count = 0;

  /** @throws ApiError if all texts together are too long. */
  add(text: string): void {
    // A code unit takes at most three bytes.
    this.#reserve(this.#length + text.length * 3);
    this.#length += this.#bytes.write(text, this.#length);
    if (this.#length > maxBytes)
      throw tooLarge(`The texts of the workbook have more than ${maxBytes} bytes. Split it, or save it as CSV.`);
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
    return this.#bytes.toString('utf8', index === 0 ? 0 : this.#ends[index - 1], this.#ends[index]);
  }

  #reserve(size: number): void {
    if (size <= this.#bytes.length) return;
    const bytes = Buffer.alloc(Math.max(size, this.#bytes.length * 2));
    this.#bytes.copy(bytes, 0, 0, this.#length);
    this.#bytes = bytes;
  }
}
