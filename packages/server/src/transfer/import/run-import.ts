/** Runs an import in the background: reads its file, and imports it part by part. */
import { BackgroundPace } from '../../base/background-pace.ts';
import type { OpenBlob } from '../../base/blob-store.ts';
import type { Clock } from '../../base/clock.ts';
import type { Transaction } from '../../database/database.ts';
import type { ImportCounts, StoredImport } from '../../database/import-rows.ts';
import { ApiError } from '../../protocol/api-error.ts';
import type { ImportOptions } from '../../protocol/import-request.ts';
import type { RecordContext } from '../../records/record-context.ts';
import type { Collection } from '../../schema/registry.ts';
import type { SourceRow } from '../read/table-source.ts';
import { addNewOptions, NewOptions, type SelectOptionWriter } from './add-options.ts';
import { type ImportTable, openImportTable, prepareImport } from './import-table.ts';
import { importPart, type StoredCaller } from './import-transaction.ts';
import { groupIntoParts } from './row-parts.ts';

/** Minimum time between two progress reports to listeners. */
const reportMilliseconds = 500;

/** The import has ended, another server runs it, or this one is stopping. */
export class ImportStopped extends Error {}

/** Who runs a part of an import, and for which request. */
export interface ImportCaller {
  readonly caller: StoredCaller;
  readonly zone: string;
  readonly requestId: string | null;
}

export interface RunImportParts {
  readonly clock: Clock;
  /**
   * Runs work with the permissions that a caller has now, and again if they have changed meanwhile.
   *
   * @throws ApiError if the caller is suspended, or the key revoked.
   */
  withCaller<T>(caller: ImportCaller, work: (context: RecordContext) => Promise<T>): Promise<T>;
  /** Adds options to a field as its caller. */
  readonly addOptions: (caller: ImportCaller) => SelectOptionWriter;
}

/** An import that this server has leased. */
export interface ImportRun {
  readonly stored: StoredImport;
  readonly blob: OpenBlob;
  isStopping(): boolean;
  /** @returns how many rows are processed. @throws ImportStopped */
  requireLease(transaction: Transaction): Promise<number>;
}

/** What is stored of a request; see `storeImport`. */
type StoredOptions = ImportOptions & ImportCaller;

/**
 * Imports the rest of a file.
 *
 * @throws ImportStopped, ApiError why the import fails.
 */
export async function continueImport(parts: RunImportParts, run: ImportRun): Promise<void> {
  const { stored, blob } = run;
  const options = stored.options as StoredOptions;
  const imported = await parts.withCaller(options, (context) =>
    openImportTable(blob, requireCollection(context, stored), options.file),
  );
  const rows = stored.rows ?? (await surveyRows(parts, run, imported, options));
  let counts: ImportCounts = stored;
  let reportTime = 0;
  const pace = new BackgroundPace();
  for await (const source of groupIntoParts(readRest(run, imported))) {
    const isReported = parts.clock.now() - reportTime >= reportMilliseconds;
    if (isReported) reportTime = parts.clock.now();
    const requireLease = async (transaction: Transaction): Promise<void> => {
      if ((await run.requireLease(transaction)) !== counts.processed) throw new ImportStopped();
    };
    const part = { id: stored.id, source, counts, rows, isReported, requireLease };
    counts = await parts.withCaller(options, async (context) => {
      const ready = prepareImport(context, requireCollection(context, stored), options, imported);
      return importPart(ready, part);
    });
    await pace.rest();
  }
}

/** The rows that are not processed yet. */
async function* readRest(
  { stored, isStopping }: ImportRun,
  { table }: ImportTable,
): AsyncGenerator<readonly SourceRow[]> {
  let toSkip = stored.processed;
  for await (const batch of table.rows()) {
    if (isStopping()) throw new ImportStopped();
    yield batch.slice(toSkip);
    toSkip = Math.max(0, toSkip - batch.length);
  }
}

/** @throws ApiError `COLLECTION_UNKNOWN` if it was deleted meanwhile. */
function requireCollection({ registry }: RecordContext, { collection: name }: StoredImport): Collection {
  const collection = registry.find(name);
  if (collection) return collection;
  throw new ApiError('COLLECTION_UNKNOWN', `The collection "${name}" was deleted.`);
}

/** Reads the whole file once, before anything is written: counts its rows, and adds new options if the request wants it. */
async function surveyRows(
  parts: RunImportParts,
  run: ImportRun,
  imported: ImportTable,
  options: StoredOptions,
): Promise<number> {
  const { stored } = run;
  const found = await parts.withCaller(options, async (context) => {
    const { plan } = prepareImport(context, requireCollection(context, stored), options, imported);
    return options.addOptions ? new NewOptions(plan) : null;
  });
  let rows = 0;
  for await (const batch of imported.table.rows()) {
    if (run.isStopping()) throw new ImportStopped();
    rows += batch.length;
    found?.collect(batch);
  }
  if (found) await addNewOptions(parts.addOptions(options), stored.collection, found);
  return rows;
}
