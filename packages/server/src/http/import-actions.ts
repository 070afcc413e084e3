/** `<collection>:import` and `importPreview`, and the actions of imports that are not generated. */

import { text } from 'node:stream/consumers';
import { setSelectOptions } from '../applications/import-callers.ts';
import { ConcurrencyLimiter } from '../base/concurrency-limiter.ts';
import { defineCollection, sketchCollection } from '../collections/define-collection.ts';
import { DryRunRollback } from '../collections/definition-context.ts';
import { StaleVersion } from '../database/database.ts';
import { readImport } from '../database/import-rows.ts';
import { ApiError } from '../protocol/api-error.ts';
import {
  type ImportFileOptions,
  type ImportMode,
  type ImportRequest,
  parseCollectionPreviewRequest,
  parseImportRequest,
  parsePreviewRequest,
} from '../protocol/import-request.ts';
import { limits } from '../protocol/limits.ts';
import { requestByKeys } from '../protocol/request-normaliser.ts';
import type { Grant } from '../query/grant.ts';
import { permissionDenied } from '../query/read-access.ts';
import { getRecord, requireGrant } from '../records/read/read-records.ts';
import { formatUploader } from '../records/read/readable-files.ts';
import { inTransaction, type RecordContext } from '../records/record-context.ts';
import { withOnlyGrant } from '../records/with-grants.ts';
import { checkCollection } from '../schema/definition-check.ts';
import type { Collection } from '../schema/registry.ts';
import { addNewOptions, NewOptions } from '../transfer/import/add-options.ts';
import { checkNewRows } from '../transfer/import/check-new-rows.ts';
import { collectDryRun, type DryRunReport } from '../transfer/import/dry-run-report.ts';
import { toImportContext } from '../transfer/import/import-plan.ts';
import { type ImportTable, openImportTable, prepareImport, resolveMapping } from '../transfer/import/import-table.ts';
import {
  checkImport,
  dryRunImport,
  type ImportInput,
  importAtOnce,
  type PrepareImport,
  storeImport,
} from '../transfer/import/import-transaction.ts';
import { previewCollection, previewTable } from '../transfer/import/preview-table.ts';
import { measureRow } from '../transfer/import/row-parts.ts';
import type { SourceRow } from '../transfer/read/table-source.ts';
import { parseRecordId } from './auth-actions.ts';
import { runIdempotentAcrossTransactions } from './idempotency.ts';
import { type ImportSource, receiveImportSource } from './import-source.ts';
import { jsonContentType } from './json-reply.ts';
import { readKnownParameters } from './known-parameters.ts';
import { type ActionResult, getRecordContext, type RequestContext, type SystemAction } from './request-context.ts';
import { streamWithCleanup } from './stream-with-cleanup.ts';

export const importActions: Readonly<Record<string, SystemAction>> = {
  'collections:importPreview': { reads: false, run: previewNewCollection },
  'imports:cancel': { reads: false, run: cancel },
  'imports:refusedRows': { reads: true, run: sendRefusedRows },
};

/** Dry runs under way in one process. They write, and roll back. */
const dryRuns = new ConcurrencyLimiter(limits.importsOfUser, limits.imports);

/**
 * `<collection>:import`: a short file in the transaction of the request, a longer one in the background.
 *
 * @throws ApiError `IMPORT_INVALID`, and as a create or update.
 */
export function importRecords(
  request: RequestContext,
  context: RecordContext,
  collection: Collection,
): Promise<ActionResult> {
  const run = (each: RequestContext): Promise<ActionResult> => runRequest(each, context, collection);
  return request.idempotencyKey ? runIdempotentAcrossTransactions(request, run) : run(request);
}

