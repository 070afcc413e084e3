/** Reads the lines of an IMAP connection, and passes the bytes of literals on unchanged. */
export class CommandReader {
  readonly #onLine: (line: string) => boolean;
  readonly #onLiteral: (bytes: Buffer) => void;
  #buffer = Buffer.alloc(0);
  /** The number of bytes of the current literal that are still missing. */
  #literal = 0;
  #isLiteralWanted = true;

  /**
   * @param onLine receives a line without its end. It returns false if a literal announced by the line must be dropped;
   * only a literal that the sender sends without waiting (`{10+}`) still arrives then.
   * @param onLiteral receives bytes of a literal.
   */
  constructor(onLine: (line: string) => boolean, onLiteral: (bytes: Buffer) => void) {
    this.#onLine = onLine;
    this.#onLiteral = onLiteral;
  }

  push(chunk: Buffer): void {
    this.#buffer = Buffer.concat([this.#buffer, chunk]);
    while (this.#readLiteral() || this.#readLine());
  }

  #readLiteral(): boolean {
    if (this.#literal === 0 || this.#buffer.length === 0) return false;
    const bytes = this.#buffer.subarray(0, this.#literal);
    this.#buffer = this.#buffer.subarray(bytes.length);
    this.#literal -= bytes.length;
    if (this.#isLiteralWanted) this.#onLiteral(bytes);
    return true;
  }

  #readLine(): boolean {
    const end = this.#buffer.indexOf('\r\n');
    if (this.#literal > 0 || end < 0) return false;
    const line = this.#buffer.subarray(0, end).toString('latin1');
    this.#buffer = this.#buffer.subarray(end + 2);
    this.#isLiteralWanted = this.#onLine(line);
    const [, size = '0', plus] = /~?\{(\d+)(\+|-)?\}$/.exec(line) ?? [];
    // A synchronising literal is only sent after the line was accepted.
    this.#literal = this.#isLiteralWanted || plus !== undefined ? Number(size) : 0;
    return true;
  }
}
