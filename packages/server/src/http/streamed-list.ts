import { pageSeparator } from '../database/dialect.ts';
import { ApiError } from '../protocol/api-error.ts';
import type { AskedRecordRequest } from '../protocol/record-request.ts';
import { type Pieces, streamRecords } from '../records/stream-records.ts';
import type { Collection } from '../schema/registry.ts';
import type { Answer, Call } from './call.ts';

export const lineType = 'application/x-ndjson; charset=utf-8';

/** Whether the client takes a list without pages as one JSON text a line. */
export function wantsLines({ accept }: Call): boolean {
  return accept?.includes('application/x-ndjson') ?? false;
}

/** A list without pages. The first piece is read before the reply begins, so that a refusal keeps its status. */
export async function streamedList(call: Call, collection: Collection, request: AskedRecordRequest): Promise<Answer> {
  const pieces = told(call, streamRecords(call.contextNow, collection, request));
  const first = await pieces.next();
  const lines = wantsLines(call);
  const stream = lines ? jsonLines(first, pieces) : jsonList(first, pieces);
  return { stream, contentType: lines ? lineType : 'application/json; charset=utf-8' };
}

/** Pieces whose failure the operator is told of: the status of the reply has left by then. */
async function* told({ application, requestId }: Call, pieces: Pieces): Pieces {
  try {
    yield* pieces;
  } catch (error) {
    if (!(error instanceof ApiError))
      application.logger.error({ err: error, requestId }, 'a list could not be read to its end');
    throw error;
  }
}

type First = IteratorResult<string>;

async function* jsonList(first: First, pieces: Pieces): AsyncGenerator<string> {
  yield '{"data":[';
  if (!first.done) yield first.value;
  for await (const piece of pieces) yield `,${piece}`;
  yield ']}';
}

async function* jsonLines(first: First, pieces: Pieces): AsyncGenerator<string> {
  try {
    if (!first.done) yield linesOf(first.value);
    for await (const piece of pieces) yield linesOf(piece);
  } catch (error) {
    const { label, message } =
      error instanceof ApiError
        ? error
        : { label: 'Internal Server Error', message: 'The list could not be read to its end.' };
    yield `${JSON.stringify({ error: label, message })}\n`;
  }
}

function linesOf(piece: string): string {
  return `${piece.replaceAll(pageSeparator, '\n')}\n`;
}
