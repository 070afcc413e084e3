import { LruMap } from '../base/lru-map.ts';
import type { Row } from '../database/database.ts';

/** A compiled plan, and its estimated size in bytes. */
export interface CachedPlan {
  readonly plan: unknown;
  readonly bytes: number;
}

/** A count that is valid while the change counter of its tables is the same. */
export interface CachedCount {
  readonly counter: number;
  readonly row: Promise<Row>;
}

/** The compiled plans of one snapshot, and counts that are valid until one of their tables changes. */
export interface PlanCache {
  readonly plans: LruMap<CachedPlan>;
  readonly counts: LruMap<CachedCount>;
}

/** Maximum length of a plan's key, which contains names from the request. Requests with longer keys are planned each time. */
const maxPlanKey = 16 * 1024;
/** Maximum length of a count's key; longer keys are hashed. */
export const maxCountKey = 2000;

/** An empty cache for one snapshot of definitions and access. */
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

/** The length of a statement's text, or of a text; 0 for any other value. */
function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (value === null || typeof value !== 'object' || !('text' in value)) return 0;
  return typeof value.text === 'string' ? value.text.length : 0;
}
