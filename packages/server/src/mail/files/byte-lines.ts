/** Cuts a stream of bytes into lines, each with its end. A line longer than the bound comes in pieces: what is kept never grows past it. */
export class ByteLines {
  readonly #longest: number;

  constructor(longest: number) {
    this.#longest = longest;
  }

  async *of(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let begun: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of source) {
      let start = 0;
      for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, start)) {
        const tail = chunk.subarray(start, end + 1);
        yield begun.length > 0 ? Buffer.concat([...begun, tail]) : tail.slice();
        begun = [];
        length = 0;
        start = end + 1;
      }
      if (start === chunk.length) continue;
      begun.push(chunk.slice(start));
      length += chunk.length - start;
      if (length <= this.#longest) continue;
      yield Buffer.concat(begun);
      begun = [];
      length = 0;
    }
    if (begun.length > 0) yield Buffer.concat(begun);
  }
}
