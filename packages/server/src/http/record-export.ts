import { cleanFilename } from '../mail/parse/attachment-name.ts';
import { truncateText } from '../mail/parse/clean-text.ts';
import { isSearchable, mailParameters, parseMailListRequest } from '../mail/search/mail-list-request.ts';
import { ApiError } from '../protocol/api-error.ts';
import { type ExportFormat, omitExportOptions, parseExportOptions } from '../protocol/export-request.ts';
import { requireKnownNames } from '../protocol/known-names.ts';
import { limits } from '../protocol/limits.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import { actionParameters } from '../protocol/request-normaliser.ts';
import { formatUploader } from '../records/read/readable-files.ts';
import { type JsonChunks, type StreamOptions, streamRecords } from '../records/read/stream-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import type { Collection } from '../schema/registry.ts';
import { exportTable, isTableFormat, requireExportGrant } from '../transfer/export-records.ts';
import { type ActionResult, hasTextParameters, type RequestContext } from './request-context.ts';
import { streamWithCleanup } from './stream-with-cleanup.ts';
import { logFailures, ndjsonType, streamJsonLines, writeJsonLines } from './streamed-list.ts';

const contentTypes: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  json: 'application/json; charset=utf-8',
  ndjson: ndjsonType,
};

/** A file that is read while it is sent or stored. */
export type ExportFile = Pick<Extract<ActionResult, { stream: unknown }>, 'stream' | 'contentType' | 'filename'>;

/** In UTF-16 code units: the name has at most 255 bytes also if each unit has three. */
const maxTitleLength = 75;

/**
 * The first chunk is small: with long records, a full one would need more memory than all later ones, for each running
 * export.
 */
const streamOptions: StreamOptions = { readGrant: requireExportGrant, firstChunk: limits.streamChunk / 10 };

/**
 * `<collection>:export`: the records of a list as a file, which is sent while the records are read.
 *
 * @throws ApiError 503 `BUSY` if the sender, or all senders together, have too many exports under way.
 */
export async function exportRecords(
  request: RequestContext,
  context: RecordContext,
  collection: Collection,
): Promise<ActionResult> {
  const release = acquireExportSlot(request, context);
  try {
    const file = await openExport(request, context, { collection, requestId: request.requestId });
    return { ...file, stream: streamWithCleanup(file.stream, release), noStore: true };
  } catch (error) {
    release();
    throw error;
  }
}

/** @returns a function that frees the slot. @throws ApiError 503 `BUSY`, see {@link exportRecords}. */
export function acquireExportSlot({ application }: RequestContext, { caller }: RecordContext): () => void {
  const { exportSlots } = application;
  const sender = formatUploader(caller) ?? '';
  if (exportSlots.acquire(sender, 1) < 1)
    throw new ApiError('BUSY', 'Too many exports are under way. Try again when one has ended.', { retryAfter: 5 });
  return () => exportSlots.release(sender);
}

/** The collection to export, and the request that an incomplete file names. */
interface ExportTarget {
  readonly collection: Collection;
  /** An NDJSON file that breaks off ends with a line that names this request. Null: the stream fails instead. */
  readonly requestId: string | null;
}

/** Opens an export. The first records are read before this returns, so that a refusal keeps its status. */
export async function openExport(
  request: RequestContext,
  context: RecordContext,
  { collection, requestId }: ExportTarget,
): Promise<ExportFile> {
  const options = parseExportOptions(request.parameters());
  const recordRequest = readExportRequest(request, context, collection);
  const chunks = logFailures(request, streamRecords(request.contextNow, collection, recordRequest, streamOptions));
  const { format } = options;
  const stream = isTableFormat(format)
    ? await exportTable(context, { collection, request: recordRequest, options, chunks })
    : await streamJson(format, chunks, requestId);
  return { stream, contentType: contentTypes[format], filename: buildExportName(context, collection, format) };
}

/** The name of the file: title of the collection, and date in the time zone of the request. */
function buildExportName({ clock, zone }: RecordContext, { title, name }: Collection, format: ExportFormat): string {
  const today = Temporal.Instant.fromEpochMilliseconds(clock.now()).toZonedDateTimeISO(zone).toPlainDate();
  const shortTitle = truncateText((title ?? name).replace(/[/\\]/g, '_'), maxTitleLength);
  const ending = `${today.toString()}.${format}`;
  return cleanFilename(`${shortTitle} ${ending}`) ?? ending;
}

/** The list that is exported. Lists of mail have parameters of their own. */
function readExportRequest(request: RequestContext, context: RecordContext, collection: Collection): RecordRequest {
  if (!isSearchable(collection.name)) return request.recordRequest();
  const parameters = omitExportOptions(request.parameters());
  requireKnownNames(request.route.action, parameters, new Set([...actionParameters.export, ...mailParameters]));
  return parseMailListRequest(collection.name, parameters, hasTextParameters(request), context);
}

/** An array of the records, or one record per line. */
async function streamJson(
  format: 'json' | 'ndjson',
  chunks: JsonChunks,
  requestId: string | null,
): Promise<AsyncGenerator<string>> {
  const first = await chunks.next();
  if (format === 'json') return streamJsonArray(first, chunks);
  return requestId === null ? writeJsonLines(first, chunks) : streamJsonLines(first, chunks, requestId);
}

async function* streamJsonArray(first: IteratorResult<string>, chunks: JsonChunks): AsyncGenerator<string> {
  yield '[\n';
  if (!first.done) yield first.value;
  for await (const chunk of chunks) yield `,\n${chunk}`;
  yield '\n]\n';
}
