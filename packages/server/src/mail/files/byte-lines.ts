/**
 * Splits a stream of bytes into lines, each with its line end. A line beyond the limit is split into pieces, so memory
 * is bounded.
 */
export class ByteLines {
  readonly #maxLineLength: number;

  constructor(maxLineLength: number) {
    this.#maxLineLength = maxLineLength;
  }

  async *split(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let pending: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of source) {
      let start = 0;
      for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, start)) {
        const tail = chunk.subarray(start, end + 1);
        yield pending.length > 0 ? Buffer.concat([...pending, tail]) : tail.slice();
        pending = [];
        length = 0;
        start = end + 1;
      }
      if (start === chunk.length) continue;
      pending.push(chunk.slice(start));
      length += chunk.length - start;
      if (length <= this.#maxLineLength) continue;
      yield Buffer.concat(pending);
      pending = [];
      length = 0;
    }
    if (pending.length > 0) yield Buffer.concat(pending);
  }
}
