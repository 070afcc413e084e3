import {
  inTransaction,
  isInTransaction,
  type RecordContext,
  type TransactionContext,
} from '../records/record-context.ts';
import { performDryRun } from '../records/write/dry-run.ts';
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
export function performWrite(
  request: RequestContext,
  context: RecordContext,
  options: PerformWriteOptions,
  work: (tx: RecordContext) => Promise<ActionResult>,
): Promise<ActionResult> {
  const isPlain = !context.tx && !options.dryRun && !request.idempotencyKey && !options.joined;
  return isPlain ? work(context) : performInTransaction(request, context, options, work);
}

/** As {@link performWrite}, for work that consists of several operations: it always has a transaction. */
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
