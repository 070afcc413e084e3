/** `<collection>:storeExport`: an export as a file of the caller, in the same store as uploads. */
import { TimeSlices } from '../base/time-slices.ts';
import { insertFiles, storeBytes } from '../files/upload-files.ts';
import { ApiError } from '../protocol/api-error.ts';
import { limits } from '../protocol/limits.ts';
import { permissionDenied } from '../query/read-access.ts';
import { requireGrant } from '../records/read/read-records.ts';
import { formatExporter } from '../records/read/readable-files.ts';
import type { RecordContext } from '../records/record-context.ts';
import { describeFile } from '../records/write/file-values.ts';
import type { Collection } from '../schema/registry.ts';
import { runIdempotentAcrossTransactions } from './idempotency.ts';
import { acquireExportSlot, type ExportFile, openExport } from './record-export.ts';
import type { ActionResult, RequestContext } from './request-context.ts';

/**
 * Exports records into a file.
 *
 * @throws ApiError as the export does, 403 without the permission to create files, and 413 for a file that is too large.
 */
export function storeExport(
  request: RequestContext,
  context: RecordContext,
  collection: Collection,
): Promise<ActionResult> {
  const run = (each: RequestContext): Promise<ActionResult> =>
    storeExportFile(each, context, () => openExport(each, context, { collection, requestId: null }));
  return request.idempotencyKey ? runIdempotentAcrossTransactions(request, run) : run(request);
}

/** Stores what an export writes. Its bytes are durable before the file exists; if the export fails or is aborted, neither remains. */
export async function storeExportFile(
  request: RequestContext,
  context: RecordContext,
  open: () => Promise<ExportFile>,
): Promise<ActionResult> {
  const { files } = request.application;
  requireUpload(context);
  const uploader = formatExporter(context);
  const signal = request.abortSignal();
  const release = acquireExportSlot(request, context);
  try {
    const { stream, contentType, filename = null } = await open();
    const bytes = limitExport(stream, files.uploadLimits.fileBytes, signal);
    const file = await storeBytes(context, files, { filename, contentType, bytes });
    // Permissions may have changed meanwhile.
    const now = await request.contextNow();
    requireUpload(now);
    if (formatExporter(now) !== uploader)
      throw new ApiError('BUSY', 'The permissions of the role have changed during the export. Try again.', {
        retryAfter: 1,
      });
    requireWaiting(signal);
    const [stored] = await insertFiles(now, [{ ...file, uploader }]);
    return { data: JSON.stringify(describeFile(stored!)) };
  } finally {
    release();
  }
}

function requireUpload(context: RecordContext): void {
  if (context.caller.type === 'anonymous') throw permissionDenied('files', 'create');
  requireGrant(context, context.registry.get('files'), 'create');
}

/**
 * The bytes of an export. It ends when nobody waits for the reply any more, because then no client would receive the id
 * of the file.
 */
async function* limitExport(
  pieces: AsyncGenerator<string | Uint8Array>,
  maxBytes: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const end = performance.now() + limits.uploadMilliseconds;
  const slices = new TimeSlices();
  let size = 0;
  for await (const piece of pieces) {
    if (slices.isOver) await slices.next();
    requireWaiting(signal);
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
    size += bytes.length;
    if (size > maxBytes)
      throw new ApiError(
        'LIMIT_EXCEEDED',
        `A stored file may have at most ${maxBytes} bytes. Export fewer records or fields, or download the export.`,
      );
    if (performance.now() > end)
      throw new ApiError(
        'LIMIT_EXCEEDED',
        `An export may take at most ${limits.uploadMilliseconds / 3_600_000} hours.`,
      );
    yield bytes;
  }
  requireWaiting(signal);
}

function requireWaiting(signal: AbortSignal): void {
  if (signal.aborted)
    throw new ApiError('STOPPING', 'The export was aborted, and nothing was stored. Try again.', { retryAfter: 5 });
}
