/** The actions of one collection, and of a relation below one of its records. */

import type {
  ExportParameters,
  HistoryEntry,
  Key,
  List,
  ListMeta,
  ReadParameters,
  RecordValues,
  StoredFile,
  WriteParameters,
} from './dto.ts';
import { Failure } from './failure.ts';
import {
  buildImportBody,
  type Import,
  type ImportDryRun,
  type ImportFileOptions,
  type ImportOptions,
  type ImportPreview,
  type ImportSource,
} from './import-parameters.ts';
import type { Reply, RequestOptions, Transport } from './transport.ts';

/** Options of a call, in addition to its parameters. */
export type ActionOptions = Pick<RequestOptions, 'ifMatch' | 'idempotencyKey' | 'signal'>;

/** One record with its ETag, for `ifMatch`. */
export interface RecordWithEtag<T> {
  readonly data: T;
  readonly etag: string | null;
}

export class Records<T extends RecordValues = RecordValues> {
  protected readonly transport: Transport;
  protected readonly path: string;

  constructor(transport: Transport, path: string) {
    this.transport = transport;
    this.path = path;
  }

  async list(parameters: ReadParameters = {}, options: ActionOptions = {}): Promise<List<T>> {
    const { data, meta } = await this.transport.call<T[], ListMeta>(`${this.path}:list`, {
      ...options,
      query: parameters,
    });
    return { data, meta };
  }

  /**
   * Reads page by page with the server's cursor. No record is skipped or repeated because of concurrent writes.
   */
  async *pages(
    parameters: Omit<ReadParameters, 'page' | 'after'> = {},
    options: ActionOptions = {},
  ): AsyncGenerator<readonly T[]> {
    let after: string | undefined;
    do {
      const { data, meta } = await this.list({ count: 'none', pageSize: 200, ...parameters, after }, options);
      yield data;
      after = meta.nextCursor ?? undefined;
    } while (after !== undefined);
  }

  /** All records, read page by page. */
  async *each(parameters: Omit<ReadParameters, 'page' | 'after'> = {}, options: ActionOptions = {}): AsyncGenerator<T> {
    for await (const page of this.pages(parameters, options)) yield* page;
  }

  /**
   * All records in one streamed reply.
   *
   * @throws Failure `STREAM_BROKEN` if the server ends the stream early, which may be after many records.
   */
  async *stream(
    parameters: Omit<ReadParameters, 'page' | 'pageSize' | 'after'> = {},
    options: ActionOptions = {},
  ): AsyncGenerator<T> {
    const query = { ...parameters, paginate: false };
    const response = await this.transport.send(`${this.path}:list`, {
      ...options,
      query,
      headers: { accept: 'application/x-ndjson' },
    });
    const requestId = response.headers.get('x-request-id');
    for await (const line of readLines(response, options.signal)) {
      const value = JSON.parse(line) as T;
      if (isStreamEnd(value, requestId))
        throw new Failure(response.status, {
          code: 'STREAM_BROKEN',
          message: String(value['message']),
          requestId: String(value['requestId']),
        });
      yield value;
    }
  }

  /**
   * The records as a file. Its name is in the header Content-Disposition. A reply that ends early fails while its body is
   * read; an NDJSON file then ends with a line `{"error", "message", "requestId"}`.
   */
  exportFile(parameters: ExportParameters = {}, options: ActionOptions = {}): Promise<Response> {
    return this.transport.send(`${this.path}:export`, { ...options, query: parameters });
  }

  /**
   * Exports the records into a file on the server, which belongs to the caller. It is deleted after a day unless a record refers to
   * it.
   */
  async storeExport(parameters: ExportParameters = {}, options: ActionOptions = {}): Promise<StoredFile> {
    const request = { ...options, method: 'POST' as const, body: parameters };
    return (await this.transport.call<StoredFile>(`${this.path}:storeExport`, request)).data;
  }

  /**
   * Imports the records of a file. Up to 1,000 rows are one transaction, and the returned import has ended. A longer file is
   * imported in the background: read the import again, or subscribe to `imports.updated`.
   *
   * @throws Failure `IMPORT_INVALID` with `rows` if a short file has invalid rows, unless `skipInvalid` is set.
   */
  async importFile(source: ImportSource, parameters: ImportOptions = {}, options: ActionOptions = {}): Promise<Import> {
    return this.sendImport<Import>('import', source, parameters, options);
  }

  /** What an import would do; nothing is changed. */
  async importDryRun(
    source: ImportSource,
    parameters: ImportOptions = {},
    options: ActionOptions = {},
  ): Promise<ImportDryRun> {
    return this.sendImport<ImportDryRun>('import', source, { ...parameters, dryRun: true }, options);
  }

  /** What a file looks like, and which fields its columns could be for. */
  async importPreview(
    source: ImportSource,
    parameters: ImportFileOptions = {},
    options: ActionOptions = {},
  ): Promise<ImportPreview> {
    return this.sendImport<ImportPreview>('importPreview', source, parameters, options);
  }

  private async sendImport<R>(
    action: string,
    source: ImportSource,
    parameters: object,
    options: ActionOptions,
  ): Promise<R> {
    const request = { ...options, method: 'POST' as const, ...buildImportBody(source, parameters) };
    return (await this.transport.call<R>(`${this.path}:${action}`, request)).data;
  }

  /** The record with a key, or with null the first one that matches `filter`. */
  async get(key: Key | null, parameters: ReadParameters = {}, options: ActionOptions = {}): Promise<T> {
    return (await this.getWithEtag(key, parameters, options)).data;
  }

