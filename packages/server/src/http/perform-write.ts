import { performDryRun } from '../records/dry-run.ts';
import {
  inTransaction,
  isInTransaction,
  type RecordContext,
  type TransactionContext,
} from '../records/record-context.ts';
import { type ActionWriteOptions, runIdempotentInTransaction } from './idempotency.ts';
import type { ActionResult, RequestContext } from './request-context.ts';

export interface PerformWriteOptions extends ActionWriteOptions {
  /** All of it runs, and all of it is taken back. */
  readonly dryRun: boolean;
  /** Several operations that share a transaction; else the one operation has its own. */
  readonly joined?: boolean;
}

/**
 * Runs a write in the way that the request asks for: as part of a batch in the batch's transaction, as a dry run, once for
 * its Idempotency-Key, or plainly.
 */
export async function performWrite(
  request: RequestContext,
  context: RecordContext,
  options: PerformWriteOptions,
  work: (tx: RecordContext) => Promise<ActionResult>,
): Promise<ActionResult> {
  const isPlain = !context.tx && !options.dryRun && !request.idempotencyKey && !options.joined;
  return isPlain ? work(context) : performInTransaction(request, context, options, work);
}

/** The same for work of several operations: it always has a transaction. */
export async function performInTransaction(
  request: RequestContext,
  context: RecordContext,
  options: PerformWriteOptions,
  work: (tx: TransactionContext) => Promise<ActionResult>,
): Promise<ActionResult> {
  if (isInTransaction(context)) return work(context);
  if (options.dryRun) {
    const result = await performDryRun(context, work);
    return 'data' in result ? { data: result.data, meta: { dryRun: true } } : result;
  }
  if (request.idempotencyKey) return runIdempotentInTransaction(request, context, options, work);
  return inTransaction(context, work, options);
}
