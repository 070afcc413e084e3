import { LruMap } from '../base/lru-map.ts';
import type { Row } from '../database/database.ts';

/** A compiled plan, and about how many bytes it takes. */
export interface CachedPlan {
  readonly plan: unknown;
  readonly bytes: number;
}

/** A count, valid while its tables have this change counter. */
export interface CachedCount {
  readonly counter: number;
  readonly row: Promise<Row>;
}

/** Compiled plans of one snapshot, and counts that hold as long as their tables do not change. */
export interface PlanCache {
  readonly plans: LruMap<CachedPlan>;
  readonly counts: LruMap<CachedCount>;
}

/** A plan is keyed by the shape of its request, which contains names that callers send; longer keys are planned each time. */
const maxPlanKey = 16 * 1024;
export const maxCountKey = 2000;

export function createPlanCache(): PlanCache {
  return {
    plans: new LruMap({
      entries: 2000,
      bytes: 16 * 1024 * 1024,
      keyLength: maxPlanKey,
      sizeOf: ({ bytes }: CachedPlan) => bytes,
    }),
    counts: new LruMap({ entries: 2000, bytes: 8 * 1024 * 1024, keyLength: maxCountKey, sizeOf: 400 }),
  };
}

/** Estimated bytes of a plan: mostly the text of its statements. */
export function estimatePlanBytes(plan: unknown): number {
  let length = textLength(plan);
  if (plan !== null && typeof plan === 'object')
    for (const member of Object.values(plan))
      length += Array.isArray(member)
        ? member.reduce<number>((sum, each) => sum + textLength(each), 0)
        : textLength(member);
  return 1000 + 2 * length;
}

/** Of a statement or a text; 0 for all else. */
function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (value === null || typeof value !== 'object' || !('text' in value)) return 0;
  return typeof value.text === 'string' ? value.text.length : 0;
}