  /** A record with its ETag, for an update that must not overwrite a concurrent change. */
  async getWithEtag(
    key: Key | null,
    parameters: ReadParameters = {},
    options: ActionOptions = {},
  ): Promise<RecordWithEtag<T>> {
    const query = key === null ? parameters : { ...parameters, filterByTk: key };
    const { data, etag } = await this.transport.call<T>(`${this.path}:get`, { ...options, query });
    return { data, etag };
  }

  async create(values: object, parameters: WriteParameters = {}, options: ActionOptions = {}): Promise<T> {
    return this.write('create', values, parameters, options);
  }

  /** Creates up to 1000 records in one transaction. */
  async createMany(
    values: readonly object[],
    parameters: WriteParameters = {},
    options: ActionOptions = {},
  ): Promise<readonly T[]> {
    return this.write('create', values, parameters, options);
  }

  async update(key: Key, values: object, parameters: WriteParameters = {}, options: ActionOptions = {}): Promise<T> {
    return this.write('update', values, { ...parameters, filterByTk: key }, options);
  }

  /** Updates by several keys or a filter. @returns the records, or only their number if there are more than 1000. */
  async updateMany(
    target: Pick<WriteParameters, 'filterByTk' | 'filter'>,
    values: object,
    options: ActionOptions = {},
  ): Promise<readonly T[] | number> {
    return this.write('update', values, target, options);
  }

  /** @returns the number of destroyed records. */
  async destroy(
    target: Key | Pick<WriteParameters, 'filterByTk' | 'filter' | 'force'>,
    options: ActionOptions = {},
  ): Promise<number> {
    return this.write('destroy', undefined, typeof target === 'object' ? target : { filterByTk: target }, options);
  }

  async firstOrCreate(values: object, filterKeys: readonly string[], options: ActionOptions = {}): Promise<T> {
    return this.write('firstOrCreate', values, { filterKeys }, options);
  }

  async updateOrCreate(values: object, filterKeys: readonly string[], options: ActionOptions = {}): Promise<T> {
    return this.write('updateOrCreate', values, { filterKeys }, options);
  }

  /** Restores records from the trash. @returns the record, or a list for several keys. */
  async restore<R = T>(key: Key | readonly Key[], options: ActionOptions = {}): Promise<R> {
    return this.write('restore', undefined, { filterByTk: key }, options);
  }

  /** Aggregates records: `{measures, dimensions, filter, having, orders, limit, offset}`. */
  async query<R = RecordValues>(query: object, options: ActionOptions = {}): Promise<readonly R[]> {
    return (await this.transport.call<R[]>(`${this.path}:query`, { ...options, method: 'POST', body: query })).data;
  }

  /** Moves a record to the sort position of another one, or to an end. */
  async move(parameters: object, options: ActionOptions = {}): Promise<void> {
    await this.transport.call(`${this.path}:move`, { ...options, method: 'POST', query: parameters });
  }

  async history(key: Key, parameters: ReadParameters = {}, options: ActionOptions = {}): Promise<List<HistoryEntry>> {
    const query = { ...parameters, filterByTk: key };
    const { data, meta } = await this.transport.call<HistoryEntry[], ListMeta>(`${this.path}:history`, {
      ...options,
      query,
    });
    return { data, meta };
  }

  /** Reverts a record to its state after an entry of the history. */
  async revert(key: Key, entry: number, options: ActionOptions = {}): Promise<T> {
    const query = { filterByTk: key, entry };
    return (await this.transport.call<T>(`${this.path}:revert`, { ...options, method: 'POST', query })).data;
  }

  /** The related records of one record. */
  relation<R extends RecordValues = RecordValues>(key: Key, name: string): RelatedRecords<R> {
    return new RelatedRecords<R>(this.transport, `${this.path}/${encodeURIComponent(key)}/${encodeURIComponent(name)}`);
  }

  protected async write<R>(action: string, body: unknown, query: object, options: ActionOptions): Promise<R> {
    const request = { ...options, method: 'POST' as const, query };
    const reply: Reply<R> = await this.transport.call(
      `${this.path}:${action}`,
      body === undefined ? request : { ...request, body },
    );
    return reply.data;
  }
}

export class RelatedRecords<T extends RecordValues = RecordValues> extends Records<T> {
  /** Replaces the related records. @returns the keys afterwards, as far as they are visible to the caller. */
  set(keys: readonly Key[]): Promise<readonly Key[]> {
    return this.write('set', { values: keys }, {}, {});
  }

  add(keys: readonly Key[]): Promise<readonly Key[]> {
    return this.write('add', { values: keys }, {}, {});
  }

  remove(keys: readonly Key[]): Promise<readonly Key[]> {
    return this.write('remove', { values: keys }, {}, {});
  }

  toggle(keys: readonly Key[]): Promise<readonly Key[]> {
    return this.write('toggle', { values: keys }, {}, {});
  }
}

/** Whether a line ends a broken stream: `{"error", "message", "requestId"}` with the reply's own X-Request-Id. */
function isStreamEnd(value: RecordValues, requestId: string | null): boolean {
  return (
    requestId !== null && value['requestId'] === requestId && Object.keys(value).join() === 'error,message,requestId'
  );
}

/** The lines of a reply. A consumer that stops reading ends the stream on the server too. */
async function* readLines(response: Response, signal: AbortSignal | undefined): AsyncGenerator<string> {
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  const next = async (): Promise<Uint8Array | undefined> => {
    try {
      return (await reader.read()).value;
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Failure(response.status, { code: 'STREAM_BROKEN', message: 'The reply ended before it was complete.' });
    }
  };
  let rest = '';
  try {
    for (let chunk = await next(); chunk; chunk = await next()) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop()!;
      for (const line of lines) if (line !== '') yield line;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
  if (rest.trim() !== '') yield rest;
}