async function runRequest(request: RequestContext, before: RecordContext, target: Collection): Promise<ActionResult> {
  const source = await receiveImportSource(request, before);
  const options = parseImportRequest(source.options);
  const { context, collection } = await readContextNow(request, target);
  const narrowed = toImportContext(context, collection, options.mode);
  requireGenerated(request, collection, options.mode);
  if (options.addOptions) requireFieldUpdate(context);
  const imported = await openSource(request, collection, source, options.file);
  const importRequest = { ...options, mapping: resolveMapping(narrowed, collection, options, imported) };
  prepareImport(context, collection, importRequest, imported); // refuses a mapping that does not fit
  const running: RunningImport = { request, source, options: importRequest, collection, imported };
  if (options.dryRun) return runDryRun(running);
  const rows = await readFirstRows(imported);
  return rows === null ? startJob(running, context) : importNow(running, rows);
}

/**
 * Collections with their own create or update action cannot be imported, because an import would bypass that action.
 */
function requireGenerated({ hasSystemAction }: RequestContext, { name }: Collection, mode: ImportMode): void {
  const actions = mode === 'upsert' ? ['create', 'update'] : [mode];
  if (actions.some((action) => hasSystemAction(name, action)))
    throw new ApiError('SYSTEM_PROTECTED', `Records of ${name} cannot be imported.`);
}

/** A request to import, with its opened file. */
interface RunningImport {
  readonly request: RequestContext;
  readonly source: ImportSource;
  /** The options of the import, including the mapping. */
  readonly options: ImportRequest;
  readonly collection: Collection;
  readonly imported: ImportTable;
}

/** The permissions may have changed while the bytes arrived, and the definitions too. */
async function readContextNow(
  request: RequestContext,
  target: Collection,
): Promise<{ context: RecordContext; collection: Collection }> {
  const context = await request.contextNow();
  const collection = context.registry.find(target.name);
  if (!collection) throw new StaleVersion();
  requireGrant(context, collection, 'import');
  return { context, collection };
}

async function openSource(
  { application: { files } }: RequestContext,
  collection: Collection | null,
  { sha256 }: ImportSource,
  options: ImportFileOptions,
): Promise<ImportTable> {
  return openImportTable(await files.open(sha256), collection, options);
}

function requireFieldUpdate({ findGrant }: RecordContext): void {
  if (!findGrant('fields', 'update')) throw permissionDenied('fields', 'update');
}

/** All rows of a short file; null if there are more than one transaction takes, or longer ones than the memory of a request holds. */
async function readFirstRows({ table }: ImportTable): Promise<readonly SourceRow[] | null> {
  const rows: SourceRow[] = [];
  let length = 0;
  for await (const batch of table.rows()) {
    rows.push(...batch);
    for (const row of batch) length += measureRow(row);
    if (rows.length > limits.importRows || length > limits.bodyBytes) return null;
  }
  return rows;
}

async function importNow(running: RunningImport, rows: readonly SourceRow[]): Promise<ActionResult> {
  const { request, options, collection, imported } = running;
  if (options.addOptions) await addOptionsOf(running, rows);
  const { context } = await readContextNow(request, collection);
  const ready = prepareImport(context, context.registry.get(collection.name), options, imported);
  return { data: await importAtOnce(ready, toInput(running), rows, readImportRecord) };
}

/** Adds the options, unless the import would be refused: then nothing may change. */
async function addOptionsOf(running: RunningImport, rows: readonly SourceRow[]): Promise<void> {
  const { request, options, collection, imported } = running;
  const { context } = await readContextNow(request, collection);
  const ready = prepareImport(context, context.registry.get(collection.name), options, imported);
  const found = new NewOptions(ready.plan);
  found.collect(rows);
  if (found.byField.length === 0) return;
  const withOptions = { ...ready, readCell: found.accept(ready.readCell) };
  await checkImport(withOptions, options, rows);
  const write = (name: string, field: string, values: readonly string[]): Promise<void> =>
    setSelectOptions(request.application, context, { collection: name, field, options: values });
  await addNewOptions(write, collection.name, found);
}

/** The record is read in the transaction, since the request must not be repeated after it. */
async function startJob(running: RunningImport, context: RecordContext): Promise<ActionResult> {
  const { request, options } = running;
  const { imports } = request.application;
  const started = await inTransaction(context, async (tx) => {
    const id = await storeImport(tx, tx.tx, toInput(running), 'pending');
    return { id, data: await readImportRecord(tx, id) };
  });
  imports.wake();
  return options.wait ? waitForJob(request, started.id) : { data: started.data, isAccepted: true };
}

