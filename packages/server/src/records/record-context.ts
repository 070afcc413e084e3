import type { AccessTable } from '../access/access-table.ts';
import type { Clock } from '../base/clock.ts';
import type { LruMap } from '../base/lru-map.ts';
import type { ChangeLog } from '../changes/change-log.ts';
import type { Database, Row } from '../database/database.ts';
import type { Caller } from '../identity/caller.ts';
import type { GrantOf } from '../query/grant.ts';
import type { PlanContext } from '../query/read-plan.ts';
import type { Registry } from '../schema/registry.ts';
import type { Stamp } from './record-input.ts';

/** Compiled plans of one snapshot, and counts that hold as long as their tables do not change. */
export interface PlanCache {
  readonly plans: LruMap<unknown>;
  readonly counts: LruMap<{ readonly counter: number; readonly row: Promise<Row> }>;
}

/** What a record operation works with: one caller, one snapshot, one application. */
export interface RecordContext {
  readonly database: Database;
  readonly registry: Registry;
  /** Version of schema and access together: what shared engines guard statements with. */
  readonly version: number;
  readonly grantOf: GrantOf;
  readonly access: AccessTable;
  readonly caller: Caller;
  /** Values of permission variables for this caller, made when first asked for. */
  readonly variables: () => Readonly<Record<string, unknown>>;
  readonly cache: PlanCache;
  readonly changes: ChangeLog;
  readonly clock: Clock;
  readonly requestId: string | null;
  /** The time zone in which the caller counts days. */
  readonly zone: string;
  /** Throws StaleVersion when the definitions have moved on: asked when a write's turn has come. */
  readonly requireCurrent: () => void;
  /** The keyed hash of a token. */
  hashToken(token: string): string;
  /** Takes up a change of roles, permissions, users or definitions that this operation has committed. */
  refresh(): Promise<void>;
}

export function stampOf({ clock, caller }: RecordContext): Stamp {
  return { now: clock.now(), userId: (caller.user?.['id'] as number | undefined) ?? null };
}

export function planContext(context: RecordContext): PlanContext {
  return { registry: context.registry, grantOf: context.grantOf, dialect: context.database.dialect };
}

/** A plan by its key, compiled once a snapshot. The role stands in the key: plans carry its grants. */
export function keptPlan<T>(context: RecordContext, key: string, make: () => T): T {
  const full = `${context.caller.role} ${key}`;
  const kept = context.cache.plans.get(full) as T | undefined;
  if (kept !== undefined) return kept;
  const plan = make();
  context.cache.plans.set(full, plan);
  return plan;
}
