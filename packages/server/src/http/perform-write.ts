import { type RecordContext, together } from '../records/record-context.ts';
import { tried } from '../records/trial.ts';
import type { Answer, Call } from './call.ts';
import { type Manner, onceTogether } from './once.ts';

export interface WriteManner extends Manner {
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
  call: Call,
  context: RecordContext,
  manner: WriteManner,
  work: (inside: RecordContext) => Promise<Answer>,
): Promise<Answer> {
  if (context.inside) return work(context);
  if (manner.dryRun) {
    const trial = await tried(context, work);
    return 'data' in trial ? { data: trial.data, meta: { dryRun: true } } : trial;
  }
  if (call.once) return onceTogether(call, context, manner, work);
  return manner.joined ? together(context, work, manner) : work(context);
}
