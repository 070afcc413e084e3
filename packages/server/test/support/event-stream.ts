import type { Json } from './json.ts';

/** Reads a stream of events, message by message. */
export class EventStream {
  readonly reply: Response;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | null;
  #text = '';

  constructor(reply: Response) {
    this.reply = reply;
    this.#reader = reply.status === 200 ? reply.body!.getReader() : null;
  }

  /** The next message; null at the end. */
  async next(): Promise<Json> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s, 2)));
        if (fields['data']) return { ...fields, data: JSON.parse(fields['data']) };
        continue;
      }
      const { done, value } = await this.#reader!.read();
      if (done) return null;
      this.#text += Buffer.from(value).toString();
    }
  }

  cancel(): Promise<void> {
    return this.#reader!.cancel();
  }
}
