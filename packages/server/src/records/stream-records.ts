/**
 * Lists without an end: every record in pieces, each read by itself, so that memory and locks stay bounded whatever the
 * size. Each piece is read as what the caller may do at that moment.
 */
import { bind, StaleVersion } from '../database/database.ts';
import { pageSeparator } from '../database/dialect.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import type { AskedRecordRequest } from '../protocol/record-request.ts';
import { encodeCursor } from '../query/cursor.ts';
import type { Collection } from '../schema/registry.ts';
import { type ListPage, pageOf } from './list-page.ts';
import { type PreparedList, preparedList, presentRows, requireGrant, requireTrashAsked } from './read-records.ts';
import { run } from './read-statements.ts';
import type { RecordContext } from './record-context.ts';

/** What the caller may do now. @throws ApiError 401 when the credential has come to its end. */
export type ContextNow = () => Promise<RecordContext>;

/** JSON texts of some records, {@link pageSeparator} between them. */
export type Pieces = AsyncGenerator<string>;

/** Times that a piece is read again because definitions or rights moved on meanwhile. */
const attempts = 5;

/** @throws ApiError as a list does; 503 when the collection itself changes meanwhile. */
export async function* streamRecords(now: ContextNow, collection: Collection, request: AskedRecordRequest): Pieces {
  const stream = new RecordStream(now, collection, { ...request, count: 'none', page: 1 });
  const byKey = request.sort.every((term) => term.path === collection.primaryKey.name);
  if (byKey || request.filterByTk !== undefined) yield* stream.inOrder();
  else yield* stream.byKeys();
}

class RecordStream {
  readonly #now: ContextNow;
  readonly #collection: Collection;
  readonly #request: AskedRecordRequest;

  constructor(now: ContextNow, collection: Collection, request: AskedRecordRequest) {
    this.#now = now;
    this.#collection = collection;
    this.#request = request;
  }

  /** Where the order costs nothing: page after page. */
  async *inOrder(): Pieces {
    for await (const { text } of this.#pages({ size: limits.streamChunk, content: 'text' })) yield text;
  }

  /**
   * Any other order may cost a sort of the whole table for each page, so the keys of many pages are read at once and
   * their records by key.
   */
  async *byKeys(): Pieces {
    for await (const { text, keys } of this.#pages({ size: limits.streamKeys, content: 'keys' })) {
      const shown = text.split(pageSeparator);
      for (let from = 0; from < shown.length; from += limits.streamChunk) {
        const records = await this.#recordsOf(
          shown.slice(from, from + limits.streamChunk).map((each) => keyIn(each, keys)),
        );
        if (records !== '') yield records;
      }
    }
  }

  /** Pages that hold something. `keys`: by how many they are sorted. */
  async *#pages(shape: Shape): AsyncGenerator<{ text: string; keys: number }> {
    let asked: AskedRecordRequest = { ...this.#request, pageSize: shape.size };
    for (;;) {
      const { page, plan, mark } = await this.#read(asked, shape);
      if (page.text !== '') yield { text: page.text, keys: plan.keys.length };
      if (!page.hasNext) return;
      const after = encodeCursor(mark(), page.lastKeys(), plan.keys);
      asked = { ...asked, after, shape: `${this.#request.shape} stream` };
    }
  }

  /** The records of some keys that still match, in the order of the list. */
  async #recordsOf(keys: readonly unknown[]): Promise<string> {
    const asked = { ...this.#request, filterByTk: [], after: null, shape: `${this.#request.shape} keyed` };
    const { page } = await this.#read(asked, { size: limits.streamChunk, content: 'text' }, keys);
    return page.text;
  }

  async #read(asked: AskedRecordRequest, shape: Shape, keys?: readonly unknown[]): Promise<Read> {
    for (let attempt = 1; ; attempt += 1) {
      const context = await this.#now();
      this.#requireUnchanged(context);
      const grant = requireGrant(context, this.#collection, 'list');
      requireTrashAsked(asked, this.#collection);
      const { plan, environment, mark } = preparedList(context, this.#collection, grant, asked, shape, keys);
      try {
        const [rows] = await run(context, [bind(context.database.dialect, plan.page, environment)]);
        return { page: pageOf(presentRows(rows!, plan), plan, shape.size), plan, mark };
      } catch (error) {
        if (!(error instanceof StaleVersion) || attempt === attempts) throw error;
        await context.refresh();
      }
    }
  }

  #requireUnchanged({ registry }: RecordContext): void {
    const found = registry.find(this.#collection.name);
    if (found === this.#collection || (found && shapeOf(found) === shapeOf(this.#collection))) return;
    const message = `${this.#collection.name} was changed while it was read; start again.`;
    throw new ApiError('BUSY', message, { retryAfter: 1 });
  }
}

interface Shape {
  readonly size: number;
  readonly content: 'text' | 'keys';
}

interface Read extends Omit<PreparedList, 'environment'> {
  readonly page: ListPage;
}

/** The primary key is the last one of every sort. */
function keyIn(shown: string, keys: number): unknown {
  return (JSON.parse(shown) as Record<string, unknown>)[keys - 1];
}

/** What the records of a collection look like, and where they lie. */
function shapeOf({ id, fields, options }: Collection): string {
  return JSON.stringify([id, options, fields.map((field) => [field.id, field.name, field.definition])]);
}
