const firstCapacity = 256 * 1024;
const growthLimit = 16 * 1024 * 1024;

/** The part of a byte stream that is held in memory, addressed by offsets from the beginning of the stream. */
export class ByteWindow {
  readonly #source: AsyncIterator<Uint8Array> | Iterator<Uint8Array>;
  #buffer = Buffer.allocUnsafe(firstCapacity);
  /** Index in the buffer of the byte at offset `from`. */
  #start = 0;
  #from = 0;
  #to = 0;
  #ended = false;

  constructor(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) {
    this.#source =
      Symbol.asyncIterator in source
        ? source[Symbol.asyncIterator]()
        : (source as Iterable<Uint8Array>)[Symbol.iterator]();
  }

  /** Offset after the last byte that was read. */
  get to(): number {
    return this.#to;
  }

  /** True when the stream has no more bytes than those up to `to`. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Reads until the byte before the offset is in the window, or the stream ends. */
  async fillTo(offset: number): Promise<void> {
    while (this.#to < offset && !this.#ended) await this.fill();
  }

  /** Reads one more chunk. */
  async fill(): Promise<void> {
    const { done, value } = await this.#source.next();
    if (done) this.#ended = true;
    else this.#append(value);
  }

  /** Closes the source before its end. */
  async close(): Promise<void> {
    if (!this.#ended) await this.#source.return?.();
  }

  /** Releases the bytes before the offset. */
  dropTo(offset: number): void {
    this.#start += offset - this.#from;
    this.#from = offset;
  }

  /** The bytes between two offsets; valid until the next call of `fill`. */
  view(from: number, to: number = this.#to): Buffer {
    const begin = this.#start + Math.max(from - this.#from, 0);
    return this.#buffer.subarray(begin, Math.max(this.#start + Math.min(to, this.#to) - this.#from, begin));
  }

  /** Searches bytes. @returns their first offset at or after `from`; -1 if they are not in the window. */
  indexOf(bytes: Uint8Array, from: number): number {
    const begin = Math.max(from, this.#from);
    const index = this.view(begin).indexOf(bytes);
    return index === -1 ? -1 : begin + index;
  }

  #append(chunk: Uint8Array): void {
    const length = this.#to - this.#from;
    if (this.#start + length + chunk.length > this.#buffer.length) {
      const needed = length + chunk.length;
      const target =
        needed * 2 <= this.#buffer.length
          ? this.#buffer
          : Buffer.allocUnsafe(needed + Math.min(Math.max(needed, firstCapacity), growthLimit));
      this.#buffer.copy(target, 0, this.#start, this.#start + length);
      this.#buffer = target;
      this.#start = 0;
    }
    this.#buffer.set(chunk, this.#start + length);
    this.#to += chunk.length;
  }
}
