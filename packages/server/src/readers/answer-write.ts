/**
 * Plans writes of one record in a reader thread: it checks the caller's permissions and the values, and compiles the statement. The main
 * thread executes it.
 */
import { isUtf8 } from 'node:buffer';
import { parseBody } from '../http/request-body.ts';
import { readRecordRequest } from '../http/request-reader.ts';
import { requireGrant } from '../records/read/read-records.ts';
import type { RecordContext } from '../records/record-context.ts';
import { createWithNested, updateWithNested } from '../records/relations/nested-values.ts';
import type { SendWrite } from '../records/sent-write.ts';
import { destroyRecords, type WriteResult } from '../records/write/write-records.ts';
import type { Collection } from '../schema/registry.ts';
import { ExecutedWriteFailed } from './planned-writes.ts';
import type { AnsweredResult, RecordRoute } from './reader-answers.ts';
import type { ShortBody } from './short-body.ts';

/**
 * Plans a write and has it executed.
 *
 * @returns null for writes of several records and for dry runs, which the main thread must answer. It must also answer if this throws.
 * @throws ExecutedWriteFailed
 */
export async function writeRecord(
  { route, query }: RecordRoute,
  received: ShortBody | null,
  context: RecordContext,
  collection: Collection,
): Promise<AnsweredResult | null> {
  if (received && !(received.isComplete && isUtf8(received.bytes))) return null;
  const text = received?.bytes.toString('utf8') ?? '';
  if (text.trimStart().startsWith('[')) return null; // several records
  const body = parseBody(text);
  const request = readRecordRequest(route, query, body, false);
  if (request.dryRun) return null;
  requireGrant(context, collection, route.action);
  const write = (writing: RecordContext): Promise<WriteResult> => {
    if (route.action === 'create') return createWithNested(writing, collection, request, body);
    if (route.action === 'update') return updateWithNested(writing, collection, request, { body, match: null });
    return destroyRecords(writing, collection, request, { rules: null });
  };
  const { sendWrite: send } = context;
  if (!send) throw new Error('the writes of a reader are sent to the main thread');
  let isExecuted = false;
  const sendWrite: SendWrite = async (planned) => {
    const rows = await send(planned);
    isExecuted ||= rows.length > 0;
    return rows;
  };
  try {
    const { data, counter } = await write({ ...context, sendWrite });
    return counter === null ? { data } : { data, counter };
  } catch (error) {
    throw isExecuted ? new ExecutedWriteFailed('the reply to an executed write failed', { cause: error }) : error;
  }
}