/** The parameters do not hold the opened file, whose texts can take much memory: the import opens it again. */
async function waitForJob(request: RequestContext, id: number): Promise<ActionResult> {
  try {
    await request.application.imports.waitForEnd(id, request.abortSignal());
    const read = async (): Promise<string> => readImportRecord(await request.contextNow(), id);
    return { data: await request.application.withCurrentSnapshot(read) };
  } catch (error) {
    if (error instanceof ApiError) error.isFinal = true;
    throw error;
  }
}

function toInput({ source, options, collection, imported: { table } }: RunningImport): ImportInput {
  const { filename, sha256, fileId } = source;
  const { dryRun: _, maxErrors: __, wait: ___, ...stored } = options;
  return { collection: collection.name, filename, sha256, fileId, table, options: stored };
}

async function runDryRun(running: RunningImport): Promise<ActionResult> {
  const { request, options, collection, imported } = running;
  const report = await withDryRunSlot(request, async (signal) => {
    const found = options.addOptions ? await collectNewOptions(running) : null;
    const prepare = async (): ReturnType<PrepareImport> => {
      const { context } = await readContextNow(request, collection);
      const ready = prepareImport(context, context.registry.get(collection.name), options, imported);
      return found ? { ...ready, readCell: found.accept(ready.readCell) } : ready;
    };
    return collectDryRun(options.maxErrors, (rows) =>
      dryRunImport(imported.table, prepare, rows, () => signal.aborted),
    );
  });
  return sendReport(report, '', '');
}

/** The report of a dry run, and the members of `data` around it. A long one is a stream. */
async function sendReport(report: DryRunReport, before: string, after: string): Promise<ActionResult> {
  async function* writeData(): AsyncGenerator<string | Uint8Array> {
    yield before;
    yield* report.toJson();
    yield after;
  }
  if (report.isShort) return { data: await text(writeData()) };
  async function* writeReply(): AsyncGenerator<string | Uint8Array> {
    yield '{"data":';
    yield* writeData();
    yield '}';
  }
  const stream = streamWithCleanup(writeReply(), () => void report.close().catch(() => {}));
  return { stream, contentType: jsonContentType, noStore: true };
}

/** @throws ApiError `BUSY` while too many dry runs of the caller, or of all callers, are under way. */
async function withDryRunSlot<T>(request: RequestContext, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const sender = formatUploader(request.caller) ?? '';
  if (dryRuns.acquire(sender, 1) < 1)
    throw new ApiError('BUSY', 'Too many dry runs are under way. Try again later.', { retryAfter: 5 });
  try {
    return await work(request.abortSignal());
  } finally {
    dryRuns.release(sender);
  }
}

async function collectNewOptions({ request, options, collection, imported }: RunningImport): Promise<NewOptions> {
  const { context } = await readContextNow(request, collection);
  const found = new NewOptions(prepareImport(context, context.registry.get(collection.name), options, imported).plan);
  for await (const batch of imported.table.rows()) found.collect(batch);
  return found;
}

/** The grant under which the reply shows the import that the caller has just started. */
const ownImportGrant: Grant = { identity: 'own import', rows: null, may: (field) => !field.hidden };

async function readImportRecord(context: RecordContext, id: number): Promise<string> {
  const override = { resource: 'imports', action: 'get', grant: ownImportGrant };
  const { data } = await getRecord(
    withOnlyGrant(context, override),
    context.registry.get('imports'),
    requestByKeys('get', id),
  );
  return data;
}

/** `<collection>:importPreview`: what the file looks like, and which fields its columns could be for. */
export async function previewImport(
  request: RequestContext,
  before: RecordContext,
  target: Collection,
): Promise<ActionResult> {
  const source = await receiveImportSource(request, before);
  const options = parsePreviewRequest(source.options);
  const { context, collection } = await readContextNow(request, target);
  const imported = await openSource(request, collection, source, options);
  return { data: JSON.stringify(previewTable(context, collection, imported)) };
}

