/** Text of unknown length that is collected before it is read: the first part in memory, the rest in a temporary file. */
import type { FileHandle } from 'node:fs/promises';
import { openUnlinkedFile, readFromStart } from './unlinked-file.ts';

/** Bytes that are collected in memory. Longer text is written to the file in pieces of this size. */
const memoryBytes = 256 * 1024;

export class TextSpool {
  #pieces: Buffer[] = [];
  #inMemory = 0;
  #bytes = 0;
  #file: FileHandle | null = null;

  /** Bytes of the text. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether all of the text is in memory. */
  get isShort(): boolean {
    return this.#file === null;
  }

  /** @throws Error of the system, such as ENOSPC. */
  async append(text: string): Promise<void> {
    const piece = Buffer.from(text);
    this.#pieces.push(piece);
    this.#inMemory += piece.length;
    this.#bytes += piece.length;
    if (this.#inMemory < memoryBytes) return;
    this.#file ??= await openUnlinkedFile();
    await this.#file.writeFile(Buffer.concat(this.#pieces)); // at the current position
    [this.#pieces, this.#inMemory] = [[], 0];
  }

  /** All of the text, in order. Nothing may be appended meanwhile. */
  async *read(): AsyncGenerator<Buffer> {
    if (this.#file) yield* readFromStart(this.#file);
    if (this.#inMemory > 0) yield Buffer.concat(this.#pieces);
  }

  /** Frees the file. */
  async close(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    await file?.close();
  }
}
