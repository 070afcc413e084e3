/**
 * Lists without pages: all records, read in chunks, so that memory and locks stay bounded whatever their number. Each chunk
 * is read under the grants that the caller has at that moment.
 */
import { bind, StaleVersion } from '../../database/database.ts';
import { pageSeparator } from '../../database/dialect.ts';
import { ApiError } from '../../protocol/api-error.ts';
import { limits } from '../../protocol/limits.ts';
import type { RecordRequest } from '../../protocol/record-request.ts';
import { encodeSortCursor } from '../../query/cursor.ts';
import type { Grant } from '../../query/grant.ts';
import type { Collection } from '../../schema/registry.ts';
import type { RecordContext } from '../record-context.ts';
import { buildPage, type ListPage } from './list-page.ts';
import { type PreparedList, prepareList, requireGrant, requireTrashSupport } from './read-records.ts';
import { runReads } from './read-statements.ts';
import { recordList } from './record-run.ts';

/** The context of the caller as it is now. @throws ApiError 401 if the credential is no longer valid. */
export type ContextProvider = () => Promise<RecordContext>;

/** The grant whose rows and fields a stream reads. @throws ApiError 403 without one. */
export type GrantReader = (context: RecordContext, collection: Collection) => Grant;

/** JSON texts of some records, {@link pageSeparator} between them. */
export type JsonChunks = AsyncGenerator<string>;

/** How a stream reads. */
export interface StreamOptions {
  /** Is called for each chunk. */
  readonly readGrant: GrantReader;
  /** Records of the first chunk, at most {@link limits.streamChunk}. */
  readonly firstChunk: number;
}

/** How many times a chunk is tried while definitions or grants change concurrently. */
const maxAttempts = 5;

/**
 * Reads all records of a list in its order.
 *
 * @param now is called for each chunk.
 * @throws ApiError as a list does; `BUSY` if the definition of the collection changes before the end.
 */
export async function* streamRecords(
  now: ContextProvider,
  collection: Collection,
  request: RecordRequest,
  { readGrant, firstChunk }: StreamOptions = listOptions,
): JsonChunks {
  const access = { now, readGrant, chunk: new ChunkSize(firstChunk) };
  const stream = new RecordStream(access, collection, { ...request, count: 'none', page: 1 });
  const isByKey = request.sort.every((term) => term.path === collection.primaryKey.name);
  if (isByKey || request.filterByTk !== undefined) yield* stream.readInOrder();
  else yield* stream.readByKeys();
}

function requireListGrant(context: RecordContext, collection: Collection): Grant {
  return requireGrant(context, collection, 'list');
}

const listOptions: StreamOptions = { readGrant: requireListGrant, firstChunk: limits.streamChunk };

/** The records of the next chunk: fewer if the previous ones were long, so that a chunk needs bounded memory. */
class ChunkSize {
  /** Each size has its own plan, so there are few sizes. */
  static readonly #sizes = [limits.streamChunk, limits.streamChunk / 10, 1];
  current: number;

  constructor(first: number) {
    this.current = first;
  }

  adapt(text: string, records: number): void {
    const recordLength = text.length / records;
    this.current = ChunkSize.#sizes.find((size) => size * recordLength <= limits.streamChunkLength) ?? 1;
  }
}

/** The caller's access with which a stream reads, and the size of its chunks. */
interface StreamAccess {
  readonly now: ContextProvider;
  readonly readGrant: GrantReader;
  readonly chunk: ChunkSize;
}

class RecordStream {
  readonly #access: StreamAccess;
  readonly #collection: Collection;
  readonly #request: RecordRequest;

  constructor(access: StreamAccess, collection: Collection, request: RecordRequest) {
    this.#access = access;
    this.#collection = collection;
    this.#request = request;
  }