/** `collections:importPreview`: a definition for the records of a file, or whether the records fit a given one. */
async function previewNewCollection(request: RequestContext): Promise<ActionResult> {
  const requireCreate = ({ findGrant }: RecordContext): void => {
    if (!findGrant('collections', 'create')) throw permissionDenied('collections', 'create');
  };
  const context = getRecordContext(request);
  requireCreate(context);
  const source = await receiveImportSource(request, context);
  const { file, definition, mapping, maxErrors } = parseCollectionPreviewRequest(source.options);
  const now = await request.contextNow();
  requireCreate(now);
  const collection = definition === undefined ? null : await checkDefinition(request, definition);
  const imported = await openSource(request, null, source, file);
  const preview = previewCollection(now, imported, source.filename);
  if (collection === null) return { data: JSON.stringify(preview) };
  const proposed = imported.derived.columns.map(({ index, definition: { name } }) => ({ column: index, field: name }));
  const report = await withDryRunSlot(request, (signal) =>
    collectDryRun(maxErrors, (rows) =>
      checkNewRows(now, collection, { imported, mapping: mapping ?? proposed, report: rows }, () => signal.aborted),
    ),
  );
  return sendReport(report, `${JSON.stringify(preview).slice(0, -1)},"report":`, '}');
}

/** @throws ApiError as `collections:create` would. */
async function checkDefinition({ application, caller, requestId }: RequestContext, body: unknown): Promise<Collection> {
  const context = application.definitionContext(caller, requestId, { changes: [], records: {} });
  const definition = checkCollection(body, context.maxFields);
  try {
    await defineCollection(context, definition);
  } catch (error) {
    if (!(error instanceof DryRunRollback)) throw error;
  }
  return sketchCollection(context, definition);
}

/** `imports:cancel`: stops an import between two transactions. One that has ended stays as it is, as the reply shows. */
async function cancel(request: RequestContext): Promise<ActionResult> {
  const context = getImportsContext(request);
  const { filterByTk } = readKnownParameters(request, ['filterByTk'], false);
  const id = parseRecordId(filterByTk);
  await readVisibleImport(context, id);
  await request.application.imports.cancel(id, { caller: context.caller, requestId: context.requestId });
  return { data: await readVisibleImport(context, id) };
}

/** @throws ApiError 403 without the grant to get imports: it precedes every other refusal. */
function getImportsContext(request: RequestContext): RecordContext {
  const context = getRecordContext(request);
  requireGrant(context, context.registry.get('imports'), 'get');
  return context;
}

/** @throws ApiError 403 or 404 as `imports:get`. */
async function readVisibleImport(context: RecordContext, id: number): Promise<string> {
  return (await getRecord(context, context.registry.get('imports'), requestByKeys('get', id))).data;
}

const refusedRowTypes = {
  csv: 'text/csv; charset=utf-8; header=present',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
} as const;

/** `imports:refusedRows`: the refused rows as a file that can be corrected and imported again. */
async function sendRefusedRows(request: RequestContext): Promise<ActionResult> {
  const context = getImportsContext(request);
  const { filterByTk, format = 'csv' } = readKnownParameters(request, ['filterByTk', 'format'], false);
  if (format !== 'csv' && format !== 'xlsx')
    throw new ApiError('PARAMETER_INVALID', '"format" must be "csv" or "xlsx".');
  const id = parseRecordId(filterByTk);
  await readVisibleImport(context, id);
  const stored = await readImport(context.database, id);
  if (!stored) throw new ApiError('RECORD_UNKNOWN', 'The import was deleted.');
  const file = { importId: id, columns: stored.columns, format } as const;
  const { writeRefusedRows } = await import('../transfer/import/refused-rows.ts');
  const stream = await writeRefusedRows(context.database, file);
  const filename = `${stored.collection} refused rows ${id}.${format}`;
  return { stream, contentType: refusedRowTypes[format], filename, noStore: true };
}
