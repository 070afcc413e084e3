import { inTransaction, type RecordContext } from '../records/record-context.ts';
import { performDryRun } from '../records/write/dry-run.ts';
import { type ActionWriteOptions, runIdempotentInTransaction } from './idempotency.ts';
import type { ActionResult, RequestContext } from './request-context.ts';

export interface PerformWriteOptions extends ActionWriteOptions {
  /** All of it runs, and all of it is taken back. */
  readonly dryRun: boolean;
  /** Several operations that share a transaction; else the one operation has its own. */
  readonly joined?: boolean;
}

/**
 * Runs a write in the way that the request asks for: a part of a batch in its transaction, as a trial, once for its
 * Idempotency-Key, or plainly.
 */
export async function performWrite(
  request: RequestContext,
  context: RecordContext,
  options: PerformWriteOptions,
  work: (tx: RecordContext) => Promise<ActionResult>,
): Promise<ActionResult> {
  if (context.tx) return work(context);
  if (options.dryRun) {
    const result = await performDryRun(context, work);
    return 'data' in result ? { data: result.data, meta: { dryRun: true } } : result;
  }
  if (request.idempotencyKey) return runIdempotentInTransaction(request, context, options, work);
  return options.joined ? inTransaction(context, work, options) : work(context);
}
