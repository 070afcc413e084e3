import { performDryRun } from '../records/dry-run.ts';
import { inTransaction, type RecordContext } from '../records/record-context.ts';
import { type ActionWriteOptions, runIdempotentInTransaction } from './idempotency.ts';
import type { ActionResult, RequestContext } from './request-context.ts';

export interface PerformWriteOptions extends ActionWriteOptions {
  /** The write is executed and rolled back. */
  readonly dryRun: boolean;
  /** Several operations share a transaction; else the single operation opens its own. */
  readonly joined?: boolean;
}

/**
 * Runs a write as the request requires: in the transaction of a batch, as a dry run, with an Idempotency-Key, or directly.
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
