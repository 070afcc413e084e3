import { pageSeparator } from '../database/dialect.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { RecordRequest } from '../protocol/record-request.ts';
import { type JsonChunks, streamRecords } from '../records/read/stream-records.ts';
import type { Collection } from '../schema/registry.ts';
import type { ActionResult, RequestContext } from './request-context.ts';

export const ndjsonType = 'application/x-ndjson; charset=utf-8';

/** Whether the client accepts a list without pages as one JSON text per line. */
export function acceptsNdjson({ headers }: RequestContext): boolean {
  return headers.accept?.includes('application/x-ndjson') ?? false;
}

/** A list without pages. Its first piece is read before the reply begins, so that a refusal keeps its status. */
export async function streamList(
  request: RequestContext,
  collection: Collection,
  recordRequest: RecordRequest,
): Promise<ActionResult> {
  const pieces = logFailures(request, streamRecords(request.contextNow, collection, recordRequest));
  const first = await pieces.next();
  const isNdjson = acceptsNdjson(request);
  const stream = isNdjson ? streamJsonLines(first, pieces, request.requestId) : streamJsonList(first, pieces);
  return { stream, contentType: isNdjson ? ndjsonType : 'application/json; charset=utf-8' };
}

/** Logs a failure while the pieces are read: the status of the reply has been sent by then. */
export async function* logFailures({ application, requestId }: RequestContext, pieces: JsonChunks): JsonChunks {
  try {
    yield* pieces;
  } catch (error) {
    if (!(error instanceof ApiError))
      application.logger.error({ err: error, requestId }, 'A streamed list could not be read to its end.');
    throw error;
  }
}

type FirstPiece = IteratorResult<string>;

async function* streamJsonList(first: FirstPiece, pieces: JsonChunks): AsyncGenerator<string> {
  yield '{"data":[';
  if (!first.done) yield first.value;
  for await (const piece of pieces) yield `,${piece}`;
  yield ']}';
}

/**
 * If the list cannot be read to its end, the last line is `{"error", "message", "requestId"}`. Its `requestId` equals the
 * X-Request-Id header of the reply, which distinguishes the line from a record with the same fields.
 */
export async function* streamJsonLines(
  first: FirstPiece,
  pieces: JsonChunks,
  requestId: string,
): AsyncGenerator<string> {
  try {
    yield* writeJsonLines(first, pieces);
  } catch (error) {
    const { label, message } =
      error instanceof ApiError
        ? error
        : { label: 'Internal Server Error', message: 'The list could not be read to its end.' };
    yield `${JSON.stringify({ error: label, message, requestId })}\n`;
  }
}

/** One record per line. It fails if the list cannot be read to its end. */
export async function* writeJsonLines(first: FirstPiece, pieces: JsonChunks): AsyncGenerator<string> {
  if (!first.done) yield toLines(first.value);
  for await (const piece of pieces) yield toLines(piece);
}

function toLines(piece: string): string {
  return `${piece.replaceAll(pageSeparator, '\n')}\n`;
}