  /** For an order by key: reads page after page. */
  async *readInOrder(): JsonChunks {
    for await (const { text } of this.#pages('text')) yield text;
  }

  /**
   * For any other order, which may sort the whole table for each page: the keys of many pages are read at once, then their
   * records by key.
   */
  async *readByKeys(): JsonChunks {
    for await (const { text, keys } of this.#pages('keys')) {
      const keyTexts = text.split(pageSeparator);
      for (let from = 0; from < keyTexts.length; ) {
        const chunk = keyTexts.slice(from, from + this.#access.chunk.current);
        from += chunk.length;
        const records = await this.#recordsOf(chunk.map((each) => readLastKey(each, keys)));
        if (records !== '') yield records;
        this.#access.chunk.adapt(records, chunk.length);
      }
    }
  }

  /** The pages that are not empty, with the number of their sort keys. */
  async *#pages(content: ChunkShape['content']): AsyncGenerator<{ text: string; keys: number }> {
    const { chunk } = this.#access;
    let request: RecordRequest = this.#request;
    for (;;) {
      const size = content === 'keys' ? limits.streamKeys : chunk.current;
      request = { ...request, pageSize: size };
      const { page, plan, fingerprint } = await this.#read(request, { size, content });
      if (page.text !== '') yield { text: page.text, keys: plan.keys.length };
      if (!page.hasNext) return;
      if (content === 'text') chunk.adapt(page.text, size);
      const after = encodeSortCursor(fingerprint(), page.lastKeys(), plan.keys);
      request = { ...request, after, shape: `${this.#request.shape} stream` };
    }
  }

  /** The records of some keys that still match, in the order of the list. */
  async #recordsOf(keys: readonly unknown[]): Promise<string> {
    const request = { ...this.#request, filterByTk: [], after: null, shape: `${this.#request.shape} keyed` };
    const { page } = await this.#read(request, { size: limits.streamChunk, content: 'text' }, keys);
    return page.text;
  }

  async #read(request: RecordRequest, shape: ChunkShape, keys?: readonly unknown[]): Promise<PageRead> {
    for (let attempt = 1; ; attempt += 1) {
      const context = await this.#access.now();
      this.#requireUnchanged(context);
      const grant = this.#access.readGrant(context, this.#collection);
      requireTrashSupport(request, this.#collection);
      const query = { collection: this.#collection, grant, request, ...(keys && { keys }) };
      const { plan, environment, fingerprint } = prepareList(context, query, shape);
      try {
        const statement = bind(context.database.dialect, plan.page, environment);
        const started = plan.shape ? plan.shape.begin() : -1;
        const [rows] = await runReads(context, [statement]);
        const result = plan.read(rows!);
        const run = { statement, started, rows: rows!, result, countVisited: 0, pageSize: shape.size, offset: 0 };
        if (started >= 0) recordList(plan, run);
        return { page: buildPage(result.rows, plan, shape.size), plan, fingerprint };
      } catch (error) {
        if (!(error instanceof StaleVersion) || attempt === maxAttempts) throw error;
        await context.refresh();
      }
    }
  }

  #requireUnchanged({ registry }: RecordContext): void {
    const found = registry.find(this.#collection.name);
    if (found === this.#collection || (found && describeShape(found) === describeShape(this.#collection))) return;
    const message = `The definition of ${this.#collection.name} has changed while its records were read; start again.`;
    throw new ApiError('BUSY', message, { retryAfter: 1 });
  }
}

interface ChunkShape {
  readonly size: number;
  readonly content: 'text' | 'keys';
}

interface PageRead extends Omit<PreparedList, 'environment'> {
  readonly page: ListPage;
}

/** The primary key is the last one of every sort. */
function readLastKey(keyText: string, keyCount: number): unknown {
  return (JSON.parse(keyText) as Record<string, unknown>)[keyCount - 1];
}

/** Equal for two definitions of a collection with the same fields, columns and options. */
function describeShape({ id, fields, options }: Collection): string {
  return JSON.stringify([id, options, fields.map((field) => [field.id, field.name, field.definition])]);
}
