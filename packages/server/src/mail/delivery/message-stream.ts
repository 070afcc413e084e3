import { Readable } from 'node:stream';

const chunkBytes = 64 * 1024;

/**
 * The bytes of a message for one SMTP transaction. It knows whether its end was handed over: until then the server cannot have the
 * whole message, so it cannot have accepted it.
 */
export class MessageStream extends Readable {
  readonly #raw: Uint8Array;
  readonly #begin: () => Promise<void>;
  #position = 0;
  #hasBegun = false;
  #isComplete = false;

  /** @param begin runs before the first byte is handed over. If it fails, nothing is. */
  constructor(raw: Uint8Array, begin: () => Promise<void>) {
    super({ highWaterMark: chunkBytes });
    this.#raw = raw;
    this.#begin = begin;
  }

  /** Whether all bytes were handed over, so that the server may have the whole message. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  override _read(): void {
    if (this.#hasBegun) {
      this.#pushNext();
      return;
    }
    this.#hasBegun = true;
    this.#begin().then(
      () => this.#pushNext(),
      (error: unknown) => this.destroy(error instanceof Error ? error : new Error(String(error))),
    );
  }

  #pushNext(): void {
    if (this.destroyed) return;
    if (this.#position >= this.#raw.length) {
      this.#isComplete = true;
      this.push(null);
      return;
    }
    const end = Math.min(this.#position + chunkBytes, this.#raw.length);
    const chunk = this.#raw.subarray(this.#position, end);
    this.#position = end;
    this.push(chunk);
  }
}
