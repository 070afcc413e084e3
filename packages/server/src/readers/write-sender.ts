import { DatabaseFault, type Row } from '../database/database.ts';
import type { SentWrite } from '../records/sent-write.ts';
import type { ForwardedWrite, WriteOutcome } from './reader-messages.ts';

interface WaitingWrite {
  readonly resolve: (rows: Row[]) => void;
  readonly reject: (error: unknown) => void;
}

/** A reader's side of its writes: sends them to the main thread, those of one turn of the event loop in one message. */
export class WriteSender {
  readonly #post: (writes: readonly ForwardedWrite[]) => void;
  readonly #waiting = new Map<number, WaitingWrite>();
  #batch: ForwardedWrite[] = [];
  #lastId = 0;

  constructor(post: (writes: readonly ForwardedWrite[]) => void) {
    this.#post = post;
  }

  /** Has the main thread execute a write. Results and errors are those of `SendWrite`. */
  send(application: string, version: number, write: SentWrite): Promise<Row[]> {
    this.#lastId += 1;
    const id = this.#lastId;
    if (this.#batch.push({ ...write, id, application, version }) === 1) setImmediate(this.#flush);
    const { promise, resolve, reject } = Promise.withResolvers<Row[]>();
    this.#waiting.set(id, { resolve, reject });
    return promise;
  }

  /** Receives what has become of writes. */
  receive(outcomes: readonly WriteOutcome[]): void {
    for (const { id, rows } of outcomes) {
      const write = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (rows) write?.resolve(rows);
      else write?.reject(new DatabaseFault('other', 'the main thread has not executed the write'));
    }
  }

  readonly #flush = (): void => {
    const writes = this.#batch;
    this.#batch = [];
    this.#post(writes);
  };
}
