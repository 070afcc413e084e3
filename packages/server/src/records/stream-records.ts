/**
 * Lists without an end: every record in pieces, each read by itself, so that memory and locks stay bounded whatever the
 * size. Each piece is read as what the caller may do at that moment.
 */
import { bind, StaleVersion } from '../database/database.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import type { AskedRecordRequest } from '../protocol/record-request.ts';
import { encodeCursor } from '../query/cursor.ts';
import type { ListPlan } from '../query/read-plan.ts';
import type { Collection } from '../schema/registry.ts';
import { keysOfRow } from './list-page.ts';
import { type PreparedList, preparedList, presentRows, requireGrant, requireTrashAsked } from './read-records.ts';
import { run } from './read-statements.ts';
import type { RecordContext } from './record-context.ts';

/** What the caller may do now. @throws ApiError 401 when the credential has come to its end. */
export type ContextNow = () => Promise<RecordContext>;

/** JSON texts of records, without commas between pieces. */
export type Pieces = AsyncGenerator<readonly string[]>;

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
    const size = limits.streamChunk;
    for await (const { rows, plan } of this.#pages({ size, content: 'rows' })) yield textsOf(rows, plan);
  }

  /**
   * Any other order may cost a sort of the whole table for each page, so the keys of many pages are read at once and
   * their records by key.
   */
  async *byKeys(): Pieces {
    const size = limits.streamKeys;
    for await (const { rows, plan } of this.#pages({ size, content: 'keys' })) {
      const keys = rows.map((row) => keysOfRow(row, plan).at(-1));
      for (let from = 0; from < keys.length; from += limits.streamChunk) {
        const texts = await this.#recordsOf(keys.slice(from, from + limits.streamChunk));
        if (texts.length > 0) yield texts;
      }
    }
  }

  async *#pages(shape: { size: number; content: 'rows' | 'keys' }): AsyncGenerator<Page> {
    let asked: AskedRecordRequest = { ...this.#request, pageSize: shape.size };
    for (;;) {
      const { rows, plan, mark } = await this.#read(asked, shape);
      const shown = rows.slice(0, shape.size);
      if (shown.length > 0) yield { rows: shown, plan };
      if (rows.length <= shape.size) return;
      const after = encodeCursor(mark(), keysOfRow(shown.at(-1)!, plan), plan.keys);
      asked = { ...asked, after, shape: `${this.#request.shape} stream` };
    }
  }

  /** The records of some keys that still match, in the order of the list. */
  async #recordsOf(keys: readonly unknown[]): Promise<readonly string[]> {
    const asked = { ...this.#request, filterByTk: [], after: null, shape: `${this.#request.shape} keyed` };
    const { rows, plan } = await this.#read(asked, { size: limits.streamChunk, content: 'rows' }, keys);
    return textsOf(rows, plan);
  }

  async #read(
    asked: AskedRecordRequest,
    shape: { size: number; content: 'rows' | 'keys' },
    keys?: readonly unknown[],
  ): Promise<Page & Pick<PreparedList, 'mark'>> {
    for (let attempt = 1; ; attempt += 1) {
      const context = await this.#now();
      this.#requireUnchanged(context);
      const grant = requireGrant(context, this.#collection, 'list');
      requireTrashAsked(asked, this.#collection);
      const { plan, environment, mark } = preparedList(context, this.#collection, grant, asked, shape, keys);
      try {
        const [rows] = await run(context, [bind(context.database.dialect, plan.page, environment)]);
        return { rows: presentRows(rows!, plan), plan, mark };
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

interface Page {
  readonly rows: ReturnType<typeof presentRows>;
  readonly plan: ListPlan;
}

function textsOf(rows: Page['rows'], plan: ListPlan): string[] {
  return rows.map((row) => row[plan.lead] as string);
}

/** What the records of a collection look like, and where they lie. */
function shapeOf({ id, fields, options }: Collection): string {
  return JSON.stringify([id, options, fields.map((field) => [field.id, field.name, field.definition])]);
}
